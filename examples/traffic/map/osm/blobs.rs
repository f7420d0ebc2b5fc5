//! The blobs that an extract is made of: each has a header with its size, and mostly is packed with
//! zlib.

use std::fmt;
use std::io::{self, Read, Seek, SeekFrom};

use flate2::read::ZlibDecoder;

use super::wire::{Broken, Fields};
use super::xml::printable;
use crate::map::{MapError, limits};

/// The format's own limits, in bytes.
const LONGEST_HEADER: u64 = 64 << 10;
const LARGEST_BLOB: u64 = 32 << 20;

/// What a file may need its reader to know.
const FEATURES: [&[u8]; 2] = [b"OsmSchema-V0.6", b"DenseNodes"];

/// Said of blobs packed with LZMA, bzip2, LZ4 or Zstandard, as the format allows.
const OTHER_PACKING: &str =
    "packed with something else than zlib, which is not read: let `osmium cat -f pbf` pack it anew";

/// Of deflate: more than this no byte can unpack to.
const HIGHEST_RATIO: u64 = 1_032;

/// A file of blobs.
pub struct Blobs<'a, R> {
    name: &'a str,
    source: R,
    /// Bytes in the file.
    length: u64,
    /// The blob as it lies in the file, and unpacked.
    blob: Vec<u8>,
    data: Vec<u8>,
}

/// What the header of a blob says.
struct Header {
    kind: Kind,
    /// Bytes of the blob that follows.
    size: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Header,
    Data,
    /// For other programs.
    Unknown,
}

/// Why a blob cannot be read.
enum Problem {
    Io(io::Error),
    Broken(Broken),
}

impl<'a, R: Read + Seek> Blobs<'a, R> {
    /// An extract called `name` in errors.
    pub fn new(name: &'a str, mut source: R) -> Result<Self, MapError> {
        let length = source.seek(SeekFrom::End(0)).map_err(|error| MapError::new(name, error))?;
        Ok(Self { name, source, length, blob: Vec::new(), data: Vec::new() })
    }

    /// Bytes in the file.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Shows the data of all blobs, from the start of the file.
    pub fn for_each(&mut self, mut visit: impl FnMut(&[u8]) -> Result<(), Broken>) -> Result<(), MapError> {
        let mut at = 0;
        let mut unpacked_left = limits::unpacked(self.length, LARGEST_BLOB);
        let mut header_seen = false;
        while at < self.length {
            let (kind, size) = self.read(at, &mut unpacked_left).map_err(|problem| self.broken(at, problem))?;
            match kind {
                Kind::Header => {
                    self.check_features(at)?;
                    header_seen = true;
                }
                Kind::Data => visit(&self.data).map_err(|problem| self.broken(at, problem))?,
                Kind::Unknown => {}
            }
            at += size;
        }
        if !header_seen {
            return Err(MapError::new(self.name, "not an OpenStreetMap extract: it has no header"));
        }
        Ok(())
    }

    /// Refuses a file that means something else to those who know more of the format.
    fn check_features(&self, at: u64) -> Result<(), MapError> {
        match unknown_feature(&self.data).map_err(|problem| self.broken(at, problem))? {
            None => Ok(()),
            Some(b"HistoricalInformation") => {
                Err(MapError::new(self.name, "a file with history, which is not read: export the present state"))
            }
            Some(feature) => {
                let feature = printable(&String::from_utf8_lossy(feature));
                Err(MapError::new(self.name, format_args!("needs the feature `{feature}`, which is not supported")))
            }
        }
    }

    /// Reads and unpacks the blob at a byte of the file; returns what it is and how many bytes it
    /// takes up.
    fn read(&mut self, at: u64, unpacked_left: &mut u64) -> Result<(Kind, u64), Problem> {
        self.source.seek(SeekFrom::Start(at))?;
        let mut left = self.length - at;
        let header = self.header(&mut left)?;
        if header.kind == Kind::Unknown {
            left = left.checked_sub(header.size).ok_or_else(unexpected_end)?;
        } else {
            self.fill(header.size, &mut left)?;
            unpack(&self.blob, &mut self.data, *unpacked_left)?;
            *unpacked_left -= self.data.len() as u64;
        }
        Ok((header.kind, self.length - at - left))
    }

    fn header(&mut self, left: &mut u64) -> Result<Header, Problem> {
        self.fill(4, left)?;
        let size = self.blob.iter().fold(0, |size, &byte| size << 8 | u64::from(byte));
        if size > LONGEST_HEADER {
            return Err(
                Broken::new(format_args!("a header of {size} bytes, at most {LONGEST_HEADER} are allowed")).into()
            );
        }
        self.fill(size, left)?;
        Ok(Header::read(&self.blob)?)
    }

    /// Brings the next `size` bytes into `blob`: no more memory than there are bytes in the file.
    fn fill(&mut self, size: u64, left: &mut u64) -> Result<(), Problem> {
        *left = left.checked_sub(size).ok_or_else(unexpected_end)?;
        self.blob.clear();
        let read = self.source.by_ref().take(size).read_to_end(&mut self.blob)?;
        if (read as u64) < size { Err(unexpected_end().into()) } else { Ok(()) }
    }

    fn broken(&self, at: u64, problem: impl fmt::Display) -> MapError {
        MapError::at_byte(self.name, at, problem)
    }
}

impl Header {
    fn read(message: &[u8]) -> Result<Self, Broken> {
        let (mut kind, mut size) = (None, None);
        for field in Fields::of(message) {
            match field? {
                (1, name) => kind = Some(Kind::called(name.bytes()?)),
                (3, number) => size = Some(number.number()?),
                _ => {}
            }
        }
        let (Some(kind), Some(size)) = (kind, size) else {
            return Err(Broken::new("a header without the kind and size of its blob"));
        };
        let possible = u64::try_from(size).ok().filter(|&size| size <= LARGEST_BLOB);
        let too_large = || Broken::new(format_args!("a blob of {size} bytes, at most {LARGEST_BLOB} are allowed"));
        Ok(Self { kind, size: possible.ok_or_else(too_large)? })
    }
}

impl Kind {
    fn called(name: &[u8]) -> Self {
        match name {
            b"OSMHeader" => Self::Header,
            b"OSMData" => Self::Data,
            _ => Self::Unknown,
        }
    }
}

/// The first feature that a file's header asks for and that is not known.
fn unknown_feature(header: &[u8]) -> Result<Option<&[u8]>, Broken> {
    for field in Fields::of(header) {
        if let (4, feature) = field? {
            let feature = feature.bytes()?;
            if !FEATURES.contains(&feature) {
                return Ok(Some(feature));
            }
        }
    }
    Ok(None)
}

/// Unpacks a blob into `data`, at most `most` bytes.
fn unpack(blob: &[u8], data: &mut Vec<u8>, most: u64) -> Result<(), Broken> {
    let (mut raw, mut packed, mut size) = (None, None, None);
    for field in Fields::of(blob) {
        match field? {
            (1, bytes) => raw = Some(bytes.bytes()?),
            (2, number) => size = Some(number.number()?),
            (3, bytes) => packed = Some(bytes.bytes()?),
            (4..=7, _) => return Err(Broken::unread(OTHER_PACKING)),
            _ => {}
        }
    }
    data.clear();
    match (raw, packed) {
        (Some(raw), _) => data.extend_from_slice(raw),
        (None, Some(packed)) => inflate(packed, data, size)?,
        (None, None) => return Err(Broken::new("an empty blob")),
    }
    if data.len() as u64 > most {
        let ratio = limits::UNPACKING;
        return Err(Broken::new(format_args!("the file unpacks to more than {ratio} times its size, as no map does")));
    }
    Ok(())
}

/// Unpacks into `data`, which takes no more memory than was promised and can be there.
fn inflate(packed: &[u8], data: &mut Vec<u8>, size: Option<i64>) -> Result<(), Broken> {
    let promised = size.map_or(Some(LARGEST_BLOB), |size| u64::try_from(size).ok());
    let too_large = || Broken::new("a blob that unpacks to an impossible size");
    let promised = promised.filter(|&size| size <= LARGEST_BLOB).ok_or_else(too_large)?;
    let possible = promised.min((packed.len() as u64).saturating_mul(HIGHEST_RATIO));
    // One more, so that a blob that goes on after its promised end is noticed, and another to find
    // the end.
    data.reserve_exact(possible as usize + 2);
    let read = ZlibDecoder::new(packed).take(promised + 1).read_to_end(data);
    let read = read.map_err(|error| Broken::new(format_args!("a blob that cannot be unpacked: {error}")))? as u64;
    if read > promised || size.is_some() && read < promised {
        return Err(Broken::new(format_args!("a blob that promises to unpack to {promised} bytes, and does not")));
    }
    Ok(())
}

fn unexpected_end() -> Broken {
    Broken::new("unexpected end")
}

impl From<io::Error> for Problem {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<Broken> for Problem {
    fn from(problem: Broken) -> Self {
        Self::Broken(problem)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(out),
            Self::Broken(problem) => problem.fmt(out),
        }
    }
}
