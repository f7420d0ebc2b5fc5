use super::*;

/// A machine on which runs of a schedule take so long.
struct Machine {
    race: Race,
    one_thread: u64,
    threads: u64,
    /// Nanoseconds of all runs, and those beyond what the faster way would have taken.
    spent: u64,
    lost: u64,
}

const MACHINES_THREADS: usize = 2;

impl Machine {
    fn new(one_thread: u64, threads: u64) -> Self {
        Self { race: Race::new(), one_thread, threads, spent: 0, lost: 0 }
    }

    /// Runs the schedule; returns how.
    fn run(&mut self) -> ScheduleWay {
        self.run_taking(1.0)
    }

    /// The same for a run that takes so many times as long as usual.
    fn run_taking(&mut self, times: f32) -> ScheduleWay {
        let Decision { way, timed } = self.race.choose();
        let usual = if way == ScheduleWay::OneThread { self.one_thread } else { self.threads };
        let took = (usual as f32 * times) as u64;
        if timed {
            self.race.observe(took, || MACHINES_THREADS);
        }
        self.spent += took;
        self.lost += usual - self.one_thread.min(self.threads);
        way
    }

    fn run_often(&mut self, runs: usize) -> &mut Self {
        (0..runs).for_each(|_| _ = self.run());
        self
    }

    /// Which part of `runs` further runs goes by the slower way.
    fn slower_part(&mut self, runs: usize) -> f64 {
        let slower = if self.one_thread > self.threads { ScheduleWay::OneThread } else { ScheduleWay::BevysThreads };
        (0..runs).filter(|_| self.run() == slower).count() as f64 / runs as f64
    }
}

#[test]
fn the_first_run_is_bevys_default() {
    assert_eq!(Race::new().choose(), Decision { way: ScheduleWay::BevysThreads, timed: false });
}

#[test]
fn small_schedules_are_decided_within_a_dozen_runs_and_not_tried_again() {
    let mut machine = Machine::new(100, 37_000);
    machine.run_often(12);
    assert_eq!(machine.slower_part(100_000), 0.0);
    assert_eq!(machine.race.explain().way, ScheduleWay::OneThread);
}

#[test]
fn large_schedules_stay_on_many_threads() {
    let mut machine = Machine::new(2_000_000, 1_000_000);
    machine.run_often(1_000);
    assert!(machine.slower_part(10_000) < 0.01);
    assert_eq!(machine.race.explain().way, ScheduleWay::BevysThreads);
}

#[test]
fn trials_cost_less_than_a_fiftieth() {
    for (one_thread, threads) in
        [(100, 37_000), (60_000, 50_000), (480_000, 425_000), (450_000, 900_000), (9_000_000, 4_000_000)]
    {
        let mut machine = Machine::new(one_thread, threads);
        machine.run_often(20_000);
        let allowed = machine.spent as f64 / 50.0 + 2.0 * f64::from(FIRST_BUDGET);
        assert!((machine.lost as f64) < allowed, "{one_thread}, {threads}: {} of {}", machine.lost, machine.spent);
    }
}

#[test]
fn no_run_is_put_at_risk_of_a_frame() {
    let mut machine = Machine::new(100_000_000, 25_000_000);
    assert_eq!(machine.slower_part(5_000), 0.0);
}

#[test]
fn a_schedule_that_grows_is_tried_again() {
    let mut machine = Machine::new(40_000, 60_000);
    machine.run_often(100_000);
    assert_eq!(machine.race.explain().way, ScheduleWay::OneThread);
    (machine.one_thread, machine.threads) = (400_000, 200_000);
    machine.run_often(300);
    assert_eq!(machine.race.explain().way, ScheduleWay::BevysThreads);
}

#[test]
fn a_run_that_was_interrupted_changes_nothing() {
    let mut machine = Machine::new(100_000, 150_000);
    machine.run_often(200);
    for run in 0..2_000 {
        machine.run_taking(if run % 50 == 0 { 40.0 } else { 1.0 });
    }
    assert_eq!(machine.race.explain().way, ScheduleWay::OneThread);
}

#[test]
fn a_first_trial_that_was_interrupted_is_soon_made_again() {
    // The first run on one thread takes four milliseconds.
    let mut machine = Machine::new(4_000_000, 60_000);
    while machine.run() != ScheduleWay::OneThread {}
    machine.one_thread = 2_000;
    machine.run_often(500);
    assert_eq!(machine.race.explain().way, ScheduleWay::OneThread);
}

#[test]
fn a_changed_schedule_is_measured_anew_by_the_way_that_it_had() {
    let mut machine = Machine::new(100, 37_000);
    machine.run_often(100);
    machine.race.forget();
    let explanation = machine.race.explain();
    assert_eq!(explanation, Explanation { way: ScheduleWay::OneThread, trials: 0, times: [None; 2] });
    (machine.one_thread, machine.threads) = (4_000_000, 2_000_000);
    machine.run_often(30);
    assert_eq!(machine.race.explain().way, ScheduleWay::BevysThreads);
}

#[test]
fn schedules_that_change_all_the_time_are_not_tried_all_the_time() {
    let mut machine = Machine::new(480_000, 425_000);
    for _ in 0..5_000 {
        machine.run_often(4).race.forget();
    }
    assert!(machine.lost < machine.spent / 50 + 2 * FIRST_BUDGET as u64, "{} of {}", machine.lost, machine.spent);
}
