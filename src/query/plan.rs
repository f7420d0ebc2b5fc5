//! How one parallel call is to run: by the mode, by what is known of calls from the same place, and
//! by where it is started.

use std::{
    ops::Range,
    panic::Location,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use log::warn;

use super::{cost::RowCost, line::Layout, sweep::Rows};
use crate::{
    auto::{Choice, Decision, LazySite, Site, Sites},
    context::{BevysBatch, Context, Entered, with_entered},
    pool::{Finished, in_round, now},
    record::{known_name, running_index},
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

/// What is known of the calls that one place in a program starts.
#[derive(Debug, Default)]
pub(super) struct Known {
    cost: RowCost,
    auto: LazySite,
    /// The memory of sweeps on the gang. Never contended: a system that starts calls here is one.
    layouts: Mutex<[Layout; 2]>,
    /// Whether it was said that the system is not tagged.
    warned: AtomicBool,
}

/// A place in a program that starts a parallel call.
#[derive(Clone, Copy)]
pub(super) struct CallSite<'s> {
    location: &'static Location<'static>,
    known: &'s Known,
    sites: &'s Sites<Known>,
}

impl<'s> CallSite<'s> {
    /// The place that this is called from, through functions that track their caller.
    #[inline]
    #[track_caller]
    pub(super) fn caller(sites: &'s Sites<Known>) -> Self {
        Self::at(Location::caller(), sites)
    }

    #[inline]
    pub(super) fn at(location: &'static Location<'static>, sites: &'s Sites<Known>) -> Self {
        Self { location, known: sites.at(location), sites }
    }
}

impl CallSite<'_> {
    /// Says once that what happens here happens because the system is not tagged.
    #[cold]
    pub(super) fn warn_untagged(&self, what: &str) {
        if !self.known.warned.swap(true, Ordering::Relaxed) {
            let (place, owner) = (self.location, self.sites.owner());
            let data = owner.map_or("unknown", |owner| owner.data);
            let system = owner.and_then(|owner| known_name(&owner.system));
            let system = system.map_or_else(String::new, |name| format!(" in system `{name}`"));
            warn!(
                "bevy_affinity: {what} at {place}{system} (its data is `{data}`) because its system is not \
                 tagged: add `.affine()` to the system and `AffinityParallelPlugin` to the app"
            );
        }
    }
}

/// What was decided for one call.
pub(super) struct Plan<'s> {
    pub(super) route: Route,
    known: &'s Known,
    /// In mode `Auto`: what its model said, and where to tell it what came of that.
    auto: Option<(&'s Site, Decision)>,
}

/// When a call that is timed began.
#[derive(Clone, Copy)]
pub(super) struct Timing(u64);

impl<'s> Plan<'s> {
    /// The plan for a sweep of `rows` on this thread.
    #[inline]
    pub(super) fn new(rows: &Rows<'_, '_>, site: CallSite<'s>) -> Self {
        Self::of(rows, site, true)
    }

    /// The plan for a sweep in which no thread may begin a part while it is in another: in lock
    /// step where it would be by fork/join.
    #[inline]
    pub(super) fn one_at_a_time(rows: &Rows<'_, '_>, site: CallSite<'s>) -> Self {
        Self::of(rows, site, false)
    }

    fn of(rows: &Rows<'_, '_>, site: CallSite<'s>, by_fork: bool) -> Self {
        if in_round() || BevysBatch::is_open() {
            // Waiting for a round from inside one would be waiting for oneself, and Bevy's
            // `par_iter` could run other systems here.
            return Self::by(Route::Here, site);
        }
        let tagged = with_entered(|entered| Self::tagged(entered, rows, site, by_fork));
        tagged.unwrap_or_else(|| {
            site.warn_untagged("an AffineQuery runs through Bevy's par_iter");
            Self::by(Route::Bevy, site)
        })
    }

    fn by(route: Route, site: CallSite<'s>) -> Self {
        Self { route, known: site.known, auto: None }
    }

    #[inline]
    fn tagged(entered: &Entered, rows: &Rows<'_, '_>, site: CallSite<'s>, by_fork: bool) -> Self {
        let (context, workers) = (&entered.context, entered.context.pool.workers());
        let alone = workers == 1;
        let is_worth_a_round = || !alone && site.known.cost.is_worth_a_round(rows.total());
        let route = match entered.mode {
            SchedulerMode::Auto if !alone => return Self::auto(context, rows, site, by_fork),
            SchedulerMode::Bevy => Route::Bevy,
            SchedulerMode::LockStep if is_worth_a_round() => Route::Gang(context.clone()),
            SchedulerMode::Heartbeat if is_worth_a_round() => match by_fork {
                true => Route::Heartbeat(context.clone()),
                false => Route::Gang(context.clone()),
            },
            _ => Route::Here,
        };
        Self::by(route, site)
    }

    /// What the model of the place says.
    fn auto(context: &Arc<Context>, rows: &Rows<'_, '_>, site: CallSite<'s>, by_fork: bool) -> Self {
        let known = site.known.auto.get(&context.sites, site.location, running_index);
        let decision =
            known.model().choose(|| rows.total(), context.pool.present(), by_fork, || context.pool.is_asleep());
        let route = match decision.choice {
            Choice::Leader => Route::Here,
            Choice::LockStep => Route::Gang(context.clone()),
            Choice::Heartbeat => Route::Heartbeat(context.clone()),
        };
        Self { auto: Some((known, decision)), ..Self::by(route, site) }
    }

    /// The memory that a sweep on the gang is laid out in, and the rows that it sends to, if it
    /// does.
    pub(super) fn layouts(&self) -> MutexGuard<'s, [Layout; 2]> {
        self.known.layouts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What rows cost, as far as is known.
    pub(super) fn cost(&self) -> &'s RowCost {
        &self.known.cost
    }

    /// Begins to time the call, if somebody wants to know.
    #[inline]
    pub(super) fn begin(&self) -> Option<Timing> {
        self.auto.filter(|(_, decision)| decision.timed).map(|_| Timing(now()))
    }

    /// Tells the model what the call on the gang took for `rows` rows.
    #[inline]
    pub(super) fn end(&self, timing: Option<Timing>, round: &Finished<'_>, rows: u64) {
        if let (Some((site, decision)), Some(Timing(began))) = (self.auto, timing) {
            site.model().observe(decision.choice, rows, began..now(), round.busy_of_all());
        }
    }

    /// Whether this call, which stays on this thread, is one to be timed.
    #[inline]
    pub(super) fn is_timed_here(&self) -> bool {
        match (&self.route, self.auto) {
            (Route::Here, Some((_, decision))) => decision.timed,
            _ => self.known.cost.is_due(),
        }
    }

    pub(super) fn observe_here(&self, rows: u64, call: Range<u64>) {
        self.known.cost.observe(rows, call.end.saturating_sub(call.start));
        if let Some((site, decision)) = self.auto {
            site.model().observe(decision.choice, rows, call, None);
        }
    }
}
