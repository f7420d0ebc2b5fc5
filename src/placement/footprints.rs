//! Which core swept which rows last, where rows have no owner.

use std::{ops::Range, sync::atomic::AtomicU32};

use super::{ByStorage, Storage, runs::has_stayed};
use crate::{ablation::Mechanism, topology::CoreId};

/// This many rows share a footprint: few enough that halves cut between them, many enough that
/// notes are rare.
const ROWS: u32 = 1024;

/// For each storage, by number, the core that swept each block of rows last, plus one; 0 before the
/// first sweep.
#[derive(Debug, Default)]
pub(crate) struct Footprints(ByStorage<Vec<AtomicU32>>);

impl Footprints {
    /// Makes room for `rows` rows of `storage`.
    pub(crate) fn cover(&mut self, storage: Storage, rows: u32) {
        let (known, blocks) = (self.0.slot(storage), rows.div_ceil(ROWS) as usize);
        if known.len() < blocks {
            known.resize_with(blocks, AtomicU32::default);
        }
    }

    /// Notes that `core` sweeps `rows` now; returns how many of them it swept last time too. Exact
    /// to a block: who sweeps a part of one leaves a footprint for all of it.
    pub(crate) fn leave(&self, storage: Storage, rows: Range<u32>, core: CoreId) -> u32 {
        let known = self.0.get(storage).filter(|_| !Mechanism::Footprints.is_out());
        let first = rows.start / ROWS;
        let blocks = known.and_then(|blocks| blocks.get(first as usize..rows.end.div_ceil(ROWS) as usize));
        let Some(blocks) = blocks else { return 0 };
        let core = core.index() as u32 + 1;
        let mut same = 0;
        for (block, last) in (first..).zip(blocks) {
            let start = block * ROWS;
            if has_stayed(last, core) {
                same += start.saturating_add(ROWS).min(rows.end) - start.max(rows.start);
            }
        }
        same
    }
}
