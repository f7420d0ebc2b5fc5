//! CSV files, line by line, so that every mistake has its line.

use std::fmt;
use std::io::BufRead;
use std::path::Path;

use csv::{ReaderBuilder, StringRecord, Trim};

use super::text::{Bounded, quote, read_problem};
use crate::map::MapError;

/// What is said where a carriage return alone stands for the end of a line: what follows it would
/// be lost.
const LINE_ENDS: &str = "lines should end with LF or CRLF";

/// The fields of one line after another.
pub struct Lines {
    file: String,
    reader: Bounded,
    line: u64,
}

impl Lines {
    pub fn open(path: &Path) -> Result<Self, MapError> {
        Ok(Self { file: path.display().to_string(), reader: Bounded::open(path)?, line: 0 })
    }

    /// The next line that is neither empty nor a remark.
    pub fn next(&mut self) -> Result<Option<StringRecord>, MapError> {
        let mut text = Vec::new();
        loop {
            self.line = self.reader.line();
            self.reader.begin_piece();
            text.clear();
            let read = self.reader.read_until(b'\n', &mut text);
            if read.map_err(|error| self.error(read_problem(&error)))? == 0 {
                return Ok(None);
            }
            if text.starts_with(b"#") {
                if text.trim_ascii_end().contains(&b'\r') {
                    return Err(self.error(LINE_ENDS));
                }
                continue;
            }
            // A reader for each line knows nothing of lines, so that the number is always ours.
            let mut fields = ReaderBuilder::new();
            let fields = fields.has_headers(false).trim(Trim::All).buffer_capacity(256);
            let mut records = fields.from_reader(text.trim_ascii()).into_records();
            if let Some(record) = records.next().transpose().map_err(|_| self.error("not UTF-8 text"))? {
                return if records.next().is_none() { Ok(Some(record)) } else { Err(self.error(LINE_ENDS)) };
            }
        }
    }

    /// Of the line that was read last, from 1.
    pub fn number(&self) -> u64 {
        self.line
    }

    /// What is wrong with the line that was read last.
    pub fn error(&self, problem: impl fmt::Display) -> MapError {
        MapError::in_line(&self.file, self.line, problem)
    }
}

/// A whole number; `what` is told where it is none.
pub fn whole<N: std::str::FromStr>(what: &str, text: &str) -> Result<N, String> {
    text.parse().map_err(|_| {
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let should = if is_number { "is too large" } else { "should be a whole number" };
        format!("{what} {should}, found {}", quote(text))
    })
}
