//! Parallel iteration over an [`AffineQuery`].

use std::{
    fmt,
    iter::{Empty, empty},
};

use bevy_ecs::{
    batching::BatchingStrategy,
    prelude::Query,
    query::{IterQueryData, QueryData, QueryFilter},
};

use super::AffineQuery;
use crate::{
    auto::Strategy,
    context::in_bevys_batches,
    sweep::{Plan, QueryCalls, Rows, SiteRef, Sweep, SweepSpan},
};

impl<'w, 's, D: QueryData, F: QueryFilter> AffineQuery<'w, 's, D, F> {
    /// Parallel iteration over read-only items.
    ///
    /// ```
    /// # use bevy::prelude::*;
    /// # use bevy_affinity::prelude::*;
    /// # #[derive(Component)] struct Age(u32);
    /// fn crown(ages: AffineQuery<&Age>) {
    ///     let eldest = ages.par_iter().map_reduce(|| 0, |age| age.0, u32::max);
    ///     assert_eq!(eldest, 70);
    /// }
    /// # let mut app = App::new();
    /// # app.add_plugins(AffinityParallelPlugin).add_systems(Update, crown.affine());
    /// # app.world_mut().spawn_batch([Age(5), Age(70), Age(30)]);
    /// # app.update();
    /// ```
    #[inline]
    #[track_caller]
    pub fn par_iter(&self) -> AffineParIter<'_, 's, D::ReadOnly, F> {
        self.as_readonly().par_iter_inner()
    }

    /// Parallel iteration over items that can be written.
    ///
    /// ```
    /// # use bevy::prelude::*;
    /// # use bevy_affinity::prelude::*;
    /// # #[derive(Component)] struct Speed(f32);
    /// fn brake(mut cars: AffineQuery<&mut Speed>) {
    ///     cars.par_iter_mut().for_each(|mut speed| speed.0 = f32::max(speed.0 - 0.5, 0.0));
    /// }
    /// # let mut app = App::new();
    /// # app.add_plugins(AffinityParallelPlugin).add_systems(Update, brake.affine());
    /// # let cars = [2.0, 0.25].map(|speed| app.world_mut().spawn(Speed(speed)).id());
    /// # app.update();
    /// # assert_eq!(cars.map(|car| app.world().get::<Speed>(car).unwrap().0), [1.5, 0.0]);
    /// ```
    #[inline]
    #[track_caller]
    pub fn par_iter_mut(&mut self) -> AffineParIter<'_, 's, D, F>
    where
        D: IterQueryData,
    {
        self.reborrow_affine().par_iter_inner()
    }

    /// As [`par_iter_mut`](Self::par_iter_mut), of a query that is used up.
    #[inline]
    #[track_caller]
    pub fn par_iter_inner(self) -> AffineParIter<'w, 's, D, F>
    where
        D: IterQueryData,
    {
        let (site, sweep) = (self.call_site(), self.sweep());
        AffineParIter::new(self.query, sweep, site, self.longest_chunk)
    }

    /// What is known of calls that are started where this is called from.
    #[inline]
    #[track_caller]
    pub(crate) fn call_site(&self) -> SiteRef<'s> {
        SiteRef::caller(&self.state.calls)
    }

    /// Says once for each place that calls this that its system is not tagged, and `what` happens.
    #[cold]
    #[track_caller]
    pub(crate) fn warn_untagged(&self, what: &str) {
        self.call_site().warn_untagged(what, self.rows());
    }

    /// What is kept of the query's parallel calls.
    pub(crate) fn calls(&self) -> &'s QueryCalls {
        &self.state.calls
    }

    /// Where all rows are.
    #[inline]
    pub(crate) fn rows(&self) -> Rows<'w, 's> {
        Rows::new(self.world, &self.state.matched)
    }

    /// All rows, of a query that is used up.
    #[inline]
    pub(crate) fn into_sweep(self) -> Sweep<'w, 's, D, F>
    where
        D: IterQueryData,
    {
        self.sweep()
    }

    /// All rows. The caller uses up the query: 'access' on [`Sweep`].
    #[inline]
    fn sweep(&self) -> Sweep<'w, 's, D, F>
    where
        D: IterQueryData,
    {
        Sweep {
            rows: self.rows(),
            data: &self.state.data,
            filter: &self.state.filter,
            last_run: self.last_run,
            this_run: self.this_run,
        }
    }
}

/// A parallel iterator over the rows of an [`AffineQuery`].
///
/// In [`Auto`](crate::SchedulerMode::Auto) mode, the default, each call runs in whichever of three
/// ways was measured to take least: on the leader alone, or in one of the two ways of the gang. In
/// [`LockStep`](crate::SchedulerMode::LockStep) mode each worker sweeps its own rows, the same
/// ones every time, in order; one that is done helps another that is late. In
/// [`Heartbeat`](crate::SchedulerMode::Heartbeat) mode the leader begins with all rows, and workers
/// that have nothing to do take the far half of what another has left. In both a sweep stays on
/// the leader if it was measured to take less than a round pays for, or was never measured and has
/// fewer than 4,096 rows.
///
/// # Panics
/// Each method panics with the payload of the first closure that panicked, after all other workers
/// have finished. Where Bevy's threads sweep (in mode [`Bevy`](crate::SchedulerMode::Bevy), and in
/// systems that are not tagged) it is as with Bevy's scopes: of several payloads that of the first
/// task, and tasks that have not begun are cancelled.
///
/// ```
/// use bevy::prelude::*;
/// use bevy_affinity::prelude::*;
///
/// #[derive(Component)]
/// struct Health(u32);
///
/// fn look_after(mut healths: AffineQuery<&mut Health>) {
///     healths.par_iter_mut().for_each(|mut health| health.0 += 1);
///     let weakest = healths.par_iter().map_reduce(|| u32::MAX, |health| health.0, u32::min);
///     assert!(weakest > 0);
/// }
/// # App::new().add_plugins(AffinityParallelPlugin).add_systems(Update, look_after.affine()).update();
/// ```
#[must_use = "a parallel iterator does nothing until one of its methods is called"]
pub struct AffineParIter<'w, 's, D: IterQueryData, F: QueryFilter> {
    pub(super) query: Query<'w, 's, D, F>,
    pub(crate) sweep: Sweep<'w, 's, D, F>,
    pub(crate) site: SiteRef<'s>,
    /// The most rows in a slice.
    pub(super) longest_chunk: usize,
    pub(super) batching: BatchingStrategy,
}

impl<D: IterQueryData, F: QueryFilter> fmt::Debug for AffineParIter<'_, '_, D, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AffineParIter").field("place", &self.site).finish_non_exhaustive()
    }
}

impl<'w, 's, D: IterQueryData, F: QueryFilter> AffineParIter<'w, 's, D, F> {
    pub(super) fn new(
        query: Query<'w, 's, D, F>,
        sweep: Sweep<'w, 's, D, F>,
        site: SiteRef<'s>,
        longest_chunk: usize,
    ) -> Self {
        Self { query, sweep, site, longest_chunk, batching: BatchingStrategy::new() }
    }

    /// How Bevy cuts rows into batches, in mode [`Bevy`](crate::SchedulerMode::Bevy) and in systems
    /// that are not tagged. No effect in other modes: there the measured cost of rows decides.
    ///
    /// For [`for_each`](Self::for_each), [`for_each_init`](Self::for_each_init) and contiguous
    /// runs. [`due`](Self::due) and the other verbs are none of Bevy's: on its threads they run one
    /// even part a thread.
    ///
    /// ```
    /// # use bevy::{ecs::batching::BatchingStrategy, prelude::*};
    /// # use bevy_affinity::prelude::*;
    /// # #[derive(Component)] struct Age(u32);
    /// fn grow_older(mut ages: AffineQuery<&mut Age>) {
    ///     ages.par_iter_mut().batching_strategy(BatchingStrategy::fixed(32)).for_each(|mut age| age.0 += 1);
    /// }
    /// # App::new().add_plugins(AffinityParallelPlugin).add_systems(Update, grow_older.affine()).update();
    /// ```
    pub fn batching_strategy(mut self, strategy: BatchingStrategy) -> Self {
        self.batching = strategy;
        self
    }

    /// Calls `f` with each item, on as many workers as pay.
    ///
    /// `f` is called on several threads at a time, so it cannot write to variables of the system
    /// ("captured variable in a `Fn` closure"). A sum or a count is
    /// [`map_reduce`](Self::map_reduce), a list or messages are [`fold_reduce`](Self::fold_reduce),
    /// commands [`for_each_with_commands`](Self::for_each_with_commands), writes to other rows
    /// [`scatter`](Self::scatter).
    ///
    /// Take what `f` needs out of resources before (`let dt = time.delta_secs();`): of a variable
    /// of the system's the compiler knows that writing rows does not change it, so that short loops
    /// vectorise.
    ///
    /// ```
    /// # use bevy::prelude::*;
    /// # use bevy_affinity::prelude::*;
    /// # #[derive(Component)] struct Age(u32);
    /// fn grow_older(mut ages: AffineQuery<&mut Age>) {
    ///     ages.par_iter_mut().for_each(|mut age| age.0 += 1);
    /// }
    /// # App::new().add_plugins(AffinityParallelPlugin).add_systems(Update, grow_older.affine()).update();
    /// ```
    #[inline]
    pub fn for_each(self, f: impl Fn(D::Item<'w, 's>) + Send + Sync) {
        let plan = Plan::new(self.sweep.rows, self.site);
        self.sweep_by(&plan, || (), move |(), item| f(item));
    }

    /// Calls `f` with each item and a value that `init` makes: room for scratch memory. It does so
    /// once for each worker and for each chunk that one took from another (by fork/join: for each
    /// range); in mode `Bevy` as often as Bevy's `par_iter`. A thread never needs two values at a
    /// time, so it may lend its own
    /// ([`Parallel::borrow_local_mut`](bevy_utils::Parallel::borrow_local_mut)).
    ///
    /// What the value carries from row to row depends on who visits which rows, and so on the mode,
    /// the machine and the moment: a generator of random numbers gives others in each run. Make one
    /// for each row, from its entity and the time.
    ///
    /// ```
    /// # use bevy::prelude::*;
    /// # use bevy_affinity::prelude::*;
    /// # #[derive(Component)] struct Signal(Vec<f32>);
    /// fn smooth(mut signals: AffineQuery<&mut Signal>) {
    ///     signals.par_iter_mut().for_each_init(Vec::new, |scratch, mut signal| {
    ///         scratch.clone_from(&signal.0);
    ///         for (value, pair) in signal.0.iter_mut().zip(scratch.windows(2)) {
    ///             *value = (pair[0] + pair[1]) / 2.0;
    ///         }
    ///     });
    /// }
    /// # let mut app = App::new();
    /// # app.add_plugins(AffinityParallelPlugin).add_systems(Update, smooth.affine()).update();
    /// ```
    pub fn for_each_init<T>(
        self,
        init: impl Fn() -> T + Send + Sync,
        f: impl Fn(&mut T, D::Item<'w, 's>) + Send + Sync,
    ) {
        let plan = Plan::new(self.sweep.rows, self.site);
        self.sweep_by(&plan, init, f);
    }

    /// Closures go from hand to hand by value. Behind a reference to a closure the compiler does
    /// not know that what it borrows (`dt` of the system) is not a row that it writes: it reads
    /// that anew for each row and does not vectorise, 3 x the time of a short loop.
    #[inline]
    fn sweep_by<T>(
        self,
        plan: &Plan<'_>,
        init: impl Fn() -> T + Send + Sync,
        f: impl Fn(&mut T, D::Item<'w, 's>) + Send + Sync,
    ) {
        let Self { query, sweep, batching, .. } = self;
        match plan.strategy {
            Strategy::Serial => plan.here(move || {
                let mut local = init();
                Self::visit_here(query, sweep, move |item| f(&mut local, item));
            }),
            Strategy::Bevy => {
                let _span = SweepSpan::begin(&sweep.rows);
                let rows = query.par_iter_inner().batching_strategy(batching);
                rows.for_each_init(in_bevys_batches(&init), |(local, _), item| f(local, item));
            }
            Strategy::LockStep | Strategy::ForkJoin => plan.run_on_gang(move |part| {
                let mut local = init();
                part.for_each_range(|_, storage, rows| {
                    // SAFETY: 'access' on `Sweep`; 'parts' on `Part`; and this call consumes the
                    // iterator, so each row is visited once while its items can live.
                    unsafe { sweep.visit_in_any_order(storage, rows, |item| f(&mut local, item)) };
                });
            }),
        }
    }

    /// By Bevy's own iteration, but where a filter looks at each row of a table: here many are
    /// looked at together.
    #[inline(always)]
    fn visit_here(query: Query<'w, 's, D, F>, sweep: Sweep<'w, 's, D, F>, mut visit: impl FnMut(D::Item<'w, 's>)) {
        if !D::IS_DENSE || !Sweep::<D, F>::LOOKS_AT_ROWS {
            return query.into_iter().for_each(visit);
        }
        for storage in sweep.rows.storages() {
            let rows = 0..sweep.rows.count(storage);
            // To enter a storage takes some tens of nanoseconds.
            if rows.is_empty() {
                continue;
            }
            // SAFETY: 'access' on `Sweep`; this consumes the query, and visits each row once.
            unsafe { sweep.visit_in_any_order(storage, rows, &mut visit) };
        }
    }
}

/// What iterators have and a parallel sweep has not: never there, but for the message that says
/// what is.
impl<'w, 's, D: IterQueryData, F: QueryFilter> AffineParIter<'w, 's, D, F> {
    #[doc(hidden)]
    pub fn map<T, G: Fn(D::Item<'w, 's>) -> T + IteratorOnly>(self, _: G) -> Empty<T> {
        empty()
    }

    #[doc(hidden)]
    pub fn filter<G: Fn(&D::Item<'w, 's>) -> bool + IteratorOnly>(self, _: G) -> Empty<D::Item<'w, 's>> {
        empty()
    }

    #[doc(hidden)]
    pub fn filter_map<T, G: Fn(D::Item<'w, 's>) -> Option<T> + IteratorOnly>(self, _: G) -> Empty<T> {
        empty()
    }

    #[doc(hidden)]
    pub fn fold<T, G: Fn(T, D::Item<'w, 's>) -> T + IteratorOnly>(self, start: T, _: G) -> T {
        start
    }

    #[doc(hidden)]
    pub fn any<G: Fn(D::Item<'w, 's>) -> bool + IteratorOnly>(self, _: G) -> bool {
        false
    }

    #[doc(hidden)]
    pub fn all<G: Fn(D::Item<'w, 's>) -> bool + IteratorOnly>(self, _: G) -> bool {
        false
    }

    #[doc(hidden)]
    pub fn find<G: Fn(&D::Item<'w, 's>) -> bool + IteratorOnly>(self, _: G) -> Option<D::Item<'w, 's>> {
        None
    }

    #[doc(hidden)]
    pub fn reduce<T>(self, identity: impl Fn() -> T, _: impl Fn(T, T) -> T) -> T
    where
        Self: IteratorOnly,
    {
        identity()
    }

    #[doc(hidden)]
    pub fn enumerate(self) -> Empty<(usize, D::Item<'w, 's>)>
    where
        Self: IteratorOnly,
    {
        empty()
    }

    #[doc(hidden)]
    pub fn collect<T>(self) -> T
    where
        Self: IteratorOnly,
    {
        unreachable!("nothing is `IteratorOnly`")
    }

    #[doc(hidden)]
    pub fn count(self) -> usize
    where
        Self: IteratorOnly,
    {
        0
    }
}

/// Nothing is this.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "a parallel sweep is no iterator",
    label = "not a method of a parallel sweep",
    note = "for one value out of all rows: `.map_reduce(|| identity, |item| value, |a, b| a + b)`",
    note = "for a list: `.fold_reduce(Vec::new, |list, item| list.push(item), |a, b| a.into_iter().chain(b).collect())`",
    note = "for a part of the rows: a filter of the query, or an `if` in `for_each`",
    note = "Bevy's iterator on one thread: `.iter()` in the place of `.par_iter()`"
)]
pub trait IteratorOnly {}
