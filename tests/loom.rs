//! The lock-step protocol under loom: every schedule (within the stated number of preemptions) of small gangs.
//!
//! `RUSTFLAGS=--cfg=affinity_loom cargo test --release --test loom`
#![cfg(affinity_loom)]
#![allow(
    dead_code,
    unused_imports,
    reason = "the protocol's files are taken from the crate as they are, and each test uses a part"
)]

#[path = "../src/pool/clock.rs"]
mod clock;
#[path = "../src/pool/crew.rs"]
mod crew;
#[path = "../src/pool/epoch.rs"]
mod epoch;
#[path = "loom/model.rs"]
mod model;
#[path = "../src/pool/parker.rs"]
mod parker;
#[path = "../src/pool/round.rs"]
mod round;
#[path = "../src/pool/spin.rs"]
mod spin;
#[path = "../src/sync.rs"]
mod sync;
#[path = "../src/pool/unwind.rs"]
mod unwind;

use std::time::Duration;

use loom::{
    cell::UnsafeCell,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use crate::{
    crew::Crew,
    model::model,
    round::{Board, Seat, work},
};

/// A cell that loom watches for overlapping access; each index of a round writes its own.
struct Row(UnsafeCell<u32>);
// SAFETY: loom itself reports every overlapping access to the cell.
unsafe impl Sync for Row {}

/// A gang of `workers - 1` threads plays a round for each of `crews`; each must call the indices of its crew once, no others, and show their writes to the
/// leader.
fn play(workers: usize, crews: &[Crew]) {
    let board = Arc::new(Board::new());
    let seats: Vec<_> = (1..workers).map(|_| Arc::new(Seat::new())).collect();
    let threads: Vec<_> = (1..workers)
        .map(|index| {
            let (board, seat) = (board.clone(), seats[index - 1].clone());
            let seen = board.epoch();
            thread::spawn(move || work(&board, &seat, index, seen))
        })
        .collect();
    let rows: Vec<_> = (0..workers).map(|_| Row(UnsafeCell::new(0))).collect();
    let mut calls = vec![0; workers];
    let mut lead = board.try_lead().expect("nobody else leads");
    for &crew in crews {
        let seats = seats.iter().map(|seat| &**seat);
        let job = |index: usize| {
            assert!(crew.has(index), "{index} is not called");
            // SAFETY: each index has a row of its own; loom checks it.
            rows[index].0.with_mut(|row| unsafe { *row += 1 });
        };
        assert!(lead.round(seats, crew, |_| false, Duration::ZERO, &job).is_ok());
        for (index, (row, calls)) in rows.iter().zip(&mut calls).enumerate() {
            *calls += u32::from(crew.has(index));
            // SAFETY: the round is over; loom checks it.
            row.0.with(|row| assert_eq!(unsafe { *row }, *calls));
        }
    }
    lead.stop(seats.iter().map(|seat| &**seat));
    for thread in threads {
        thread.join().expect("the worker ends");
    }
}

/// The leader and one other.
fn with(worker: usize) -> Crew {
    let mut crew = Crew::LEADER;
    crew.add(worker);
    crew
}

#[test]
fn one_round_of_two() {
    model(3, || play(2, &[Crew::ALL]));
}

#[test]
fn two_rounds_of_two() {
    model(2, || play(2, &[Crew::ALL; 2]));
}

#[test]
fn one_round_of_three() {
    model(1, || play(3, &[Crew::ALL]));
}

#[test]
fn a_worker_is_called_only_in_the_second_round() {
    model(2, || play(2, &[Crew::LEADER, Crew::ALL]));
}

#[test]
fn a_worker_is_not_called_in_the_second_of_three_rounds() {
    model(2, || play(2, &[Crew::ALL, Crew::LEADER, Crew::ALL]));
}

#[test]
fn two_workers_take_turns() {
    model(1, || play(3, &[with(1), with(2), with(1)]));
}

/// A worker is left out of the first round and takes part in the second.
#[test]
fn a_worker_comes_back() {
    model(2, || {
        let (board, seat) = (Arc::new(Board::new()), Arc::new(Seat::new()));
        let worker = {
            let (board, seat) = (board.clone(), seat.clone());
            let seen = board.epoch();
            thread::spawn(move || work(&board, &seat, 1, seen))
        };
        let leader = thread::current().id();
        let rows = [Row(UnsafeCell::new(0)), Row(UnsafeCell::new(0))];
        let mut lead = board.try_lead().expect("nobody else leads");
        for left_out in [true, false] {
            let job = |index: usize| {
                assert!(!left_out || thread::current().id() == leader);
                // SAFETY: each index has a row of its own; loom checks it.
                rows[index].0.with_mut(|row| unsafe { *row += 1 });
            };
            assert!(lead.round(std::iter::once(&*seat), Crew::ALL, |_| left_out, Duration::ZERO, &job).is_ok());
        }
        // SAFETY: the rounds are over; loom checks it.
        rows.iter().for_each(|row| row.0.with(|row| assert_eq!(unsafe { *row }, 2)));
        lead.stop(std::iter::once(&*seat));
        worker.join().expect("the worker ends");
    });
}

#[test]
fn panics_reach_the_leader_after_all_are_done() {
    model(2, || {
        let board = Arc::new(Board::new());
        let seat = Arc::new(Seat::new());
        let worker = {
            let (board, seat) = (board.clone(), seat.clone());
            let seen = board.epoch();
            thread::spawn(move || work(&board, &seat, 1, seen))
        };
        let done = AtomicUsize::new(0);
        let mut lead = board.try_lead().expect("nobody else leads");
        let job = |index: usize| {
            done.fetch_add(1, Ordering::Relaxed);
            if index == 1 {
                std::panic::resume_unwind(Box::new("planted"));
            }
        };
        let payload = lead
            .round(std::iter::once(&*seat), Crew::ALL, |_| false, Duration::ZERO, &job)
            .expect_err("index 1 panicked");
        assert_eq!(payload.downcast_ref(), Some(&"planted"));
        assert_eq!(done.load(Ordering::Relaxed), 2);
        lead.stop(std::iter::once(&*seat));
        worker.join().expect("the worker survives the panic");
    });
}

#[test]
fn a_second_leader_is_turned_away() {
    model(3, || {
        let board = Arc::new(Board::new());
        let leads = Arc::new(AtomicUsize::new(0));
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let (board, leads) = (board.clone(), leads.clone());
                thread::spawn(move || {
                    if let Some(_lead) = board.try_lead() {
                        assert_eq!(leads.fetch_add(1, Ordering::Relaxed), 0, "two leaders at a time");
                        leads.fetch_sub(1, Ordering::Relaxed);
                    }
                })
            })
            .collect();
        for thread in threads {
            thread.join().expect("no panic");
        }
    });
}
