//! Text files, plain or packed with gzip, that are read piece by piece within bounds.

use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::str::FromStr;

use flate2::bufread::MultiGzDecoder;

use crate::map::{MapError, ending, limits};

/// Most bytes that one byte of a packed file may unpack to. Routes that many cars share pack 40
/// times; gzip goes to 1,000.
pub const UNPACKING: u64 = 100;

/// What any packed file may unpack to, in bytes.
const UNPACKED_ANYWAY: u64 = 4 << 20;

/// Longest piece between two calls of [`Bounded::begin_piece`], in bytes: a tag, a text or a line.
/// A route of 10,000 links with long names has 300 KB.
const LONGEST_PIECE: u64 = 1 << 20;

/// Longest text from a file that an error repeats, in characters.
const QUOTED: usize = 40;

/// A reader that counts lines, and fails where a piece or the whole is longer than any that makes
/// sense.
pub struct Bounded {
    reader: Box<dyn BufRead>,
    /// The number of the line that is being read, from 1.
    line: u64,
    piece: u64,
    /// Bytes that are left to read.
    rest: u64,
}

impl Bounded {
    /// Opens a text file, or one packed with gzip if its name ends in `.gz`.
    pub fn open(path: &Path) -> Result<Self, MapError> {
        let (file, size) = limits::open(path)?;
        let plain = BufReader::new(file);
        let (reader, rest): (Box<dyn BufRead>, u64) = if ending::is(path, "gz") {
            let most = size.saturating_mul(UNPACKING).saturating_add(UNPACKED_ANYWAY);
            (Box::new(BufReader::new(MultiGzDecoder::new(plain))), most)
        } else {
            (Box::new(plain), size)
        };
        Ok(Self { reader, line: 1, piece: 0, rest })
    }

    pub fn line(&self) -> u64 {
        self.line
    }

    pub fn begin_piece(&mut self) {
        self.piece = 0;
    }
}

impl BufRead for Bounded {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.piece > LONGEST_PIECE {
            return Err(io::Error::other(format!("no end within {LONGEST_PIECE} bytes")));
        }
        let bytes = self.reader.fill_buf()?;
        if bytes.len() as u64 > self.rest {
            return Err(io::Error::other(format!("the file unpacks to more than {UNPACKING} times its size")));
        }
        Ok(bytes)
    }

    fn consume(&mut self, amount: usize) {
        // What was filled before is still there: no reading, and no error, comes of asking again.
        if let Ok(bytes) = self.reader.fill_buf() {
            self.line += bytes[..amount].iter().filter(|&&byte| byte == b'\n').count() as u64;
        }
        self.piece += amount as u64;
        self.rest = self.rest.saturating_sub(amount as u64);
        self.reader.consume(amount);
    }
}

impl Read for Bounded {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let bytes = self.fill_buf()?;
        let count = bytes.len().min(into.len());
        into[..count].copy_from_slice(&bytes[..count]);
        self.consume(count);
        Ok(count)
    }
}

/// What a reader's error means for the file.
pub fn read_problem(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => "the file is cut short".into(),
        _ => error.to_string(),
    }
}

/// The start of a text from a file, safe to print.
pub fn quote(text: &str) -> String {
    let start: String = text.chars().take(QUOTED).collect();
    let more = if start.len() < text.len() { ".." } else { "" };
    format!("`{}{more}`", start.escape_debug())
}

/// A number, or what is wrong with it.
pub fn number<T: FromStr>(what: &str, text: &str) -> Result<T, String> {
    text.trim().parse().map_err(|_| format!("{what} should be a number, found {}", quote(text)))
}

/// A number that is neither infinite nor none at all.
pub fn finite(what: &str, text: &str) -> Result<f64, String> {
    let number: f64 = number(what, text)?;
    if number.is_finite() { Ok(number) } else { Err(format!("{what} should be a number, found {}", quote(text))) }
}

/// A length in metres that the model can hold, or what is wrong with it. Links of no length lead to
/// transit stops, whose coordinates are those of a road.
pub fn length(what: &str, text: &str) -> Result<f64, String> {
    let metres = finite(what, text)?;
    match metres {
        ..0.0 => Err(format!("{what} should not be below 0, found {}", quote(text))),
        _ if metres > limits::LONGEST_ROAD => Err(too_much("long", what, limits::LONGEST_ROAD, "m", text)),
        _ => Ok(metres),
    }
}

/// A speed in metres a second that the model can hold, or what is wrong with it.
pub fn speed(what: &str, text: &str) -> Result<f64, String> {
    let metres_a_second = positive(what, text)?;
    if metres_a_second <= limits::FASTEST {
        Ok(metres_a_second)
    } else {
        Err(too_much("fast", what, limits::FASTEST, "m/s", text))
    }
}

fn too_much(how: &str, what: &str, most: f64, unit: &str, text: &str) -> String {
    format!("too {how}: {what} may be at most {most} {unit}, found {}", quote(text))
}

/// A number above 0.
pub fn positive(what: &str, text: &str) -> Result<f64, String> {
    let number = finite(what, text)?;
    if number > 0.0 { Ok(number) } else { Err(format!("{what} should be above 0, found {}", quote(text))) }
}
