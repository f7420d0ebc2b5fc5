//! What tasks take.

use crate::{
    executor::times::{SMOOTHING, smoothed},
    pool::{Led, LedCalls},
};

/// What a run says of whether its task leads rounds counts as one part in this many: a call that
/// tries another way now and then says little.
const SMOOTHING_OF_LEADS: f32 = 4.0;

/// A task takes much longer than it did if it takes this many times as long, and more than
/// [`WORTH_A_NEW_PLAN`] nanoseconds.
const MUCH_LONGER: f32 = 2.0;
const WORTH_A_NEW_PLAN: f32 = 20_000.0;

/// A task runs often if it ran in more than this part of the last runs. One that runs every third
/// time does, and one of the three lessons sees it; one that runs every eighth time does not.
const OFTEN: f32 = 0.3;

/// A run that takes this many nanoseconds longer than the next was interrupted, by what is loaded
/// for example. Less makes no plan too great a risk.
const INTERRUPTED: f32 = 5_000_000.0;

/// A system that runs seldom is seen by no lesson. One that then takes this many nanoseconds is
/// worth a place of its own.
const SURPRISING: f32 = 1_000_000.0;

/// What each task of a schedule takes, and which lead rounds. All in nanoseconds, by task.
pub(super) struct Costs {
    /// In runs in which it led no rounds.
    by_itself: Vec<f32>,
    /// In runs in which it did.
    leading: Vec<f32>,
    /// What its sweeps took then, and what they would have taken one thread, as far as they know; 0
    /// if they do not.
    sweeps: Vec<f32>,
    work: Vec<f32>,
    /// In which part of the runs its conditions let it run.
    ran: Vec<f32>,
    observed: u32,
    /// What it led in the run that goes on, if it could.
    led: Vec<Option<Led>>,
    /// In which part of the runs it led rounds, where it could, and how many of those were seen.
    leads: Vec<f32>,
    seen: Vec<u32>,
}

impl Costs {
    pub(super) fn new(tasks: usize) -> Self {
        let zeros = || vec![0.0; tasks];
        let [by_itself, leading, sweeps, work, ran, leads] = std::array::from_fn(|_| zeros());
        let (led, seen) = (vec![None; tasks], vec![0; tasks]);
        Self { by_itself, leading, sweeps, work, ran, observed: 0, led, leads, seen }
    }

    /// What a task takes when it runs, if it leads rounds, or does not, on a gang of `workers`.
    /// Where it was not seen without, its sweeps are taken to need what their rows cost one thread.
    pub(super) fn when_it_runs(&self, task: usize, leads: bool, workers: usize) -> f32 {
        let (leading, work) = (self.leading[task], self.work[task]);
        if leads {
            return leading;
        }
        let beside = (leading - self.sweeps[task]).max(0.0);
        let most = self.most_by_itself(task, workers);
        let is_guess = self.by_itself[task] == 0.0 && work > 0.0;
        if is_guess { most.min(beside + work) } else { most }
    }

    /// What a task takes by itself when it runs. Where it was not seen so, as much as if it had
    /// kept all workers busy for as long as it took.
    pub(super) fn most_by_itself(&self, task: usize, workers: usize) -> f32 {
        match self.by_itself[task] {
            0.0 => self.leading[task] * workers as f32,
            by_itself => by_itself,
        }
    }

    /// What a task takes on average: runs in which its conditions keep it from running count as
    /// nothing.
    pub(super) fn on_average(&self, task: usize, leads: bool, workers: usize) -> f32 {
        self.when_it_runs(task, leads, workers) * self.ran[task]
    }

    /// Learns what each task took in a run; nothing of those that conditions kept from running.
    pub(super) fn observe(&mut self, took: impl Iterator<Item = Option<u64>>) {
        let before = self.observed;
        self.observed += 1;
        for (task, took) in took.enumerate() {
            let led = self.led[task].take();
            follow(&mut self.ran[task], took.is_some(), self.observed, SMOOTHING);
            let Some(took) = took else { continue };
            if let Some(led) = led {
                self.learn_led(task, led, before);
            }
            let leads = led.is_some_and(|led| led.rounds > 0);
            learn(if leads { &mut self.leading[task] } else { &mut self.by_itself[task] }, took, before);
        }
    }

    /// Notes what a task led in the run that goes on, in which it could: if its conditions let it
    /// run.
    pub(super) fn note_led(&mut self, task: usize, led: Led) {
        self.led[task] = Some(led);
    }

    /// Learns what a task led in a run that had this many before it.
    fn learn_led(&mut self, task: usize, led: Led, before: u32) {
        let LedCalls { rounds, took, work } = led.calls;
        if led.rounds > rounds {
            // What other rounds, such as those of a tree, would take one thread is not known.
            self.work[task] = 0.0;
        } else if rounds > 0 && work > 0 {
            learn(&mut self.sweeps[task], took, before);
            learn(&mut self.work[task], work, before);
        }
        self.seen[task] += 1;
        follow(&mut self.leads[task], led.rounds > 0, self.seen[task], SMOOTHING_OF_LEADS);
    }

    /// Whether a task that did not run when the plan was made was now seen to take very long by
    /// itself. If it is tagged, that may be because it was dealt out.
    pub(super) fn is_surprise(&self, before: &[f32], task: usize) -> bool {
        before[task] == 0.0 && self.by_itself[task] > SURPRISING
    }

    /// Takes it for one that leads rounds until it is seen not to, on a gang of `workers`.
    pub(super) fn suppose_leading(&mut self, task: usize, workers: usize) {
        self.leads[task] = 1.0;
        self.leading[task] = self.by_itself[task] / workers as f32;
    }

    /// Whether a task leads rounds more often than not, where it can.
    pub(super) fn is_leading(&self, task: usize) -> bool {
        self.leads[task] > 0.5
    }

    /// Whether a task leads sweeps that would take less on one thread than on a gang of `workers`.
    pub(super) fn takes_less_by_itself(&self, task: usize, workers: usize) -> bool {
        let takes = |leads| self.when_it_runs(task, leads, workers);
        self.is_leading(task) && self.work[task] > 0.0 && takes(false) < takes(true)
    }

    /// Lowers what tasks took `before` by themselves where they take less now, a bit in each run:
    /// it may have been chance then.
    pub(super) fn follow_down(&self, before: &mut [f32]) {
        let seen = before.iter_mut().zip(&self.by_itself).filter(|&(_, &now)| now > 0.0);
        seen.for_each(|(before, now)| *before += (now - *before).min(0.0) / SMOOTHING);
    }

    /// Whether a task takes much longer than these did. One that did not run then has to run
    /// often now: lessons would hardly see another.
    pub(super) fn outgrew(&self, before: &[f32], task: usize) -> bool {
        let (now, before) = (self.by_itself[task], before[task]);
        let would_be_seen = before > 0.0 || self.ran[task] > OFTEN;
        now > WORTH_A_NEW_PLAN && now > MUCH_LONGER * before && would_be_seen
    }
}

/// Takes one time more into a mean, which is 0 before there is any, after so many runs. The first
/// run fetches everything into the caches: it counts for nothing once there is another. The second
/// counts for nothing if the third tells that it was interrupted.
fn learn(mean: &mut f32, nanoseconds: u64, runs: u32) {
    let nanoseconds = nanoseconds as f32;
    let is_right = runs > 2 || runs == 2 && *mean < nanoseconds + INTERRUPTED;
    let known = (*mean > 0.0 && is_right).then_some(*mean);
    // Clocks may tell no less than some nanoseconds apart, and 0 is not known.
    *mean = smoothed(known, nanoseconds).max(1.0);
}

/// Moves the part of the runs in which something is so by the last one of `seen`: the mean of the
/// first ones, and then one part in `smoothing`.
fn follow(part: &mut f32, is_so: bool, seen: u32, smoothing: f32) {
    *part += (f32::from(u8::from(is_so)) - *part) / (seen as f32).min(smoothing);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_tries_another_way_does_not_make_a_task_one_that_leads() {
        let mut costs = Costs::new(1);
        for run in 0..100 {
            costs.note_led(0, led(run % 8 == 3, 0));
            costs.observe(std::iter::once(Some(5_000)));
            assert!(!costs.is_leading(0), "run {run}");
        }
        for _ in 0..4 {
            costs.note_led(0, led(true, 0));
            costs.observe(std::iter::once(Some(5_000)));
        }
        assert!(costs.is_leading(0));
    }

    /// A task that its conditions let run in every third run, whichever of the lessons that is.
    #[test]
    fn a_task_that_leads_whenever_it_runs_is_one_that_leads() {
        for first in 0..3 {
            let mut costs = Costs::new(1);
            for run in 0..30 {
                let runs = run % 3 == first;
                costs.note_led(0, led(runs, 0));
                costs.observe(std::iter::once(runs.then_some(5_000)));
                assert!(run < first || costs.is_leading(0), "run {run} of {first}");
            }
            assert!((0.2..0.5).contains(&costs.ran[0]), "{}", costs.ran[0]);
        }
    }

    #[test]
    fn a_task_that_no_lesson_saw_is_supposed_to_lead_once_it_takes_long() {
        let mut costs = Costs::new(1);
        (0..3).for_each(|_| costs.observe(std::iter::once(None)));
        assert!(!costs.is_surprise(&[0.0], 0));
        costs.observe(std::iter::once(Some(20_000_000)));
        assert!(costs.is_surprise(&[0.0], 0) && !costs.is_surprise(&[5.0], 0) && !costs.is_leading(0));
        costs.suppose_leading(0, 2);
        assert!(costs.is_leading(0) && costs.when_it_runs(0, true, 2) >= 10_000_000.0);
        // On the leader it does not lead any.
        for _ in 0..4 {
            costs.note_led(0, led(false, 0));
            costs.observe(std::iter::once(Some(20_000_000)));
        }
        assert!(!costs.is_leading(0));
    }

    /// A run in which a task led a round or not, with sweeps of 3 us that would have taken one
    /// thread so long.
    fn led(leads: bool, work: u64) -> Led {
        let rounds = leads.into();
        Led { rounds, calls: LedCalls { rounds, took: if work > 0 { 3_000 } else { 0 }, work } }
    }

    /// What is known of a task that took so long in the runs in which it was seen, and led rounds
    /// in all of them, with so much work.
    fn leading(took: u64, work: u64) -> Costs {
        let mut costs = Costs::new(1);
        for _ in 0..3 {
            costs.note_led(0, led(true, work));
            costs.observe(std::iter::once(Some(took)));
        }
        costs
    }

    #[test]
    fn a_task_that_was_only_seen_to_lead_takes_no_more_by_itself_than_all_workers_together() {
        let mut costs = leading(3_000, 0);
        assert_eq!([true, false].map(|leads| costs.on_average(0, leads, 2)), [3_000.0, 6_000.0]);
        // It was dealt out.
        costs.observe(std::iter::once(Some(5_000)));
        assert_eq!([true, false].map(|leads| costs.on_average(0, leads, 2)), [3_000.0, 5_000.0]);
    }

    #[test]
    fn by_itself_a_task_takes_what_its_sweeps_would_and_what_it_takes_now() {
        let costs = leading(4_000, 3_700);
        assert_eq!([true, false].map(|leads| costs.when_it_runs(0, leads, 16)), [4_000.0, 4_700.0]);
        // Unknown work may keep all workers busy.
        assert_eq!(leading(4_000, 0).when_it_runs(0, false, 16), 64_000.0);
        // All workers together do no more than they have time for.
        for work in [0, 1, 3_700, 4_000, 64_000, u64::MAX] {
            assert!(leading(4_000, work).when_it_runs(0, false, 2) <= 8_000.0, "{work}");
        }
    }

    #[test]
    fn work_counts_in_runs_in_which_a_task_led() {
        let mut costs = leading(4_000, 4_000);
        for run in 0..40 {
            let leads = run % 2 == 0;
            costs.note_led(0, led(leads, if leads { 8_000 } else { 100 }));
            costs.observe(std::iter::once(Some(4_000)));
            costs.by_itself[0] = 0.0;
        }
        let expected = costs.when_it_runs(0, false, 16);
        assert!((8_000.0..9_000.0).contains(&expected), "{expected}");
        // It was dealt out.
        costs.observe(std::iter::once(Some(5_000)));
        assert_eq!(costs.when_it_runs(0, false, 16), 5_000.0);
    }

    #[test]
    fn sweeps_that_take_less_on_one_thread_are_told_from_others() {
        assert!(leading(6_000, 2_000).takes_less_by_itself(0, 16));
        assert!(!leading(6_000, 4_000).takes_less_by_itself(0, 16), "7 us in place of 6");
        assert!(!leading(6_000, 0).takes_less_by_itself(0, 16), "unknown work");
        // A tree is walked beside the sweep.
        let mut costs = leading(6_000, 2_000);
        costs.note_led(0, Led { rounds: 2, calls: LedCalls { rounds: 1, took: 3_000, work: 2_000 } });
        costs.observe(std::iter::once(Some(6_000)));
        assert!(!costs.takes_less_by_itself(0, 16));
        assert_eq!(costs.when_it_runs(0, false, 16), 96_000.0);
    }

    #[test]
    fn a_task_that_takes_more_by_itself_than_its_sweeps_promised_has_not_grown() {
        let mut costs = leading(4_000, 3_700);
        let before = [costs.most_by_itself(0, 16)];
        // Its rows were in the caches of other cores.
        costs.observe(std::iter::once(Some(60_000)));
        assert!(!costs.outgrew(&before, 0), "{before:?}");
    }

    #[test]
    fn a_task_that_its_conditions_kept_from_running_counts_in_full_when_it_does() {
        let mut costs = Costs::new(1);
        (0..3).for_each(|_| costs.observe(std::iter::once(None)));
        assert_eq!(costs.on_average(0, false, 2), 0.0);
        costs.observe(std::iter::once(Some(1_000_000)));
        assert_eq!(costs.when_it_runs(0, false, 2), 1_000_000.0);
        // In every fourth run.
        for run in 1..100 {
            costs.observe(std::iter::once((run % 4 == 0).then_some(1_000_000)));
        }
        let average = costs.on_average(0, false, 2);
        assert!((200_000.0..300_000.0).contains(&average), "{average}");
    }

    #[test]
    fn one_lesson_that_was_interrupted_does_not_make_a_task_dear() {
        for interrupted in 0..3 {
            let mut costs = Costs::new(1);
            let took = |lesson| if lesson == interrupted { 50_000_000 } else { 20_000 };
            (0..3).for_each(|lesson| costs.observe(std::iter::once(Some(took(lesson)))));
            let cost = costs.when_it_runs(0, false, 2);
            assert!((20_000.0..23_000.0).contains(&cost), "lesson {interrupted}: {cost}");
        }
    }

    #[test]
    fn a_task_that_no_lesson_saw_has_outgrown_its_plan_if_another_one_would_see_it() {
        let mut costs = Costs::new(1);
        let mut run = |runs: std::ops::Range<u32>, every| {
            let outgrew = runs.map(|run| {
                costs.observe(std::iter::once((run % every == every - 1).then_some(60_000)));
                costs.outgrew(&[0.0], 0)
            });
            outgrew.filter(|&outgrew| outgrew).count()
        };
        assert_eq!(run(0..600, 60), 0, "a timer");
        assert!(run(0..10, 1) > 0, "from now on");
    }

    #[test]
    fn what_takes_twice_as_long_and_is_not_short_has_outgrown_its_plan() {
        let mut costs = Costs::new(2);
        let mut observe = |took: [u64; 2]| (0..40).for_each(|_| costs.observe(took.into_iter().map(Some)));
        observe([5_000, 15_000]);
        observe([15_000, 35_000]);
        assert_eq!([0, 1].map(|task| costs.outgrew(&[5_000.0, 15_000.0], task)), [false, true]);
    }

    #[test]
    fn a_plan_made_of_a_run_that_took_long_by_chance_is_outgrown_too() {
        let mut costs = Costs::new(1);
        let mut before = [4_000_000.0];
        (0..40).for_each(|_| {
            costs.observe(std::iter::once(Some(100_000)));
            costs.follow_down(&mut before);
        });
        (0..40).for_each(|_| costs.observe(std::iter::once(Some(3_000_000))));
        assert!(costs.outgrew(&before, 0), "{before:?}");
    }
}
