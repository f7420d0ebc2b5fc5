//! Calls that take too little to be shared, by the place in the program that makes them.

use std::{ops::Range, panic::Location, time::Duration};

use super::clock::nanoseconds;
use crate::sync::{Mutex, lock};

/// Work that this thread does alone where workers wait for a call, in nanoseconds. A session of
/// fork/join costs 1 to 2 us where two cores share a cache, more where they do not, and two workers
/// halve the work at best: it breaks even at 2 to 5.
const SHORT: u64 = 5_000;

/// What of the time that workers are busy in a short session is its own: to give work away, and to
/// fetch it from another cache.
const OF_SESSION: u64 = 2_000;

/// Work that it does alone before it wakes workers that sleep, in calls that follow each other: to
/// wake one takes some 10 us of the leader, and it comes 30 us later.
const WORTH_WAKING: u64 = 40_000;

/// A longer call counts for a quarter, a shorter one for an eighth: a place is short if nearly all
/// its calls are.
const LONGER: u64 = 4;
const SHORTER: u64 = 8;

/// A call counts for no more than this multiple of those before it, or of a short one: the thread
/// may have lost its core in it.
const MOST: u64 = 4;

/// What the calls of a pool took lately. Nothing is known at first.
#[derive(Default)]
pub(super) struct ShortCalls(Mutex<Known>);

#[derive(Default)]
struct Known {
    /// What calls of each place took, in nanoseconds.
    places: Vec<(&'static Location<'static>, u64)>,
    /// What one thread did while workers slept: when its last call ended, and the work in that and
    /// in those before it that it followed.
    ended: u64,
    work: u64,
}

impl Known {
    fn of(&mut self, place: &'static Location<'static>) -> Option<&mut u64> {
        self.places.iter_mut().find(|(known, _)| std::ptr::eq(*known, place)).map(|(_, work)| work)
    }

    /// How much more work one thread does in a call that begins `now`, while workers sleep. Calls
    /// follow each other where workers that were called would still `spin`.
    fn left_beside_sleepers(&mut self, now: u64, spin: Duration) -> u64 {
        if now.saturating_sub(self.ended) > nanoseconds(spin) {
            self.work = 0;
        }
        WORTH_WAKING.saturating_sub(self.work).max(SHORT)
    }
}

impl ShortCalls {
    /// What a call from `place` is to take no longer than, in nanoseconds, if those before it did
    /// not. `asleep` is the time now, if workers sleep.
    pub(super) fn limit(&self, place: &'static Location<'static>, asleep: Option<u64>, spin: Duration) -> Option<u64> {
        let mut known = lock(&self.0);
        let limit = asleep.map_or(SHORT, |now| known.left_beside_sleepers(now, spin));
        known.of(place).is_some_and(|work| *work <= limit).then_some(limit)
    }

    /// Learns for how long all workers together were busy in a session from `place`.
    pub(super) fn learn_shared(&self, place: &'static Location<'static>, busy: u64) {
        lock(&self.0).learn(place, busy.saturating_sub(OF_SESSION));
    }

    /// Learns when one thread ran a call from `place`.
    pub(super) fn learn_alone(&self, place: &'static Location<'static>, call: Range<u64>) {
        let (mut known, work) = (lock(&self.0), call.end.saturating_sub(call.start));
        known.learn(place, work);
        (known.ended, known.work) = (call.end, known.work.saturating_add(work));
    }
}

impl Known {
    fn learn(&mut self, place: &'static Location<'static>, work: u64) {
        match self.of(place) {
            Some(known) => *known = smoothed(*known, work),
            None => self.places.push((place, work)),
        }
    }
}

fn smoothed(known: u64, work: u64) -> u64 {
    if work > known {
        let most = known.max(SHORT).saturating_mul(MOST);
        known + (work.min(most) - known).div_ceil(LONGER)
    } else {
        known - (known - work) / SHORTER
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPIN: Duration = Duration::from_micros(50);

    /// Whether calls from the place are short after these.
    fn is_short(calls: &ShortCalls, place: &'static Location<'static>, works: &[u64]) -> bool {
        works.iter().for_each(|&work| calls.learn_shared(place, work + OF_SESSION));
        calls.limit(place, None, SPIN).is_some()
    }

    #[test]
    fn a_place_is_short_if_nearly_all_its_calls_are() {
        let (calls, place, other) = (ShortCalls::default(), Location::caller(), Location::caller());
        assert_eq!(calls.limit(place, Some(0), SPIN), None, "nothing is known");
        assert!(!is_short(&calls, place, &[5 * SHORT]));
        assert_eq!(calls.limit(place, Some(0), SPIN), Some(WORTH_WAKING));
        assert_eq!(calls.limit(other, Some(0), SPIN), None, "it is another place");
        let short = SHORT / 2;
        assert!(is_short(&calls, place, &[short; 24]));
        assert!(is_short(&calls, place, &[1_000 * SHORT, short, short, short, short, short, short, short]));
        assert!(!is_short(&calls, place, &[20 * SHORT; 3]));
        assert!(!is_short(&calls, place, &[short, 20 * SHORT, short, short, short].repeat(20)));
    }

    #[test]
    fn short_calls_that_follow_each_other_wake_workers() {
        let (calls, place) = (ShortCalls::default(), Location::caller());
        let work = WORTH_WAKING / 3;
        assert!(!is_short(&calls, place, &[work]));
        let mut now = 1_000_000_000;
        for _ in 0..3 {
            for left in [3, 2, 1] {
                let limit = calls.limit(place, Some(now), SPIN);
                assert!(limit.is_some_and(|limit| limit.abs_diff(left * work) < 10), "{limit:?} at {left}");
                calls.learn_alone(place, now..now + work);
                now += work + nanoseconds(SPIN) / 2;
            }
            assert_eq!(calls.limit(place, Some(now), SPIN), None, "enough to wake them");
            now += 2 * nanoseconds(SPIN);
        }
        assert!(is_short(&calls, place, &[SHORT / 2; 30]));
        calls.learn_alone(place, now - 10 * WORTH_WAKING..now);
        assert!(is_short(&calls, place, &[SHORT / 2; 30]));
        assert_eq!(calls.limit(place, Some(now), SPIN), Some(SHORT), "these wake nobody");
    }

    #[test]
    fn nothing_overflows() {
        let mut known = 0;
        for work in [0, 1, u64::MAX, 0, u64::MAX].into_iter().chain([u64::MAX; 100]) {
            known = smoothed(known, work);
        }
        assert!(known > u64::MAX / 2);
    }
}
