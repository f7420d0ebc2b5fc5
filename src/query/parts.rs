//! Dividing a sweep into parts and running them: on the gang, on Bevy's compute threads, or here.

use std::{
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use bevy::tasks::ComputeTaskPool;
use log::warn;

use super::{
    cost::RowCost,
    recorded::SweepSpan,
    stretch::{Line, Stretch, on_heartbeat},
    sweep::Rows,
};
use crate::{
    context::{BevysBatch, Context, Entered, with_entered},
    placement::{Placement, Storage},
    pool::{in_round, now, running_on},
    settings::SchedulerMode,
};

/// How one parallel call runs.
pub(super) enum Route {
    /// On the calling thread.
    Here,
    /// On Bevy's compute threads.
    Bevy,
    /// On the gang, each worker its own rows.
    Gang(Arc<Context>),
    /// On the gang, by fork/join.
    Heartbeat(Arc<Context>),
}

impl Route {
    /// The route for a sweep of `rows` rows on this thread.
    pub(super) fn choose(rows: u64, cost: &RowCost) -> Self {
        if in_round() || BevysBatch::is_open() {
            // Waiting for a round from inside one would be waiting for oneself, and Bevy's `par_iter` could run other systems here.
            return Self::Here;
        }
        let tagged = with_entered(|entered| entered.map(|entered| Self::tagged(entered, rows, cost)));
        tagged.unwrap_or_else(|| {
            warn_untagged();
            Self::Bevy
        })
    }

    fn tagged(entered: &Entered, rows: u64, cost: &RowCost) -> Self {
        match entered.mode {
            SchedulerMode::Serial => Self::Here,
            SchedulerMode::Bevy => Self::Bevy,
            _ if entered.context.pool.workers() == 1 => Self::Here,
            _ if !cost.is_worth_a_round(rows) => Self::Here,
            SchedulerMode::LockStep => Self::Gang(entered.context.clone()),
            SchedulerMode::Heartbeat => Self::Heartbeat(entered.context.clone()),
        }
    }
}

fn warn_untagged() {
    static WARNED: AtomicBool = AtomicBool::new(false);
    if !WARNED.swap(true, Ordering::Relaxed) {
        warn!(
            "bevy_affinity: an AffineQuery runs through Bevy's par_iter because its system is not tagged: \
             add `.affine()` to the system and `AffinityParallelPlugin` to the app"
        );
    }
}

/// Who owns which rows in one call.
#[derive(Clone, Copy)]
pub(super) enum Division<'a> {
    /// As the placement says.
    Placed(&'a Placement),
    /// Each storage in so many even runs.
    Even { parts: usize },
}

impl Division<'_> {
    /// The rows of `part`; runs of different parts are disjoint, and together they are all `rows` rows.
    #[inline]
    pub(super) fn range(&self, storage: Storage, rows: u32, part: usize) -> Range<u32> {
        match self {
            Self::Placed(placement) => placement.get(storage).map_or(0..0, |runs| runs.range_of(part)),
            Self::Even { parts } => {
                let cut = |part: usize| (u64::from(rows) * part as u64).div_ceil(*parts as u64) as u32;
                cut(part)..cut(part + 1)
            }
        }
    }

    /// The part whose range has `row`.
    #[inline]
    pub(super) fn owner(&self, storage: Storage, rows: impl FnOnce() -> u32, row: u32) -> usize {
        match self {
            Self::Placed(placement) => placement.get(storage).map_or(0, |runs| runs.owner_of(row)),
            Self::Even { parts: 1 } => 0,
            Self::Even { parts } => (u64::from(row) * *parts as u64 / u64::from(rows())) as usize,
        }
    }
}

/// What is done with each part of a sweep.
pub(super) type Body<'a> = dyn Fn(Part<'_, '_>) + Sync + 'a;

/// One part of a divided sweep.
///
/// # Invariant (parts)
/// The ranges that the parts of one sweep visit are disjoint, and each part runs once: a division has disjoint runs, its parts are made by the
/// functions of this file, one for each index, and [`Stretch`] says the same of stretches.
pub(super) struct Part<'a, 's> {
    /// Ascends with the rows of each storage.
    pub(super) index: usize,
    /// Who owns which rows. Those of this part, unless it is a stretch.
    pub(super) division: Division<'a>,
    share: Share<'a, 's>,
}

/// Which rows a [`Part`] has.
enum Share<'a, 's> {
    /// What the division gives to it; counted in the context, if there is one.
    Owned(Option<&'a Context>),
    /// What other workers leave to it.
    Stretch(Stretch<'a, 's>),
}

impl<'a, 's> Part<'a, 's> {
    /// All rows in one part.
    pub(super) fn whole() -> Self {
        Self { index: 0, division: Division::Even { parts: 1 }, share: Share::Owned(None) }
    }

    pub(super) fn stretch(index: usize, division: Division<'a>, stretch: Stretch<'a, 's>) -> Self {
        Self { index, division, share: Share::Stretch(stretch) }
    }

    /// Calls `visit` for each non-empty range of rows that belongs to this part, in ascending order of storages and rows, with the storage's
    /// place in that order.
    #[inline]
    pub(super) fn for_each_range(self, rows: &Rows<'_, '_>, mut visit: impl FnMut(u32, Storage, Range<u32>)) {
        match self.share {
            Share::Owned(context) => for_each_owned(self.index, self.division, context, rows, visit),
            Share::Stretch(stretch) => stretch.for_each_range(&mut visit),
        }
    }
}

/// [`Part::for_each_range`] for the rows that `division` gives to the part `index`.
#[inline]
fn for_each_owned(
    index: usize,
    division: Division<'_>,
    context: Option<&Context>,
    rows: &Rows<'_, '_>,
    mut visit: impl FnMut(u32, Storage, Range<u32>),
) {
    let core = context.and_then(|_| running_on());
    let (mut all, mut same_core) = (0, 0);
    for (ordinal, storage) in (0..).zip(rows.storages()) {
        let range = division.range(storage, rows.count(storage), index);
        if range.is_empty() {
            continue;
        }
        let count = u64::from(range.end - range.start);
        visit(ordinal, storage, range);
        all += count;
        if let (Division::Placed(placement), Some(core)) = (division, core)
            && placement.get(storage).is_some_and(|runs| runs.sweep_on(index, core))
        {
            same_core += count;
        }
    }
    if let (Some(context), Some(_)) = (context, core) {
        context.affinity[index].add(all, same_core);
    }
}

/// Runs `body` once for each part of a sweep, by the given route, and learns what a row costs.
pub(super) fn for_each_part(route: &Route, rows: &Rows<'_, '_>, cost: &RowCost, body: impl Fn(Part<'_, '_>) + Sync) {
    match route {
        Route::Here => learn_here(rows, cost, || body(Part::whole())),
        Route::Bevy => {
            let _span = SweepSpan::begin(rows);
            on_compute_threads(&body);
        }
        Route::Gang(context) => {
            let mut placement = context.placement();
            place(&mut placement, rows, cost.grain());
            on_gang(context, &placement, body);
            cost.observe(led_rows(&placement, rows), context.pool.last_led());
        }
        Route::Heartbeat(context) => {
            let line = Line::new(rows, cost.piece(context.chunk_rows()));
            let led = on_heartbeat(context, &mut context.placement(), &line, &body);
            cost.observe_session(led, context.pool.last_led());
        }
    }
}

/// Brings the placement of all rows up to date.
pub(super) fn place(placement: &mut Placement, rows: &Rows<'_, '_>, grain: u32) {
    rows.storages().for_each(|storage| placement.place(storage, rows.count(storage), grain));
}

/// How many rows the leader owns.
pub(super) fn led_rows(placement: &Placement, rows: &Rows<'_, '_>) -> u64 {
    let led = |storage| placement.get(storage).map_or(0, |runs| runs.range_of(0).len() as u64);
    rows.storages().map(led).sum()
}

/// One round of the gang. What `body` holds by value the workers find where they find `body`: each reference more is a cache miss more.
pub(super) fn on_gang(context: &Context, placement: &Placement, body: impl Fn(Part<'_, '_>) + Sync) {
    let division = Division::Placed(placement);
    context.pool.run(move |worker| {
        body(Part { index: worker.index(), division, share: Share::Owned(Some(context)) });
    });
}

/// Runs `body` on this thread and times it now and then, so that a later call may go parallel.
#[inline]
pub(super) fn learn_here(rows: &Rows<'_, '_>, cost: &RowCost, body: impl FnOnce()) {
    let _span = SweepSpan::begin(rows);
    if !cost.is_due() {
        return body();
    }
    let began = now();
    body();
    cost.observe(rows.total(), now() - began);
}

/// One task a compute thread, as Bevy's `par_iter` has by default.
pub(super) fn on_compute_threads(body: &(impl Fn(Part<'_, '_>) + Sync)) {
    let pool = ComputeTaskPool::try_get();
    let parts = compute_threads();
    let visit = |index| {
        let _batch = BevysBatch::open();
        body(Part { index, division: Division::Even { parts }, share: Share::Owned(None) });
    };
    match pool {
        Some(pool) if parts > 1 => {
            pool.scope(|scope| (0..parts).for_each(|index| scope.spawn(async move { visit(index) })));
        }
        _ => visit(0),
    }
}

/// How many parts [`on_compute_threads`] makes.
pub(super) fn compute_threads() -> usize {
    ComputeTaskPool::try_get().map_or(1, |pool| pool.thread_num().max(1))
}
