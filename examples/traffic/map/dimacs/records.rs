//! The text format of the DIMACS challenges: one record a line, fields between spaces, comments
//! behind a `c`.

use std::fmt;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::str::{FromStr, SplitAsciiWhitespace};

use flate2::bufread::MultiGzDecoder;

use crate::map::{MapError, ending, limits};

/// Longest piece of a wrong line that an error repeats, in characters.
const QUOTED: usize = 40;

/// Longest line, in bytes: records are below 60, and comments are for people.
const LONGEST_LINE: u64 = 4_096;

/// What any packed file may unpack to, in bytes.
const UNPACKED_ANYWAY: u64 = 4 << 20;

/// What some editors put before the text to say that it is UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// The shortest record about a node, `v 1 0 0` and the end of the line.
const SHORTEST_RECORD: u64 = 8;

/// A file read record by record.
pub struct Records {
    file: String,
    reader: Box<dyn BufRead>,
    /// Most bytes of text that a file of this size may hold, and how many were read.
    most: u64,
    read: u64,
    line: u64,
    text: Vec<u8>,
}

impl Records {
    /// Opens a text file, or one packed with gzip if its name ends in `.gz`.
    pub fn open(path: &Path) -> Result<Self, MapError> {
        let (file, size) = limits::open(path)?;
        let plain = BufReader::new(file);
        let (reader, most): (Box<dyn BufRead>, u64) = if ending::is(path, "gz") {
            (Box::new(BufReader::new(MultiGzDecoder::new(plain))), limits::unpacked(size, UNPACKED_ANYWAY))
        } else {
            (Box::new(plain), size)
        };
        Ok(Self { file: path.display().to_string(), reader, most, read: 0, line: 0, text: Vec::new() })
    }

    /// The most nodes that the file can tell something about.
    pub fn most_nodes(&self) -> u64 {
        self.most / SHORTEST_RECORD + 1
    }

    /// The first record, which has to start with `words`.
    pub fn header(&mut self, words: &str) -> Result<Record<'_>, MapError> {
        let file = self.file.clone();
        let Some(mut record) = self.next()? else {
            return Err(MapError::new(file, format_args!("no line `{words} ..` in it")));
        };
        for word in words.split(' ') {
            if record.fields.next() != Some(word) {
                return Err(record.error(format_args!("expected `{words} ..` first, found {}", quote(record.text))));
            }
        }
        Ok(record)
    }

    /// The next record, or `None` at the end of the file.
    pub fn next(&mut self) -> Result<Option<Record<'_>>, MapError> {
        while self.read_line()? {
            let text = self.text.trim_ascii();
            if !text.is_empty() && !is_comment(text) {
                return self.record().map(Some);
            }
        }
        Ok(None)
    }

    /// An error in the file as a whole.
    pub fn error(&self, problem: impl fmt::Display) -> MapError {
        MapError::new(&self.file, problem)
    }

    fn read_line(&mut self) -> Result<bool, MapError> {
        self.line += 1;
        self.text.clear();
        let read = self.reader.by_ref().take(LONGEST_LINE + 1).read_until(b'\n', &mut self.text);
        let bytes = read.map_err(|error| self.in_line(read_problem(&error)))? as u64;
        self.read += bytes;
        if bytes > LONGEST_LINE {
            return Err(self.in_line(format_args!("longer than {LONGEST_LINE} bytes")));
        }
        if self.read > self.most {
            let ratio = limits::UNPACKING;
            return Err(
                self.in_line(format_args!("the file unpacks to more than {ratio} times its size, as no map does"))
            );
        }
        if self.line == 1 && self.text.starts_with(BYTE_ORDER_MARK) {
            self.text.drain(..BYTE_ORDER_MARK.len());
        }
        Ok(bytes > 0)
    }

    fn in_line(&self, problem: impl fmt::Display) -> MapError {
        MapError::in_line(&self.file, self.line, problem)
    }

    fn record(&self) -> Result<Record<'_>, MapError> {
        let text = str::from_utf8(self.text.trim_ascii()).map_err(|_| self.in_line("not text"))?;
        Ok(Record { file: &self.file, line: self.line, text, fields: text.split_ascii_whitespace() })
    }
}

fn is_comment(text: &[u8]) -> bool {
    text.strip_prefix(b"c").is_some_and(|rest| rest.first().is_none_or(u8::is_ascii_whitespace))
}

/// One line and the fields of it that are not read yet.
pub struct Record<'a> {
    file: &'a str,
    line: u64,
    text: &'a str,
    fields: SplitAsciiWhitespace<'a>,
}

impl Record<'_> {
    /// Skips the letter that tells what kind of record this is; any other than `letter` is an
    /// error.
    pub fn expect(&mut self, letter: &str) -> Result<(), MapError> {
        match self.fields.next() {
            Some(found) if found == letter => Ok(()),
            _ => {
                Err(self.error(format_args!("expected a line that starts with `{letter}`, found {}", quote(self.text))))
            }
        }
    }

    /// The next field, which the error calls `what`.
    pub fn number<T: FromStr>(&mut self, what: &str) -> Result<T, MapError> {
        let Some(field) = self.fields.next() else {
            return Err(self.error(format_args!("{what} is missing in {}", quote(self.text))));
        };
        let is_number = field.bytes().all(|byte| byte.is_ascii_digit());
        let should = if is_number { "is too large" } else { "should be a whole number" };
        field.parse().map_err(|_| self.error(format_args!("{what} {should}, found {}", quote(field))))
    }

    /// A node's number, which files count from 1 and programs from 0.
    pub fn node(&mut self, nodes: u32) -> Result<u32, MapError> {
        match self.number("a node")? {
            number if (1..=nodes).contains(&number) => Ok(number - 1),
            number => Err(self.error(format_args!("unknown node {number}: the nodes are 1 to {nodes}"))),
        }
    }

    /// Anything left in the line is an error.
    pub fn end(&mut self) -> Result<(), MapError> {
        match self.fields.next() {
            None => Ok(()),
            Some(field) => Err(self.error(format_args!("unexpected {} in {}", quote(field), quote(self.text)))),
        }
    }

    /// An error in this line.
    pub fn error(&self, problem: impl fmt::Display) -> MapError {
        MapError::in_line(self.file, self.line, problem)
    }
}

/// The start of a text from a file, safe to print.
fn quote(text: &str) -> String {
    let start: String = text.chars().take(QUOTED).collect();
    let more = if start.len() < text.len() { ".." } else { "" };
    format!("`{}{more}`", start.escape_debug())
}

fn read_problem(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => "the file is cut short".into(),
        _ => error.to_string(),
    }
}
