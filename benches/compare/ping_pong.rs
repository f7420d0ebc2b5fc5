//! One cache line there and back between two pinned threads: no round can be faster.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use core_affinity::CoreId;
use crossbeam_utils::CachePadded;

use crate::report;
use crate::setup::Setup;
use crate::statistics::percentile;

/// Exchanges timed together, so that the clock does not count.
const EXCHANGES: u64 = 100;
const SAMPLES: u64 = 1_000;

/// Prints how far apart the cores are now: on a rented machine that changes while one looks.
pub fn print(setup: &Setup) {
    let [first, second, ..] = setup.cores[..] else {
        println!("One cache line there and back: not measured, it takes two cores.\n");
        return;
    };
    let (median, p99) = measure(first, second);
    println!(
        "One cache line there and back between cores {} and {}: median {}, p99 {}.\n",
        first.id,
        second.id,
        report::duration(median),
        report::duration(p99)
    );
}

/// Median and 99th percentile of one exchange, each over the averages of a hundred.
fn measure(first: CoreId, second: CoreId) -> (Duration, Duration) {
    let ball = CachePadded::new(AtomicU64::new(0));
    let mut nanoseconds = Vec::new();
    thread::scope(|scope| {
        scope.spawn(|| {
            core_affinity::set_for_current(second);
            (0..SAMPLES * EXCHANGES).for_each(|exchange| give_back(&ball, exchange));
        });
        scope.spawn(|| {
            core_affinity::set_for_current(first);
            nanoseconds = (0..SAMPLES).map(|sample| time_exchanges(&ball, sample)).collect();
        });
    });
    let at = |percent| Duration::from_nanos(percentile(nanoseconds.clone(), percent));
    (at(50), at(99))
}

/// Nanoseconds of one exchange. The ball counts half exchanges: it is even when it is here.
fn time_exchanges(ball: &AtomicU64, sample: u64) -> u64 {
    let start = Instant::now();
    for exchange in sample * EXCHANGES..(sample + 1) * EXCHANGES {
        ball.store(2 * exchange + 1, Ordering::Release);
        wait_for(ball, 2 * exchange + 2);
    }
    start.elapsed().as_nanos() as u64 / EXCHANGES
}

fn give_back(ball: &AtomicU64, exchange: u64) {
    wait_for(ball, 2 * exchange + 1);
    ball.store(2 * exchange + 2, Ordering::Release);
}

fn wait_for(ball: &AtomicU64, count: u64) {
    while ball.load(Ordering::Acquire) != count {
        spin_loop();
    }
}
