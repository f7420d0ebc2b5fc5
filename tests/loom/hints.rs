//! Lowering times and their minima under loom: threads that wake entities of one cache line, in
//! every schedule, or every one within a stated number of preemptions.
//!
//! `cargo test --release --manifest-path tests/loom/Cargo.toml --test hints`
#![cfg(affinity_loom)]
#![allow(
    dead_code,
    unused_imports,
    reason = "the protocol's files are taken from the crate as they are, and each test uses a part"
)]

#[path = "../../src/due/lower.rs"]
mod lower;
#[path = "model.rs"]
mod model;
#[path = "../../src/sync.rs"]
mod sync;

use loom::{sync::Arc, thread};

use crate::{
    lower::lower,
    model::{exhaust, model},
    sync::{AtomicU64, Ordering},
};

/// Two times, their minimum, and the minimum of that and of what is elsewhere.
const WORDS: usize = 4;

/// Each thread lowers the times it is given; in the end no minimum may be later than what is below.
fn wakes(by: &'static [&'static [(usize, u64)]], elsewhere: u64) {
    let words = Arc::new([u64::MAX, u64::MAX, u64::MAX, elsewhere].map(AtomicU64::new));
    let threads = by.iter().map(|&wakes| {
        let words = words.clone();
        thread::spawn(move || {
            for &(slot, time) in wakes {
                lower([slot, 2, 3].iter().map(|&place| &words[place]), time);
            }
        })
    });
    threads.collect::<Vec<_>>().into_iter().for_each(|thread| thread.join().unwrap());
    let now: [u64; WORDS] = std::array::from_fn(|place| words[place].load(Ordering::Relaxed));
    let all = || by.iter().copied().flatten();
    for slot in 0..2 {
        let wanted = all().filter(|wake| wake.0 == slot).map(|wake| wake.1).min().unwrap_or(u64::MAX);
        assert_eq!(now[slot], wanted, "each time is the earliest that was asked for");
    }
    assert!(now[2] <= now[0].min(now[1]) && now[3] <= now[2], "a minimum is later than what is below: {now:?}");
}

#[test]
fn neighbours_keep_their_minima() {
    exhaust(|| wakes(&[&[(0, 3)], &[(1, 5)]], u64::MAX));
}

#[test]
fn one_entity_is_woken_by_two() {
    exhaust(|| wakes(&[&[(0, 3)], &[(0, 5)]], 4));
}

#[test]
fn what_was_lowered_before_is_not_left_behind() {
    model(3, || wakes(&[&[(0, 5), (1, 2)], &[(1, 4), (0, 1)]], u64::MAX));
}
