//! How an agenda finds the rows that are due, and when it has all looked at instead.

use std::hint::black_box;

use bevy_ecs::entity::{Entities, Entity, EntityIndex};

use super::{component::Due, hints::NEVER, store::Store, times::Times};
use crate::{placement::Storage, sweep::Rows};

/// Where more than one row in this many is due, a sweep that looks at all takes less than finding
/// them: a row that is found is some cache misses (100 to 400 ns where due rows are anywhere), one
/// that is looked at 0.2 ns, by several workers at a time. One worker takes as long for either at
/// one row in 1,100, two at one in 3,500.
const WORTH_A_SWEEP: u64 = 2_048;

/// Rows that are found before that is asked: fewer take no time either way.
const FEW: u64 = 64;

/// Where fewer than one row in this many is due, sweeps are given up again, after
/// [`SWEEPS_OF_A_REBUILD`].
const WORTH_FINDING: u64 = 4_096;

/// What it takes to note all times anew, in sweeps that look at all rows. Sweeps are given up when
/// they have taken as long: so a change of mind never costs more than twice the best choice.
const SWEEPS_OF_A_REBUILD: u64 = 4;

/// After each rebuild of no use, since too many rows of other queries are due all the time, the
/// next one waits for twice as many sweeps, this many times: then it is 3% of them.
const MOST_USELESS: u32 = 5;

impl<A: Send + Sync + 'static> Store<A> {
    /// Selects those of `rows` that are due, and takes their hints away: who visits them notes new
    /// ones. False where all have to be looked at.
    pub(super) fn select(&mut self, now: u64, rows: Rows<'_, '_>, times: Times<'_, A>) -> bool {
        self.holds = self.holds && self.find(now, rows, times).is_some();
        if self.holds {
            self.useless = 0;
            self.put_in_order(rows);
        }
        self.holds
    }

    /// `None` where that would be too many: those of this query, and those of others, which are
    /// looked at in every call. Rows that turn out not to be due, since they are gone or were given
    /// a later time, do not count: each is looked at once.
    fn find(&mut self, now: u64, rows: Rows<'_, '_>, times: Times<'_, A>) -> Option<()> {
        let Self { hints, candidates, found, of_others, .. } = self;
        found.clear();
        of_others.clear();
        let most = FEW as usize + hints.room() / WORTH_A_SWEEP as usize;
        let mut is_all = false;
        while !is_all {
            candidates.clear();
            is_all = hints.take(now, |index| {
                let is_room = candidates.len() <= most;
                is_room.then(|| candidates.push(index)).map(|()| NEVER)
            });
            ask_for(candidates, rows.world.entities());
            for &index in candidates.iter() {
                match look(resolve(rows.world.entities(), index), now, rows, times) {
                    Ok(place) => found.push(place),
                    // Noted again at once it would be taken again.
                    Err(time) if time <= now => of_others.push((index, time)),
                    Err(time) => hints.lower(index, time),
                }
            }
            if found.len() + of_others.len() > most {
                return None;
            }
        }
        of_others.iter().for_each(|&(index, time)| hints.lower(index, time));
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

    /// Learns that a sweep looked at all of `rows` that have times, of which `due` were due. What
    /// is due in the sweep of one query does not speak for that of another: it makes up for as many
    /// rows as it would take as long to find.
    pub(super) fn swept(&mut self, rows: Rows<'_, '_>, due: u64, times: Times<'_, A>) {
        let worth = due.saturating_sub(FEW / 2).saturating_mul(WORTH_FINDING);
        let looked_at = rows.storages().filter(|&storage| times.of_storage(rows, storage).is_some());
        let looked_at = looked_at.map(|storage| u64::from(rows.count(storage))).sum();
        self.looked_at(looked_at, worth, times);
    }

    /// Learns that `rows` were looked at, of which `worth` would have been worth it. After some
    /// waste all times are noted anew.
    fn looked_at(&mut self, rows: u64, worth: u64, times: Times<'_, A>) {
        self.wasted = (self.wasted + rows).saturating_sub(worth);
        let sweeps = SWEEPS_OF_A_REBUILD << self.useless;
        // To count the times is to walk all tables.
        if self.wasted > 0 && self.wasted >= sweeps * times.count() {
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
        // Until rows have been found by it.
        self.useless = MOST_USELESS.min(self.useless + 1);
    }

    /// The earliest time of all rows.
    pub(super) fn first(&mut self, times: Times<'_, A>) -> u64 {
        if !self.holds {
            // As a sweep that finds nothing due.
            self.looked_at(times.count(), 0, times);
        }
        if !self.holds {
            let all = times.tables().flat_map(|(_, times)| times);
            return all.map(Due::time).min().unwrap_or(NEVER);
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

/// Each row found is a handful of cache misses. In a loop that does nothing else a processor waits
/// for many of them at a time.
fn ask_for(candidates: &[u32], entities: &Entities) {
    let places = candidates.iter().map(|&index| resolve(entities, index).to_bits());
    black_box(places.fold(0, |all, place| all ^ place));
}

/// The entity that has an index now.
#[inline]
fn resolve(entities: &Entities, index: u32) -> Entity {
    // The largest `u32` is no index, and no row was ever noted there.
    EntityIndex::from_raw_u32(index).map_or(Entity::PLACEHOLDER, |index| entities.resolve_from_index(index))
}

#[cfg(test)]
mod tests {
    use bevy_app::prelude::*;
    use bevy_ecs::prelude::*;

    use crate::{due::store::Store, prelude::*};

    #[derive(Component, Clone)]
    struct Sleeps;
    #[derive(Component, Clone)]
    struct Wakes;
    #[derive(Component, Clone)]
    struct Position;
    #[derive(Resource, Default)]
    struct Minute(u64);

    fn visit<D: Component>(mut rows: AffineQuery<&D>, mut agenda: Agenda, minute: Res<Minute>) {
        rows.par_iter_mut().due(&mut agenda, minute.0).for_each(|_| Some(minute.0 + 1));
    }

    fn app() -> App {
        let mut app = App::new();
        app.insert_resource(AffinitySettings { workers: WorkerCount::Exactly(1), ..Default::default() });
        app.add_plugins(AffinityParallelPlugin).init_resource::<Minute>();
        app.add_systems(First, |mut minute: ResMut<Minute>| minute.0 += 1);
        app
    }

    /// Whether rows are found by their hints after some frames.
    fn finds(app: &mut App) -> bool {
        (0..40).for_each(|_| app.update());
        app.world().resource::<Store<()>>().holds
    }

    #[test]
    fn a_query_whose_rows_are_due_keeps_no_other_one_sweeping_rows_that_sleep() {
        let mut app = app();
        app.add_systems(Update, (visit::<Sleeps>, visit::<Wakes>).affine().chain());
        app.world_mut().spawn_batch(vec![(Sleeps, Due::<()>::never()); 400_000]);
        app.world_mut().spawn_batch(vec![(Wakes, Due::<()>::at(0)); 100]);
        assert!(finds(&mut app));
    }

    #[test]
    fn rows_that_go_or_sleep_longer_make_no_sweeps() {
        let mut app = app();
        app.add_systems(Update, visit::<Sleeps>.affine());
        let rows: Vec<_> = app.world_mut().spawn_batch(vec![(Sleeps, Due::<()>::never()); 20_000]).collect();
        assert!(finds(&mut app));
        for some in rows.chunks(2_000) {
            some.iter().for_each(|&row| _ = app.world_mut().entity_mut(row).insert(Due::<()>::at(1_000_000)));
            app.update();
            assert!(app.world().resource::<Store<()>>().holds);
        }
        for some in rows.chunks(2_000) {
            some.iter().for_each(|&row| _ = app.world_mut().despawn(row));
            app.update();
            assert!(app.world().resource::<Store<()>>().holds);
        }
    }

    #[test]
    fn times_are_seldom_noted_anew_for_rows_that_are_always_due_to_others() {
        let mut app = app();
        app.add_systems(Update, visit::<Sleeps>.affine());
        app.world_mut().spawn_batch(vec![(Sleeps, Due::<()>::never()); 10_000]);
        app.world_mut().spawn_batch(vec![(Wakes, Due::<()>::at(0)); 1_000]);
        let mut rebuilt = 0;
        for _ in 0..300 {
            app.update();
            rebuilt += u32::from(app.world().resource::<Store<()>>().holds);
        }
        assert!((1..10).contains(&rebuilt), "{rebuilt} times");
    }

    /// A game that is asked in each frame of a busy phase when something is due next.
    #[test]
    fn who_asks_for_the_next_time_changes_nothing() {
        let mut app = app();
        app.add_systems(Update, visit::<Sleeps>.affine());
        app.add_systems(Last, |mut agenda: Agenda, minute: Res<Minute>| {
            assert_eq!(agenda.next_time(), Some(minute.0 + 1));
        });
        app.world_mut().spawn_batch(vec![(Sleeps, Due::<()>::never()); 5_000]);
        app.world_mut().spawn_batch(vec![(Sleeps, Due::<()>::at(0)); 5_000]);
        assert!(!finds(&mut app), "half of the rows are due");
        let store = app.world().resource::<Store<()>>();
        assert_eq!(store.useless, 0, "no times were noted anew");
    }

    /// One in which nothing is due for long.
    #[test]
    fn the_next_time_is_found_where_no_row_is_visited() {
        let mut app = app();
        app.add_systems(Update, |mut agenda: Agenda| assert_eq!(agenda.next_time(), Some(7)));
        app.world_mut().spawn_batch(vec![(Sleeps, Due::<()>::at(7)); 100]);
        assert!(finds(&mut app));
    }

    #[test]
    fn rows_without_times_are_not_looked_at() {
        let mut app = app();
        app.add_systems(Update, visit::<Position>.affine());
        app.world_mut().spawn_batch(vec![Position; 100_000]);
        app.world_mut().spawn_batch(vec![(Position, Due::<()>::at(0)); 200]);
        app.world_mut().spawn_batch(vec![(Position, Due::<()>::never()); 800]);
        // 200 of a thousand are due: a sweep takes less.
        assert!(!finds(&mut app));
    }
}
