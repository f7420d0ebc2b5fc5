//! What workers did in their rounds: counters that workers themselves never write, pulled by the
//! diagnostics; and which rounds are measured for that: a clock reading takes 25 ns, to ask for the
//! core 60, and an empty round 200.

use std::{
    ops::Range,
    sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering},
    time::Duration,
};

use super::{clock::nanoseconds, stats::WorkerStats, words::RoundStats};
use crate::sync::OwnCounter;

/// Of rounds as short as the last one was, one in so many nanoseconds is measured: what that costs
/// is half a percent.
const INTERVAL: u64 = 32_000;

/// Rounds that go by unmeasured, at most.
const LONGEST_GAP: u64 = 32;

/// A long round that happens to be measured after short ones stands for no more than this much
/// time, in nanoseconds.
const MOST_OWED: u64 = 50_000_000;

/// Counters of one worker.
///
/// # Invariant
/// All but `here`, `calls` and what is `recorded` are written by the thread that holds the lead, so
/// plain loads and stores do, and readers see each value whole.
#[derive(Default)]
pub(crate) struct WorkerCounters {
    busy: OwnCounter,
    wait: OwnCounter,
    rounds: OwnCounter,
    taken: OwnCounter,
    /// Rounds that the worker was left out of.
    left_out: OwnCounter,
    /// The leader's alone: the parallel calls of queries.
    calls: Calls,
    /// The leader's alone: when the last call for its own index began, how long it took, and when
    /// its last call ended.
    began: AtomicU64,
    last_own: AtomicU64,
    ended: AtomicU64,
    /// For how long the leader had nothing to do in the last call for its own index.
    last_idle: AtomicU64,
    /// The leader's alone: when the last round ended in which others were called.
    last_round: AtomicU64,
    /// The leader's alone: rounds that were not measured, in which each worker ran its own index.
    /// One count for all: a line for each worker takes longer than an empty round.
    of_all: OwnCounter,
    /// The leader's alone: which rounds are measured.
    pub(super) sampling: RoundSampling,
    /// Of worker 0: what threads did by themselves.
    here: Here,
    /// What the worker had done when its last span was recorded.
    pub(super) recorded: Marks,
    /// The recording in which that was.
    pub(super) recorded_in: AtomicU32,
}

/// Parallel calls of queries, counted while someone asks for it.
#[derive(Default)]
struct Calls {
    watched: AtomicBool,
    /// As in [`LedCalls`]. Written by the thread whose call it is, one at a time.
    rounds: OwnCounter,
    took: OwnCounter,
    work: OwnCounter,
}

/// What was led through a pool so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Led {
    /// Indices that leaders ran in rounds that called others.
    pub(crate) rounds: u64,
    pub(crate) calls: LedCalls,
}

/// What was led in calls of queries that were watched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LedCalls {
    /// Those of all rounds.
    pub(crate) rounds: u64,
    /// What calls took, and what they would have taken one thread, as far as they know; both in
    /// nanoseconds.
    pub(crate) took: u64,
    pub(crate) work: u64,
}

impl Led {
    /// What was led after `before`.
    pub(crate) fn since(self, before: Self) -> Self {
        let LedCalls { rounds, took, work } = before.calls;
        Self {
            rounds: self.rounds.saturating_sub(before.rounds),
            calls: LedCalls {
                rounds: self.calls.rounds.saturating_sub(rounds),
                took: self.calls.took.saturating_sub(took),
                work: self.calls.work.saturating_sub(work),
            },
        }
    }
}

/// Rounds that a thread ran by itself, while another one led or because no other worker was called.
/// There may be several such threads at a time: only read-modify-writes count here.
#[derive(Default)]
struct Here {
    busy: AtomicU64,
    wait: AtomicU64,
    rounds: AtomicU64,
    taken: AtomicU64,
}

/// How many rows a worker swept, and how many of them on the core that swept them last time.
#[derive(Default)]
pub(crate) struct SweptRows {
    all: OwnCounter,
    located: OwnCounter,
    same_core: OwnCounter,
    stolen: OwnCounter,
}

impl SweptRows {
    /// Counts rows; `same_core` of them were swept on the core that swept them last time, if the
    /// system tells which core this is.
    ///
    /// To be called by the thread that runs the worker's index, of which there is one at a time:
    /// plain loads and stores do.
    pub(crate) fn add(&self, all: u64, same_core: Option<u64>) {
        self.all.add(all);
        if let Some(same_core) = same_core {
            self.located.add(all);
            self.same_core.add(same_core);
        }
    }

    /// Says that so many of those that were added are of another worker's share.
    pub(crate) fn note_stolen(&self, rows: u64) {
        self.stolen.add(rows);
    }

    /// Rows that other workers owned.
    pub(crate) fn stolen(&self) -> u64 {
        self.stolen.get()
    }

    /// All rows.
    pub(crate) fn all(&self) -> u64 {
        self.all.get()
    }

    /// Those swept on a core that is known, and of these those swept there last time too.
    pub(crate) fn located(&self) -> (u64, u64) {
        (self.located.get(), self.same_core.get())
    }
}

/// What a worker has done so far, in counters that go on from one recording to the next.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Done {
    pub(super) rows: u64,
    pub(super) stolen: u64,
    pub(super) jobs_taken: u64,
    pub(super) joins_published: u64,
}

/// The last [`Done`] that was recorded.
#[derive(Default)]
pub(super) struct Marks {
    rows: AtomicU64,
    stolen: AtomicU64,
    jobs_taken: AtomicU64,
    joins_published: AtomicU64,
}

impl Marks {
    /// Replaces what was recorded; returns by how much that is more. Also by threads that do not
    /// lead: whatever their order, nothing is recorded twice.
    pub(super) fn advance(&self, done: Done) -> Done {
        let advance = |mark: &AtomicU64, count: u64| count.saturating_sub(mark.fetch_max(count, Ordering::Relaxed));
        Done {
            rows: advance(&self.rows, done.rows),
            stolen: advance(&self.stolen, done.stolen),
            jobs_taken: advance(&self.jobs_taken, done.jobs_taken),
            joins_published: advance(&self.joins_published, done.joins_published),
        }
    }
}

fn weighed(nanoseconds: u64, weight: f64) -> u64 {
    if weight == 1.0 { nanoseconds } else { (nanoseconds as f64 * weight) as u64 }
}

impl WorkerCounters {
    /// Records a call that the leader itself made, `idle` nanoseconds of which it had nothing to
    /// do; `own` is false when it was another worker's index.
    #[inline]
    pub(super) fn record_led(&self, call: Range<u64>, idle: u64, own: bool) {
        let busy = call.end.saturating_sub(call.start).saturating_sub(idle);
        self.busy.add(busy);
        self.rounds.add(1);
        if own {
            self.began.store(call.start, Ordering::Relaxed);
            self.last_own.store(busy, Ordering::Relaxed);
            self.last_idle.store(idle, Ordering::Relaxed);
        } else {
            self.taken.add(1);
        }
        if idle > 0 {
            self.wait.add(idle);
        }
        self.ended.store(call.end, Ordering::Relaxed);
    }

    /// Records a call that a thread made for itself, without the lead.
    pub(super) fn record_here(&self, call: RoundStats, own: bool) {
        let count = |counter: &AtomicU64, amount: u64| _ = counter.fetch_add(amount, Ordering::Relaxed);
        count(&self.here.busy, call.busy());
        count(&self.here.rounds, 1);
        if !own {
            count(&self.here.taken, 1);
        }
        if call.idle > 0 {
            count(&self.here.wait, call.idle);
        }
    }

    /// Records the call that a worker made in the round `round`, which stands for `weight` times as
    /// much.
    #[inline]
    pub(super) fn record_stats(&self, stats: RoundStats, round: Range<u64>, weight: f64) {
        let wait = stats.began.saturating_sub(round.start) + stats.idle + (round.end - stats.ended);
        self.busy.add(weighed(stats.busy(), weight));
        self.rounds.add(1);
        self.wait.add(weighed(wait, weight));
    }

    /// Records an index that was run in a round that was not measured; `own` is false when it was
    /// another worker's.
    #[inline]
    pub(super) fn record_unmeasured(&self, own: bool) {
        self.rounds.add(1);
        if !own {
            self.taken.add(1);
        }
    }

    /// Records, on the leader's account, a round that was not measured and in which each worker ran
    /// its own index.
    #[inline]
    pub(super) fn record_unmeasured_of_all(&self) {
        self.of_all.add(1);
    }

    /// The leader's alone: rounds that count for each worker beside its own count.
    pub(super) fn rounds_of_all(&self) -> u64 {
        self.of_all.get()
    }

    /// Records a round that the worker was left out of.
    #[cold]
    pub(super) fn record_left_out(&self) {
        self.left_out.add(1);
    }

    /// Adds what the leader waited until the round, in which others were called, was over; and what
    /// it did in the others that the round stands for.
    pub(super) fn record_led_wait(&self, round_ended: u64, weight: f64) {
        self.last_round.store(round_ended, Ordering::Relaxed);
        let wait = round_ended.saturating_sub(self.ended.load(Ordering::Relaxed));
        let idle = self.last_idle.load(Ordering::Relaxed);
        self.wait.add(weighed(wait, weight) + weighed(idle, weight - 1.0));
        self.busy.add(weighed(self.last_own(), weight - 1.0));
    }

    /// What was led so far, on the leader's account.
    pub(super) fn led_so_far(&self) -> Led {
        let Calls { rounds, took, work, .. } = &self.calls;
        let calls = LedCalls { rounds: rounds.get(), took: took.get(), work: work.get() };
        Led { rounds: self.rounds.get() + self.of_all.get(), calls }
    }

    /// Calls of queries are watched from now on, or not any more.
    pub(super) fn watch_calls(&self, watched: bool) {
        self.calls.watched.store(watched, Ordering::Relaxed);
    }

    #[inline]
    pub(super) fn watches_calls(&self) -> bool {
        self.calls.watched.load(Ordering::Relaxed)
    }

    /// Adds a call.
    pub(super) fn note_call(&self, LedCalls { rounds, took, work }: LedCalls) {
        self.calls.rounds.add(rounds);
        self.calls.took.add(took);
        self.calls.work.add(work);
    }

    /// Whether the last round in which others were called ended longer ago than `spin`, so that
    /// they are asleep `now`.
    pub(super) fn is_round_over_for(&self, spin: Duration, now: u64) -> bool {
        now > self.last_round.load(Ordering::Relaxed).saturating_add(nanoseconds(spin))
    }

    /// From the leader's first call in a round to its last.
    pub(super) fn led(&self) -> Range<u64> {
        self.began.load(Ordering::Relaxed)..self.ended.load(Ordering::Relaxed)
    }

    /// The leader's last call for its own index.
    pub(super) fn led_own(&self) -> RoundStats {
        let [began, busy, idle] =
            [&self.began, &self.last_own, &self.last_idle].map(|value| value.load(Ordering::Relaxed));
        RoundStats { began, ended: began + busy + idle, idle, ..RoundStats::default() }
    }

    /// How long the last call for its own index kept it busy, in nanoseconds.
    pub(super) fn last_own(&self) -> u64 {
        self.last_own.load(Ordering::Relaxed)
    }

    /// All that is counted here, but for the [`rounds_of_all`](Self::rounds_of_all).
    pub(super) fn read(&self) -> WorkerStats {
        let Here { busy, wait, rounds, taken } = &self.here;
        let read = |led: &OwnCounter, here: &AtomicU64| led.get() + here.load(Ordering::Relaxed);
        WorkerStats {
            busy: Duration::from_nanos(read(&self.busy, busy)),
            wait: Duration::from_nanos(read(&self.wait, wait)),
            rounds: read(&self.rounds, rounds),
            taken_over: read(&self.taken, taken),
            rounds_left_out: self.left_out.get(),
            ..WorkerStats::default()
        }
    }
}

/// When the next round is measured, and for how many the measured one stands. Written by the thread
/// that leads.
#[derive(Default)]
pub(super) struct RoundSampling {
    /// Rounds to go before the next one that is due.
    left: AtomicU64,
    /// Rounds since the last measured one.
    skipped: AtomicU64,
    /// How long rounds took that were not measured, as far as the measured ones have not stood for
    /// it yet; in nanoseconds.
    owed: AtomicU64,
    /// When the last measured round ended.
    ended: AtomicU64,
    dice: AtomicU32,
}

impl RoundSampling {
    /// To be called once before each round: whether it is due to be looked at.
    #[inline]
    pub(super) fn is_due(&self) -> bool {
        let left = self.left.load(Ordering::Relaxed);
        self.left.store(left.saturating_sub(1), Ordering::Relaxed);
        left == 0
    }

    /// Notes a round that was not measured.
    #[inline]
    pub(super) fn skip(&self) {
        self.skipped.store(self.skipped.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// The next round is due: something was odd about this one.
    pub(super) fn hurry(&self) {
        self.left.store(0, Ordering::Relaxed);
    }

    /// Notes a measured `round`, which was `due` or measured for another reason. Returns how many
    /// times as much as itself it stands for. One of a kind that is always measured stands for
    /// itself. One that is `sampled` stands for those since the last one too, which took as long,
    /// as far as can be told; what there was no time for since then is left for later ones, so that
    /// on average the sum is right, and never more than the time that has passed.
    pub(super) fn measured(&self, round: Range<u64>, due: bool, sampled: bool) -> f64 {
        let took = round.end.saturating_sub(round.start).max(1);
        if due {
            self.left.store(self.next_gap(took), Ordering::Relaxed);
        }
        if !sampled {
            return 1.0;
        }
        let owed = self.owed.load(Ordering::Relaxed) + self.skipped.swap(0, Ordering::Relaxed) * took;
        let time = round.end.saturating_sub(self.ended.swap(round.end, Ordering::Relaxed));
        let paid = owed.min(time.saturating_sub(took));
        self.owed.store((owed - paid).min(MOST_OWED), Ordering::Relaxed);
        1.0 + paid as f64 / took as f64
    }

    /// How many rounds that take so long go by: of random length, so that rounds of two kinds that
    /// take turns are both seen.
    fn next_gap(&self, took: u64) -> u64 {
        let gap = (INTERVAL / took).min(LONGEST_GAP);
        let dice = self.dice.load(Ordering::Relaxed).wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        self.dice.store(dice, Ordering::Relaxed);
        gap / 2 + u64::from(dice >> 16) % (gap / 2 + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounds one after another, each as long as `took` says of its number. How many were measured,
    /// and how much of the time they stand for.
    fn play(rounds: u64, took: impl Fn(u64) -> u64) -> (u64, f64) {
        let (sampling, mut now, mut measured, mut sum, mut all) = (RoundSampling::default(), 1, 0, 0.0, 0);
        for number in 0..rounds {
            let took = took(number);
            let round = now..now + took;
            now = round.end + 20;
            all += took;
            if sampling.is_due() {
                measured += 1;
                sum += sampling.measured(round, true, true) * took as f64;
            } else {
                sampling.skip();
            }
        }
        (measured, sum / all as f64)
    }

    #[test]
    fn long_rounds_are_all_measured_and_short_ones_seldom() {
        assert_eq!(play(1_000, |_| 100_000), (1_000, 1.0));
        let (measured, part) = play(100_000, |_| 200);
        assert!((3_000..6_000).contains(&measured), "{measured}");
        assert!((0.999..=1.0).contains(&part), "{part}");
    }

    #[test]
    fn short_and_long_rounds_in_turns_are_both_seen() {
        for long in [5_000, 50_000, 1_000_000] {
            let (_, part) = play(200_000, |number| if number % 2 == 0 { 200 } else { long });
            assert!((0.9..1.05).contains(&part), "{long}: {part}");
        }
    }

    /// Frames with `idle` nanoseconds after each, of `short` rounds of 4 us, which are sampled, and
    /// one of a millisecond, which is always measured. Which part of the time of all is reported.
    fn play_frames(short: u64, idle: u64) -> f64 {
        let (sampling, mut now, mut sum, mut all) = (RoundSampling::default(), 1, 0.0, 0);
        for _ in 0..2_000 {
            for took in (0..short).map(|_| 4_000).chain([1_000_000]) {
                let (round, due, sampled) = (now..now + took, sampling.is_due(), took == 4_000);
                now = round.end + 2_000;
                all += took;
                if due || !sampled {
                    sum += sampling.measured(round, due, sampled) * took as f64;
                } else {
                    sampling.skip();
                }
            }
            now += idle;
        }
        sum / all as f64
    }

    #[test]
    fn a_round_that_is_always_measured_stands_for_itself() {
        for (short, idle) in [(10, 0), (10, 15_000_000), (100, 0), (100, 15_000_000), (1, 15_000_000)] {
            let part = play_frames(short, idle);
            assert!((0.95..1.05).contains(&part), "{short} short ones, {idle} ns idle: {part}");
        }
    }

    #[test]
    fn a_round_stands_for_no_more_than_there_was_time_for() {
        let sampling = RoundSampling::default();
        sampling.measured(0..1_000, true, true);
        (0..30).for_each(|_| sampling.skip());
        assert_eq!(sampling.measured(10_000..1_010_000, true, true), 1.009);
    }

    #[test]
    fn after_an_odd_round_the_next_one_is_due() {
        let sampling = RoundSampling::default();
        assert!(sampling.is_due());
        sampling.measured(0..200, true, true);
        assert!(!sampling.is_due());
        sampling.hurry();
        assert!(sampling.is_due());
    }
}
