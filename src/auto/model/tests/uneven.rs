//! Calls of one place that differ: by their rows, or by what these cost.

use super::*;

const STRATEGIES: [Strategy; 3] = [Strategy::Serial, Strategy::LockStep, Strategy::ForkJoin];

/// Which of two kinds calls are, in turns; by chance if there is no pattern.
const PATTERNS: [&str; 5] = ["LH", "LLH", "LHH", "LLLH", ""];

fn is_high(pattern: &str, call: usize) -> bool {
    let by_chance = || (call as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 63;
    pattern.as_bytes().get(call % pattern.len().max(1)).map_or_else(|| by_chance() == 1, |&kind| kind == b'H')
}

/// What calls take, x the strategy that takes least for all of them, once it was learned. `call`
/// says on which machine a call is, and of how many rows.
fn beside_the_best_for_all(call: impl Fn(usize) -> (Machine, u64)) -> f64 {
    let (mut model, mut took, mut by_strategy) = (Model::default(), 0.0, [0.0; 3]);
    for number in 0..20_000 {
        let (machine, rows) = call(number);
        let this = machine.run(&mut model, rows, 1);
        if number >= 2_000 {
            took += this;
            by_strategy.iter_mut().zip(STRATEGIES).for_each(|(all, strategy)| *all += machine.takes(strategy, rows));
        }
    }
    took / by_strategy.into_iter().fold(f64::INFINITY, f64::min)
}

fn sleeping(workers: usize, row: f64) -> Machine {
    let round = [0.0, 25_000.0, 40_000.0, 60_000.0, 100_000.0][workers.ilog2() as usize];
    Machine { row, round, session: 1.1 * round, workers, asleep: true, ..PLAIN }
}

#[test]
fn sizes_on_both_sides_of_what_is_worth_a_round_go_their_own_ways() {
    for (workers, few, many) in [
        (2, 20_000, 80_000),
        (4, 40_000, 150_000),
        (8, 60_000, 240_000),
        (8, 60_000, 1_000_000),
        (16, 100_000, 375_000),
    ] {
        for pattern in PATTERNS {
            let of = |call| (sleeping(workers, 1.0), if is_high(pattern, call) { many } else { few });
            let took = beside_the_best_for_all(of);
            assert!(took < 1.02, "{workers} workers, {few} and {many} rows, {pattern}: {took}");
        }
    }
}

#[test]
fn what_rows_cost_in_some_calls_is_not_taken_for_what_they_cost_in_all() {
    for (workers, cheap, dear) in [(2, 0.5, 1.7), (4, 0.7, 1.4), (4, 1.0, 3.5), (8, 1.0, 3.0), (16, 1.0, 3.5)] {
        for pattern in PATTERNS {
            let of = |call| (sleeping(workers, if is_high(pattern, call) { dear } else { cheap }), 100_000);
            let took = beside_the_best_for_all(of);
            assert!(took < 1.05, "{workers} workers, {cheap} and {dear} ns a row, {pattern}: {took}");
        }
    }
}

/// An hour in a menu, and then a battle.
#[test]
fn many_rows_after_long_with_few_are_shared_soon() {
    for (workers, quiet, times) in [(4, 10_000, 20), (16, 10_000, 20), (16, 50_000, 20), (16, 60_000, 100)] {
        let (machine, mut model) = (sleeping(workers, 1.0), Model::default());
        machine.run(&mut model, quiet, 100_000);
        machine.run(&mut model, quiet * times, 60);
        let took = machine.run(&mut model, quiet * times, 100) / (100.0 * machine.best(quiet * times));
        assert!(took < 1.1, "{workers} workers, {quiet} rows and {times} times as many: {took}");
    }
}

/// Calls that need not ask stay on one thread: large ones that do not are not among them.
#[test]
fn what_may_stay_without_asking_is_what_stays() {
    let (machine, mut model) = (sleeping(2, 1.0), Model::default());
    let mut granted = 0;
    for call in 0..4_000 {
        let rows = if call % 5 == 0 { 75_000 } else { 20_000 };
        let took = machine.run(&mut model, rows, 1);
        let went_alone = took == machine.takes(Strategy::Serial, rows);
        let grant = model.grant();
        if call > 1_000 && grant.calls > 0 && rows == 75_000 {
            granted += 1;
            assert_eq!(grant.rows.contains(&rows), went_alone, "{call}: {:?}", grant.rows);
        }
    }
    assert!(granted > 100, "{granted} calls");
}
