//! What was learned is true no longer.

use super::*;

#[test]
fn a_world_that_changes_is_learned_anew() {
    let mut model = Model::default();
    PLAIN.run(&mut model, 100, 1_000);
    assert_eq!(model.explain().strategy, Strategy::Serial);
    // More rows.
    PLAIN.run(&mut model, 100_000, 300);
    assert_eq!(model.explain().strategy, Strategy::LockStep);
    // Rows that got in each other's way.
    let crowded = Machine { shared: 3.0, ..PLAIN };
    crowded.run(&mut model, 100_000, 2_000);
    assert_eq!(model.explain().strategy, Strategy::Serial);
    // And out of it again: nothing on the leader tells, only trials do.
    PLAIN.run(&mut model, 100_000, 20_000);
    assert_eq!(model.explain().strategy, Strategy::LockStep);
}

/// In many tables, too, where the rows of some calls only are counted.
#[test]
fn few_rows_are_usual_after_a_while() {
    for (storages, row, workers) in [(1, 0.2, 8), (20, 0.2, 8), (20, 0.2, 2), (300, 1.0, 8), (1_000, 4.0, 2)] {
        for (before, after) in [(20_000, 200), (20_000, 2_000), (200_000, 2_000)] {
            let mut model = Model::default();
            let machine = Machine { storages, row, workers, ..PLAIN };
            machine.run(&mut model, before, 200);
            for rows in [after, before] {
                machine.run(&mut model, rows, 4_000);
                let took = machine.run(&mut model, rows, 1_000) / machine.best(rows) / 1_000.0;
                assert!(took < 1.06, "{storages} tables, {rows} rows of {row}: {took} x the best");
            }
            assert_eq!(model.explain().calls, 200 + 2 * 5_000, "each call counts once");
        }
    }
}

/// At once, or by and by, so that nothing surprises.
#[test]
fn rows_that_become_cheap_go_back_to_one_thread() {
    let waking = Machine { workers: 8, asleep: true, round: 40_000.0, session: 45_000.0, ..PLAIN };
    for (late, step) in [(false, 0.0002), (true, 0.0002), (false, 0.9), (true, 0.9)] {
        let mut model = Model::default();
        Machine { row: 10_000.0, ..waking }.run(&mut model, 1_000, 300);
        assert!(model.explain().strategy.is_the_gangs());
        let mut row = 10_000.0;
        while row > 2.0 {
            row *= step;
            Machine { row, late, ..waking }.run(&mut model, 1_000, 40);
        }
        let took = Machine { row, late, ..waking }.run(&mut model, 1_000, 400);
        assert_eq!(model.explain().strategy, Strategy::Serial, "late: {late}, {step}");
        assert!(took < 400.0 * 8_000.0, "late: {late}, {step}: {took}");
    }
}

/// One thread would take eight times as long as the gang: it only begins a call.
#[test]
fn rows_that_become_dear_are_not_left_to_one_thread() {
    for (before, after) in [(1_000.0, 20_000.0), (100.0, 1_000.0), (1_000.0, 2_200.0)] {
        let mut model = Model::default();
        let machine = |row| Machine { row, workers: 8, round: 2_000.0, ..PLAIN };
        machine(before).run(&mut model, 10_000, 300);
        assert_eq!(model.explain().strategy, Strategy::LockStep);
        let took = machine(after).run(&mut model, 10_000, 100);
        let best = machine(after).takes(Strategy::LockStep, 10_000);
        assert!(took < best * 106.0, "{before}, {after}: {} calls longer", took / best - 100.0);
        assert_eq!(model.explain().strategy, Strategy::LockStep);
    }
}

/// Each change of the load surprises, and nothing is to be found.
#[test]
fn loads_that_go_up_and_down_cost_what_trials_may() {
    let machine = |row| Machine { row, workers: 8, round: 2_000.0, ..PLAIN };
    for calls in [8, 16, 40] {
        let mut model = Model::default();
        let mut rounds = |times: u32| -> f64 {
            (0..2 * times).map(|turn| machine(f64::from(80 * (1 + turn % 2))).run(&mut model, 10_000, calls)).sum()
        };
        rounds(10);
        let took = rounds(1_000 / calls);
        let best = [80.0, 160.0].map(|row| machine(row).takes(Strategy::LockStep, 10_000)).iter().sum::<f64>();
        let best = best * f64::from(calls * (1_000 / calls));
        assert!(took < best * 1.035, "{calls} calls each: {}", took / best);
    }
}

/// Few calls are timed where they are short, all where they are long.
#[test]
fn short_calls_that_become_long_are_shared_within_some_dozen() {
    let mut model = Model::default();
    Machine { row: 0.5, ..PLAIN }.run(&mut model, 1_000, 1_000);
    assert_eq!(model.explain().strategy, Strategy::Serial);
    Machine { row: 10_000.0, ..PLAIN }.run(&mut model, 1_000, 41 + 12);
    assert_eq!(model.explain().strategy, Strategy::LockStep);
}

/// From far too short to be shared, or to be timed each time.
#[test]
fn rows_that_become_dear_at_once_are_shared_for_good() {
    let machine = Machine { row: 0.2, shared: 1.3, session: 6_000.0, skew: 0.3, workers: 16, ..PLAIN };
    let mut model = Model::default();
    machine.run(&mut model, 2_000, 100);
    let dear = Machine { row: 3_000.0, ..machine };
    dear.run(&mut model, 2_000, 100);
    let took = dear.run(&mut model, 2_000, 1_000) / dear.best(2_000) / 1_000.0;
    assert!(took < 1.05, "{took} x the best");
}

/// What was measured of other rows than these is no reason not to try the gang.
#[test]
fn few_rows_that_become_many_are_shared_soon() {
    let few = Machine { row: 300.0, workers: 16, asleep: true, round: 30_000.0, session: 32_000.0, ..PLAIN };
    let mut model = Model::default();
    few.run(&mut model, 20, 200);
    assert_eq!(model.explain().strategy, Strategy::Serial);
    let many = Machine { row: 5.0, ..few };
    many.run(&mut model, 200_000, 50);
    assert!(model.explain().strategy.is_the_gangs());
}

/// Numbers that look random.
struct Numbers(u64);

impl Numbers {
    fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        choices[(self.0 >> 33) as usize % choices.len()]
    }

    fn machine(&mut self) -> Machine {
        let asleep = self.one_of(&[false, false, true]);
        let waking = if asleep { 30_000.0 } else { 0.0 };
        Machine {
            row: self.one_of(&[0.2, 1.0, 5.0, 30.0, 300.0, 3_000.0]),
            shared: self.one_of(&[1.0, 1.0, 1.0, 1.3, 2.5, 6.0]),
            round: waking + self.one_of(&[300.0, 800.0, 2_500.0]),
            session: waking + self.one_of(&[1_500.0, 2_500.0, 6_000.0]),
            skew: self.one_of(&[0.0, 0.0, 0.3, 0.9]),
            workers: self.one_of(&[2, 2, 4, 8, 16]),
            storages: self.one_of(&[1, 1, 8, 9, 50, 1_000]),
            asleep,
            late: self.one_of(&[false, false, true]),
        }
    }

    fn rows(&mut self) -> u64 {
        self.one_of(&[1, 20, 200, 2_000, 20_000, 200_000])
    }

    /// `machine` and its `rows`, one of which is as in another world.
    fn changed(&mut self, machine: &Machine, rows: u64) -> (Machine, u64) {
        let other = self.machine();
        let machine = Machine { ..*machine };
        match self.one_of(&[0, 1, 2, 3, 4, 5]) {
            0 => (machine, self.rows()),
            1 => (Machine { storages: other.storages, ..machine }, self.rows()),
            2 => (Machine { row: other.row, ..machine }, rows),
            3 => (Machine { shared: other.shared, ..machine }, rows),
            4 => (Machine { late: other.late, ..machine }, rows),
            _ => (Machine { skew: other.skew, ..machine }, rows),
        }
    }
}

/// All worlds that change in one way: in nearly all of them calls go the best way some time later.
#[test]
fn hardly_any_change_is_missed() {
    const WORLDS: u32 = 5_000;
    let mut numbers = Numbers(1);
    let mut missed = Vec::new();
    for _ in 0..WORLDS {
        let (machine, rows) = (numbers.machine(), numbers.rows());
        let (changed, rows_then) = numbers.changed(&machine, rows);
        // Clocks cannot tell shorter ones apart.
        if machine.best(rows).min(changed.best(rows_then)) < 300.0 {
            continue;
        }
        let mut model = Model::default();
        machine.run(&mut model, rows, numbers.one_of(&[100, 1_000]));
        changed.run(&mut model, rows_then, 3_000);
        let took = changed.run(&mut model, rows_then, 1_000) / 1_000.0;
        let best = changed.best(rows_then);
        if took > best * 1.15 + 200.0 {
            missed.push((took / best, rows, rows_then));
        }
    }
    assert!(missed.len() <= 5, "{} of {WORLDS}: {missed:?}", missed.len());
}
