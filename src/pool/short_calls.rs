//! When `heartbeat` calls the other workers: at once, or, from a place in the program whose calls
//! were short, only if this one takes long.
//!
//! What is short depends on whether workers wait or sleep, and on what this thread did just before.
//! A call that begins alone holds the lead: `heartbeat/alone.rs` has its joins, which ask
//! ([`Waiting`]) whether it takes long, and hand on what is left if so.

use std::{
    ops::Range,
    panic::{AssertUnwindSafe, Location, catch_unwind},
    time::Duration,
};

use super::{
    AffinityPool, Scope,
    clock::{nanoseconds, now},
    handed::Handed,
    heartbeat::{Others, alone, on_the_spot},
    round::Lead,
};
use crate::{
    auto::{WORTH_A_ROUND, worth_a_wake_up},
    record::SpanKind,
    sync::{AtomicU64, Mutex, Ordering, lock},
};

/// Sessions of a place that follow each other, none of them long, before a call begins alone again;
/// the first time one suffices. Twice as many each time that such a call is long after all, and as
/// few again when as many as [`MOST_SESSIONS`] in a row were short.
const FEWEST_SESSIONS: u32 = 4;
const MOST_SESSIONS: u32 = 256;

/// Workers are busy in a session for no longer than this many times what the call would take one
/// thread, if that is little: a short one is mostly fetched from other caches.
const OF_SESSION: u64 = 4;

/// And each worker for this long at most if it comes for nothing, in nanoseconds.
const OF_WORKER: u64 = 1_000;

/// What the calls of a pool took lately. Nothing is known at first.
#[derive(Default)]
pub(super) struct ShortCalls(Mutex<Known>);

#[derive(Default)]
struct Known {
    places: Vec<(&'static Location<'static>, Place)>,
    /// What one thread did beside workers that slept: when its last call ended, and the work in
    /// that and in those before it that it followed, in nanoseconds.
    ended: u64,
    work: u64,
}

/// What is known of the calls of one place.
struct Place {
    /// What the last call that began alone took, in nanoseconds; 0 if the next one is to show that.
    alone: u64,
    /// Sessions to go before one begins alone again, and how many there are between two.
    left: u32,
    sessions: u32,
    /// Calls in a row that began alone and were short.
    short: u32,
}

/// Workers that sleep as a call begins.
#[derive(Clone, Copy)]
struct Sleepers {
    /// When it begins, in nanoseconds of the pool's clock.
    now: u64,
    /// For how long they would look for more work after it.
    spin: Duration,
    /// What one thread does before it wakes them, in nanoseconds.
    worth: u64,
}

/// What a session showed.
#[derive(Clone, Copy)]
struct PastSession {
    workers: usize,
    /// For how many nanoseconds all of them together were busy.
    busy: u64,
    /// What one thread would have done before it woke them, in nanoseconds.
    worth: u64,
    /// Halves of a join may have waited for each other. On one thread they would do so for ever.
    may_have_waited: bool,
}

impl PastSession {
    fn is_short(&self) -> bool {
        self.busy <= OF_SESSION * self.worth + OF_WORKER * self.workers as u64
    }
}

impl Place {
    fn new() -> Self {
        Self { alone: 0, left: 1, sessions: FEWEST_SESSIONS, short: 0 }
    }

    /// Whether the next call is to begin alone, if it may take no longer than `limit` nanoseconds.
    fn begins_alone(&mut self, limit: u64) -> bool {
        if self.left == 0 && self.alone > limit {
            self.left = self.sessions;
        }
        self.left == 0
    }

    /// A session.
    fn note_session(&mut self, session: PastSession) {
        if session.may_have_waited && session.is_short() {
            self.sessions = (2 * self.sessions).min(MOST_SESSIONS);
        }
        let begins_alone = session.is_short() && !session.may_have_waited;
        self.left = if begins_alone { self.left.saturating_sub(1) } else { self.sessions };
        if self.left == 0 {
            self.alone = 0;
        }
    }

    /// A call that began alone, `took` this many nanoseconds, and was to take no more than `limit`.
    fn note_alone(&mut self, took: u64, limit: u64) {
        self.alone = took;
        if took > limit {
            (self.left, self.short) = (self.sessions, 0);
            // Beside sleepers the limit may be what others have left of it.
            let is_mistake = took > 2 * limit;
            self.sessions = if is_mistake { (2 * self.sessions).min(MOST_SESSIONS) } else { self.sessions };
        } else {
            self.short += 1;
            if self.short == MOST_SESSIONS {
                (self.sessions, self.short) = (FEWEST_SESSIONS, 0);
            }
        }
    }
}

impl Known {
    fn of(&mut self, place: &'static Location<'static>) -> &mut Place {
        let known = self.places.iter().position(|(known, _)| std::ptr::eq(*known, place));
        let known = known.unwrap_or_else(|| {
            self.places.push((place, Place::new()));
            self.places.len() - 1
        });
        &mut self.places[known].1
    }

    /// How much more work one thread does before it wakes workers. Calls follow each other where
    /// workers that were called would still spin.
    fn left_beside(&mut self, Sleepers { now, spin, worth }: Sleepers) -> u64 {
        if now.saturating_sub(self.ended) > nanoseconds(spin) {
            self.work = 0;
        }
        worth.saturating_sub(self.work).max(WORTH_A_ROUND)
    }
}

impl ShortCalls {
    /// What a call from `place` may take that is to begin alone, in nanoseconds.
    fn limit(&self, place: &'static Location<'static>, asleep: Option<Sleepers>) -> Option<u64> {
        let mut known = lock(&self.0);
        let limit = asleep.map_or(WORTH_A_ROUND, |sleepers| known.left_beside(sleepers));
        known.of(place).begins_alone(limit).then_some(limit)
    }

    fn note_session(&self, place: &'static Location<'static>, session: PastSession) {
        lock(&self.0).of(place).note_session(session);
    }

    /// Notes when a call ran that began alone, perhaps beside workers that slept.
    fn note_alone(&self, place: &'static Location<'static>, call: Range<u64>, limit: u64, asleep: bool) {
        let (mut known, took) = (lock(&self.0), call.end.saturating_sub(call.start));
        known.of(place).note_alone(took, limit);
        if asleep {
            (known.ended, known.work) = (call.end, known.work.saturating_add(took));
        }
    }
}

impl AffinityPool {
    /// A session, or a call that begins on this thread because those from `place` are short.
    pub(super) fn lead_from<R: Send>(
        &self,
        place: &'static Location<'static>,
        lead: Lead<'_>,
        root: &Handed<impl FnOnce(&mut Scope) -> R + Send, R>,
    ) {
        let sleepers = || Sleepers { now: now(), spin: self.spin, worth: worth_a_wake_up(self.workers()) };
        let (calls, asleep) = (&self.short_calls, self.is_asleep().then(sleepers));
        match calls.limit(place, asleep) {
            None => {
                let (finished, may_have_waited) = self.lead_session(lead, root);
                let worth = asleep.map_or(worth_a_wake_up(2), |sleepers| sleepers.worth);
                let session = PastSession { workers: self.workers(), busy: finished.work(), worth, may_have_waited };
                calls.note_session(place, session);
            }
            Some(limit) => {
                let call = self.begin_alone(lead, limit, root);
                calls.note_alone(place, call, limit, asleep.is_some());
            }
        }
    }

    /// A recursion that begins on this thread, and calls others if that takes longer than `limit`
    /// nanoseconds. Returns from when to when it ran.
    fn begin_alone<R: Send>(
        &self,
        lead: Lead<'_>,
        limit: u64,
        root: &Handed<impl FnOnce(&mut Scope) -> R + Send, R>,
    ) -> Range<u64> {
        let began = now();
        let lead = Mutex::new(Some(lead));
        let others = Waiting { pool: self, lead, wanted_from: began + limit, shared: AtomicU64::new(0) };
        let alone = |f| catch_unwind(AssertUnwindSafe(|| alone(&others, began, f)));
        let ended = self.run_own(SpanKind::Session, began, |_| {
            root.run(|f| (alone(f), 0));
            others.shared.load(Ordering::Relaxed)
        });
        began..ended
    }
}

/// The other workers, who are not called yet.
struct Waiting<'p> {
    pool: &'p AffinityPool,
    /// One thread looks at a time. Nothing after a panic.
    lead: Mutex<Option<Lead<'p>>>,
    /// In nanoseconds of the pool's clock.
    wanted_from: u64,
    /// For how many nanoseconds they were called, by this thread.
    shared: AtomicU64,
}

impl Others for Waiting<'_> {
    fn are_wanted(&self, now: u64) -> bool {
        now >= self.wanted_from
    }

    fn call(&self, f: &mut (dyn FnMut(&mut Scope) + Send)) -> u64 {
        let Some(lead) = lock(&self.lead).take() else {
            on_the_spot(f);
            return 0;
        };
        let (began, root) = (now(), Handed::new(f));
        let (finished, _) = self.pool.lead_session(lead, &root);
        let work = finished.work();
        *lock(&self.lead) = finished.into_lead();
        self.shared.fetch_add(now().saturating_sub(began), Ordering::Relaxed);
        root.into_result();
        work
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPIN: Duration = Duration::from_micros(50);

    /// What one thread does before it wakes one other worker.
    const WORTH: u64 = 40_000;

    fn asleep(now: u64) -> Option<Sleepers> {
        Some(Sleepers { now, spin: SPIN, worth: WORTH })
    }

    fn session(busy: u64) -> PastSession {
        PastSession { workers: 2, busy, worth: WORTH, may_have_waited: false }
    }

    /// Makes calls that take one thread so long each, while workers wait. Which of them began
    /// alone.
    fn play(place: &mut Place, works: impl IntoIterator<Item = u64>) -> Vec<bool> {
        let call = |work| {
            let begins_alone = place.begins_alone(WORTH_A_ROUND);
            match begins_alone {
                true => place.note_alone(work, WORTH_A_ROUND),
                false => place.note_session(session(2 * work)),
            }
            begins_alone
        };
        works.into_iter().map(call).collect()
    }

    fn count(alone: &[bool]) -> usize {
        alone.iter().filter(|&&alone| alone).count()
    }

    const SMALL: u64 = WORTH_A_ROUND / 2;
    const LARGE: u64 = 1_000 * WORTH_A_ROUND;

    #[test]
    fn short_calls_begin_alone() {
        let mut place = Place::new();
        assert_eq!(count(&play(&mut place, [SMALL; 100])), 99);
        // The thread loses its core once in a while.
        let works = (0..10_000).map(|call| if call % 500 == 0 { LARGE } else { SMALL });
        assert!(count(&play(&mut place, works)) > 9_800);
        assert_eq!(count(&play(&mut place, [LARGE; 100])), 1);
        assert!(count(&play(&mut place, [SMALL; 1_000])) > 980, "it takes some to know that they are short again");
    }

    #[test]
    fn halves_that_may_wait_for_each_other_do_not_begin_alone() {
        let mut place = Place::new();
        let waits = PastSession { may_have_waited: true, ..session(SMALL) };
        for _ in 0..1_000 {
            assert!(!place.begins_alone(WORTH_A_ROUND));
            place.note_session(waits);
        }
        let alone = play(&mut place, [SMALL; 1_000]);
        assert_eq!(alone.iter().position(|&alone| alone), Some(MOST_SESSIONS as usize), "once they no longer do");
    }

    #[test]
    fn a_place_with_long_calls_is_a_long_one() {
        for period in [2, 5, 16, 40] {
            let works = (0..10_000).map(|call| if call % period == 0 { LARGE } else { SMALL });
            let alone = play(&mut Place::new(), works);
            let long = (0..10_000).filter(|call| call % period == 0).filter(|&call| alone[call]).count();
            assert!(long <= 5, "{long} long calls of a period of {period} began alone");
        }
        assert!(count(&play(&mut Place::new(), [3 * WORTH_A_ROUND; 10_000])) < 60, "it is tried ever more seldom");
    }

    #[test]
    fn short_calls_that_follow_each_other_wake_workers() {
        let (calls, place) = (ShortCalls::default(), Location::caller());
        let work = WORTH / 3;
        calls.note_session(place, session(work));
        let mut now = 1_000_000_000;
        for _ in 0..3 {
            for left in [3, 2, 1] {
                let limit = calls.limit(place, asleep(now)).expect("it begins alone");
                assert!(limit.abs_diff(left * work) < 10, "{limit} at {left}");
                calls.note_alone(place, now..now + work, limit, true);
                now += work + nanoseconds(SPIN) / 2;
            }
            assert_eq!(calls.limit(place, asleep(now)), None, "enough to wake them");
            (0..FEWEST_SESSIONS).for_each(|_| calls.note_session(place, session(work)));
            now += 2 * nanoseconds(SPIN);
        }
        let limit = calls.limit(place, asleep(now)).expect("it begins alone");
        calls.note_alone(place, now - 10 * WORTH..now, u64::MAX, true);
        assert_eq!((limit, calls.limit(Location::caller(), asleep(now))), (WORTH, None));
    }
}
