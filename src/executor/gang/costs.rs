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

/// What the tasks of a schedule take, on a gang of some workers.
pub(super) struct Costs {
    pub(super) tasks: Vec<TaskCost>,
    observed: u32,
}

impl Costs {
    pub(super) fn new(tasks: usize, workers: usize) -> Self {
        Self { tasks: vec![TaskCost::new(workers); tasks], observed: 0 }
    }

    /// Learns what each task took in a run; nothing of those that conditions kept from running.
    pub(super) fn observe(&mut self, took: impl Iterator<Item = Option<u64>>) {
        let before = self.observed;
        self.observed += 1;
        self.tasks.iter_mut().zip(took).for_each(|(task, took)| task.observe(took, before));
    }
}

/// What a task takes, and whether it leads rounds. All times in nanoseconds.
#[derive(Clone, Copy, Default)]
pub(super) struct TaskCost {
    /// Of the gang, the leader among them.
    workers: f32,
    /// In runs in which it led no rounds.
    by_itself: f32,
    /// In runs in which it did.
    leading: f32,
    /// What its sweeps took then, and what they would have taken one thread, as far as they know; 0
    /// if they do not.
    sweeps: f32,
    work: f32,
    /// In which part of the runs its conditions let it run.
    ran: f32,
    /// What it led in the run that goes on, if it could.
    led: Option<Led>,
    /// In which part of the runs it led rounds, where it could, and how many of those were seen.
    leads: f32,
    seen: u32,
}

impl TaskCost {
    fn new(workers: usize) -> Self {
        Self { workers: workers as f32, ..Self::default() }
    }

    /// What it takes when it runs, if it leads rounds, or does not. Where it was not seen without,
    /// its sweeps are taken to need what their rows cost one thread.
    pub(super) fn when_it_runs(&self, leads: bool) -> f32 {
        if leads {
            return self.leading;
        }
        let beside = (self.leading - self.sweeps).max(0.0);
        let most = self.most_by_itself();
        let is_guess = self.by_itself == 0.0 && self.work > 0.0;
        if is_guess { most.min(beside + self.work) } else { most }
    }

    /// What it takes by itself when it runs. Where it was not seen so, as much as if it had kept
    /// all workers busy for as long as it took.
    pub(super) fn most_by_itself(&self) -> f32 {
        if self.by_itself == 0.0 { self.leading * self.workers } else { self.by_itself }
    }

    /// What it takes on average: runs in which its conditions keep it from running count as
    /// nothing.
    pub(super) fn on_average(&self, leads: bool) -> f32 {
        self.when_it_runs(leads) * self.ran
    }

    /// Learns what it took in a run that had this many before it.
    fn observe(&mut self, took: Option<u64>, before: u32) {
        let led = self.led.take();
        follow(&mut self.ran, took.is_some(), before + 1, SMOOTHING);
        let Some(took) = took else { return };
        if let Some(led) = led {
            self.learn_led(led, before);
        }
        let leads = led.is_some_and(|led| led.indices > 0);
        learn(if leads { &mut self.leading } else { &mut self.by_itself }, took, before);
    }

    /// Notes what it led in the run that goes on, in which it could: if its conditions let it run.
    pub(super) fn note_led(&mut self, led: Led) {
        self.led = Some(led);
    }

    /// Learns what it led in a run that had this many before it.
    fn learn_led(&mut self, led: Led, before: u32) {
        let LedCalls { indices, took, work } = led.calls;
        if led.indices > indices {
            // What other rounds, such as those of a tree, would take one thread is not known.
            self.work = 0.0;
        } else if indices > 0 && work > 0 {
            learn(&mut self.sweeps, took, before);
            learn(&mut self.work, work, before);
        }
        self.seen += 1;
        follow(&mut self.leads, led.indices > 0, self.seen, SMOOTHING_OF_LEADS);
    }

    /// Whether it takes very long by itself, though it took `before` when the plan was made:
    /// nothing, as it had not run. A tagged one may take as long because it was dealt out.
    pub(super) fn is_surprise(&self, before: f32) -> bool {
        before == 0.0 && self.by_itself > SURPRISING
    }

    /// Takes it for one that leads rounds until it is seen not to.
    pub(super) fn suppose_leading(&mut self) {
        self.leads = 1.0;
        self.leading = self.by_itself / self.workers;
    }

    /// Whether it leads rounds more often than not, where it can.
    pub(super) fn is_leading(&self) -> bool {
        self.leads > 0.5
    }

    /// Whether it leads sweeps that would take less on one thread than on the gang.
    pub(super) fn takes_less_by_itself(&self) -> bool {
        self.is_leading() && self.work > 0.0 && self.when_it_runs(false) < self.when_it_runs(true)
    }

    /// Lowers what it took `before` by itself if it takes less now, a bit in each run: it may have
    /// been chance then.
    pub(super) fn follow_down(&self, before: &mut f32) {
        if self.by_itself > 0.0 {
            *before += (self.by_itself - *before).min(0.0) / SMOOTHING;
        }
    }

    /// Whether it takes much longer than `before`. If it did not run then it has to run often now:
    /// lessons would hardly see it otherwise.
    pub(super) fn outgrew(&self, before: f32) -> bool {
        let would_be_seen = before > 0.0 || self.ran > OFTEN;
        self.by_itself > WORTH_A_NEW_PLAN && self.by_itself > MUCH_LONGER * before && would_be_seen
    }
}

/// Takes one time more into a mean, which is 0 before there is any, after this many `runs`. The
/// first run fetches everything into the caches: it counts for nothing once there is another. The
/// second counts for nothing if the third tells that it was interrupted.
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
        let mut costs = Costs::new(1, 2);
        for run in 0..100 {
            costs.tasks[0].note_led(led(run % 8 == 3, 0));
            costs.observe(std::iter::once(Some(5_000)));
            assert!(!costs.tasks[0].is_leading(), "run {run}");
        }
        for _ in 0..4 {
            costs.tasks[0].note_led(led(true, 0));
            costs.observe(std::iter::once(Some(5_000)));
        }
        assert!(costs.tasks[0].is_leading());
    }

    /// A task that its conditions let run in every third run, whichever of the lessons that is.
    #[test]
    fn a_task_that_leads_whenever_it_runs_is_one_that_leads() {
        for first in 0..3 {
            let mut costs = Costs::new(1, 2);
            for run in 0..30 {
                let runs = run % 3 == first;
                costs.tasks[0].note_led(led(runs, 0));
                costs.observe(std::iter::once(runs.then_some(5_000)));
                assert!(run < first || costs.tasks[0].is_leading(), "run {run} of {first}");
            }
            assert!((0.2..0.5).contains(&costs.tasks[0].ran), "{}", costs.tasks[0].ran);
        }
    }

    #[test]
    fn a_task_that_no_lesson_saw_is_supposed_to_lead_once_it_takes_long() {
        let mut costs = Costs::new(1, 2);
        (0..3).for_each(|_| costs.observe(std::iter::once(None)));
        assert!(!costs.tasks[0].is_surprise(0.0));
        costs.observe(std::iter::once(Some(20_000_000)));
        assert!(costs.tasks[0].is_surprise(0.0) && !costs.tasks[0].is_surprise(5.0) && !costs.tasks[0].is_leading());
        costs.tasks[0].suppose_leading();
        assert!(costs.tasks[0].is_leading() && costs.tasks[0].when_it_runs(true) >= 10_000_000.0);
        // On the leader it does not lead any.
        for _ in 0..4 {
            costs.tasks[0].note_led(led(false, 0));
            costs.observe(std::iter::once(Some(20_000_000)));
        }
        assert!(!costs.tasks[0].is_leading());
    }

    /// A run in which a task led a round or not, with sweeps of 3 us that would have taken one
    /// thread `work`.
    fn led(leads: bool, work: u64) -> Led {
        let indices = leads.into();
        Led { indices, calls: LedCalls { indices, took: if work > 0 { 3_000 } else { 0 }, work } }
    }

    /// What is known of a task that took this long in the runs in which it was seen, and led rounds
    /// in all of them, with this much work, on a gang of some workers.
    fn leading(took: u64, work: u64, workers: usize) -> Costs {
        let mut costs = Costs::new(1, workers);
        for _ in 0..3 {
            costs.tasks[0].note_led(led(true, work));
            costs.observe(std::iter::once(Some(took)));
        }
        costs
    }

    #[test]
    fn a_task_that_was_only_seen_to_lead_takes_no_more_by_itself_than_all_workers_together() {
        let mut costs = leading(3_000, 0, 2);
        assert_eq!([true, false].map(|leads| costs.tasks[0].on_average(leads)), [3_000.0, 6_000.0]);
        // It was dealt out.
        costs.observe(std::iter::once(Some(5_000)));
        assert_eq!([true, false].map(|leads| costs.tasks[0].on_average(leads)), [3_000.0, 5_000.0]);
    }

    #[test]
    fn by_itself_a_task_takes_what_its_sweeps_would_and_what_it_takes_now() {
        let costs = leading(4_000, 3_700, 16);
        assert_eq!([true, false].map(|leads| costs.tasks[0].when_it_runs(leads)), [4_000.0, 4_700.0]);
        // Unknown work may keep all workers busy.
        assert_eq!(leading(4_000, 0, 16).tasks[0].when_it_runs(false), 64_000.0);
        // All workers together do no more than they have time for.
        for work in [0, 1, 3_700, 4_000, 64_000, u64::MAX] {
            assert!(leading(4_000, work, 2).tasks[0].when_it_runs(false) <= 8_000.0, "{work}");
        }
    }

    #[test]
    fn work_counts_in_runs_in_which_a_task_led() {
        let mut costs = leading(4_000, 4_000, 16);
        for run in 0..40 {
            let leads = run % 2 == 0;
            costs.tasks[0].note_led(led(leads, if leads { 8_000 } else { 100 }));
            costs.observe(std::iter::once(Some(4_000)));
            costs.tasks[0].by_itself = 0.0;
        }
        let expected = costs.tasks[0].when_it_runs(false);
        assert!((8_000.0..9_000.0).contains(&expected), "{expected}");
        // It was dealt out.
        costs.observe(std::iter::once(Some(5_000)));
        assert_eq!(costs.tasks[0].when_it_runs(false), 5_000.0);
    }

    #[test]
    fn sweeps_that_take_less_on_one_thread_are_told_from_others() {
        assert!(leading(6_000, 2_000, 16).tasks[0].takes_less_by_itself());
        assert!(!leading(6_000, 4_000, 16).tasks[0].takes_less_by_itself(), "7 us in place of 6");
        assert!(!leading(6_000, 0, 16).tasks[0].takes_less_by_itself(), "unknown work");
        // A tree is walked beside the sweep.
        let mut costs = leading(6_000, 2_000, 16);
        costs.tasks[0].note_led(Led { indices: 2, calls: LedCalls { indices: 1, took: 3_000, work: 2_000 } });
        costs.observe(std::iter::once(Some(6_000)));
        assert!(!costs.tasks[0].takes_less_by_itself());
        assert_eq!(costs.tasks[0].when_it_runs(false), 96_000.0);
    }

    #[test]
    fn a_task_that_takes_more_by_itself_than_its_sweeps_promised_has_not_grown() {
        let mut costs = leading(4_000, 3_700, 16);
        let before = costs.tasks[0].most_by_itself();
        // Its rows were in the caches of other cores.
        costs.observe(std::iter::once(Some(60_000)));
        assert!(!costs.tasks[0].outgrew(before), "{before:?}");
    }

    #[test]
    fn a_task_that_its_conditions_kept_from_running_counts_in_full_when_it_does() {
        let mut costs = Costs::new(1, 2);
        (0..3).for_each(|_| costs.observe(std::iter::once(None)));
        assert_eq!(costs.tasks[0].on_average(false), 0.0);
        costs.observe(std::iter::once(Some(1_000_000)));
        assert_eq!(costs.tasks[0].when_it_runs(false), 1_000_000.0);
        // In every fourth run.
        for run in 1..100 {
            costs.observe(std::iter::once((run % 4 == 0).then_some(1_000_000)));
        }
        let average = costs.tasks[0].on_average(false);
        assert!((200_000.0..300_000.0).contains(&average), "{average}");
    }

    #[test]
    fn one_lesson_that_was_interrupted_does_not_make_a_task_dear() {
        for interrupted in 0..3 {
            let mut costs = Costs::new(1, 2);
            let took = |lesson| if lesson == interrupted { 50_000_000 } else { 20_000 };
            (0..3).for_each(|lesson| costs.observe(std::iter::once(Some(took(lesson)))));
            let cost = costs.tasks[0].when_it_runs(false);
            assert!((20_000.0..23_000.0).contains(&cost), "lesson {interrupted}: {cost}");
        }
    }

    #[test]
    fn a_task_that_no_lesson_saw_has_outgrown_its_plan_if_another_one_would_see_it() {
        let mut costs = Costs::new(1, 2);
        let mut run = |runs: std::ops::Range<u32>, every| {
            let outgrew = runs.map(|run| {
                costs.observe(std::iter::once((run % every == every - 1).then_some(60_000)));
                costs.tasks[0].outgrew(0.0)
            });
            outgrew.filter(|&outgrew| outgrew).count()
        };
        assert_eq!(run(0..600, 60), 0, "a timer");
        assert!(run(0..10, 1) > 0, "from now on");
    }

    #[test]
    fn what_takes_twice_as_long_and_is_not_short_has_outgrown_its_plan() {
        let mut costs = Costs::new(2, 2);
        let mut observe = |took: [u64; 2]| (0..40).for_each(|_| costs.observe(took.into_iter().map(Some)));
        observe([5_000, 15_000]);
        observe([15_000, 35_000]);
        assert_eq!(
            [(0, 5_000.0), (1, 15_000.0)].map(|(task, before)| costs.tasks[task].outgrew(before)),
            [false, true]
        );
    }

    #[test]
    fn a_plan_made_of_a_run_that_took_long_by_chance_is_outgrown_too() {
        let mut costs = Costs::new(1, 2);
        let mut before = 4_000_000.0;
        (0..40).for_each(|_| {
            costs.observe(std::iter::once(Some(100_000)));
            costs.tasks[0].follow_down(&mut before);
        });
        (0..40).for_each(|_| costs.observe(std::iter::once(Some(3_000_000))));
        assert!(costs.tasks[0].outgrew(before), "{before:?}");
    }
}
