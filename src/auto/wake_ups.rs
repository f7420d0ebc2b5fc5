//! What it is worth that a call wakes the workers.
//!
//! The call that wakes them pays for it, and those that follow gain. In a game at 60 frames a
//! second the first sweep of a frame would take less on one thread; so would then the second, which
//! finds the workers asleep in its turn, and in the end all of them. Hence what the others gained
//! after a call, the last times that it woke the workers, is its credit: time that is lost on one
//! thread.

use std::sync::{
    Arc, Mutex, Weak,
    atomic::{AtomicU64, Ordering},
};

use super::Site;
use crate::sync::lock;

/// Which call of a world woke the workers last, and what others have gained since.
#[derive(Debug, Default)]
pub(crate) struct WakeUps {
    /// Nanoseconds, compared with one thread.
    gained: AtomicU64,
    /// How often workers had been woken, by that call too; 0 if none is waiting for its credit.
    number: AtomicU64,
    waker: Mutex<Weak<Site>>,
}

impl WakeUps {
    /// Notes a call of `site` that goes to the gang, and what it gains there. It finds the workers
    /// `asleep` or not, which were `woken` so often before.
    #[inline]
    pub(super) fn note(&self, site: &Arc<Site>, asleep: bool, woken: u64, gain: impl FnOnce() -> u64) {
        if asleep {
            self.begin(site, woken);
        } else if woken <= self.number.load(Ordering::Relaxed) {
            // Nothing else has woken them since the waker, as schedules on the gang and trees do.
            self.gained.fetch_add(gain(), Ordering::Relaxed);
        }
    }

    /// Workers were found asleep: the call that had woken them is credited with what came of it. To
    /// be called without the lock of a site.
    pub(super) fn end(&self) {
        if self.number.load(Ordering::Relaxed) == 0 {
            return;
        }
        self.number.store(0, Ordering::Relaxed);
        let waker = lock(&self.waker).upgrade();
        if let Some(site) = waker {
            site.models().give_credit(self.gained.load(Ordering::Relaxed));
        }
    }

    /// Notes that a call of `site` is about to wake workers, which were woken `before` times.
    fn begin(&self, site: &Arc<Site>, before: u64) {
        *lock(&self.waker) = Arc::downgrade(site);
        self.gained.store(0, Ordering::Relaxed);
        self.number.store(before + 1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::panic::Location;

    use super::*;
    use crate::auto::{ChoiceReason, Outcome, Probe, Situation, Timing, decide};

    /// A frame calls each of `sites` once. What calls take there, in nanoseconds: one that wakes
    /// two workers is run by the leader alone, which also wakes the other.
    const ALONE: u64 = 50_000;
    const AWAKE: u64 = 26_000;
    const WAKING: u64 = 80_000;

    /// A game whose frames are far enough apart for workers to sleep between them.
    struct Game {
        sites: Vec<Arc<Site>>,
        wake_ups: WakeUps,
        rows: u64,
        /// Whether so much else happens between calls that workers sleep as each begins.
        far_apart: bool,
        /// Whether they never do.
        flat_out: bool,
        /// How often they were woken.
        woken: u64,
        /// Whether something else wakes them after the first call.
        others_wake: bool,
        waking: u64,
        now: u64,
    }

    impl Game {
        fn new(calls: usize, rows: u64) -> Self {
            let sites = (0..calls).map(|_| Arc::new(Site::new(Location::caller()))).collect();
            Self {
                sites,
                wake_ups: WakeUps::default(),
                rows,
                far_apart: false,
                flat_out: false,
                woken: 0,
                others_wake: false,
                waking: WAKING,
                now: 0,
            }
        }

        /// What the calls of one frame take.
        fn frame(&mut self) -> u64 {
            self.now += 16_000_000;
            let (began, mut asleep) = (self.now, !self.flat_out);
            for (number, site) in self.sites.iter().enumerate() {
                let is_first = number == 0;
                let situation = Situation { storages: 1, workers: 2, asleep };
                let decision = decide(site, situation, &self.wake_ups, self.woken, || self.rows);
                let is_shared = decision.strategy.is_the_gangs();
                let (takes, busy) = match (is_shared, asleep) {
                    (false, _) => (ALONE, None),
                    (true, true) => (self.waking, None),
                    (true, false) => (AWAKE, Some(ALONE)),
                };
                let outcome = Outcome { busy, ..Outcome::unknown(self.rows) };
                let asked = decision.timing == Timing::ForModel;
                if decision.timing == Timing::Probe {
                    let probe = Probe { rows: self.rows, nanoseconds: ALONE };
                    site.learn_probe(probe, self.rows, self.now + takes);
                } else {
                    site.learn(decision.strategy, &outcome, asked.then(|| self.now..self.now + takes));
                }
                self.now += takes;
                self.woken += u64::from(is_shared && asleep) + u64::from(self.others_wake && is_first);
                asleep = self.far_apart || asleep && !is_shared && !self.others_wake;
            }
            self.now - began
        }

        /// What the calls of a frame take on average once they are known.
        fn mean(&mut self) -> u64 {
            (0..300).for_each(|_| _ = self.frame());
            (0..1_000).map(|_| self.frame()).sum::<u64>() / 1_000
        }
    }

    /// A long call that wakes the workers gains nothing itself.
    #[test]
    fn the_first_call_of_a_frame_wakes_workers_for_the_others() {
        for rows in [1_000, 20_000] {
            for calls in [4, 10, 40] {
                let (mean, best) = (Game::new(calls, rows).mean(), WAKING + (calls as u64 - 1) * AWAKE);
                assert!(mean <= best * 105 / 100, "{calls} calls of {rows} rows: {mean} ns, {best} at best");
            }
        }
    }

    #[test]
    fn the_waker_says_that_it_is_for_others() {
        let mut game = Game::new(10, 20_000);
        game.mean();
        let reasons: Vec<_> = game.sites.iter().map(|site| site.models().explain().reason).collect();
        assert_eq!(reasons[0], ChoiceReason::ForOthers);
        assert!(reasons[1..].iter().all(|&reason| reason != ChoiceReason::ForOthers), "{reasons:?}");
    }

    #[test]
    fn nobody_is_woken_for_calls_that_gain_too_little() {
        for calls in [1, 2] {
            let (mean, best) = (Game::new(calls, 20_000).mean(), calls as u64 * ALONE);
            assert!(mean <= best * 105 / 100, "{calls} calls: {mean} ns, {best} at best");
        }
    }

    #[test]
    fn calls_that_each_find_workers_asleep_do_not_wake_them_for_each_other() {
        let mut game = Game { far_apart: true, ..Game::new(10, 20_000) };
        let (mean, best) = (game.mean(), 10 * ALONE);
        assert!(mean <= best * 105 / 100, "{mean} ns, {best} at best");
    }

    #[test]
    fn who_gains_no_more_is_forgotten() {
        let mut game = Game::new(10, 20_000);
        game.mean();
        game.sites.truncate(1);
        let frames = (0..100).find(|_| game.frame() == ALONE);
        assert!(frames.is_some_and(|frames| frames < 40), "{frames:?}");
        assert!(game.mean() <= ALONE * 105 / 100);
        // Of new ones the first does it.
        (0..9).for_each(|_| game.sites.push(Arc::new(Site::new(Location::caller()))));
        assert!(game.mean() <= (ALONE + WAKING + 8 * AWAKE) * 105 / 100);
    }

    /// A game that ran flat out goes on at 60 frames a second.
    #[test]
    fn what_was_gained_by_calls_without_an_end_is_soon_forgotten() {
        let mut game = Game { waking: 10 * WAKING, ..Game::new(10, 20_000) };
        game.frame();
        game.flat_out = true;
        game.mean();
        game.flat_out = false;
        let frames = (0..1_000).find(|_| game.frame() == 10 * ALONE);
        assert!(frames.is_some_and(|frames| frames < 28), "{frames:?}");
    }

    #[test]
    fn what_others_gain_by_another_wake_up_is_no_credit() {
        let mut game = Game { others_wake: true, ..Game::new(10, 20_000) };
        let (mean, best) = (game.mean(), ALONE + 9 * AWAKE);
        assert!(mean <= best * 105 / 100, "{mean} ns, {best} at best");
    }

    #[test]
    fn a_waker_that_is_gone_is_not_kept() {
        let mut game = Game::new(1, 20_000);
        game.frame();
        let site = Arc::downgrade(&game.sites.remove(0));
        assert_eq!(site.strong_count(), 0);
        game.sites = Game::new(2, 20_000).sites;
        game.frame();
    }
}
