//! Jobs that wait for each other under loom: every schedule (within the stated number of
//! preemptions) of workers that take them from their own and from each other's lists.
//!
//! `cargo test --release --manifest-path tests/loom/Cargo.toml --test jobs`
#![cfg(affinity_loom)]
#![allow(
    dead_code,
    unused_imports,
    reason = "the protocol's files are taken from the crate as they are, and each test uses a part"
)]

#[path = "../../src/pool/clock.rs"]
mod clock;
#[path = "../../src/pool/job_board.rs"]
mod job_board;
#[path = "model.rs"]
mod model;
#[path = "../../src/pool/parker.rs"]
mod parker;
#[path = "../../src/pool/spin.rs"]
mod spin;
#[path = "../../src/sync.rs"]
mod sync;
#[path = "../../src/pool/unwind.rs"]
mod unwind;

use loom::{cell::UnsafeCell, sync::Arc, thread};

use crate::{
    job_board::{Job, JobBoard},
    model::model,
};

/// What jobs touch that are in an order: loom reports two at a time, and what one does not see of
/// those before it.
struct Rows(Vec<UnsafeCell<u32>>);
// SAFETY: loom itself reports every overlapping access to a cell.
unsafe impl Sync for Rows {}
// SAFETY: as above.
unsafe impl Send for Rows {}

impl Rows {
    fn new(count: usize) -> Self {
        Self((0..count).map(|_| UnsafeCell::new(0)).collect())
    }

    fn touch(&self, row: usize) {
        // SAFETY: jobs that touch a row are in an order; loom checks it.
        self.0[row].with_mut(|row| unsafe { *row += 1 });
    }

    fn read(&self, row: usize) -> u32 {
        // SAFETY: as above, or all threads have been joined.
        self.0[row].with(|row| unsafe { *row })
    }
}

/// Jobs with those before each, and the lists they are in.
struct Jobs {
    before: &'static [&'static [usize]],
    lists: &'static [&'static [usize]],
    bound: &'static [usize],
}

impl Jobs {
    fn board(&self) -> JobBoard {
        let mut jobs = vec![Job::default(); self.before.len()];
        for (home, list) in self.lists.iter().enumerate() {
            list.iter().for_each(|&job| jobs[job].home = home);
        }
        for (job, before) in self.before.iter().enumerate() {
            jobs[job].predecessors = before.len() as u64;
            before.iter().for_each(|&before| jobs[before].successors.push(job));
        }
        self.bound.iter().for_each(|&job| jobs[job].bound = true);
        JobBoard::new(jobs, self.lists.iter().map(|list| list.to_vec()).collect())
    }

    /// Runs them in so many rounds, with `workers` of those that have lists. A job finds that those
    /// before it have run, and touches a row of its own: so each runs once.
    fn run(&self, workers: usize, rounds: u32) {
        let (mut board, rows) = (self.board(), Arc::new(Rows::new(self.before.len())));
        for round in 1..=rounds {
            board.begin();
            let shared = Arc::new(board);
            let take_part = |worker: usize| {
                let (board, rows, before) = (shared.clone(), rows.clone(), self.before);
                let bound = self.bound;
                move || {
                    board.take_part(worker, |job| {
                        before[job].iter().for_each(|&before| assert_eq!(rows.read(before), round));
                        assert!(worker == 0 || !bound.contains(&job));
                        rows.touch(job);
                    });
                }
            };
            let threads: Vec<_> = (1..workers).map(|worker| thread::spawn(take_part(worker))).collect();
            take_part(0)();
            threads.into_iter().for_each(|thread| thread.join().unwrap());
            (0..self.before.len()).for_each(|job| assert_eq!(rows.read(job), round));
            board = Arc::try_unwrap(shared).unwrap_or_else(|_| panic!("all have been joined"));
        }
    }
}

/// Two jobs, one after the other, in two lists.
const PAIR: Jobs = Jobs { before: &[&[], &[0]], lists: &[&[1], &[0]], bound: &[] };

/// The leader's own job waits for the worker's.
const BOUND: Jobs = Jobs { before: &[&[], &[0]], lists: &[&[1], &[0]], bound: &[1] };

/// One that two wait for, and one that waits for both.
const DIAMOND: Jobs = Jobs { before: &[&[], &[0], &[0], &[1, 2]], lists: &[&[0, 1], &[2, 3]], bound: &[] };

#[test]
fn independent_jobs_run_once() {
    const JOBS: Jobs = Jobs { before: &[&[], &[], &[]], lists: &[&[0], &[1, 2]], bound: &[] };
    model(3, || JOBS.run(2, 1));
}

#[test]
fn a_job_sees_what_the_one_before_it_did() {
    model(3, || PAIR.run(2, 1));
}

#[test]
fn rounds_follow_each_other() {
    model(2, || PAIR.run(2, 2));
}

#[test]
fn a_job_of_the_leader_waits_for_one_of_a_worker() {
    model(3, || BOUND.run(2, 1));
}

/// The worker's second job waits for the leader's, which waits for the worker's first.
#[test]
fn a_job_of_the_leader_between_two_of_a_worker() {
    const JOBS: Jobs = Jobs { before: &[&[], &[0], &[1]], lists: &[&[1], &[0, 2]], bound: &[1] };
    model(3, || JOBS.run(2, 1));
}

#[test]
fn a_diamond_of_jobs() {
    model(2, || DIAMOND.run(2, 1));
}

#[test]
fn a_worker_that_does_not_come() {
    model(2, || DIAMOND.run(1, 2));
}

#[test]
fn three_workers_of_which_one_finds_nothing() {
    const JOBS: Jobs = Jobs { before: &[&[], &[0]], lists: &[&[0], &[1], &[]], bound: &[] };
    model(1, || JOBS.run(3, 1));
}
