//! Parallel calls that visit due rows only.

use std::{fmt, panic::Location};

use bevy_ecs::{
    change_detection::Mut,
    prelude::Commands,
    query::{IterQueryData, QueryFilter},
};
use bevy_utils::prelude::ShortName;
use crossbeam_utils::CachePadded;
use log::warn;

use super::{
    agenda::Agenda,
    component::Due,
    store::Store,
    times::Times,
    visit::{DueSweep, Visits},
};
use crate::{
    query::{AffineCommands, AffineParIter, BlockLength, reduce_blocks},
    sweep::{Plan, Rows, Scratch, SiteRef, Sweep},
};

impl<'w, 's, D: IterQueryData, F: QueryFilter> AffineParIter<'w, 's, D, F> {
    /// Visits only the rows that are due at `now`: whose [`Due<A>`](crate::Due) holds a time that
    /// is `now` or before. Rows without a `Due<A>` are never due.
    ///
    /// Which rows those are is settled when the verb that follows is called: each is visited once,
    /// in lock step by the worker that owns it, and messages and commands come in the order of rows
    /// whatever the mode and the number of workers. The visit says when the row is due next; a time
    /// that is not after `now` means the next call.
    ///
    /// A row that does not match the query (it is disabled, or lacks a component), or that a filter
    /// on rows rejects, stays due, and is visited by the first call that it does match.
    /// [`Changed`](bevy_ecs::prelude::Changed) of the components tells what visits wrote, as in any
    /// sweep.
    ///
    /// Where few rows are due only these are looked at. Where many are, all are, as in a sweep with
    /// a condition; which it is to be is found out, and cannot be told from the results.
    ///
    /// # Panics
    /// The verbs panic with the payload of the first closure that panicked. A row whose visit
    /// panicked, and rows that were not visited because of that, stay due.
    ///
    /// Also if the agenda is of another world than the query.
    ///
    /// ```
    /// use bevy::prelude::*;
    /// use bevy_affinity::prelude::*;
    ///
    /// #[derive(Component)]
    /// struct Oven { loaves: u32 }
    /// #[derive(Resource, Default)]
    /// struct Minute(u64);
    ///
    /// fn bake(mut ovens: AffineQuery<&mut Oven>, mut agenda: Agenda, now: Res<Minute>) {
    ///     ovens.par_iter_mut().due(&mut agenda, now.0).for_each(|mut oven| {
    ///         oven.loaves += 20;
    ///         Some(now.0 + 45)
    ///     });
    /// }
    /// # let mut app = App::new();
    /// # app.add_plugins(AffinityParallelPlugin).init_resource::<Minute>().add_systems(Update, bake.affine());
    /// # let oven = app.world_mut().spawn((Oven { loaves: 0 }, Due::<()>::at(0))).id();
    /// # (0..3).for_each(|_| app.update());
    /// # assert_eq!(app.world().get::<Oven>(oven).unwrap().loaves, 20);
    /// ```
    #[track_caller]
    pub fn due<'a, A: Send + Sync + 'static>(
        self,
        agenda: &'a mut Agenda<'_, A>,
        now: u64,
    ) -> DueParIter<'a, 'w, 's, D, F, A> {
        assert!(
            agenda.times.world.id() == self.sweep.rows.world.id(),
            "due: the agenda is of another world than the query"
        );
        DueParIter {
            sweep: self.sweep,
            all: self.site,
            // Few rows cost more each than all do: two places, of each of which is known what its
            // rows cost.
            few: self.site.due_rows(Location::caller()),
            times: agenda.times,
            store: Mut::into_inner(agenda.store.reborrow()),
            // Rows that are never due are not due at the end of time.
            now: now.min(u64::MAX - 1),
        }
    }
}

/// The due rows of an [`AffineQuery`](crate::AffineQuery): see [`AffineParIter::due`].
///
/// ```
/// use bevy::prelude::*;
/// use bevy_affinity::prelude::*;
///
/// #[derive(Component)]
/// struct Candle { height: u64 }
/// #[derive(Resource, Default)]
/// struct Minute(u64);
///
/// fn burn(mut candles: AffineQuery<&mut Candle>, mut agenda: Agenda, now: Res<Minute>) {
///     candles.par_iter_mut().due(&mut agenda, now.0).for_each(|mut candle| {
///         candle.height -= 1;
///         (candle.height > 0).then_some(now.0 + 10)
///     });
/// }
/// # App::new().add_plugins(AffinityParallelPlugin).init_resource::<Minute>().add_systems(Update, burn.affine()).update();
/// ```
#[must_use = "a parallel iterator does nothing until one of its methods is called"]
pub struct DueParIter<'a, 'w, 's, D: IterQueryData, F: QueryFilter, A: Send + Sync + 'static> {
    pub(super) sweep: Sweep<'w, 's, D, F>,
    all: SiteRef<'s>,
    few: SiteRef<'s>,
    times: Times<'a, A>,
    store: &'a mut Store<A>,
    now: u64,
}

impl<D, F, A> fmt::Debug for DueParIter<'_, '_, '_, D, F, A>
where
    D: IterQueryData,
    F: QueryFilter,
    A: Send + Sync + 'static,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DueParIter").field("place", &self.few).field("now", &self.now).finish_non_exhaustive()
    }
}

impl<'w, 's, D, F, A> DueParIter<'_, 'w, 's, D, F, A>
where
    D: IterQueryData,
    F: QueryFilter,
    A: Send + Sync + 'static,
{
    /// Calls `visit` with the item of each due row, on as many workers as pay. It returns when the
    /// row is due next; `None`, as [`Due::NEVER`](crate::Due::NEVER), if it is to sleep until it is
    /// woken.
    ///
    /// It is not told when the row was due: a period that is not to drift where calls come late
    /// needs that time in a component of yours. What is to be collected or written to a
    /// `MessageWriter` goes into a `Vec` by [`fold_reduce`](Self::fold_reduce), and from there
    /// after the call.
    ///
    /// ```
    /// # use bevy::prelude::*;
    /// # use bevy_affinity::prelude::*;
    /// # #[derive(Component)] struct Oven { loaves: u32 }
    /// fn bake(mut ovens: AffineQuery<&mut Oven>, mut agenda: Agenda, mut minute: Local<u64>) {
    ///     *minute += 1;
    ///     let next = *minute + 45;
    ///     ovens.par_iter_mut().due(&mut agenda, *minute).for_each(|mut oven| {
    ///         oven.loaves += 20;
    ///         (oven.loaves < 100).then_some(next)
    ///     });
    /// }
    /// # App::new().add_plugins(AffinityParallelPlugin).add_systems(Update, bake.affine()).update();
    /// ```
    pub fn for_each(self, visit: impl Fn(D::Item<'w, 's>) -> Option<u64> + Send + Sync) {
        self.call(|plan, due| {
            plan.run(|part| {
                let mut visits = due.visits();
                part.for_each_range(|_, storage, rows| {
                    // SAFETY: 'access' on `Sweep`; 'parts' on `Part`; and this call consumes the
                    // iterator, so each row is visited once while its items can live.
                    unsafe { visits.visit(storage, rows, &visit) };
                });
            });
        });
    }

    /// As [`for_each`](Self::for_each), with a value that `init` makes: room for scratch memory, as
    /// in [`AffineParIter::for_each_init`](crate::AffineParIter::for_each_init).
    ///
    /// ```
    /// # use bevy::prelude::*;
    /// # use bevy_affinity::prelude::*;
    /// # #[derive(Component)] struct Route(Vec<u32>);
    /// # #[derive(Resource, Default)] struct Minute(u64);
    /// fn reroute(mut routes: AffineQuery<&mut Route>, mut agenda: Agenda, minute: Res<Minute>) {
    ///     let next = minute.0 + 5;
    ///     let due = routes.par_iter_mut().due(&mut agenda, minute.0);
    ///     due.for_each_init(Vec::new, |scratch, mut route| {
    ///         scratch.clone_from(&route.0);
    ///         scratch.reverse();
    ///         std::mem::swap(scratch, &mut route.0);
    ///         Some(next)
    ///     });
    /// }
    /// # let mut app = App::new();
    /// # app.add_plugins(AffinityParallelPlugin).init_resource::<Minute>();
    /// # app.add_systems(Update, reroute.affine());
    /// # let route = app.world_mut().spawn((Route(vec![1, 2]), Due::<()>::at(0))).id();
    /// # app.update();
    /// # assert_eq!(app.world().get::<Route>(route).unwrap().0, [2, 1]);
    /// ```
    pub fn for_each_init<T>(
        self,
        init: impl Fn() -> T + Send + Sync,
        visit: impl Fn(&mut T, D::Item<'w, 's>) -> Option<u64> + Send + Sync,
    ) {
        self.call(|plan, due| {
            plan.run(|part| {
                let (mut visits, mut local) = (due.visits(), init());
                part.for_each_range(|_, storage, rows| {
                    // SAFETY: 'access' on `Sweep`; 'parts' on `Part`; and this call consumes the
                    // iterator, so each row is visited once while its items can live.
                    unsafe { visits.visit(storage, rows, |item| visit(&mut local, item)) };
                });
            });
        });
    }

    /// Visits the due rows, folds them into a value for each block of rows, and combines the
    /// values: what is found is collected in the order of rows, and sums come out the same, to the
    /// bit, in every mode and with every number of workers.
    ///
    /// `fold` returns when its row is due next, as the closure of [`for_each`](Self::for_each). A
    /// block is 64 rows of a table, due or not, and one thread visits it. `identity` starts each
    /// block in which a row is visited, and is the result if none is.
    ///
    /// ```
    /// use bevy::prelude::*;
    /// use bevy_affinity::prelude::*;
    ///
    /// #[derive(Component)]
    /// struct Mine { yields: u32 }
    /// #[derive(Resource, Default)]
    /// struct Store { minute: u64, ore: u32 }
    ///
    /// fn dig(mines: AffineQuery<&Mine>, mut agenda: Agenda, mut store: ResMut<Store>) {
    ///     store.minute += 1;
    ///     let next = store.minute + 10;
    ///     store.ore += mines.par_iter().due(&mut agenda, store.minute).fold_reduce(
    ///         || 0,
    ///         |sum, mine| {
    ///             *sum += mine.yields;
    ///             Some(next)
    ///         },
    ///         |one, other| one + other,
    ///     );
    /// }
    ///
    /// let mut app = App::new();
    /// app.add_plugins(AffinityParallelPlugin).init_resource::<Store>();
    /// app.add_systems(Update, dig.affine());
    /// for minute in [1, 2, 12] {
    ///     app.world_mut().spawn((Mine { yields: 30 }, Due::<()>::at(minute)));
    /// }
    /// (0..11).for_each(|_| app.update());
    /// assert_eq!(app.world().resource::<Store>().ore, 30 + 30 + 30);
    /// ```
    pub fn fold_reduce<T: Send>(
        self,
        identity: impl Fn() -> T + Send + Sync,
        fold: impl Fn(&mut T, D::Item<'w, 's>) -> Option<u64> + Send + Sync,
        combine: impl Fn(T, T) -> T + Send + Sync,
    ) -> T {
        let reduced = self.call(|plan, due| {
            let block = |visits: &mut Visits<'_, 'w, 's, D, F, A>, storage, ranges: &mut dyn Iterator<Item = _>| {
                let mut value = None;
                for rows in ranges {
                    // SAFETY: 'access' on `Sweep`; 'once' on `reduce_blocks`, and this call
                    // consumes the iterator.
                    unsafe {
                        visits.visit(storage, rows, |item| fold(value.get_or_insert_with(&identity), item));
                    }
                }
                value
            };
            reduce_blocks((plan, BlockLength::Shortest), || due.visits(), block, &combine)
        });
        reduced.unwrap_or_else(identity)
    }

    /// As [`for_each`](Self::for_each), with [`Commands`] that are applied after the system, in the
    /// order of rows: see
    /// [`AffineParIter::for_each_with_commands`](crate::AffineParIter::for_each_with_commands).
    ///
    /// If a closure panics, none of this call's commands is applied; rows that were visited before
    /// have their new times all the same.
    ///
    /// ```
    /// use bevy::prelude::*;
    /// use bevy_affinity::prelude::*;
    ///
    /// #[derive(Component)]
    /// struct Mayfly;
    /// #[derive(Resource, Default)]
    /// struct Day(u64);
    ///
    /// type Flies<'w, 's> = AffineQuery<'w, 's, (Entity, &'static Mayfly)>;
    ///
    /// fn die(mut flies: Flies, mut agenda: Agenda, mut commands: AffineCommands, day: Res<Day>) {
    ///     let due = flies.par_iter_mut().due(&mut agenda, day.0);
    ///     due.for_each_with_commands(&mut commands, |commands, (fly, _)| {
    ///         commands.entity(fly).despawn();
    ///         None
    ///     });
    /// }
    ///
    /// let mut app = App::new();
    /// app.add_plugins(AffinityParallelPlugin).insert_resource(Day(1));
    /// app.add_systems(Update, die.affine());
    /// let flies = [0, 1, 2].map(|day| app.world_mut().spawn((Mayfly, Due::<()>::at(day))).id());
    /// app.update();
    /// assert_eq!(flies.map(|fly| app.world().get_entity(fly).is_ok()), [false, false, true]);
    /// ```
    pub fn for_each_with_commands(
        self,
        commands: &mut AffineCommands,
        visit: impl Fn(&mut Commands, D::Item<'w, 's>) -> Option<u64> + Send + Sync,
    ) {
        self.call(|plan, due| {
            commands.record(plan, || {
                let (mut visits, visit) = (due.visits(), &visit);
                move |commands, storage, rows| {
                    // SAFETY: 'access' on `Sweep`; 'parts' on `Part`; and this call consumes the
                    // iterator, so each row is visited once while its items can live.
                    unsafe { visits.visit(storage, rows, |item| visit(commands, item)) };
                }
            });
        });
    }

    /// Where this query's calls keep memory.
    pub(super) fn scratch(&self) -> &'s Scratch {
        &self.few.kept.scratch
    }

    /// Finds the due rows, has `call` visit them by the plan that suits, and learns how many there
    /// were.
    pub(super) fn call<R>(self, call: impl FnOnce(&Plan<'_>, &DueSweep<'_, 'w, 's, D, F, A>) -> R) -> R {
        let Self { sweep, all, few, times, store, now } = self;
        warn_without_rows(store, sweep.rows, times, few);
        let found = store.select(now, sweep.rows, times);
        let mut due = DueSweep { sweep, times, hints: None, now, visited: CachePadded::default() };
        if !found {
            let result = call(&Plan::new(sweep.rows, all), &due);
            store.swept(sweep.rows, due.visited.into_inner().into_inner(), times);
            return result;
        }
        // Until all are visited the hints of those that are not are missing.
        store.holds = false;
        let rows = Rows { selection: Some(&store.selection), ..sweep.rows };
        due.hints = Some(&store.hints);
        let result = call(&Plan::new(rows, few), &due);
        store.holds = true;
        result
    }
}

/// Calls over rows none of which has a time before that is said: a second, in a game.
const CALLS_WITHOUT: u32 = 64;

/// Says once of an agenda if no entity has a time although the query has `rows`: theirs may be of
/// another agenda, or forgotten.
fn warn_without_rows<A: Send + Sync + 'static>(
    store: &mut Store<A>,
    rows: Rows<'_, '_>,
    times: Times<'_, A>,
    place: SiteRef<'_>,
) {
    // Of a query without rows it need not be said, and to look for times takes as long as there
    // are tables.
    if store.calls_without == CALLS_WITHOUT || rows.total() == 0 {
        return;
    }
    if times.count() > 0 {
        store.calls_without = CALLS_WITHOUT;
        return;
    }
    store.calls_without += 1;
    if store.calls_without == CALLS_WITHOUT {
        let due = ShortName::of::<Due<A>>();
        warn!(
            "bevy_affinity: {place:?}{}: no entity has a `{due}`, so none of the {} rows of this query was due, nor any in \
             the first {CALLS_WITHOUT} calls with its agenda: spawn those that are to be visited with one (all is well \
             if they get it later)",
            place.in_system(),
            rows.total()
        );
    }
}
