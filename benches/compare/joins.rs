//! Group `joins`: what the parts of fork/join cost. `AffinityPool::heartbeat` looks at no clock in
//! a join, since idle workers do that; what it would cost instead is measured here, beside the
//! wake-up of workers and the price of doing nothing.

use std::fs;
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use bevy_affinity::prelude::*;

use crate::race::Race;
use crate::setup::Setup;
use crate::statistics::percentile;
use crate::{ours, report};

/// Depth of the recursion that is timed: 16,383 joins, small enough for the caches.
const DEPTH: u32 = 14;
const JOINS: usize = (1 << DEPTH) - 1;

/// Longer than any worker spins.
const ASLEEP: Duration = Duration::from_millis(2);
const WAKE_UPS: usize = 500;

/// For how long the idle pool is watched.
const IDLE: Duration = Duration::from_secs(5);

pub fn run(setup: &Setup) -> Result<(), String> {
    join_costs(setup)?;
    wake_ups(setup);
    idle(setup);
    Ok(())
}

/// One worker, so that nothing is ever shared.
fn join_costs(setup: &Setup) -> Result<(), String> {
    let alone = ours::pool(1);
    let mut race = Race::new(0_u64, |total, calls| {
        let expected = calls << DEPTH;
        (*total != expected).then(|| format!("{total} leaves and not {expected}"))
    });
    race.enter_baseline("two calls", |total, turn| turn.repeat(|| *total += two_calls(DEPTH)));
    race.enter("`Scope::join`, idle workers look at the clock", |total, turn| {
        alone.heartbeat(|scope| turn.repeat(|| *total += join(DEPTH, scope)));
    });
    race.enter("two calls and a flag that a timer thread would set", |total, turn| {
        let flag = AtomicBool::new(false);
        turn.repeat(|| *total += look_at_flag(DEPTH, &flag));
    });
    race.enter("two calls and a time-stamp counter", |total, turn| turn.repeat(|| *total += look_at_counter(DEPTH)));
    race.enter("two calls and `Instant::now`", |total, turn| turn.repeat(|| *total += look_at_instant(DEPTH)));
    let mut table = report::SizeTable::new("A join that nobody shares, by who keeps the time (ns a join)");
    table.push_per_item(JOINS, &race.run(setup.rounds)?);
    table.print();
    Ok(())
}

fn two_calls(depth: u32) -> u64 {
    if depth == 0 { black_box(1) } else { two_calls(depth - 1) + two_calls(depth - 1) }
}

fn join(depth: u32, scope: &mut Scope) -> u64 {
    if depth == 0 {
        return black_box(1);
    }
    let (a, b) = scope.join(|scope| join(depth - 1, scope), |scope| join(depth - 1, scope));
    a + b
}

fn look_at_flag(depth: u32, flag: &AtomicBool) -> u64 {
    if depth == 0 || flag.load(Ordering::Relaxed) {
        return black_box(1);
    }
    look_at_flag(depth - 1, flag) + look_at_flag(depth - 1, flag)
}

fn look_at_counter(depth: u32) -> u64 {
    if depth == 0 {
        return black_box(1);
    }
    black_box(time_stamp());
    look_at_counter(depth - 1) + look_at_counter(depth - 1)
}

fn look_at_instant(depth: u32) -> u64 {
    if depth == 0 {
        return black_box(1);
    }
    black_box(Instant::now());
    look_at_instant(depth - 1) + look_at_instant(depth - 1)
}

/// The processor's own clock; elsewhere than on x86 the system's.
#[cfg(target_arch = "x86_64")]
fn time_stamp() -> u64 {
    // SAFETY: every x86-64 processor has the instruction.
    unsafe { std::arch::x86_64::_rdtsc() }
}

#[cfg(not(target_arch = "x86_64"))]
fn time_stamp() -> Instant {
    Instant::now()
}

/// From the start of a session until another worker, which was asleep, runs the second half of its
/// first join.
fn wake_ups(setup: &Setup) {
    if setup.workers < 2 {
        println!("Wake-up from parked: not measured, it takes two workers.\n");
        return;
    }
    let pool = ours::pool(setup.workers);
    let samples: Vec<u64> = (0..WAKE_UPS).map(|_| time_wake_up(&pool)).collect();
    let at = |percent| report::duration(Duration::from_nanos(percentile(samples.clone(), percent)));
    println!("From parked to the first job that another worker runs: median {}, p99 {}.\n", at(50), at(99));
}

fn time_wake_up(pool: &AffinityPool) -> u64 {
    thread::sleep(ASLEEP);
    let taken = AtomicBool::new(false);
    let begun = Instant::now();
    let wait = |_: &mut Scope| {
        while !taken.load(Ordering::Acquire) {
            std::hint::spin_loop();
        }
    };
    let note = |_: &mut Scope| {
        let elapsed = begun.elapsed().as_nanos() as u64;
        taken.store(true, Ordering::Release);
        elapsed
    };
    pool.heartbeat(|scope| scope.join(wait, note)).1
}

/// CPU time of all threads of this process while every pool has nothing to do, and while one is in
/// a session in which only the leader has.
fn idle(setup: &Setup) {
    let pool = ours::pool(setup.workers);
    let share = |busy: Duration| format!("{:.2}%", busy.as_secs_f64() / IDLE.as_secs_f64() * 100.0);
    let outside = cpu_time_of(|| thread::sleep(IDLE));
    let inside = cpu_time_of(|| pool.heartbeat(|_| thread::sleep(IDLE)));
    println!(
        "CPU time of all threads, of one core: {} with no session, {} in a session in which no worker has a job.\n",
        share(outside),
        share(inside)
    );
    keep_alive(&pool);
}

/// The pool that was watched is not to be dropped early.
fn keep_alive(pool: &AffinityPool) {
    let rounds = AtomicU32::new(0);
    pool.run(|_| _ = rounds.fetch_add(1, Ordering::Relaxed));
}

fn cpu_time_of(wait: impl FnOnce()) -> Duration {
    let before = cpu_time();
    wait();
    cpu_time() - before
}

/// User and system time of all threads of this process, to a hundredth of a second; zero where
/// there is no `/proc`.
fn cpu_time() -> Duration {
    let threads = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let ticks = threads.filter_map(|thread| {
        let stat = fs::read_to_string(thread.path().join("stat")).ok()?;
        // After the name, which may hold anything: state, ten more, then the ticks in user and in
        // system mode.
        let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
        Some(fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?)
    });
    Duration::from_millis(ticks.sum::<u64>() * 10)
}
