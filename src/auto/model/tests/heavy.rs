//! Some calls take far longer than the others.

use super::*;

/// Calls of which one in `period` takes `times` as long; where a round costs `round`.
fn run_bursts(model: &mut Model, machine: &Machine, (rows, calls): (u64, u64), (period, times): (u64, f64)) -> f64 {
    let call = |number: u64| {
        let machine =
            Machine { row: if number.is_multiple_of(period) { machine.row * times } else { machine.row }, ..*machine };
        machine.run(model, rows, 1)
    };
    (0..calls).map(call).sum()
}

#[test]
fn heavy_calls_now_and_then_decide_if_they_are_most_of_the_time() {
    // A round wakes workers: more than a usual call takes.
    let machine = Machine { round: 40_000.0, session: 60_000.0, ..PLAIN };
    for period in 2..=30 {
        let mut model = Model::default();
        // With one in thirty the two ways differ by a thirtieth: that is seen late.
        run_bursts(&mut model, &machine, (20_000, 5_000), (period, 100.0));
        assert_eq!(model.explain().strategy, Strategy::LockStep, "every {period}");
        let took = run_bursts(&mut model, &machine, (20_000, 3_000), (period, 100.0));
        let heavies = 3_000_u64.div_ceil(period) as f64;
        let best = heavies * machine.round
            + (3_000.0 - heavies) * machine.takes(Strategy::LockStep, 20_000)
            + heavies * 1_000_000.0;
        assert!(took < best * 1.05, "every {period}: {}", took / best);
    }
}

#[test]
fn heavy_calls_do_not_decide_if_they_are_not() {
    let machine = Machine { round: 40_000.0, session: 60_000.0, ..PLAIN };
    for period in 8..=40 {
        let mut model = Model::default();
        run_bursts(&mut model, &machine, (20_000, 3_000), (period, 8.0));
        assert_eq!(model.explain().strategy, Strategy::Serial, "every {period}");
    }
}

/// Makes calls of 100,000 rows, of which one in `period` waits for 2.5 ms if it goes to the gang:
/// another thread of the game has a worker's core.
fn run_beside_a_thread(model: &mut Model, calls: u64, period: u64) -> f64 {
    (0..calls)
        .map(|number| {
            let waits = if number % period == 1 { 2_500_000.0 } else { 0.0 };
            let machine = Machine { round: PLAIN.round + waits, session: PLAIN.session + waits, ..PLAIN };
            machine.run(model, 100_000, 1)
        })
        .sum()
}

#[test]
fn calls_stay_on_one_thread_while_another_one_has_a_workers_core() {
    for period in (2..=16).chain([24, 32, 40]) {
        let mut model = Model::default();
        PLAIN.run(&mut model, 100_000, 1_000);
        assert_eq!(model.explain().strategy, Strategy::LockStep);
        let learning = run_beside_a_thread(&mut model, 1_000, period) / 100e6;
        assert!(learning < 2.0, "every {period}: {learning}");
        let took = run_beside_a_thread(&mut model, 5_000, period) / 500e6;
        assert!(took < 1.1, "every {period}: {took}");
        // It is gone.
        PLAIN.run(&mut model, 100_000, 2_500);
        let took = PLAIN.run(&mut model, 100_000, 1_000) / PLAIN.best(100_000) / 1e3;
        assert!(took < 1.05, "every {period}: {took}, {:?}", model.explain());
    }
}

#[test]
fn calls_that_are_interrupted_now_and_then_go_as_the_others_do() {
    // A round that is interrupted takes as long as a call on one thread that is.
    for (rows, best) in [(4_000, Strategy::Serial), (400_000, Strategy::LockStep)] {
        let machine = Machine { round: 6_000.0, ..PLAIN };
        let mut model = Model::default();
        for call in 0..20_000 {
            let decision = model.choose(TWO_AWAKE, || rows);
            let interrupted = if call % 60 == 0 { 4_000_000 } else { 0 };
            let takes = machine.takes(decision.strategy, rows) as u64 + interrupted;
            if decision.timing == Timing::ForModel {
                model.observe(decision.strategy, &seen(rows, Some(rows)), 0..takes);
            }
        }
        assert_eq!(model.explain().strategy, best, "{rows} rows");
    }
}
