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
