//! Claiming chunks under loom: every schedule of an owner and a thief on one share; of two thieves,
//! and of workers who help each other, those within a stated number of preemptions.
//!
//! `cargo test --release --manifest-path tests/loom/Cargo.toml --test chunks`
#![cfg(affinity_loom)]
#![allow(
    dead_code,
    unused_imports,
    reason = "the protocol's files are taken from the crate as they are, and each test uses a part"
)]

#[path = "../../src/claims.rs"]
mod claims;
#[path = "model.rs"]
mod model;
#[path = "../../src/sync.rs"]
mod sync;

use loom::{cell::UnsafeCell, sync::Arc, thread};

use crate::{
    claims::{CallNumber, ClaimBoard},
    model::{exhaust, model},
};

/// Rows that loom watches for overlapping access, with how often each was swept.
struct Rows(Vec<UnsafeCell<u32>>);
// SAFETY: loom itself reports every overlapping access to a cell.
unsafe impl Sync for Rows {}
// SAFETY: as above.
unsafe impl Send for Rows {}

impl Rows {
    fn new(count: u32) -> Self {
        Self((0..count).map(|_| UnsafeCell::new(0)).collect())
    }

    fn sweep(&self, chunk: u32) {
        // SAFETY: a chunk is claimed by one thread; loom checks it.
        self.0[chunk as usize].with_mut(|row| unsafe { *row += 1 });
    }

    fn assert_swept(&self, times: u32) {
        // SAFETY: all threads have been joined.
        self.0.iter().for_each(|row| row.with(|row| assert_eq!(unsafe { *row }, times)));
    }
}

fn own(board: &ClaimBoard, worker: usize, call: CallNumber, rows: &Rows) {
    let chunks = rows.0.len() as u32;
    loop {
        let front = board.claims_of(worker).take_front(call);
        if front.chunk >= chunks || !front.is_free(|| chunks) {
            return;
        }
        rows.sweep(front.chunk);
    }
}

fn steal(board: &ClaimBoard, call: CallNumber, rows: &Rows, fewest: u32) {
    let chunks = rows.0.len() as u32;
    while let Some(back) = board.claims_of(0).take_back(call, chunks, fewest, chunks) {
        rows.sweep(back.chunk);
    }
}

/// Takes chunks from the worker that has most left, until `most` were taken from it. Each theft
/// from a share has a lane of its own.
fn help(board: &ClaimBoard, call: CallNumber, shares: &[Rows], lanes: &[Rows], most: u32) {
    let chunks_of = |worker: usize| shares[worker].0.len() as u32;
    while let Some((worker, back)) = board.steal(call, 0..shares.len(), chunks_of, most) {
        lanes[worker].sweep(back.taken);
        shares[worker].sweep(back.chunk);
    }
}

/// One round of workers with so many chunks each, who help each other when they are done with their
/// own, but take at most `most` chunks of a share.
fn round_of_helpers(chunks: &[u32], most: u32) {
    let mut board = ClaimBoard::new(chunks.len());
    let call = board.begin();
    let rows = |counts: &mut dyn Iterator<Item = u32>| Arc::new(counts.map(Rows::new).collect::<Vec<_>>());
    let (shares, lanes) = (rows(&mut chunks.iter().copied()), rows(&mut chunks.iter().map(|_| most)));
    let board = Arc::new(board);
    let work = |worker: usize| {
        let (board, shares, lanes) = (board.clone(), shares.clone(), lanes.clone());
        move || {
            own(&board, worker, call, &shares[worker]);
            help(&board, call, &shares, &lanes, most);
        }
    };
    let threads: Vec<_> = (1..chunks.len()).map(|worker| thread::spawn(work(worker))).collect();
    work(0)();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    shares.iter().for_each(|share| share.assert_swept(1));
}

/// One round of an owner and `thieves` over `chunks` chunks, after another one on the same board.
fn round(chunks: u32, thieves: usize, fewest: u32) {
    let mut board = ClaimBoard::new(1);
    let rows = Arc::new(Rows::new(chunks));
    let call = board.begin();
    own(&board, 0, call, &rows);
    let call = board.begin();
    let board = Arc::new(board);
    let threads: Vec<_> = (0..thieves)
        .map(|_| {
            let (board, rows) = (board.clone(), rows.clone());
            thread::spawn(move || steal(&board, call, &rows, fewest))
        })
        .collect();
    own(&board, 0, call, &rows);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    rows.assert_swept(2);
}

#[test]
fn an_owner_and_a_thief_sweep_each_chunk_once() {
    exhaust(|| round(3, 1, 1));
}

#[test]
fn a_thief_that_wants_two_left_leaves_none_out() {
    exhaust(|| round(3, 1, 2));
}

#[test]
fn two_thieves_and_an_owner_sweep_each_chunk_once() {
    model(3, || round(2, 2, 1));
}

#[test]
fn workers_who_help_each_other_sweep_each_chunk_once() {
    model(3, || round_of_helpers(&[2, 3], 3));
}

#[test]
fn no_more_chunks_of_a_share_are_taken_than_there_are_lanes() {
    model(3, || round_of_helpers(&[1, 3], 1));
}

#[test]
fn two_helpers_take_each_chunk_of_a_third_once() {
    model(2, || round_of_helpers(&[0, 0, 3], 1));
}
