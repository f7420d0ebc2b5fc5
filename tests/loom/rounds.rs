//! The lock-step protocol under loom: every schedule (within the stated number of preemptions) of
//! small gangs.
//!
//! `cargo test --release --manifest-path tests/loom/Cargo.toml --test rounds`
#![cfg(affinity_loom)]
#![allow(
    dead_code,
    unused_imports,
    reason = "the protocol's files are taken from the crate as they are, and each test uses a part"
)]

#[path = "../../src/pool/clock.rs"]
mod clock;
#[path = "model.rs"]
mod model;
#[path = "../../src/pool/parker.rs"]
mod parker;
#[path = "../../src/pool/round.rs"]
mod round;
#[path = "../../src/pool/round_job.rs"]
mod round_job;
#[path = "../../src/pool/spin.rs"]
mod spin;
#[path = "../../src/sync.rs"]
mod sync;
#[path = "../../src/pool/unwind.rs"]
mod unwind;
#[path = "../../src/pool/words.rs"]
mod words;

use std::time::Duration;

use loom::{
    cell::UnsafeCell,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering, fence},
    },
    thread,
};

use crate::{
    model::model,
    parker::Parker,
    round::{Board, Lead, Seat, work},
    round_job::{RoundJob, Wrap},
    words::Participants,
};

/// A cell that loom watches for overlapping access; each index of a round writes its own.
struct Row(UnsafeCell<u32>);
// SAFETY: loom itself reports every overlapping access to the cell.
unsafe impl Sync for Row {}

impl Row {
    fn add(&self) {
        // SAFETY: loom checks it.
        self.0.with_mut(|row| unsafe { *row += 1 });
    }
}

/// Calls a closure, and does nothing around it.
struct Plain;

impl Wrap for Plain {
    fn call(&self, closure: &(impl Fn(usize) -> u64 + Sync), index: usize, _note: u8) {
        closure(index);
    }
}

/// A round of `participants` that calls `job`; all workers are left out of it, or none.
fn run<'a, S>(
    lead: &mut Lead<'_>,
    seats: S,
    participants: Participants,
    left_out: bool,
    job: impl Fn(usize) + Sync,
) -> Result<(), unwind::Payload>
where
    S: ExactSizeIterator<Item = &'a Seat> + Clone,
{
    let closure = |index| {
        job(index);
        0
    };
    lead.run(seats, participants, |_| left_out, Duration::ZERO, &RoundJob::new(&Plain, &closure))
}

/// A gang of `workers - 1` threads plays a round for each of `participants`; each must call their
/// indices once, no others, and show their writes to the leader.
fn play(workers: usize, participants: &[Participants]) {
    let board = Arc::new(Board::default());
    let seats: Vec<_> = (1..workers).map(|_| Arc::new(Seat::default())).collect();
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
    for &participants in participants {
        let seats = seats.iter().map(|seat| &**seat);
        let job = |index: usize| {
            assert!(participants.has(index), "{index} is not called");
            // SAFETY: each index has a row of its own; loom checks it.
            rows[index].0.with_mut(|row| unsafe { *row += 1 });
        };
        assert!(run(&mut lead, seats, participants, false, job).is_ok());
        for (index, (row, calls)) in rows.iter().zip(&mut calls).enumerate() {
            *calls += u32::from(participants.has(index));
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
fn with(worker: usize) -> Participants {
    let mut participants = Participants::LEADER;
    participants.add(worker);
    participants
}

#[test]
fn one_round_of_two() {
    model(3, || play(2, &[Participants::ALL]));
}

#[test]
fn two_rounds_of_two() {
    model(2, || play(2, &[Participants::ALL; 2]));
}

#[test]
fn one_round_of_three() {
    model(1, || play(3, &[Participants::ALL]));
}

#[test]
fn a_worker_is_called_only_in_the_second_round() {
    model(2, || play(2, &[Participants::LEADER, Participants::ALL]));
}

#[test]
fn a_worker_is_not_called_in_the_second_of_three_rounds() {
    model(2, || play(2, &[Participants::ALL, Participants::LEADER, Participants::ALL]));
}

#[test]
fn two_workers_take_turns() {
    model(1, || play(3, &[with(1), with(2), with(1)]));
}

/// A worker is left out of the first round and takes part in the second.
#[test]
fn a_worker_comes_back() {
    model(2, || {
        let (board, seat) = (Arc::new(Board::default()), Arc::new(Seat::default()));
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
            assert!(run(&mut lead, std::iter::once(&*seat), Participants::ALL, left_out, job).is_ok());
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
        let board = Arc::new(Board::default());
        let seat = Arc::new(Seat::default());
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
        let payload =
            run(&mut lead, std::iter::once(&*seat), Participants::ALL, false, job).expect_err("index 1 panicked");
        assert_eq!(payload.downcast_ref(), Some(&"planted"));
        assert_eq!(done.load(Ordering::Relaxed), 2);
        lead.stop(std::iter::once(&*seat));
        worker.join().expect("the worker survives the panic");
    });
}

#[test]
fn a_second_leader_is_turned_away() {
    model(3, || {
        let board = Arc::new(Board::default());
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

/// Two leaders one after the other write the job, and what belongs to who leads: nothing but the
/// lead orders that.
#[test]
fn leaders_take_turns() {
    model(3, || {
        let board = Arc::new(Board::default());
        let row = Arc::new(Row(UnsafeCell::new(0)));
        let lead = |board: Arc<Board>| {
            let row = row.clone();
            move || {
                if let Some(mut lead) = board.try_lead() {
                    let seats: [&Seat; 0] = [];
                    let round = run(&mut lead, seats.iter().copied(), Participants::ALL, false, |_| ());
                    assert!(round.is_ok());
                    // As the books of a round, which are written when it is over.
                    row.add();
                }
            }
        };
        let threads = [thread::spawn(lead(board.clone())), thread::spawn(lead(board))];
        threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
    });
}

/// A gang of one worker, and its one round with a job that may panic; what the round returned.
fn round_of_two(left_out: bool, job: impl Fn(usize) + Sync) -> Result<(), unwind::Payload> {
    let (board, seat) = (Arc::new(Board::default()), Arc::new(Seat::default()));
    let worker = {
        let (board, seat) = (board.clone(), seat.clone());
        let seen = board.epoch();
        thread::spawn(move || work(&board, &seat, 1, seen))
    };
    let mut lead = board.try_lead().expect("nobody else leads");
    let round = run(&mut lead, std::iter::once(&*seat), Participants::ALL, left_out, job);
    lead.stop(std::iter::once(&*seat));
    worker.join().expect("the worker survives");
    round
}

/// A worker that is left out leaves its index to the leader, who runs it after its own: so which
/// panic is the first is known.
#[test]
fn the_first_of_two_panics_is_kept() {
    model(2, || {
        let round = round_of_two(true, |index| std::panic::resume_unwind(Box::new(index)));
        assert_eq!(round.expect_err("both panicked").downcast_ref(), Some(&0_usize));
    });
}

/// Counts payloads that were dropped.
struct Planted(Arc<AtomicUsize>);

impl Drop for Planted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn of_two_panics_one_is_handed_on_and_one_is_dropped() {
    model(2, || {
        let dropped = Arc::new(AtomicUsize::new(0));
        let payload = |_| std::panic::resume_unwind(Box::new(Planted(dropped.clone())));
        let round = round_of_two(false, payload);
        assert_eq!(dropped.load(Ordering::Relaxed), 1);
        assert!(round.expect_err("both panicked").is::<Planted>());
        assert_eq!(dropped.load(Ordering::Relaxed), 2);
    });
}

#[test]
fn the_leaders_own_panic_arrives_after_the_worker() {
    model(2, || {
        let row = Row(UnsafeCell::new(0));
        let round = round_of_two(false, |index| match index {
            0 => std::panic::resume_unwind(Box::new("the leader")),
            _ => row.add(),
        });
        // SAFETY: the round is over; loom checks it.
        row.0.with(|row| assert_eq!(unsafe { *row }, 1));
        assert_eq!(round.expect_err("index 0 panicked").downcast_ref(), Some(&"the leader"));
    });
}

/// The leader is inside its own index until the worker has run: it cannot take over. So only the
/// call wakes a worker that sleeps.
#[test]
fn a_call_wakes_a_worker_that_sleeps() {
    model(3, || {
        let (ran, leader) = (AtomicUsize::new(0), Parker::default());
        let round = round_of_two(false, |index| match index {
            0 => leader.park(|| (ran.load(Ordering::Relaxed) == 1).then_some(())),
            _ => {
                ran.store(1, Ordering::Relaxed);
                fence(Ordering::SeqCst);
                leader.unpark_after_fence();
            }
        });
        assert!(round.is_ok());
    });
}
