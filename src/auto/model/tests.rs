mod changes;
mod heavy;
mod uneven;

use std::cell::Cell;

use super::*;
use crate::auto::Timing;

/// What calls really take: a machine for a [`Model`] to find its way on.
struct Machine {
    /// Nanoseconds of a row on one thread.
    row: f64,
    /// How much longer a row takes while other workers sweep theirs.
    shared: f64,
    round: f64,
    session: f64,
    /// By how much the longest share exceeds the mean.
    skew: f64,
    workers: usize,
    /// Storages that the rows lie in.
    storages: usize,
    /// Whether workers sleep when a call begins.
    asleep: bool,
    /// Whether they come when the leader has done everything.
    late: bool,
}

const PLAIN: Machine = Machine {
    row: 1.0,
    shared: 1.0,
    round: 800.0,
    session: 2_500.0,
    skew: 0.0,
    workers: 2,
    storages: 1,
    asleep: false,
    late: false,
};

thread_local! {
    /// The test's time, in nanoseconds.
    static CLOCK: Cell<u64> = const { Cell::new(0) };
}

/// A call that finds one other worker, awake.
const TWO_AWAKE: Situation = Situation { storages: 1, workers: 2, asleep: false };

/// A call of `rows` rows in which all workers together were `busy` for so long, if all took part.
fn seen(rows: u64, busy: Option<u64>) -> Outcome {
    Outcome { busy, ..Outcome::unknown(rows) }
}

impl Machine {
    fn takes(&self, strategy: Strategy, rows: u64) -> f64 {
        let alone = self.row * rows as f64;
        let share = alone * self.shared / self.workers as f64;
        match strategy {
            Strategy::Serial => alone,
            Strategy::LockStep => self.round + share * (1.0 + self.skew),
            Strategy::ForkJoin => self.session + share * 1.02,
            Strategy::Bevy => f64::INFINITY,
        }
    }

    fn best(&self, rows: u64) -> f64 {
        Strategy::MEASURED.map(|strategy| self.takes(strategy, rows)).into_iter().fold(f64::INFINITY, f64::min)
    }

    /// What is seen of a call besides its time.
    fn outcome(&self, strategy: Strategy, rows: u64) -> Outcome {
        let busy = (self.row * self.shared * rows as f64) as u64;
        match strategy {
            Strategy::Serial => Outcome::serial(rows, (self.row * rows as f64) as u64),
            _ if self.late => {
                let leader_rows = rows.div_ceil(self.workers as u64);
                Outcome { rows, leader_rows, leader_ns: busy * leader_rows / rows, busy: None }
            }
            _ => seen(rows, Some(busy)),
        }
    }

    /// Makes `calls` calls; returns what they took altogether.
    fn run(&self, model: &mut Model, rows: u64, calls: u32) -> f64 {
        let mut call = |now: u64| {
            let &Self { storages, workers, asleep, .. } = self;
            let decision = model.choose(Situation { storages, workers, asleep }, || rows);
            let (takes, alone) = (self.takes(decision.strategy, rows), self.takes(Strategy::Serial, rows));
            match decision.timing {
                Timing::ForModel => {
                    let call = now..now + takes as u64;
                    model.observe(decision.strategy, &self.outcome(decision.strategy, rows), call);
                    takes
                }
                Timing::Probe => {
                    let longest = model.longest_probe();
                    model.observe_probe(Probe { rows, nanoseconds: alone as u64 }, rows, 0);
                    let part = (longest as f64 / alone.max(1.0)).min(1.0);
                    part * alone + (1.0 - part) * takes
                }
                Timing::Untimed | Timing::ForRows => takes,
            }
        };
        let timed = || {
            let now = CLOCK.get();
            let took = call(now);
            CLOCK.set(now + took as u64);
            took
        };
        std::iter::repeat_with(timed).take(calls as usize).sum()
    }
}

#[test]
fn every_size_and_machine_ends_up_near_the_best() {
    let machines = [
        PLAIN,
        Machine { row: 1_000.0, ..PLAIN },
        Machine { shared: 1.9, ..PLAIN },
        Machine { shared: 2.5, ..PLAIN },
        Machine { skew: 0.9, row: 50.0, ..PLAIN },
        Machine { workers: 16, round: 2_500.0, session: 6_000.0, ..PLAIN },
        Machine { workers: 1, ..PLAIN },
    ];
    for (number, machine) in machines.iter().enumerate() {
        for rows in [1, 10, 100, 1_000, 2_000, 10_000, 100_000, 1_000_000] {
            let mut model = Model::default();
            machine.run(&mut model, rows, 300);
            let (warm, best) = (machine.run(&mut model, rows, 20_000), machine.best(rows) * 20_000.0);
            assert!(warm <= best * 1.05, "machine {number}, {rows} rows: {} x the best", warm / best);
        }
    }
}

#[test]
fn learning_costs_little() {
    for rows in [10, 1_000, 10_000, 1_000_000] {
        let took = PLAIN.run(&mut Model::default(), rows, 100);
        assert!(took <= PLAIN.best(rows) * 130.0, "{rows} rows: {}", took / PLAIN.best(rows) / 100.0);
    }
}

#[test]
fn the_first_calls_and_long_ones_are_all_timed_and_of_others_one_in_eight() {
    let timed = |row| {
        let machine = Machine { row, round: 100_000.0, session: 100_000.0, ..PLAIN };
        let mut model = Model::default();
        let call = |_: &u32| {
            let decision = model.choose(TWO_AWAKE, || 1_000);
            let timed = decision.timing == Timing::ForModel;
            if timed {
                let takes = machine.takes(decision.strategy, 1_000) as u64;
                model.observe(decision.strategy, &seen(1_000, Some(2 * takes)), 0..takes);
            }
            timed
        };
        let timed: Vec<_> = (0..8_064).filter(call).collect();
        (timed.iter().filter(|&&call| call < 64).count(), timed.len())
    };
    let [(short_first, short), (long_first, long)] = [12.0, 20.0].map(timed);
    // But for the first call of a trial.
    assert!(short_first >= 60 && long_first >= 60, "{short_first}, {long_first}");
    assert!((1_000..1_200).contains(&short) && long > 8_000, "{short}, {long}");
}

/// A level loads: of fifty calls a dozen would be a quarter.
#[test]
fn long_calls_are_compared_as_soon_as_one_is_known() {
    for asleep in [false, true] {
        let (machine, mut model) = (Machine { row: 14.0, asleep, ..PLAIN }, Model::default());
        let calls = (1..50).find(|_| {
            machine.run(&mut model, 1_000, 1);
            model.explain().trials > 0
        });
        assert!(calls.is_some_and(|calls| calls <= 5), "{calls:?}");
    }
}

#[test]
fn calls_that_are_too_small_for_a_round_never_try_one() {
    let mut model = Model::default();
    PLAIN.run(&mut model, 100, 10_000);
    assert_eq!(model.explain().trials, 0);
}

#[test]
fn a_bad_first_impression_is_looked_at_again() {
    let mut model = Model::default();
    let mut shared = 0;
    for _ in 0..200 {
        let decision = model.choose(TWO_AWAKE, || 1_000);
        // The first four rounds are disturbed.
        shared += u32::from(decision.strategy == Strategy::LockStep);
        let takes = match decision.strategy {
            Strategy::LockStep if shared > 4 => 50_000,
            Strategy::LockStep => 250_000,
            _ => 98_000,
        };
        if decision.timing == Timing::ForModel {
            model.observe(decision.strategy, &seen(1_000, Some(98_000)), 0..takes);
        }
    }
    assert_eq!(model.explain().strategy, Strategy::LockStep);
}

#[test]
fn short_calls_seldom_wake_workers() {
    let trials = |asleep| {
        let mut model = Model::default();
        Machine { asleep, ..PLAIN }.run(&mut model, 4_000, 1_000);
        model.explain().trials
    };
    assert!(trials(false) >= 1, "hot workers are tried");
    assert_eq!(trials(true), 0);
}

/// Each row takes a lock, or clones the same `Arc`: found out within a second of a game.
#[test]
fn rows_that_get_in_each_others_way_from_the_start_go_to_one_thread_soon() {
    for (row, workers) in [(1.0, 2), (12.0, 2), (60.0, 2), (1_000.0, 2), (60.0, 16), (1_000.0, 16)] {
        let crowded = Machine { row, shared: 3.0 * workers as f64, workers, ..PLAIN };
        let mut model = Model::default();
        let took = crowded.run(&mut model, 50_000, 40);
        assert_eq!(model.explain().strategy, Strategy::Serial, "{row} ns");
        assert!(took < 40.0 * crowded.takes(Strategy::Serial, 50_000) * 2.0, "{row} ns: {took}");
    }
}

/// Some part of one call on one thread is all that it costs others.
#[test]
fn rows_that_do_not_are_begun_once_on_one_thread() {
    for workers in [2, 16, 64] {
        let machine = Machine { row: 20.0, workers, ..PLAIN };
        let mut model = Model::default();
        let took = machine.run(&mut model, 50_000, 100);
        assert!(took < 104.0 * machine.takes(Strategy::LockStep, 50_000), "{workers} workers: {took}");
        assert_eq!(model.explain().strategy, Strategy::LockStep);
    }
}

/// The first rows take nearly all of the time, or hardly any.
#[test]
fn what_the_first_rows_take_alone_is_not_taken_for_all() {
    for part in [1_000, 1_900_000] {
        let mut model = Model::default();
        let mut calls = || {
            let decision = model.choose(TWO_AWAKE, || 50_000);
            match decision.timing {
                Timing::ForModel if decision.strategy == Strategy::Serial => {
                    model.observe(Strategy::Serial, &seen(50_000, None), 0..2_000_000);
                }
                Timing::ForModel => model.observe(decision.strategy, &seen(50_000, Some(2_000_000)), 0..1_000_000),
                Timing::Probe => model.observe_probe(Probe { rows: 100, nanoseconds: part }, 50_000, 0),
                Timing::Untimed | Timing::ForRows => {}
            }
            let [alone, ..] = model.explain().figures;
            (decision.strategy, alone.map_or(0, |alone| alone.time.as_micros()))
        };
        let all: Vec<_> = (0..100).map(|_| calls()).collect();
        assert!(all.iter().all(|&(_, alone)| alone <= 2_000), "{all:?}");
        assert!(all.iter().filter(|(strategy, _)| *strategy == Strategy::Serial).count() < 10, "{all:?}");
    }
}

#[test]
fn who_was_away_is_worked_with_again_at_once() {
    let mut model = Model::default();
    PLAIN.run(&mut model, 100_000, 300);
    let trials = model.explain().trials;
    let alone = Machine { workers: 1, ..PLAIN };
    assert_eq!(alone.run(&mut model, 100_000, 500), alone.takes(Strategy::Serial, 100_000) * 500.0);
    assert_eq!(model.explain().strategy, Strategy::Serial);
    let decision = model.choose(TWO_AWAKE, || 100_000);
    assert_eq!((decision.strategy, model.explain().strategy), (Strategy::LockStep, Strategy::LockStep));
    assert_eq!(model.explain().trials, trials);
}

#[test]
fn one_slow_call_changes_nothing() {
    let mut model = Model::default();
    PLAIN.run(&mut model, 100_000, 300);
    model.observe(Strategy::LockStep, &seen(100_000, None), 0..30_000_000);
    PLAIN.run(&mut model, 100_000, 100);
    assert_eq!(model.explain().strategy, Strategy::LockStep);
}

#[test]
fn nonsense_is_survived() {
    let mut model = Model::default();
    for rows in [0, u64::MAX, 1, 0] {
        for nanoseconds in [0, u64::MAX] {
            model.choose(TWO_AWAKE, || rows);
            model.observe(Strategy::LockStep, &seen(rows, Some(u64::MAX)), 0..nanoseconds);
            model.observe(Strategy::Serial, &seen(rows, None), 0..nanoseconds);
        }
    }
    PLAIN.run(&mut model, 1_000, 100);
}

/// Calls with pauses in between: no worker ever comes in time, and what that takes is what counts.
#[test]
fn calls_that_come_too_seldom_for_workers_stay_on_the_leader() {
    let mut model = Model::default();
    let mut now = 0;
    for call in 0..2_000 {
        let tried = model.trials.under_way.is_some();
        let decision = model.choose(TWO_AWAKE, || 4_000);
        let takes = if decision.strategy == Strategy::Serial { 4_000 } else { 20_000 };
        if decision.timing == Timing::ForModel {
            model.observe(decision.strategy, &seen(4_000, None), now..now + takes);
        }
        assert!(call < 100 || tried || decision.strategy == Strategy::Serial, "call {call}");
        now += 2_000_000;
    }
    assert!(model.explain().trials < 40, "{}", model.explain().trials);
}

#[test]
fn rows_of_many_tables_are_counted_now_and_then_only() {
    let counted = |storages, nanoseconds| {
        let (mut model, counted) = (Model::default(), Cell::new(0));
        for call in 0..8_000_u64 {
            let count = || {
                counted.set(counted.get() + 1);
                1_000
            };
            let Decision { strategy, timing } = model.choose(Situation { storages, ..TWO_AWAKE }, count);
            if timing == Timing::ForModel {
                let began = call * 100_000;
                model.observe(strategy, &seen(1_000, Some(nanoseconds)), began..began + nanoseconds);
            }
        }
        counted.get()
    };
    assert!(counted(1, 16_000) > 7_000, "long calls are timed each time");
    assert!(counted(1_000, 16_000) < 2_000, "counting would take a tenth as long as the call");
    assert!(counted(1_000, 1_000_000) > 7_000);
}

/// Calls of `sizes` in turns, after some by which the model learns; what those of each size took, x
/// the best.
fn run_sizes(machine: &Machine, sizes: &[u64], rounds: u32) -> Vec<f64> {
    let mut model = Model::default();
    let mut took = vec![0.0; sizes.len()];
    for round in 0..2 * rounds {
        for (took, &rows) in took.iter_mut().zip(sizes) {
            let call = machine.run(&mut model, rows, 1);
            *took += if round < rounds { 0.0 } else { call };
        }
    }
    let best = |rows| machine.best(rows).max(1.0) * f64::from(rounds);
    took.iter().zip(sizes).map(|(took, &rows)| took / best(rows)).collect()
}

/// Makes 20,000 calls with a frame in between, in each of which some worker is late. How many ran
/// on one thread.
fn calls_alone_where_some_worker_is_late(machine: &Machine, rows: u64) -> usize {
    let (mut model, mut now) = (Model::default(), 0);
    let mut call = || {
        let decision = model.choose(Situation { workers: machine.workers, ..TWO_AWAKE }, || rows);
        let takes = machine.takes(decision.strategy, rows) as u64;
        if decision.timing == Timing::ForModel {
            model.observe(decision.strategy, &seen(rows, None), now..now + takes);
        }
        if decision.timing == Timing::Probe {
            let alone = machine.takes(Strategy::Serial, rows) as u64;
            model.observe(Strategy::Serial, &Outcome::serial(rows, alone), now..now + alone);
        }
        now += 16_000_000;
        decision.strategy == Strategy::Serial
    };
    (0..20_000).filter(|_| call()).count()
}

#[test]
fn one_thread_is_tried_where_some_worker_is_always_late_if_that_is_short() {
    // 62 times as long as on the gang: 62 ms.
    let long = Machine { row: 1_000.0, workers: 62, ..PLAIN };
    assert_eq!(calls_alone_where_some_worker_is_late(&long, 62_000), 0);
    // Waking fifteen workers takes longer than the rows do.
    let short = Machine { row: 20.0, workers: 16, round: 170_000.0, session: 200_000.0, ..PLAIN };
    let alone = calls_alone_where_some_worker_is_late(&short, 5_000);
    assert!(alone > 19_500, "{alone}");
}

#[test]
fn calls_of_different_sizes_each_go_where_they_take_least() {
    let sixteen = Machine { workers: 16, round: 2_500.0, session: 6_000.0, ..PLAIN };
    for machine in [PLAIN, sixteen] {
        let machine = Machine { row: 10.0, ..machine };
        for sizes in [[10, 100_000], [100_000, 10], [100, 100_000], [400, 2_000], [1_000, 1_000_000], [10_000, 50_000]]
        {
            let took = run_sizes(&machine, &sizes, 2_000);
            assert!(took.iter().all(|&took| took < 1.1), "{sizes:?} rows, {} workers: {took:?}", machine.workers);
        }
    }
}

#[test]
fn bursts_of_rows_are_shared() {
    for (between, quiet) in [(0, 59), (1, 59), (0, 999), (3, 999)] {
        for row in [50_000.0, 5.0] {
            let sizes: Vec<_> = std::iter::repeat_n(between, quiet).chain([500_000 / row as u64]).collect();
            let took = run_sizes(&Machine { row, ..PLAIN }, &sizes, 100)[quiet];
            assert!(took < 1.1, "after {quiet} calls of {between} rows one with rows of {row} ns: {took}");
        }
    }
}

/// Once in a while many cheap rows, and few dear ones in between.
#[test]
fn rows_of_small_calls_may_cost_something_else() {
    let (many, few) = (Machine { row: 10.0, workers: 16, ..PLAIN }, Machine { row: 10_000.0, workers: 16, ..PLAIN });
    let mut model = Model::default();
    let mut second = || {
        many.run(&mut model, 10_000, 1);
        few.run(&mut model, 100, 59)
    };
    (0..100).for_each(|_| _ = second());
    let took: f64 = (0..100).map(|_| second()).sum();
    assert!(took < 1.1 * 5_900.0 * few.best(100), "{}", took / 5_900.0 / few.best(100));
}

#[test]
fn rows_that_get_in_each_others_way_are_found_out() {
    for workers in [2, 3, 4, 8, 16] {
        let crowded = Machine { workers, shared: 10.0 * workers as f64, round: 2_500.0, session: 6_000.0, ..PLAIN };
        let mut model = Model::default();
        crowded.run(&mut model, 20_000, 10_000);
        assert_eq!(model.explain().strategy, Strategy::Serial, "{workers} workers");
        // Once is enough where they do not.
        let plain = Machine { shared: 1.0, ..crowded };
        let mut model = Model::default();
        plain.run(&mut model, 200_000, 100_000);
        assert_eq!(model.explain().strategy, Strategy::LockStep, "{workers} workers");
        assert!(workers == 2 || model.estimate(Strategy::Serial).samples() <= 1, "{workers} workers");
    }
}
