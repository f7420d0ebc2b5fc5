//! Which worker owns which rows. One placement serves all systems of a world, so that the rows a
//! core wrote in one system are the rows it reads in the next. It knows numbers of rows, not the
//! rows; what workers note while they sweep are atomics.

mod balancer;
mod footprints;
mod runs;
#[cfg(test)]
mod tests;

pub(crate) use balancer::Histogram;
pub(crate) use footprints::Footprints;
pub(crate) use runs::Runs;

use crate::ablation::Mechanism;

/// What has rows: a table, or an archetype where a query visits only some rows of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    Table(u32),
    Archetype(u32),
}

impl Storage {
    /// The number of the table or of the archetype.
    pub(crate) fn index(self) -> usize {
        match self {
            Self::Table(index) | Self::Archetype(index) => index as usize,
        }
    }
}

/// Something of each storage, by its number.
#[derive(Debug, Default)]
struct ByStorage<T> {
    tables: Vec<T>,
    archetypes: Vec<T>,
}

impl<T: Default> ByStorage<T> {
    #[inline]
    fn get(&self, storage: Storage) -> Option<&T> {
        let all = match storage {
            Storage::Table(_) => &self.tables,
            Storage::Archetype(_) => &self.archetypes,
        };
        all.get(storage.index())
    }

    /// What is there of a storage, or room for it.
    #[inline]
    fn slot(&mut self, storage: Storage) -> &mut T {
        let index = storage.index();
        let all = match storage {
            Storage::Table(_) => &mut self.tables,
            Storage::Archetype(_) => &mut self.archetypes,
        };
        if all.len() <= index {
            all.resize_with(index + 1, T::default);
        }
        &mut all[index]
    }
}

/// This many rows are whole cache lines for components of any size: cut at multiples of it, no two
/// workers write to one line.
pub(crate) const WHOLE_LINES: u32 = 64;

/// A worker may own more rows of small storages than another by one part in this many of a fair
/// share.
const TOLERATED_LOAD: u64 = 16;

/// The owners of all rows of a world, sticky from frame to frame.
#[derive(Debug)]
pub(crate) struct Placement {
    workers: usize,
    runs: ByStorage<Option<Runs>>,
    /// Rows of storages with fewer runs than workers, by owner: a new one goes where the fewest
    /// are. Cuts of a stored storage move only in [`adjust`](Self::adjust), so what is taken off is
    /// what was added.
    loads: Vec<u64>,
    /// Who got the last of those.
    last_owner: usize,
    migrated: u64,
    migrations: u64,
    /// Storages whose cost was observed in this frame.
    observed: Vec<Storage>,
}

impl Placement {
    pub(crate) fn new(workers: usize) -> Self {
        Self {
            workers,
            runs: ByStorage::default(),
            loads: vec![0; workers],
            last_owner: 0,
            migrated: 0,
            migrations: 0,
            observed: Vec::new(),
        }
    }

    pub(crate) fn workers(&self) -> usize {
        self.workers
    }

    /// Rows that changed owner so far.
    pub(crate) fn migrated(&self) -> u64 {
        self.migrated
    }

    /// How often rows changed owner because some were found to cost more than others.
    pub(crate) fn migrations(&self) -> u64 {
        self.migrations
    }

    /// Learns that the run of `worker` in `storage` took `nanoseconds`.
    pub(crate) fn observe(&mut self, storage: Storage, worker: usize, nanoseconds: u64) {
        if !Mechanism::Balancing.is_out()
            && let Some(runs) = self.runs.slot(storage)
            && runs.observe(worker, nanoseconds)
        {
            self.observed.push(storage);
        }
    }

    /// To be called between frames: moves cuts where the frames so far showed that it pays.
    pub(crate) fn end_frame(&mut self) {
        while let Some(storage) = self.observed.pop() {
            let moved = self.adjust(storage, Runs::end_frame);
            self.migrations += u64::from(moved > 0);
        }
    }

    /// Brings the runs of `storage` up to date with its number of rows. No run is shorter than
    /// `shortest` rows, unless the storage is, or a caller with dearer rows asked for shorter ones.
    #[inline]
    pub(crate) fn place(&mut self, storage: Storage, rows: u32, shortest: u32) -> &Runs {
        let wanted = (rows / shortest.max(1)).clamp(1, self.workers as u32) as usize;
        let settles = self.runs.slot(storage).as_mut().is_some_and(|runs| runs.settle(rows));
        match self.get(storage) {
            // Those that it is not worth are taken back.
            Some(runs) if settles && !Mechanism::Settling.is_out() && wanted * 2 <= runs.parts() => {
                self.cut_anew(storage, rows, wanted);
            }
            Some(runs) if runs.rows() == rows && runs.parts() >= wanted => {}
            // One that is empty keeps its runs: it may fill again.
            Some(runs) if runs.parts() >= wanted && (rows as usize >= runs.parts() || rows == 0) => {
                self.adjust(storage, |runs| runs.resize(rows));
            }
            _ => self.cut_anew(storage, rows, wanted),
        }
        self.get(storage).expect("placed above")
    }

    /// The runs of a storage that was placed before.
    #[inline]
    pub(crate) fn get(&self, storage: Storage) -> Option<&Runs> {
        self.runs.get(storage)?.as_ref()
    }

    /// Lets `change` move the cuts of a storage, and keeps the accounts; passes on how many rows
    /// changed owner.
    fn adjust(&mut self, storage: Storage, change: impl FnOnce(&mut Runs) -> u32) -> u32 {
        let Some(mut runs) = self.runs.slot(storage).take() else { return 0 };
        self.unload(&runs);
        let moved = change(&mut runs);
        self.load(&runs);
        *self.runs.slot(storage) = Some(runs);
        self.migrated += u64::from(moved);
        moved
    }

    fn cut_anew(&mut self, storage: Storage, rows: u32, parts: usize) {
        let old = self.runs.slot(storage).take();
        if let Some(old) = &old {
            self.unload(old);
            // The new runs were not observed yet.
            self.observed.retain(|&observed| observed != storage);
        }
        let first_owner = self.least_loaded(parts);
        let mut runs = Runs::even(rows, parts, first_owner);
        if let Some(old) = &old {
            runs = runs.following(old);
            self.migrated += u64::from(old.moved_to(&runs));
        }
        self.load(&runs);
        *self.runs.slot(storage) = Some(runs);
    }

    /// The first of `parts` workers in a row that own the fewest rows of small storages; the owner
    /// of the storage before, as long as that has hardly more. Small storages that were made one
    /// after another share cache lines.
    fn least_loaded(&mut self, parts: usize) -> usize {
        let load = |first: &usize| self.loads[*first..*first + parts].iter().sum::<u64>();
        let least = (0..=self.workers - parts).min_by_key(load).unwrap_or(0);
        let tolerated = load(&least) + self.loads.iter().sum::<u64>() / (TOLERATED_LOAD * self.workers as u64);
        if self.last_owner + parts > self.workers || load(&self.last_owner) > tolerated {
            self.last_owner = least;
        }
        self.last_owner
    }

    fn load(&mut self, runs: &Runs) {
        self.for_each_small_run(runs, |load, rows| *load += rows);
    }

    fn unload(&mut self, runs: &Runs) {
        self.for_each_small_run(runs, |load, rows| *load -= rows);
    }

    fn for_each_small_run(&mut self, runs: &Runs, mut change: impl FnMut(&mut u64, u64)) {
        if runs.parts() < self.workers {
            for worker in runs.first_owner()..runs.first_owner() + runs.parts() {
                // An empty run counts as one row, so that empty storages spread too before they
                // fill.
                change(&mut self.loads[worker], u64::from(runs.range_of(worker).len().max(1) as u32));
            }
        }
    }
}
