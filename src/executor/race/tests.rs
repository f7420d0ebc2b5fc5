mod uneven;

use super::*;

/// A machine on which runs of a schedule take so long.
struct Machine {
    race: Race,
    one_thread: u64,
    threads: u64,
    /// What all threads work in a run on Bevy's threads; nothing if the system does not tell.
    work: Option<u64>,
    /// How many threads Bevy has for systems.
    count: usize,
    /// What a run on the gang takes, and is expected to; nothing if there is no gang.
    gang: Option<u64>,
    /// Nanoseconds of all runs, and those beyond what the faster way would have taken.
    spent: u64,
    lost: u64,
}

impl Machine {
    fn new(one_thread: u64, threads: u64) -> Self {
        Self { race: Race::new(), one_thread, threads, work: None, count: 2, gang: None, spent: 0, lost: 0 }
    }

    fn with_gang(one_thread: u64, threads: u64, gang: u64) -> Self {
        Self { gang: Some(gang), ..Self::new(one_thread, threads) }
    }

    fn takes(&self, way: ScheduleWay) -> u64 {
        match way {
            ScheduleWay::OneThread => self.one_thread,
            ScheduleWay::BevysThreads => self.threads,
            ScheduleWay::OnTheGang => self.gang.expect("it was planned"),
        }
    }

    fn fastest(&self) -> u64 {
        self.one_thread.min(self.threads).min(self.gang.unwrap_or(u64::MAX))
    }

    /// Runs the schedule; returns how.
    fn run(&mut self) -> ScheduleWay {
        self.run_taking(1.0)
    }

    /// The same for a run that takes `times` times as long as usual.
    fn run_taking(&mut self, times: f32) -> ScheduleWay {
        let WayDecision { way, timed, lesson, closely } = self.race.choose();
        let usual = self.takes(way);
        if lesson && self.race.end_lesson(usual) {
            self.race.plan(self.gang.filter(|&gang| gang + 30_000 < self.one_thread).map(|gang| gang as f32));
        }
        let took = (usual as f32 * times) as u64;
        if timed {
            self.race.observe(TimedRun { nanoseconds: took, work: self.work.filter(|_| closely) }, || self.count);
        }
        self.spent += took;
        self.lost += usual - self.fastest();
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
    assert_eq!(Race::new().choose(), WayDecision::plainly(ScheduleWay::BevysThreads));
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
        let allowed = machine.spent as f64 / 50.0 + f64::from(FIRST_BUDGET);
        assert!((machine.lost as f64) < allowed, "{one_thread}, {threads}: {} of {}", machine.lost, machine.spent);
    }
}

#[test]
fn no_run_is_put_at_risk_of_a_frame() {
    let mut machine = Machine::new(100_000_000, 25_000_000);
    assert_eq!(machine.slower_part(5_000), 0.0);
}

#[test]
fn first_trials_cost_a_frame_at_most() {
    // Nothing says how much work there is, and one thread takes as long as can be.
    for threads in [100_000, 1_000_000, 2_500_000, 4_000_000, 5_000_000, 20_000_000] {
        let mut machine = Machine::new(5 * threads, threads);
        machine.count = 16;
        machine.run_often(250);
        let allowed = machine.spent / 50 + FIRST_BUDGET as u64;
        assert!(machine.lost < allowed, "{threads}: {} of {}", machine.lost, machine.spent);
    }
}

#[test]
fn threads_that_take_far_longer_than_one_are_soon_left_if_nothing_says_what_they_work() {
    // A hundred small systems on a large machine.
    let mut machine = Machine::new(500_000, 3_700_000);
    machine.count = 16;
    machine.run_often(12);
    assert_eq!(machine.race.explain().way, ScheduleWay::OneThread);
}

#[test]
fn threads_that_mostly_wait_for_each_other_are_soon_left() {
    // A chain of a hundred tagged systems with as many untagged ones between, on a large machine;
    // and a chain of three hundred systems of 50 us.
    for (one_thread, threads, work) in [(100_000, 6_000_000, 4_800_000), (15_000_000, 18_000_000, 18_500_000)] {
        let mut machine = Machine::new(one_thread, threads);
        (machine.work, machine.count) = (Some(work), 16);
        machine.run_often(12);
        assert_eq!(machine.race.explain().way, ScheduleWay::OneThread, "{work}");
        assert!(machine.slower_part(100_000) < 0.01, "{work}");
    }
}

#[test]
fn threads_that_all_work_are_not_left_for_one() {
    let mut machine = Machine::new(40_000_000, 10_000_000);
    (machine.work, machine.count) = (Some(40_000_000), 16);
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
    // The first run on one thread takes all that trials may cost at first.
    let mut machine = Machine::new(FIRST_BUDGET as u64, 60_000);
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
    assert_eq!(explanation, Standing { way: ScheduleWay::OneThread, trials: 0, times: [None; 3] });
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
    assert!(machine.lost < machine.spent / 50 + FIRST_BUDGET as u64, "{} of {}", machine.lost, machine.spent);
}

#[test]
fn a_gang_that_is_faster_is_taken() {
    for (one_thread, threads, gang) in [(480_000, 425_000, 245_000), (200_000, 400_000, 110_000)] {
        let mut machine = Machine::with_gang(one_thread, threads, gang);
        machine.run_often(2_000);
        assert_eq!(machine.race.explain().way, ScheduleWay::OnTheGang, "{:?}", machine.race);
        assert!(machine.slower_part(10_000) < 0.01);
    }
}

#[test]
fn a_gang_that_is_slower_is_tried_ever_less_often() {
    // Its plan promises much, but the machine is busy.
    let mut machine = Machine::with_gang(480_000, 425_000, 430_000);
    machine.run_often(20_000);
    assert_eq!(machine.race.explain().way, ScheduleWay::BevysThreads);
    let lost = machine.lost;
    machine.run_often(20_000);
    assert!(machine.lost - lost < 20_000 * 425_000 / 50, "{}", machine.lost - lost);
}

#[test]
fn trials_of_three_ways_cost_less_than_a_fiftieth() {
    for (one_thread, threads, gang) in [
        (480_000, 425_000, 245_000),
        (480_000, 425_000, 2_000_000),
        (100, 37_000, 50),
        (9_000_000, 4_000_000, 5_000_000),
        (70_000, 100_000, 71_000),
    ] {
        let mut machine = Machine::with_gang(one_thread, threads, gang);
        machine.run_often(20_000);
        let allowed = machine.spent as f64 / 50.0 + f64::from(FIRST_BUDGET);
        assert!((machine.lost as f64) < allowed, "{one_thread}, {threads}, {gang}: {}", machine.lost);
    }
}

#[test]
fn small_schedules_are_given_no_lessons() {
    let mut machine = Machine::with_gang(20_000, 60_000, 10_000);
    machine.run_often(5_000);
    assert_eq!(machine.race.explain().times[ScheduleWay::OnTheGang as usize], None);
}

#[test]
fn a_gang_that_is_lost_is_planned_anew() {
    let mut machine = Machine::with_gang(480_000, 425_000, 245_000);
    machine.run_often(2_000);
    machine.race.lose_gang();
    assert_eq!(machine.race.explain().way, ScheduleWay::BevysThreads);
    machine.run_often(10_000);
    assert_eq!(machine.race.explain().way, ScheduleWay::OnTheGang);
}

#[test]
fn a_gang_that_is_lost_again_and_again_is_learned_ever_later() {
    let mut machine = Machine::with_gang(480_000, 425_000, 245_000);
    let mut lessons = || {
        let lessons = (0..4_000).filter(|_| {
            let is_lesson = matches!(machine.race.gang, GangPlan::Learning(_));
            if machine.run() == ScheduleWay::OnTheGang {
                machine.race.lose_gang();
            }
            is_lesson
        });
        lessons.count()
    };
    let (first, second) = (lessons(), lessons());
    assert!(first > 0 && second < first.div_ceil(2), "{first} lessons, then {second}");
}

#[test]
fn a_gang_that_is_lost_seldom_is_learned_soon() {
    let mut machine = Machine::with_gang(480_000, 330_000, 245_000);
    for lost in 0..12 {
        machine.run_often(3_000);
        assert_eq!(machine.race.explain().way, ScheduleWay::OnTheGang);
        machine.race.lose_gang();
        let back = (0..200).find(|_| machine.run() == ScheduleWay::OnTheGang);
        assert!(back.is_some(), "not back after it was lost {lost} times before");
    }
}

/// That other ways take longer than the gang did is no news of the schedule.
#[test]
fn times_of_other_ways_stay_when_the_gang_is_lost() {
    let mut machine = Machine::with_gang(480_000, 425_000, 245_000);
    machine.run_often(2_000);
    machine.race.lose_gang();
    machine.run_often(10);
    let one_thread = machine.race.mean(ScheduleWay::OneThread);
    assert!(one_thread.is_some_and(|time| time < 500_000.0), "{one_thread:?}");
}

#[test]
fn a_schedule_on_the_gang_that_grows_is_learned_anew() {
    let mut machine = Machine::with_gang(480_000, 425_000, 245_000);
    machine.run_often(2_000);
    (machine.one_thread, machine.threads, machine.gang) = (960_000, 500_000, Some(900_000));
    machine.run_often(3_000);
    assert_eq!(machine.race.explain().way, ScheduleWay::BevysThreads);
}

#[test]
fn a_schedule_that_leaves_the_gang_goes_the_faster_of_the_other_ways() {
    for (one_thread, threads, fastest) in
        [(480_000, 900_000, ScheduleWay::OneThread), (900_000, 500_000, ScheduleWay::BevysThreads)]
    {
        let mut machine = Machine::with_gang(one_thread, threads, 245_000);
        machine.run_often(2_000);
        assert_eq!(machine.race.explain().way, ScheduleWay::OnTheGang);
        machine.race.lose_gang();
        assert_eq!(machine.race.choose().way, fastest);
    }
}

#[test]
fn a_way_that_is_too_risky_does_not_keep_another_one_from_being_tried() {
    // One thread takes a frame longer than may be put at risk.
    let mut machine = Machine::with_gang(18_000_000, 9_000_000, 8_000_000);
    machine.run_often(3_000);
    assert_eq!(machine.race.explain().way, ScheduleWay::OnTheGang);
    (machine.one_thread, machine.threads, machine.gang) = (90_000_000, 20_000_000, Some(40_000_000));
    let slow = (0..3_000).filter(|_| machine.run() == ScheduleWay::OneThread).count();
    assert_eq!((machine.race.explain().way, slow), (ScheduleWay::BevysThreads, 0));
}

#[test]
fn lessons_are_as_dear_as_runs_on_one_thread() {
    assert_eq!(Risk::of_lessons(5e6, Some(25e6)).largest, 20e6);
    assert!(Risk::of_lessons(15e6, None).largest > LARGEST_RISK, "as far as is known");
}

/// What usual and heavy runs take, on one thread and on Bevy's, in nanoseconds.
type Bursting = [(u64, u64); 2];

/// Runs a machine so often; whether each run is heavy is asked for. Returns which part of the last
/// half went by the slower way, what all runs took and what they would have taken by the faster.
fn run_bursts(race: &mut Race, takes: Bursting, runs: u64, is_heavy: impl Fn(u64) -> bool) -> (f64, u64, u64) {
    let (mut spent, mut by_way) = (0, [0_u64; WAYS]);
    let mut all = [0; 2];
    for run in 0..runs {
        let WayDecision { way, timed, lesson, .. } = race.choose();
        if lesson && race.end_lesson(takes[0].0) {
            race.plan(None);
        }
        let of = |(usual, heavy)| if is_heavy(run) { heavy } else { usual };
        let took = of(takes[way as usize]);
        if timed {
            race.observe(TimedRun { nanoseconds: took, work: None }, || 4);
        }
        spent += took;
        all.iter_mut().zip(takes).for_each(|(all, takes)| *all += of(takes));
        by_way[way as usize] += u64::from(run >= runs / 2);
    }
    let slower = if all[0] > all[1] { by_way[0] } else { by_way[1] };
    (slower as f64 / (runs / 2) as f64, spent, all[0].min(all[1]))
}

/// A number that is as good as random.
fn mixed(number: u64) -> u64 {
    let number = (number ^ (number >> 31)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (number ^ (number >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 33
}

#[test]
fn heavy_runs_now_and_then_decide_if_they_are_most_of_the_time() {
    let takes = [(1_000, 12_000_000), (40_000, 3_000_000)];
    for period in 2..40 {
        for offset in [0, 1, period / 2] {
            let mut race = Race::new();
            let (slower, ..) = run_bursts(&mut race, takes, 4_000, |run| run % period == offset);
            assert!(slower < 0.03, "every {period}, {offset}: {slower}, {:?}", race.explain());
        }
        let mut race = Race::new();
        let (slower, ..) = run_bursts(&mut race, takes, 8_000, |run| mixed(run).is_multiple_of(period));
        assert!(slower < 0.06, "one in {period}: {slower}, {:?}", race.explain());
    }
}

#[test]
fn heavy_runs_do_not_decide_if_they_are_not() {
    let takes = [(2_000, 400_000), (40_000, 300_000)];
    for period in 12..60 {
        let mut race = Race::new();
        let (slower, ..) = run_bursts(&mut race, takes, 8_000, |run| run % period == 0);
        assert!(slower < 0.06, "every {period}: {slower}, {:?}", race.explain());
    }
}

#[test]
fn trials_of_schedules_with_heavy_runs_cost_little() {
    for takes in [
        [(1_000, 12_000_000), (40_000, 3_000_000)],
        [(500_000, 12_000_000), (300_000, 3_000_000)],
        [(2_000, 400_000), (40_000, 300_000)],
        [(100_000, 5_000_000), (150_000, 5_000_000)],
    ] {
        for period in [3, 4, 7, 8, 16, 60, 300] {
            let runs = 40_000;
            let (_, spent, best) = run_bursts(&mut Race::new(), takes, runs, |run| run % period == 0);
            // What is learned first: some heavy runs by the slower way.
            let first = 12 * takes[0].1.max(takes[1].1);
            assert!(spent < best + best / 40 + first, "{takes:?}, every {period}: {spent}, {best}");
        }
    }
}

#[test]
fn a_burst_that_goes_on_is_what_runs_take_now() {
    let takes = [(2_000, 12_000_000), (40_000, 3_000_000)];
    let mut race = Race::new();
    run_bursts(&mut race, takes, 1_000, |_| false);
    assert_eq!(race.explain().way, ScheduleWay::OneThread);
    run_bursts(&mut race, takes, 100, |_| true);
    assert_eq!(race.explain().way, ScheduleWay::BevysThreads);
    run_bursts(&mut race, takes, 200, |_| false);
    assert_eq!(race.explain().way, ScheduleWay::OneThread);
}

/// Of two runs one is light and one is not, and both are longer by the current way.
#[test]
fn a_schedule_that_runs_twice_a_frame_goes_the_faster_way_whichever_run_comes_first() {
    for first in [0, 1] {
        let mut race = Race::new();
        run_bursts(&mut race, [(1_000_000, 1_000_000); 2], 10, |_| false);
        let takes = [(700_000, 2_100_000), (1_000_000, 3_000_000)];
        let (slower, ..) = run_bursts(&mut race, takes, 200, |run| run % 2 == first);
        assert!(slower < 0.1, "{first}: {slower}, {:?}", race.explain());
    }
}

#[test]
fn a_lesson_that_was_interrupted_says_nothing_of_one_thread() {
    for interrupted in 0..LESSONS {
        let mut race = Race::new();
        race.begin_lessons(0.0);
        let took = |lesson| if lesson == interrupted { 50_000_000 } else { 480_000 };
        let last = (0..LESSONS).map(|lesson| race.end_lesson(took(lesson))).position(|is_last| is_last);
        assert_eq!((last, race.mean(ScheduleWay::OneThread)), (Some(2), Some(480_000.0)));
    }
}

#[test]
fn a_plan_that_takes_far_longer_than_one_thread_is_made_anew() {
    let mut machine = Machine::with_gang(480_000, 425_000, 245_000);
    let mut lessons = 0;
    for _ in 0..2_000 {
        let was_learning = matches!(machine.race.gang, GangPlan::Learning(_));
        machine.run();
        if was_learning && !matches!(machine.race.gang, GangPlan::Learning(_)) {
            lessons += 1;
            if lessons == 1 {
                machine.race.plan(Some(43_800_000.0));
            }
        }
    }
    assert!(lessons > 1);
    assert_eq!(machine.race.explain().way, ScheduleWay::OnTheGang, "{:?}", machine.race);
}

#[test]
fn lessons_for_which_there_is_no_gang_cost_nothing() {
    let mut race = Race::new();
    race.begin_lessons(12e6);
    race.cancel_lessons();
    assert_eq!((race.budget, race.gang), (Budget::new(FIRST_BUDGET), GangPlan::Unknown));
    race.begin_lessons(12e6);
    race.end_lesson(8_000_000);
    race.cancel_lessons();
    assert_eq!(race.budget, Budget::new(FIRST_BUDGET - 12e6), "one was given");
}

/// A level is over, and with it its heavy runs, in the middle of a trial.
#[test]
fn a_trial_that_waits_for_heavy_runs_in_vain_ends() {
    let takes = [(1_000, 12_000_000), (40_000, 3_000_000)];
    for period in [20, 40, 60] {
        let mut race = Race::new();
        let waits = |race: &Race| race.trial.is_some() && race.times.heavy_fraction().is_some();
        let began = (0..10_000).find(|run| {
            run_bursts(&mut race, takes, 1, |_| run % period == 0);
            waits(&race)
        });
        assert!(began.is_some(), "every {period}: {race:?}");
        let fraction = race.times.heavy_fraction().expect("it waits for heavy runs");
        // Four times as many as heavy ones come in.
        run_bursts(&mut race, takes, (4.0 / fraction).ceil() as u64, |_| false);
        assert!(race.trial.is_none(), "every {period}: {race:?}");
        let (slower, ..) = run_bursts(&mut race, takes, 4_000, |_| false);
        assert!(slower < 0.06, "every {period}: {slower}, {race:?}");
    }
}
