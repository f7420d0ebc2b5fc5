//! All figures once more, for programs to read.

use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use crate::shared::statistics::Standing;

/// What is written in the end, if anything is.
pub struct Journal {
    file: Option<(PathBuf, File)>,
    entries: Vec<Value>,
}

impl Journal {
    /// Opens the file at once: whether it can be written should not show after minutes.
    pub fn open(path: Option<&Path>) -> Result<Self, String> {
        let create = |path: &Path| File::create(path).map_err(|error| format!("{}: {error}", path.display()));
        let file = path.map(|path| create(path).map(|file| (path.to_owned(), file))).transpose()?;
        Ok(Self { file, entries: Vec::new() })
    }

    /// Times are in nanoseconds, the ratio is to plain `iter_mut`.
    pub fn note(&mut self, group: &str, cell: impl fmt::Display, standings: &[Standing]) {
        let nanoseconds = |duration: Duration| duration.as_nanos() as u64;
        let contender = |standing: &Standing| {
            json!({
                "name": standing.name,
                "median": nanoseconds(standing.median),
                "p99": nanoseconds(standing.p99),
                "mean": nanoseconds(standing.mean),
                "ratio": standing.ratio,
            })
        };
        let contenders: Vec<_> = standings.iter().map(contender).collect();
        self.push(group, cell, json!({ "contenders": contenders }));
    }

    pub fn push(&mut self, group: &str, cell: impl fmt::Display, figures: Value) {
        self.entries.push(json!({ "group": group, "cell": cell.to_string(), "figures": figures }));
    }

    pub fn finish(self) -> Result<(), String> {
        let Some((path, file)) = self.file else { return Ok(()) };
        let written = serde_json::to_writer_pretty(&file, &self.entries);
        written.map_err(|error| format!("{}: {error}", path.display()))
    }
}
