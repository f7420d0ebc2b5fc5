//! Claiming chunks under loom: every schedule of an owner and a thief on one share, and of two thieves within a stated number of preemptions.
//!
//! `RUSTFLAGS=--cfg=affinity_loom cargo test --release --test loom_claims`
#![cfg(affinity_loom)]
#![allow(
    dead_code,
    unused_imports,
    reason = "the protocol's files are taken from the crate as they are, and each test uses a part"
)]

#[path = "../src/pool/claims.rs"]
mod claims;
#[path = "../src/sync.rs"]
mod sync;

use loom::{cell::UnsafeCell, sync::Arc, thread};

use crate::claims::{ClaimBoard, Tag};

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

fn own(board: &ClaimBoard, tag: Tag, rows: &Rows) {
    loop {
        let front = board.share(0).take_front(tag);
        if front.chunk + front.taken >= rows.0.len() as u32 {
            return;
        }
        rows.sweep(front.chunk);
    }
}

fn steal(board: &ClaimBoard, tag: Tag, rows: &Rows, fewest: u32) {
    let chunks = rows.0.len() as u32;
    while let Some(taken) = board.share(0).take_back(tag, chunks, fewest, chunks) {
        rows.sweep(chunks - 1 - taken);
    }
}

/// One round of an owner and `thieves` over `chunks` chunks, after another one on the same board.
fn round(chunks: u32, thieves: usize, fewest: u32) {
    let mut board = ClaimBoard::new(1);
    let rows = Arc::new(Rows::new(chunks));
    let tag = board.begin();
    own(&board, tag, &rows);
    let tag = board.begin();
    let board = Arc::new(board);
    let threads: Vec<_> = (0..thieves)
        .map(|_| {
            let (board, rows) = (board.clone(), rows.clone());
            thread::spawn(move || steal(&board, tag, &rows, fewest))
        })
        .collect();
    own(&board, tag, &rows);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    rows.assert_swept(2);
}

#[test]
fn an_owner_and_a_thief_sweep_each_chunk_once() {
    loom::model(|| round(3, 1, 1));
}

#[test]
fn a_thief_that_wants_two_left_leaves_none_out() {
    loom::model(|| round(3, 1, 2));
}

#[test]
fn two_thieves_and_an_owner_sweep_each_chunk_once() {
    // All schedules of three threads are too many: those with at most three preemptions.
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(|| round(2, 2, 1));
}
