//! How many rows each worker swept.

use crate::sync::OwnU64;

/// How many rows a worker swept, and how many of them on the core that swept them last time.
#[derive(Default)]
pub(crate) struct SweptRows {
    all: OwnU64,
    located: OwnU64,
    same_core: OwnU64,
    stolen: OwnU64,
}

impl SweptRows {
    /// Counts rows; `same_core` of them were swept on the core that swept them last time, if the
    /// system tells which core this is.
    ///
    /// To be called by the thread that runs the worker's index, of which there is one at a time:
    /// plain loads and stores do.
    pub(crate) fn add(&self, all: u64, same_core: Option<u64>) {
        self.all.add(all);
        if let Some(same_core) = same_core {
            self.located.add(all);
            self.same_core.add(same_core);
        }
    }

    /// Counts `rows`, which were added, as rows of another worker's share.
    pub(crate) fn note_stolen(&self, rows: u64) {
        self.stolen.add(rows);
    }

    /// Rows that other workers owned.
    pub(crate) fn stolen(&self) -> u64 {
        self.stolen.get()
    }

    /// All rows.
    pub(crate) fn all(&self) -> u64 {
        self.all.get()
    }

    /// Those swept on a core that is known, and of these those swept there last time too.
    pub(crate) fn located(&self) -> (u64, u64) {
        (self.located.get(), self.same_core.get())
    }
}
