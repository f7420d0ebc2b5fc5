//! Batched calls that panic, and arguments that do so in their drop.

use std::{
    panic::{AssertUnwindSafe, catch_unwind, panic_any, resume_unwind},
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc::{self, RecvTimeoutError},
    },
};

use bevy_affinity::prelude::*;

use crate::{
    batched::{KEYS, LONG},
    pool, turn,
};

fn payload(call: impl FnOnce()) -> &'static str {
    let payload = catch_unwind(AssertUnwindSafe(call)).expect_err("it should panic");
    payload.downcast_ref::<&'static str>().copied().expect("the payload of the closure")
}

#[test]
fn panics_reach_the_caller_and_the_pool_works_on() {
    let _turn = turn();
    for workers in 1..=3 {
        let pool = pool(workers);
        let call = |argument: u64| if argument == 50 { panic!("a call") } else { argument };
        let send = |calls: &mut BatchedCalls<u64>| (0..100).for_each(|argument| _ = calls.call(argument, argument));
        assert_eq!(payload(|| _ = pool.batched(call, send)), "a call");
        let ran = AtomicUsize::new(0);
        let count = |_: u64| _ = ran.fetch_add(1, Ordering::Relaxed);
        let fail = |calls: &mut BatchedCalls<u64>| {
            calls.call(1, 1);
            calls.flush();
            calls.call(2, 2);
            panic!("the caller")
        };
        assert_eq!(payload(|| _ = pool.batched(count, fail)), "the caller");
        assert!(ran.into_inner() <= 1, "what was not sent does not run");
        assert_eq!(pool.batched(|n: u64| n, |calls| _ = calls.call(3, 4)).1, [4]);
    }
}

#[test]
fn arguments_are_dropped_once() {
    let _turn = turn();
    let shared = Arc::new(());
    for panics in [false, true] {
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            pool(3).batched(
                |(number, _guard): (u32, Arc<()>)| assert!(!panics || number != 500, "planted"),
                |calls| (0..1_000).for_each(|number| _ = calls.call(number.into(), (number, shared.clone()))),
            )
        }));
        assert_eq!(outcome.is_err(), panics);
        assert_eq!(Arc::strong_count(&shared), 1);
    }
}

#[test]
fn a_caller_that_waits_for_calls_after_a_panic_goes_on() {
    let _turn = turn();
    for workers in 1..=3 {
        let pool = pool(workers);
        let call = |(number, answer): (u32, mpsc::Sender<u32>)| {
            if number == 1 {
                resume_unwind(Box::new("a call"));
            }
            let _ = answer.send(number);
        };
        let ask = |calls: &mut BatchedCalls<_>, key, number| {
            let (sender, answer) = mpsc::channel();
            calls.call(key, (number, sender));
            calls.flush();
            answer.recv_timeout(LONG)
        };
        let message = payload(|| {
            pool.batched(call, |calls| {
                assert_eq!(ask(calls, KEYS[0], 0), Ok(0));
                assert!(KEYS.iter().all(|&key| !calls.is_closed(key)));
                for number in 1..4 {
                    assert_eq!(ask(calls, KEYS[0], number), Err(RecvTimeoutError::Disconnected), "call {number}");
                }
                assert!(calls.is_closed(KEYS[0]));
                assert_eq!(calls.is_closed(KEYS[1]), workers < 2);
                let others = ask(calls, KEYS[1], 9);
                assert_eq!(others, if workers < 2 { Err(RecvTimeoutError::Disconnected) } else { Ok(9) });
            });
        });
        assert_eq!(message, "a call");
    }
}

/// Counts its drops, each of which panics.
struct Nasty<'a>(&'a AtomicUsize);

impl Drop for Nasty<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
        panic_any("a drop");
    }
}

#[test]
fn arguments_that_panic_when_they_are_dropped_uncalled_are_all_dropped() {
    const CALLS: usize = 500;
    let _turn = turn();
    for workers in 1..=3 {
        let (pool, drops) = (pool(workers), AtomicUsize::new(0));
        let call = |(number, nasty): (usize, Nasty)| {
            if number == 100 {
                std::mem::forget(nasty);
                drops.fetch_add(1, Ordering::Relaxed);
                resume_unwind(Box::new("a call"));
            }
            drops.fetch_add(1, Ordering::Relaxed);
            std::mem::forget(nasty);
        };
        let message = payload(|| {
            pool.batched(call, |calls| {
                for number in 0..CALLS {
                    // The drop of one that comes after the panic is the caller's.
                    let made = catch_unwind(AssertUnwindSafe(|| calls.call(7, (number, Nasty(&drops)))));
                    assert!(made.is_ok_and(|made| made == number) || calls.is_closed(7));
                }
                let _ = catch_unwind(AssertUnwindSafe(|| calls.flush()));
            });
        });
        assert_eq!(message, "a call");
        assert_eq!(drops.into_inner(), CALLS, "{workers} workers");
    }
}

#[test]
fn arguments_that_a_caller_did_not_send_before_it_panicked_may_panic_too() {
    let _turn = turn();
    for workers in 1..=3 {
        let drops = AtomicUsize::new(0);
        let message = payload(|| {
            pool(workers).batched(drop, |calls| {
                KEYS.iter().cycle().take(6).for_each(|&key| _ = calls.call(key, Nasty(&drops)));
                resume_unwind(Box::new("the caller"));
            });
        });
        assert_eq!((message, drops.into_inner()), ("the caller", 6));
    }
}

#[test]
fn the_panic_of_a_call_goes_before_the_callers() {
    let _turn = turn();
    for workers in 1..=3 {
        let (sender, answer) = mpsc::channel::<()>();
        let message = payload(|| {
            pool(workers).batched(
                |_sender: mpsc::Sender<()>| resume_unwind(Box::new("a call")),
                move |calls| {
                    calls.call(0, sender);
                    calls.flush();
                    answer.recv_timeout(LONG).unwrap_or_else(|_| resume_unwind(Box::new("the caller")));
                },
            );
        });
        assert_eq!(message, "a call");
    }
}

/// A payload whose drop panics.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic_any("a bomb");
    }
}

#[test]
#[ignore = "aborts: the next test runs it in a process of its own"]
fn two_payloads_that_panic_in_their_drop() {
    pool(3).batched(|()| panic_any(Bomb), |calls| KEYS.iter().for_each(|&key| _ = calls.call(key, ())));
}

/// Of two payloads one is handed on and one is dropped.
#[test]
fn a_payload_that_panics_in_its_drop_aborts_and_says_so() {
    let mut child = Command::new(std::env::current_exe().expect("this very program"));
    child.args(["--ignored", "--exact", "batched_panics::two_payloads_that_panic_in_their_drop", "--nocapture"]);
    let output = child.env("RUST_BACKTRACE", "0").output().expect("it starts");
    assert!(!output.status.success());
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(
        stderr.contains("bevy_affinity: the payload of a panic panicked while it was dropped; aborting"),
        "{stderr}"
    );
}

/// A later panic, as any other: the payload of the call comes out.
#[test]
fn what_the_caller_returned_panics_as_it_is_dropped() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic_any("the bomb");
        }
    }
    let _turn = turn();
    for workers in 1..4 {
        let call = |number: usize| {
            if number == 3 {
                panic_any("the call");
            }
        };
        let batched = || {
            let _ = pool(workers).batched(call, |calls| {
                (0..100).for_each(|number| _ = calls.call(number as u64, number));
                Bomb
            });
        };
        assert_eq!(payload(batched), "the call");
    }
}
