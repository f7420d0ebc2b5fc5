//! How an agenda finds the rows that are due, and when it has all looked at instead.

use std::hint::black_box;

use bevy_ecs::entity::{Entities, Entity, EntityIndex};

use super::{hints::NEVER, store::Store, times::Times};
use crate::{placement::Storage, sweep::Rows};

/// Where more than one row in this many is due, a sweep that looks at all takes less than finding
/// them: a row that is found is some cache misses (300 to 600 ns where due rows are anywhere), one
/// that is looked at 0.3 ns, by several workers at a time.
const WORTH_A_SWEEP: u64 = 2_048;

/// Rows that are found before that is asked: fewer take no time either way.
const FEW: u64 = 64;

/// Where fewer than one row in this many is due, sweeps are given up again, after
/// [`SWEEPS_OF_A_REBUILD`].
const WORTH_FINDING: u64 = 4_096;

/// What it takes to note all times anew, in sweeps that look at all rows. Sweeps are given up when
/// they have taken as long: so a change of mind never costs more than twice the best choice.
const SWEEPS_OF_A_REBUILD: u64 = 4;

impl<A: Send + Sync + 'static> Store<A> {
    /// Selects those of `rows` that are due, and takes their hints away: who visits them notes new
    /// ones. False where all have to be looked at.
    pub(super) fn select(&mut self, now: u64, rows: Rows<'_, '_>, times: Times<'_, A>) -> bool {
        self.holds = self.holds && self.find(now, rows, times).is_some();
        if self.holds {
            self.put_in_order(rows);
        }
        self.holds
    }

    fn find(&mut self, now: u64, rows: Rows<'_, '_>, times: Times<'_, A>) -> Option<()> {
        let Self { hints, found, .. } = self;
        found.clear();
        let most = (FEW + hints.room() as u64 / WORTH_A_SWEEP) as usize;
        hints.take(now, |index| {
            found.push(index.into());
            (found.len() <= most).then_some(NEVER)
        })?;
        let entities = rows.world.entities();
        // Each row found is a handful of cache misses. In a loop that does nothing else a processor
        // waits for many of them at a time.
        let places = found.iter().map(|&index| resolve(entities, index as u32).to_bits());
        black_box(places.fold(0, |all, place| all ^ place));
        found.retain_mut(|place| {
            let index = *place as u32;
            let at = look(resolve(entities, index), now, rows, times);
            at.map(|at| *place = at).map_err(|time| hints.lower(index, time)).is_ok()
        });
        Some(())
    }

    /// Entities are often in the order of their rows: sorting looks first.
    fn put_in_order(&mut self, rows: Rows<'_, '_>) {
        let Self { found, selection, .. } = self;
        if !found.is_sorted() {
            found.sort_unstable();
        }
        selection.clear();
        let mut last: Option<(u32, Storage)> = None;
        for &place in found.iter() {
            let number = (place >> 32) as usize;
            let (ordinal, storage) = match last {
                Some(last) if last.1.index() == number => last,
                _ => rows.storage_of(number),
            };
            last = Some((ordinal, storage));
            selection.push(ordinal, storage, place as u32);
        }
    }

    /// Learns that a sweep looked at `rows` rows, of which `due` were due.
    pub(super) fn swept(&mut self, rows: u64, due: u64, times: Times<'_, A>) {
        if due.saturating_sub(FEW / 2) * WORTH_FINDING > rows {
            self.wasted = 0;
            return;
        }
        self.wasted += rows;
        let all: usize = times.tables().map(|(entities, _)| entities.len()).sum();
        if self.wasted >= SWEEPS_OF_A_REBUILD * all as u64 {
            self.rebuild(times);
        }
    }

    /// Notes all times anew.
    pub(super) fn rebuild(&mut self, times: Times<'_, A>) {
        self.hints.rebuild(|note| {
            for (entities, times) in times.tables() {
                entities.iter().zip(times).for_each(|(entity, due)| note(entity.index_u32(), due.time()));
            }
        });
        (self.holds, self.wasted) = (true, 0);
    }

    /// The earliest time of all rows.
    pub(super) fn first(&mut self, times: Times<'_, A>) -> u64 {
        if !self.holds {
            self.rebuild(times);
        }
        let entities = times.world.entities();
        self.hints.first(|index| times.of_entity(resolve(entities, index)).map_or(NEVER, |due| due.time()))
    }
}

/// Storage and row of an entity that is due and that `rows` have. Otherwise the time to note for
/// it: that of a row that is not due yet, or that this query does not visit (it is disabled, or of
/// others); none if there is no such row.
#[inline]
fn look<A: Send + Sync + 'static>(
    entity: Entity,
    now: u64,
    rows: Rows<'_, '_>,
    times: Times<'_, A>,
) -> Result<u64, u64> {
    let due = times.of_entity(entity).ok_or(NEVER)?;
    let place = rows.find(entity).ok().filter(|_| due.is_due(now));
    place.map(|(storage, row)| (storage.index() as u64) << 32 | u64::from(row)).ok_or(due.time())
}

/// The entity that has an index now.
#[inline]
fn resolve(entities: &Entities, index: u32) -> Entity {
    // The largest `u32` is no index, and no row was ever noted there.
    EntityIndex::from_raw_u32(index).map_or(Entity::PLACEHOLDER, |index| entities.resolve_from_index(index))
}
