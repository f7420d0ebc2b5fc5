//! One parallel call: the place that starts it, how it runs (by the mode, by what is known of calls
//! from the same place, and by where it is started), and what is learned from it.

use std::{ops::Range, sync::Arc};

use super::{
    bevys_threads,
    division::Parts,
    fork_join,
    gang_call::{GangCall, Teaches, Took, Visits},
    lock_step,
    part::Part,
    rows::Rows,
    site_ref::SiteRef,
    span::SweepSpan,
};
use crate::{
    auto::{self, Decision, Outcome, Situation, Strategy, Timing},
    context::{Context, SystemContext, is_by_itself, is_inside_call, with_system},
    pool::{LedCalls, WatchedCall, now, warn_if_unpinned},
    record::running_number,
    settings::SchedulerMode,
    sync::lock,
};

/// In [`Heartbeat`](SchedulerMode::Heartbeat) mode the senders' rows change hands between this many
/// parts for each worker: each may need memory of its own, and more would not balance better.
const PARTS_PER_WORKER: usize = 16;

/// In lock step this many chunks of a sender's share may be stolen, each with memory of its own
/// beside the owner's: enough to rescue most of a share whose owner lost its core, few enough that
/// all may stand empty.
const STOLEN_PARTS: u32 = 7;

/// What was decided for one call.
pub(crate) struct Plan<'a> {
    pub(crate) strategy: Strategy,
    rows: Rows<'a, 'a>,
    at: SiteRef<'a>,
    /// The gang, where the strategy is one of its own.
    context: Option<Arc<Context>>,
    timing: Timing,
}

impl<'a> Plan<'a> {
    /// The plan for a sweep of `rows` that is started at `at`, on this thread.
    #[inline]
    pub(crate) fn new(rows: Rows<'a, 'a>, at: SiteRef<'a>) -> Self {
        let Decision { strategy, timing } = decide(rows, at);
        let of_system = || with_system(|system| system.context.clone());
        let context = strategy.is_the_gangs().then(of_system).flatten();
        Self { strategy, rows, at, context, timing }
    }

    /// Where the call is started.
    pub(crate) fn place(&self) -> SiteRef<'a> {
        self.at
    }

    /// The rows that the call sweeps.
    pub(crate) fn rows(&self) -> Rows<'a, 'a> {
        self.rows
    }

    /// Runs `body` once for each part of the rows, and learns what that takes.
    #[inline]
    pub(crate) fn run(&self, body: impl Fn(Part<'_>) + Sync) {
        self.run_visiting(Visits::Own, body, || ());
    }

    /// [`run`](Self::run) for a `body` that visits whole blocks that begin in a part's rows.
    pub(crate) fn run_by_blocks(&self, body: impl Fn(Part<'_>) + Sync) {
        self.run_visiting(Visits::Blocks, body, || ());
    }

    /// [`run`](Self::run), and then `finish`, which takes longer where there are more parts: it is
    /// learned with the rest. No code of users: it runs under the locks of the call.
    pub(crate) fn run_then(&self, body: impl Fn(Part<'_>) + Sync, finish: impl FnOnce()) {
        self.run_visiting(Visits::Own, body, finish);
    }

    /// [`run`](Self::run) where the strategy is one of the gang's: a caller that has its own way
    /// for the others does not make `body` for them, too.
    #[inline]
    pub(crate) fn run_on_gang(&self, body: impl Fn(Part<'_>) + Sync) {
        debug_assert!(self.strategy.is_the_gangs(), "{:?} was planned", self.strategy);
        self.sweep_on_gang(Visits::Own, body, || ());
    }

    fn run_visiting(&self, visits: Visits, body: impl Fn(Part<'_>) + Sync, finish: impl FnOnce()) {
        let rows = &self.rows;
        match self.strategy {
            Strategy::Serial => self.here(|| {
                body(Part::whole(*rows));
                finish();
            }),
            Strategy::Bevy => {
                let _span = SweepSpan::begin(rows);
                // Bevy's own calls start no task for nothing either.
                let threads = bevys_threads::count().filter(|_| rows.total() > 1);
                bevys_threads::sweep(*rows, threads.unwrap_or(1), &body);
                finish();
            }
            Strategy::LockStep | Strategy::ForkJoin => self.sweep_on_gang(visits, body, finish),
        }
    }

    #[inline]
    fn sweep_on_gang(&self, visits: Visits, body: impl Fn(Part<'_>) + Sync, finish: impl FnOnce()) {
        self.on_gang(visits, |call| {
            let took = match self.strategy {
                Strategy::LockStep => (lock_step::sweep(call, &self.rows, body), None),
                _ => fork_join::sweep(call, &self.rows, body),
            };
            finish();
            took
        });
    }

    /// Into how many parts a call that sends is divided now.
    pub(crate) fn parts(&self) -> Parts {
        let workers = self.context.as_ref().map_or(1, |context| context.pool.workers());
        match self.strategy {
            Strategy::Serial => Parts { senders: 1, owners: 1, most_stolen: 0 },
            Strategy::Bevy => {
                let threads = bevys_threads::count().unwrap_or(1);
                Parts { senders: threads, owners: threads, most_stolen: 0 }
            }
            Strategy::LockStep => Parts { senders: workers, owners: workers, most_stolen: STOLEN_PARTS },
            Strategy::ForkJoin => Parts { senders: workers * PARTS_PER_WORKER, owners: workers, most_stolen: 0 },
        }
    }

    /// Runs `send` for each part of the rows, then `receive` for each part of `receivers`: as many
    /// as `parts` says. Learns what a sender takes, with what it sends.
    pub(crate) fn run_both(
        &self,
        parts: Parts,
        send: impl Fn(Part<'_>) + Sync,
        (receivers, receive): (Rows<'_, '_>, impl Fn(Part<'_>) + Sync),
    ) {
        let senders = &self.rows;
        match self.strategy {
            Strategy::Serial => self.here(|| {
                send(Part::whole(*senders));
                receive(Part::whole(receivers));
            }),
            Strategy::Bevy => {
                let _span = SweepSpan::begin(senders);
                bevys_threads::sweep(*senders, parts.senders, &send);
                bevys_threads::sweep(receivers, parts.owners, &receive);
            }
            Strategy::LockStep | Strategy::ForkJoin => self.on_gang(Visits::Own, |call| {
                let (first, second) = ((senders, send), (&receivers, receive));
                match self.strategy {
                    Strategy::LockStep => (lock_step::sweep_both(call, first, second, parts.most_stolen), None),
                    _ => fork_join::sweep_both(call, first, second, parts.senders),
                }
            }),
        }
    }

    /// Runs `body`, which sweeps the rows on this thread, and times it now and then, so that a
    /// later call may go parallel.
    ///
    /// Inlined, with one place that calls `body`: only then the compiler sees in a sweep that what
    /// its closure borrows from the system is not what it writes, and vectorises.
    #[inline(always)]
    pub(crate) fn here(&self, body: impl FnOnce()) {
        let _span = SweepSpan::begin(&self.rows);
        let began = self.is_timed_here().then(now);
        body();
        if let Some(began) = began {
            self.learn_here(began..now());
        }
    }

    #[inline]
    fn is_timed_here(&self) -> bool {
        match self.timing {
            Timing::ForRows => self.at.site.cost().count_call(|| self.rows.total()),
            // In debug builds `contiguous_par_iter` comes here whatever was planned: the model has
            // asked about the plan.
            Timing::ForModel => self.strategy == Strategy::Serial,
            Timing::Untimed | Timing::Probe => false,
        }
    }

    fn learn_here(&self, call: Range<u64>) {
        let outcome = Outcome::serial(self.rows.total(), call.end.saturating_sub(call.start));
        let asked = self.timing == Timing::ForModel;
        self.at.site.learn(Strategy::Serial, &outcome, asked.then_some(call));
    }

    /// Runs `sweep` on the gang, and learns what it took.
    #[inline]
    fn on_gang(&self, visits: Visits, sweep: impl FnOnce(&mut GangCall<'_>) -> Took) {
        let mut begun = self.begin_on_gang(visits);
        let took = sweep(&mut begun.gang);
        self.end_on_gang(begun, took);
    }

    fn begin_on_gang(&self, visits: Visits) -> Begun<'_> {
        let context = self.context.as_deref().expect("a strategy of the gang was planned with it");
        let SiteRef { site, kept } = self.at;
        let teaches = self.teaches();
        let probe_for = (self.timing == Timing::Probe).then(|| site.longest_probe());
        let watched = context.pool.watch_call();
        let began = (self.timing == Timing::ForModel).then(now);
        // Not under the locks: a logger may sweep rows of its own, or panic.
        warn_if_unpinned();
        let (ownership, memory) = (context.ownership(), lock(&kept.memory));
        let gang = GangCall { context, ownership, memory, cost: site.cost(), teaches, visits, probe_for };
        Begun { gang, watched, began }
    }

    fn end_on_gang(&self, Begun { gang, watched, began }: Begun<'_>, (mut outcome, probe): Took) {
        let GangCall { context, visits, .. } = gang;
        if visits == Visits::Blocks {
            // The leader's time is that of other rows than its own.
            (outcome.leader_rows, outcome.leader_ns) = (0, 0);
        }
        let led = watched.map(|watched| context.pool.end_call(watched));
        let site = self.at.site;
        match probe {
            Some(probe) => site.learn_probe(probe, outcome.rows, now()),
            None => site.learn(self.strategy, &outcome, began.map(|began| began..now())),
        }
        if let Some(led) = led {
            // Under the locks of `gang`, so that one thread at a time counts.
            context.pool.count_call(LedCalls { work: site.cost().of(outcome.rows).unwrap_or(0), ..led });
        }
        drop(gang);
    }

    /// What a round of this call is to teach. Counts it, whatever the model wants.
    #[inline]
    fn teaches(&self) -> Teaches {
        let is_sampled = self.at.site.cost().count_round(|| self.rows.total());
        if is_sampled || self.timing == Timing::ForModel { Teaches::Rows } else { Teaches::Nothing }
    }
}

/// A call on the gang that has begun.
struct Begun<'a> {
    gang: GangCall<'a>,
    watched: Option<WatchedCall>,
    /// When, if the model asks.
    began: Option<u64>,
}

/// How a call that is started on this thread runs. By the gang only in a tagged system.
fn decide(rows: Rows<'_, '_>, at: SiteRef<'_>) -> Decision {
    if is_inside_call() {
        // Waiting for a round from inside one would be waiting for oneself, and Bevy's `par_iter`
        // could run other systems here.
        return Decision::without_choice(Strategy::Serial);
    }
    with_system(|system| decide_by_mode(system, rows, at)).unwrap_or_else(|| {
        at.warn_of_bevys_threads(rows);
        on_bevys_threads()
    })
}

/// How a tagged system's call runs.
#[inline]
fn decide_by_mode(system: &SystemContext, rows: Rows<'_, '_>, at: SiteRef<'_>) -> Decision {
    let SystemContext { mode, context } = system;
    let gangs = match mode {
        SchedulerMode::Bevy => return on_bevys_threads(),
        SchedulerMode::Serial => return Decision::without_choice(Strategy::Serial),
        SchedulerMode::Auto => None,
        SchedulerMode::LockStep => Some(Strategy::LockStep),
        SchedulerMode::Heartbeat => Some(Strategy::ForkJoin),
    };
    if context.pool.workers() == 1 || is_by_itself() {
        return Decision::without_choice(Strategy::Serial);
    }
    let Some(strategy) = gangs else { return ask_site(context, rows, at) };
    let is_worth_a_round = at.site.cost().is_worth_a_round(rows.total());
    Decision::without_choice(if is_worth_a_round { strategy } else { Strategy::Serial })
}

/// How a call in mode `Auto` runs.
#[inline]
fn ask_site(context: &Context, rows: Rows<'_, '_>, at: SiteRef<'_>) -> Decision {
    context.sites.register(at.site, running_number);
    // To count the rows of a selection is one look, in however many storages they lie.
    let storages = rows.selection.map_or(rows.matched.storages.len(), |_| 1);
    let pool = &context.pool;
    let situation = Situation { storages, workers: pool.present(), asleep: pool.is_asleep() };
    auto::decide(at.site, situation, &context.wake_ups, pool.wake_ups(), || rows.total())
}

/// As mode `Bevy`, or on this thread while Bevy has no threads, or only one: it would sweep here
/// then, too.
fn on_bevys_threads() -> Decision {
    let has_several = bevys_threads::count().is_some_and(|threads| threads > 1);
    Decision::without_choice(if has_several { Strategy::Bevy } else { Strategy::Serial })
}

#[cfg(test)]
mod tests {
    use std::{thread, time::Duration};

    use bevy_app::prelude::*;
    use bevy_ecs::prelude::*;

    use crate::{context::Raised, prelude::*};

    const ROWS: u64 = 20;
    const FRAMES: u64 = 10;

    #[derive(Component, Clone)]
    struct Row;

    /// Rows sleep: that takes as long on a busy machine as on a quiet one.
    fn sweep(mut rows: AffineQuery<&mut Row>) {
        rows.par_iter_mut().for_each(|_| thread::sleep(Duration::from_micros(100)));
    }

    /// An app that sweeps on two workers, and its pool.
    fn app(mode: SchedulerMode) -> (App, AffinityPool) {
        let mut app = App::new();
        app.insert_resource(AffinitySettings { workers: WorkerCount::Exactly(2), ..Default::default() });
        app.insert_resource(mode).add_plugins(AffinityParallelPlugin).add_systems(Update, sweep.affine());
        app.world_mut().spawn_batch(vec![Row; ROWS as usize]);
        app.update();
        let pool = app.world().resource::<AffinityPool>().clone();
        (app, pool)
    }

    /// How many rows' time the pool says that calls would have taken one thread, of those that it
    /// watched.
    fn rows_of_work(mode: SchedulerMode) -> u64 {
        let (mut app, pool) = app(mode);
        let led = pool.watch(|| (0..FRAMES).for_each(|_| app.update()));
        assert!(led.calls.indices <= led.indices, "{led:?}");
        led.calls.work / 100_000
    }

    #[test]
    fn sweeps_of_a_system_that_is_by_itself_are_no_rounds() {
        for mode in [SchedulerMode::LockStep, SchedulerMode::Heartbeat] {
            let (mut app, pool) = app(mode);
            let rounds = |app: &mut App| pool.watch(|| app.update()).indices;
            assert!((0..1_000).any(|_| rounds(&mut app) > 0), "{mode:?}");
            let by_itself = Raised::by_itself();
            assert_eq!((0..FRAMES).map(|_| rounds(&mut app)).sum::<u64>(), 0, "{mode:?}");
            drop(by_itself);
            assert!((0..1_000).any(|_| rounds(&mut app) > 0), "{mode:?}");
        }
    }

    /// Else the overlay would count its leader's time twice, or not at all.
    #[test]
    fn rounds_in_tagged_systems_are_told_from_others() {
        for mode in [SchedulerMode::LockStep, SchedulerMode::Heartbeat] {
            let (mut app, pool) = app(mode);
            let led = || pool.worker_stats().next().map_or(Duration::ZERO, |leader| leader.busy + leader.wait);
            let (in_systems, all) = (pool.rounds_in_systems(), led());
            (0..FRAMES).for_each(|_| app.update());
            let (in_systems, all) = (pool.rounds_in_systems() - in_systems, led() - all);
            assert!(in_systems > all / 2 && in_systems < all * 2, "{mode:?}: {in_systems:?} of {all:?}");
            let before = pool.rounds_in_systems();
            pool.run(|_| thread::sleep(Duration::from_millis(1)));
            assert_eq!(pool.rounds_in_systems(), before);
        }
    }

    /// By then the leader has begun a call alone.
    #[test]
    fn each_row_is_swept_once_in_each_of_the_first_calls() {
        #[derive(Component, Clone)]
        struct Count(u32);
        fn count(mut rows: AffineQuery<&mut Count>) {
            rows.par_iter_mut().for_each(|mut row| row.0 += 1);
        }
        fn send(mut rows: AffineQuery<(Entity, &mut Count)>) {
            rows.par_iter_mut()
                .scatter_within(|outbox, (entity, _)| outbox.send(entity, 1), |(_, mut row), one| row.0 += one);
        }
        fn reduce(rows: AffineQuery<&Count>, mut frame: Local<u64>) {
            *frame += 1;
            let sum = rows.par_iter().map_reduce(|| 0, |row| u64::from(row.0), |a, b| a + b);
            assert_eq!(sum, 20_000 * 2 * *frame);
        }
        for workers in 2..5 {
            let mut app = App::new();
            // Nothing is tried while all workers but one are left out.
            app.insert_resource(AffinitySettings {
                workers: WorkerCount::Exactly(workers),
                avoid_busy_cores: false,
                ..Default::default()
            });
            app.add_plugins(AffinityParallelPlugin).add_systems(Update, (count, send, reduce).chain().affine());
            app.world_mut().spawn_batch(vec![Count(0); 20_000]);
            let mut counts = app.world_mut().query::<&Count>();
            let tried = |app: &App| {
                let sites = &app.world().resource::<AffinityDiagnostics>().call_sites;
                sites.len() == 3 && sites.iter().all(|site| site.trials > 0)
            };
            let mut frame = 0;
            while frame < 40 || !tried(&app) {
                assert!(frame < 2_000, "not tried: {:?}", app.world().resource::<AffinityDiagnostics>().call_sites);
                app.update();
                frame += 1;
                assert!(counts.iter(app.world()).all(|row| row.0 == 2 * frame), "frame {frame}, {workers} workers");
            }
        }
    }

    #[test]
    fn calls_on_the_gang_say_what_they_would_take_one_thread() {
        for mode in [SchedulerMode::LockStep, SchedulerMode::Heartbeat] {
            let rows = rows_of_work(mode);
            // The first call may be one that shows what a row costs.
            assert!(rows >= (FRAMES - 1) * ROWS, "{mode:?}: {rows}");
        }
        assert_eq!(rows_of_work(SchedulerMode::Serial), 0);
    }
}
