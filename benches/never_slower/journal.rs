//! All figures once more, for programs to read.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::shared::statistics::Standing;

#[derive(Default)]
pub struct Journal {
    entries: Vec<Value>,
}

impl Journal {
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

    pub fn write(&self, path: &Path) -> Result<(), String> {
        let text = serde_json::to_string_pretty(&self.entries).map_err(|error| error.to_string())?;
        std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
    }
}
