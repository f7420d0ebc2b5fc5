//! How the last second of each worker was spent.

use std::{collections::VecDeque, time::Duration};

use super::WorkerDiagnostics;

/// Which share of a second a worker spent how; together they are 1, or 0 before there are numbers.
///
/// ```
/// use bevy::prelude::*;
/// use bevy_affinity::prelude::*;
///
/// fn report(diagnostics: Res<AffinityDiagnostics>) {
///     for worker in &diagnostics.workers {
///         println!("{}: busy {:.0}%, waiting {:.0}%", worker.index, worker.recent.busy * 100.0, worker.recent.wait * 100.0);
///     }
/// }
/// # App::new().add_plugins(AffinityParallelPlugin).add_systems(Last, report).update();
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct WorkerShares {
    /// Inside closures; for the leader also in tagged systems outside of rounds.
    pub busy: f64,
    /// Outside closures in rounds that called it.
    pub wait: f64,
    /// Outside rounds, and in those that did not call it: spinning for the next one, or asleep. The
    /// leader runs everything else meanwhile.
    pub idle: f64,
}

impl WorkerShares {
    fn of(busy: f64, wait: f64, elapsed: f64) -> Self {
        // Threads that lead rounds at the same time all count as the leader: parts of a whole then.
        let whole = elapsed.max(busy + wait);
        let (busy, wait) = (busy / whole, wait / whole);
        Self { busy, wait, idle: (1.0 - busy - wait).max(0.0) }
    }
}

/// What workers had done at some moments of the last second.
#[derive(Clone, Debug, Default)]
pub(super) struct Window {
    marks: VecDeque<Mark>,
}

#[derive(Clone, Debug)]
struct Mark {
    /// In nanoseconds of the pool's clock.
    at: u64,
    /// How long tagged systems ran so far outside of rounds, their own and those that they were in.
    outside_rounds: Duration,
    /// How long the leader was busy since the window began.
    led: Duration,
    /// Busy and waiting time by worker.
    times: Vec<(Duration, Duration)>,
}

/// Marks in a window, and nanoseconds between them: a second, looked at as often as one can read.
const MARKS: usize = 9;
const STEP: u64 = 125_000_000;

impl Window {
    /// Brings the shares of `workers` up to date, if it is time to; returns whether it was.
    /// `outside_rounds` is how long tagged systems ran so far, without the rounds that they led and
    /// those that they ran in.
    pub(super) fn observe(&mut self, now: u64, outside_rounds: Duration, workers: &mut [WorkerDiagnostics]) -> bool {
        if self.marks.back().is_some_and(|last| !last.precedes(workers)) {
            self.marks.clear();
        }
        if self.marks.back().is_some_and(|last| now.saturating_sub(last.at) < STEP) {
            return false;
        }
        let led = self.marks.back().map_or(Duration::ZERO, |last| last.led_until(outside_rounds, workers));
        if let Some(first) = self.marks.front() {
            first.shares_until(now, led, workers);
        }
        self.mark(now, outside_rounds, led, workers);
        true
    }

    fn mark(&mut self, at: u64, outside_rounds: Duration, led: Duration, workers: &[WorkerDiagnostics]) {
        let recycled = if self.marks.len() == MARKS { self.marks.pop_front() } else { None };
        let mut times = recycled.map_or_else(Vec::new, |mark| mark.times);
        times.clear();
        times.extend(workers.iter().map(|worker| (worker.busy, worker.wait)));
        self.marks.push_back(Mark { at, outside_rounds, led, times });
    }
}

impl Mark {
    /// Whether `workers` are the same workers, later: their counters start over when the settings
    /// change.
    fn precedes(&self, workers: &[WorkerDiagnostics]) -> bool {
        let is_later =
            |(then, now): (&(Duration, Duration), &WorkerDiagnostics)| then.0 <= now.busy && then.1 <= now.wait;
        self.times.len() == workers.len() && self.times.iter().zip(workers).all(is_later)
    }

    /// For how long the leader was busy since the window began: in rounds, and in tagged systems
    /// outside of them, with sweeps that stay on it and all that is not a parallel call.
    fn led_until(&self, outside_rounds: Duration, workers: &[WorkerDiagnostics]) -> Duration {
        let Some((&(busy, _), leader)) = self.times.first().zip(workers.first()) else { return self.led };
        self.led + leader.busy.saturating_sub(busy) + outside_rounds.saturating_sub(self.outside_rounds)
    }

    /// `led` is how long the leader was busy since the window began, until now.
    fn shares_until(&self, now: u64, led: Duration, workers: &mut [WorkerDiagnostics]) {
        let elapsed = Duration::from_nanos(now.saturating_sub(self.at)).as_secs_f64();
        for (index, (worker, then)) in workers.iter_mut().zip(&self.times).enumerate() {
            let busy = if index == 0 { led.saturating_sub(self.led) } else { worker.busy.saturating_sub(then.0) };
            let wait = worker.wait.saturating_sub(then.1);
            worker.recent = WorkerShares::of(busy.as_secs_f64(), wait.as_secs_f64(), elapsed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn workers(busy: u64, wait: u64) -> Vec<WorkerDiagnostics> {
        let (busy, wait) = (Duration::from_nanos(busy), Duration::from_nanos(wait));
        vec![WorkerDiagnostics { busy, wait, ..Default::default() }]
    }

    #[test]
    fn shares_are_those_of_the_last_second() {
        let mut window = Window::default();
        let mut last = WorkerShares::default();
        // Idle for two seconds, then busy for half of the time and waiting for a quarter of it.
        for frame in 0..400_u64 {
            let active = frame.saturating_sub(200) * 10 * MS;
            let mut workers = workers(active / 2, active / 4);
            workers[0].recent = last;
            window.observe(frame * 10 * MS, Duration::ZERO, &mut workers);
            last = workers[0].recent;
        }
        assert!((last.busy - 0.5).abs() < 0.01 && (last.wait - 0.25).abs() < 0.01, "{last:?}");
        assert!((last.idle - 0.25).abs() < 0.01, "{last:?}");
        assert_eq!(window.marks.len(), MARKS);
    }

    #[test]
    fn a_leader_that_sweeps_alone_is_busy() {
        let mut window = Window::default();
        let mut leader = workers(0, 0);
        for step in 0..=8_u64 {
            // Half of the time in tagged systems, and never in a round.
            window.observe(step * 125 * MS, Duration::from_nanos(step * 62 * MS), &mut leader);
        }
        assert!((leader[0].recent.busy - 0.5).abs() < 0.01, "{:?}", leader[0].recent);
    }

    /// As where tagged systems run before untagged ones that are dealt out to the gang.
    #[test]
    fn rounds_and_what_is_outside_of_them_add_up() {
        let mut window = Window::default();
        let mut leader = workers(0, 0);
        for step in 0..=8_u64 {
            (leader[0].busy, leader[0].wait) = (Duration::from_millis(10 * step), Duration::from_millis(40 * step));
            window.observe(step * 125 * MS, Duration::from_millis(50 * step), &mut leader);
        }
        let WorkerShares { busy, wait, .. } = leader[0].recent;
        assert!((busy - 0.48).abs() < 0.01 && (wait - 0.32).abs() < 0.01, "{:?}", leader[0].recent);
    }

    #[test]
    fn rounds_outside_of_tagged_systems_show() {
        let mut window = Window::default();
        // Two seconds in tagged systems, then rounds of untagged ones.
        let at = |step: u64| {
            let (tagged, led) = (step.min(16) * 125 * MS, step.saturating_sub(16) * MS);
            let workers = [workers(12 * led, 108 * led), workers(120 * led, 0)].concat();
            (step * 125 * MS, Duration::from_nanos(tagged), workers)
        };
        for step in 0..=26 {
            let (now, tagged, mut workers) = at(step);
            assert!(window.observe(now, tagged, &mut workers));
            assert_eq!(window.marks.len(), MARKS.min(step as usize + 1));
            let recent = workers[0].recent;
            if step == 26 {
                assert!((recent.busy - 0.096).abs() < 0.01 && (recent.wait - 0.864).abs() < 0.01, "{recent:?}");
                assert!((workers[1].recent.busy - 0.96).abs() < 0.01, "{:?}", workers[1].recent);
            }
        }
    }

    #[test]
    fn shares_are_parts_of_one_second() {
        let mut window = Window::default();
        window.observe(0, Duration::ZERO, &mut workers(0, 0));
        let mut for_four = workers(500 * MS, 500 * MS);
        window.observe(250 * MS, Duration::ZERO, &mut for_four);
        let WorkerShares { busy, wait, idle } = for_four[0].recent;
        assert_eq!((busy, wait, idle), (0.5, 0.5, 0.0));
    }

    #[test]
    fn counters_that_start_over_start_a_new_window() {
        let mut window = Window::default();
        window.observe(0, Duration::ZERO, &mut workers(500 * MS, 0));
        window.observe(200 * MS, Duration::ZERO, &mut workers(600 * MS, 0));
        let mut fresh = workers(10 * MS, 0);
        window.observe(400 * MS, Duration::ZERO, &mut fresh);
        assert_eq!(fresh[0].recent, WorkerShares::default());
        window.observe(600 * MS, Duration::ZERO, &mut workers(10 * MS, 0));
        assert_eq!(window.marks.len(), 2);
    }
}
