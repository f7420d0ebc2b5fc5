//! How one parallel call runs, and what is learned from it: by the mode, by what is known of calls
//! from the same place, and by where it is started.

use std::sync::Arc;

use super::{
    bevys_threads, calls::CallSite, division::Parts, fork_join, gang_call::GangCall, lock_step, part::Part, rows::Rows,
    span::SweepSpan,
};
use crate::{
    auto::{Outcome, Strategy},
    context::{BevysBatch, Context, Entered, with_entered},
    pool::{in_round, now},
    record::running_index,
    settings::SchedulerMode,
};

/// In [`Heartbeat`](SchedulerMode::Heartbeat) mode the senders' rows change hands between so many
/// parts for each worker: each may need memory of its own, and more would not balance better.
const PARTS_PER_WORKER: usize = 16;

/// In lock step so many chunks of a sender's share may be stolen, each with memory of its own
/// beside the owner's: enough to rescue most of a share whose owner lost its core, few enough that
/// all may stand empty.
const STOLEN_PARTS: u32 = 7;

/// What was decided for one call.
pub(crate) struct Plan<'s> {
    pub(crate) strategy: Strategy,
    at: CallSite<'s>,
    /// The gang, where the strategy is one of its own.
    context: Option<Arc<Context>>,
    /// Whether the model wants to know how long the call takes; `None` where mode `Auto` has
    /// decided nothing.
    timed: Option<bool>,
}

impl<'s> Plan<'s> {
    /// The plan for a sweep of `rows` that is started at `at`, on this thread.
    #[inline]
    pub(crate) fn new(rows: &Rows<'_, '_>, at: CallSite<'s>) -> Self {
        Self::of(rows, at, true)
    }

    /// The plan for a sweep in which no thread may begin a part while it is in another: in lock
    /// step where it would be by fork/join.
    #[inline]
    pub(crate) fn one_at_a_time(rows: &Rows<'_, '_>, at: CallSite<'s>) -> Self {
        Self::of(rows, at, false)
    }

    fn of(rows: &Rows<'_, '_>, at: CallSite<'s>, by_fork: bool) -> Self {
        if in_round() || BevysBatch::is_open() {
            // Waiting for a round from inside one would be waiting for oneself, and Bevy's
            // `par_iter` could run other systems here.
            return Self::by(Strategy::Serial, at);
        }
        let tagged = with_entered(|entered| Self::tagged(entered, rows, at, by_fork));
        tagged.unwrap_or_else(|| {
            at.warn_untagged("an AffineQuery runs through Bevy's par_iter");
            Self::by_bevy(at)
        })
    }

    fn by(strategy: Strategy, at: CallSite<'s>) -> Self {
        Self { strategy, at, context: None, timed: None }
    }

    fn by_bevy(at: CallSite<'s>) -> Self {
        Self::by(bevys_threads::count().map_or(Strategy::Serial, |_| Strategy::Bevy), at)
    }

    #[inline]
    fn tagged(entered: &Entered, rows: &Rows<'_, '_>, at: CallSite<'s>, by_fork: bool) -> Self {
        let context = &entered.context;
        if entered.mode == SchedulerMode::Bevy {
            return Self::by_bevy(at);
        }
        let workers = context.pool.workers();
        if workers == 1 || entered.mode == SchedulerMode::Serial {
            return Self::by(Strategy::Serial, at);
        }
        if entered.mode == SchedulerMode::Auto {
            context.sites.take_in(at.site, running_index);
            let present = context.pool.present();
            let decision = at.site.decide(|| rows.total(), present, by_fork, || context.pool.is_asleep());
            return Self { timed: Some(decision.timed), ..Self::on(context, decision.strategy, at) };
        }
        match at.site.cost().is_worth_a_round(rows.total()) {
            true if entered.mode == SchedulerMode::Heartbeat && by_fork => Self::on(context, Strategy::Heartbeat, at),
            true => Self::on(context, Strategy::LockStep, at),
            false => Self::by(Strategy::Serial, at),
        }
    }

    fn on(context: &Arc<Context>, strategy: Strategy, at: CallSite<'s>) -> Self {
        let is_the_gangs = matches!(strategy, Strategy::LockStep | Strategy::Heartbeat);
        Self { context: is_the_gangs.then(|| context.clone()), ..Self::by(strategy, at) }
    }

    /// Runs `body` once for each part of `rows`, and learns what that takes.
    pub(crate) fn run(&self, rows: &Rows<'_, '_>, body: impl Fn(Part<'_, '_>) + Sync) {
        match self.strategy {
            Strategy::Serial => self.here(rows, || body(Part::whole())),
            Strategy::Bevy => {
                let _span = SweepSpan::begin(rows);
                bevys_threads::sweep(bevys_threads::count().unwrap_or(1), &body);
            }
            Strategy::LockStep => self.on_gang(|call| lock_step::sweep(call, rows, body)),
            Strategy::Heartbeat => self.on_gang(|call| fork_join::sweep(call, rows, &body)),
        }
    }

    /// Into how many parts a call that sends is divided now.
    pub(crate) fn parts(&self) -> Parts {
        let workers = self.context.as_ref().map_or(1, |context| context.pool.workers());
        match self.strategy {
            Strategy::Serial => Parts { senders: 1, owners: 1, stolen: 0 },
            Strategy::Bevy => {
                let threads = bevys_threads::count().unwrap_or(1);
                Parts { senders: threads, owners: threads, stolen: 0 }
            }
            Strategy::LockStep => Parts { senders: workers, owners: workers, stolen: STOLEN_PARTS },
            Strategy::Heartbeat => Parts { senders: workers * PARTS_PER_WORKER, owners: workers, stolen: 0 },
        }
    }

    /// Runs `send` for each part of `senders`, then `receive` for each part of `receivers`: as many
    /// as `parts` says. Learns what a sender takes, with what it sends.
    pub(crate) fn run_both(
        &self,
        parts: Parts,
        (senders, send): (&Rows<'_, '_>, impl Fn(Part<'_, '_>) + Sync),
        (receivers, receive): (&Rows<'_, '_>, impl Fn(Part<'_, '_>) + Sync),
    ) {
        match self.strategy {
            Strategy::Serial => self.here(senders, || {
                send(Part::whole());
                receive(Part::whole());
            }),
            Strategy::Bevy => {
                let _span = SweepSpan::begin(senders);
                bevys_threads::sweep(parts.senders, &send);
                bevys_threads::sweep(parts.owners, &receive);
            }
            Strategy::LockStep => {
                let (first, second) = ((senders, send), (receivers, receive));
                self.on_gang(|call| lock_step::sweep_both(call, first, second, parts.stolen));
            }
            Strategy::Heartbeat => {
                self.on_gang(|call| fork_join::sweep_both(call, (senders, &send), (receivers, receive), parts.senders))
            }
        }
    }

    /// Runs `body`, which sweeps `rows` on this thread, and times it now and then, so that a later
    /// call may go parallel.
    #[inline]
    pub(crate) fn here(&self, rows: &Rows<'_, '_>, body: impl FnOnce()) {
        let _span = SweepSpan::begin(rows);
        if !self.timed.unwrap_or_else(|| self.at.site.cost().is_due()) {
            return body();
        }
        let began = now();
        body();
        let call = began..now();
        let outcome = Outcome::serial(rows.total(), call.end.saturating_sub(call.start));
        self.at.site.learn(Strategy::Serial, &outcome, self.timed.map(|_| call));
    }

    /// Runs `call` on the gang.
    fn on_gang(&self, call: impl FnOnce(&mut GangCall<'_>) -> Outcome) {
        let context = self.context.as_deref().expect("a strategy of the gang was planned with it");
        let began = self.timed.filter(|&timed| timed).map(|_| now());
        let outcome = call(&mut GangCall {
            context,
            ownership: context.ownership(),
            memory: self.at.calls.memory(),
            cost: self.at.site.cost(),
        });
        self.at.site.learn(self.strategy, &outcome, began.map(|began| began..now()));
    }
}
