//! How an agenda finds the rows that are due, and when it has all looked at instead.

use bevy_ecs::entity::{Entities, Entity, EntityIndex};

use super::{hints::NEVER, store::Store, times::Times};
use crate::{
    placement::Storage,
    sweep::{Missing, Rows},
};

/// Where more than one row in this many is due, a sweep that looks at all takes less than finding
/// them: some 40 ns for a row that is found against half a nanosecond for one that is looked at,
/// which several workers do at a time.
const WORTH_A_SWEEP: u64 = 64;

/// Rows that are found before that is asked: fewer take no time either way.
const FEW: u64 = 64;

/// Where fewer than one row in this many is due, sweeps are given up again, after
/// [`SWEEPS_OF_A_REBUILD`].
const WORTH_FINDING: u64 = 128;

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
        let entities = rows.world.entities();
        hints.take(now, |index| {
            let entity = resolve(entities, index);
            // A row that is no more, or that this query does not visit: disabled, or of others.
            let Some(due) = times.of_entity(entity) else { return Some(NEVER) };
            if !due.is_due(now) {
                return Some(due.time());
            }
            match rows.find(entity) {
                Ok((storage, row)) => found.push((storage.index() as u64) << 32 | u64::from(row)),
                Err(Missing::Unmatched) => return Some(due.time()),
                Err(Missing::Despawned) => return Some(NEVER),
            }
            (found.len() <= most).then_some(NEVER)
        })
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

/// The entity that has an index now.
#[inline]
fn resolve(entities: &Entities, index: u32) -> Entity {
    // The largest `u32` is no index, and no row was ever noted there.
    EntityIndex::from_raw_u32(index).map_or(Entity::PLACEHOLDER, |index| entities.resolve_from_index(index))
}
