use proptest::prelude::*;

use super::{Footprints, Placement, Runs, Storage};
use crate::{claims::ClaimBoard, topology::CoreId};

const TABLE: Storage = Storage::Table(3);

fn lengths(runs: &Runs, workers: usize) -> Vec<u32> {
    (0..workers).map(|worker| runs.range_of(worker).len() as u32).collect()
}

fn owners(runs: &Runs) -> Vec<usize> {
    (0..runs.rows()).map(|row| runs.owner_of(row)).collect()
}

fn assert_complete(runs: &Runs, workers: usize, rows: u32) {
    let mut next = 0;
    for worker in 0..workers {
        let range = runs.range_of(worker);
        if !range.is_empty() {
            assert_eq!(range.start, next, "runs must follow each other");
            next = range.end;
            assert_eq!(runs.owner_of(range.start), worker);
            assert_eq!(runs.owner_of(range.end - 1), worker);
        }
    }
    assert_eq!(next, rows, "every row has an owner");
}

fn assert_balanced(runs: &Runs, workers: usize, rows: u32) {
    let fair = rows.div_ceil(workers as u32);
    let longest = lengths(runs, workers).into_iter().max().unwrap_or(0);
    assert!(longest <= fair + fair / 4 + 2, "{longest} rows in a run of {rows} on {workers}");
}

/// Rows of storages with fewer runs than workers, by owner, counted anew.
fn counted_loads(placement: &Placement) -> Vec<u64> {
    let mut loads = vec![0; placement.workers()];
    let storages = placement.runs.tables.iter().chain(&placement.runs.archetypes).flatten();
    for runs in storages.filter(|runs| runs.parts() < placement.workers()) {
        runs.by_owner().for_each(|(owner, run)| loads[owner] += run.len().max(1) as u64);
    }
    loads
}

/// Says that each worker's own rows of `storage` took so long, and where in them the time went.
fn observe_frame(placement: &mut Placement, storage: Storage, costs: &[u64], dear: u32) {
    (0..placement.workers()).for_each(|worker| placement.observe(storage, worker, costs[worker]));
    let runs = placement.get(storage).expect("placed");
    if let Some(histogram) = runs.histogram() {
        let cut = (u64::from(runs.rows()) * u64::from(dear) / 64) as u32;
        histogram.add(0..cut, costs[0]);
        histogram.add(cut..runs.rows(), costs[1]);
    }
}

proptest! {
    #[test]
    fn disjoint_complete_and_balanced_through_any_history(
        workers in 1usize..17,
        history in prop::collection::vec(0u32..100_000, 1..40),
    ) {
        let mut placement = Placement::new(workers);
        for rows in history {
            placement.place(TABLE, rows, 1);
            let runs = placement.get(TABLE).expect("just placed");
            prop_assert_eq!(runs.rows(), rows);
            assert_complete(runs, workers, rows);
            if rows as usize >= workers {
                assert_balanced(runs, workers, rows);
            }
            placement.end_frame();
            prop_assert_eq!(&placement.loads, &counted_loads(&placement));
        }
    }

    #[test]
    fn small_changes_move_few_rows(workers in 2usize..17, rows in 5_000u32..50_000, change in -400i32..400) {
        let mut placement = Placement::new(workers);
        placement.place(TABLE, rows, 1);
        let before = owners(placement.get(TABLE).expect("just placed"));
        placement.place(TABLE, rows.saturating_add_signed(change), 1);
        let after = owners(placement.get(TABLE).expect("just placed"));
        let moved = before.iter().zip(&after).filter(|(old, new)| old != new).count();
        prop_assert_eq!(placement.migrated(), moved as u64);
        // A cut moves past the next only by what the growth forces: never more than the change for
        // each cut.
        prop_assert!(moved <= change.unsigned_abs() as usize * workers, "{} rows moved for a change of {}", moved, change);
    }

    #[test]
    fn small_tables_spread_evenly(workers in 1usize..9, rows in prop::collection::vec(1u32..60, 64..128)) {
        let mut placement = Placement::new(workers);
        for (table, &rows) in rows.iter().enumerate() {
            placement.place(Storage::Table(table as u32), rows, 64);
        }
        let owned = |worker| -> u32 {
            (0..rows.len())
                .map(|table| placement.get(Storage::Table(table as u32)).expect("placed").range_of(worker).len() as u32)
                .sum()
        };
        let total: u32 = rows.iter().sum();
        for worker in 0..workers {
            let fair = total / workers as u32;
            prop_assert!(owned(worker).abs_diff(fair) <= 60 + fair / 16, "worker {} owns {}", worker, owned(worker));
        }
    }
}

/// Some frames: tables of some rows, placed for rows that are this dear, and what each worker takes
/// in nanoseconds for its own.
#[derive(Clone, Debug)]
struct Frames {
    times: usize,
    rows: [u32; 3],
    shortest: u32,
    costs: [u64; 4],
    dear: u32,
}

fn frames() -> impl Strategy<Value = Frames> {
    let costs =
        prop_oneof![any::<[u16; 4]>().prop_map(|costs| costs.map(|cost| u64::from(cost) * 100)), any::<[u64; 4]>()];
    let shortest = prop_oneof![Just(1), 1_000u32..20_000];
    (1usize..60, any::<[u16; 3]>(), shortest, costs, 0u32..64).prop_map(|(times, rows, shortest, costs, dear)| Frames {
        times,
        rows: rows.map(u32::from),
        shortest,
        costs,
        dear,
    })
}

proptest! {
    /// What the sweeps of several threads at a time rest on; and the accounts by which new storages
    /// are given away.
    #[test]
    fn runs_stay_disjoint_and_complete_while_cuts_are_learned(
        workers in 2usize..5,
        history in prop::collection::vec(frames(), 1..6),
    ) {
        let mut placement = Placement::new(workers);
        for Frames { times, rows, shortest, costs, dear } in history {
            for _ in 0..times {
                let tables = || (0..).map(Storage::Table).zip(rows);
                for (table, rows) in tables() {
                    placement.place(table, rows, shortest);
                    assert_complete(placement.get(table).expect("placed"), workers, rows);
                    observe_frame(&mut placement, table, &costs, dear);
                }
                placement.end_frame();
                for (table, rows) in tables() {
                    assert_complete(placement.get(table).expect("placed"), workers, rows);
                }
                prop_assert_eq!(&placement.loads, &counted_loads(&placement));
            }
        }
    }
}

#[test]
fn a_storage_of_few_runs_is_resized_after_its_cuts_were_learned() {
    let mut placement = Placement::new(4);
    (0..20).for_each(|_| _ = placement.place(TABLE, 10_000, 5_000));
    let before = lengths(placement.get(TABLE).expect("placed"), 4);
    assert_eq!(placement.get(TABLE).expect("placed").parts(), 2);
    for _ in 0..100 {
        // The last thousand rows are dear.
        let cost = |rows: std::ops::Range<u32>| rows.map(|row| if row >= 9_000 { 200 } else { 10 }).sum::<u64>();
        let runs: Vec<_> = placement.get(TABLE).expect("placed").by_owner().collect();
        for (worker, rows) in runs {
            if let Some(histogram) = placement.get(TABLE).and_then(Runs::histogram) {
                let chunks = rows.clone().step_by(100).map(|row| row..rows.end.min(row + 100));
                chunks.for_each(|chunk| histogram.add(chunk.clone(), cost(chunk)));
            }
            placement.observe(TABLE, worker, cost(rows));
        }
        placement.end_frame();
    }
    assert!(placement.migrations() > 0);
    placement.place(TABLE, 10_001, 5_000);
    assert_ne!(lengths(placement.get(TABLE).expect("placed"), 4), before);
    assert_eq!(placement.loads, counted_loads(&placement));
}

#[test]
fn hours_and_the_longest_table_do_not_overflow() {
    const HOURS: u64 = 1 << 60;
    for (workers, rows) in [(1, u32::MAX), (2, u32::MAX), (4, u32::MAX - 1), (3, 100)] {
        let mut placement = Placement::new(workers);
        for frame in 0..100 {
            placement.place(TABLE, rows - frame, rows / 2);
            observe_frame(&mut placement, TABLE, &[HOURS, 3 * HOURS, HOURS, HOURS], frame % 64);
            placement.end_frame();
            assert_complete(placement.get(TABLE).expect("placed"), workers, rows - frame);
            assert_eq!(placement.loads, counted_loads(&placement));
        }
    }
}

#[test]
fn what_others_swept_counts_to_the_owner() {
    // Both are as busy; but all of the first one's time went into the second one's rows.
    let learns = |thefts: bool| {
        let (mut placement, mut claims) = (Placement::new(2), ClaimBoard::new(2));
        placement.place(TABLE, 1_000, 1);
        (0..100).any(|_| {
            if thefts {
                claims.note_theft(1, 0, 90_000);
            }
            for worker in 0..2 {
                let cost = claims.cost_of_share(worker, 100_000);
                placement.observe(TABLE, worker, cost);
            }
            claims.forget_thefts();
            placement.end_frame();
            placement.get(TABLE).and_then(Runs::histogram).is_some()
        })
    };
    assert!(learns(true) && !learns(false));
}

#[test]
fn the_longest_storage_is_cut() {
    // As many rows as a table can have, after few rows of which all belong to one worker.
    let mut placement = Placement::new(4);
    for rows in [8, u32::MAX - 1, 8, u32::MAX - 70, u32::MAX - 1] {
        placement.place(TABLE, rows, 1);
        assert_complete(placement.get(TABLE).expect("placed"), 4, rows);
    }
}

#[test]
fn small_tables_that_follow_each_other_have_few_borders_between_owners() {
    let mut placement = Placement::new(2);
    let owners: Vec<usize> =
        (0..1_000).map(|table| placement.place(Storage::Table(table), 10, 64).owner_of(0)).collect();
    let borders = owners.windows(2).filter(|pair| pair[0] != pair[1]).count();
    assert!(borders < 150, "{borders} borders: neighbours share cache lines");
}

#[test]
fn growth_within_the_threshold_goes_to_the_last_run() {
    let mut placement = Placement::new(4);
    placement.place(TABLE, 40_000, 64);
    placement.place(TABLE, 41_000, 64);
    assert_eq!(placement.migrated(), 0);
    let runs = placement.get(TABLE).expect("placed");
    assert_eq!(runs.range_of(0), 0..10_048, "cuts fall on aligned rows");
    assert_eq!(runs.range_of(3).end, 41_000);
}

#[test]
fn a_first_guess_is_taken_back_and_later_wishes_last() {
    let mut placement = Placement::new(8);
    assert_eq!(placement.place(TABLE, 5_000, 64).parts(), 8);
    assert_eq!(placement.place(TABLE, 5_000, 1_200).parts(), 4, "rows turned out to be cheap");
    // Two systems, of which one has dearer rows: it gets what it wants in the end.
    for _ in 0..100 {
        placement.place(TABLE, 5_000, 5_000);
        assert_eq!(placement.place(TABLE, 5_000, 64).parts(), 8);
    }
    assert_eq!(placement.place(TABLE, 5_000, 5_000).parts(), 8);
}

#[test]
fn an_emptied_table_starts_afresh() {
    let mut placement = Placement::new(2);
    for rows in [10_000, 0, 10_000] {
        placement.place(TABLE, rows, 64);
        assert_complete(placement.get(TABLE).expect("placed"), 2, rows);
    }
}

#[test]
fn tables_and_archetypes_are_placed_apart() {
    let mut placement = Placement::new(2);
    placement.place(Storage::Table(0), 1_000, 64);
    placement.place(Storage::Archetype(0), 10, 1);
    assert_eq!(placement.get(Storage::Table(0)).expect("placed").rows(), 1_000);
    assert_eq!(placement.get(Storage::Archetype(0)).expect("placed").rows(), 10);
}

#[test]
fn footprints_tell_who_was_there_last() {
    let mut footprints = Footprints::default();
    footprints.cover(Storage::Table(3), 5_000);
    let sweep = |rows, index| footprints.leave(Storage::Table(3), rows, CoreId(index));
    assert_eq!(sweep(0..3_000, 0), 3_000, "no core was there before");
    assert_eq!(sweep(3_000..5_000, 1), 5_000 - 3_072, "the rest of a block that the other core swept in part");
    assert_eq!(sweep(0..1_000, 0), 1_000);
    assert_eq!(sweep(0..1_000, 1), 0);
    assert_eq!(sweep(0..1_000, 1), 1_000);
}

#[test]
fn a_table_that_shrinks_for_good_gets_fewer_runs() {
    let mut placement = Placement::new(16);
    (0..20).for_each(|_| _ = placement.place(TABLE, 20_000, 500));
    assert_eq!(placement.place(TABLE, 3_000, 500).parts(), 16, "they may come back");
    (0..20).for_each(|_| _ = placement.place(TABLE, 60, 500));
    assert_eq!(placement.place(TABLE, 60, 500).parts(), 1);
    assert_eq!(placement.place(TABLE, 20_000, 500).parts(), 16);
    assert_eq!(placement.loads, counted_loads(&placement));
}

#[test]
fn an_empty_table_keeps_what_was_learned() {
    let mut placement = Placement::new(2);
    placement.place(TABLE, 10_000, 1);
    for _ in 0..64 {
        observe_frame(&mut placement, TABLE, &[90_000, 10_000], 8);
        placement.end_frame();
    }
    let cut = |placement: &mut Placement| placement.place(TABLE, 10_000, 1).range_of(0).end;
    let learned = cut(&mut placement);
    assert!(learned < 4_000, "{learned}");
    placement.place(TABLE, 0, 1);
    assert_eq!(cut(&mut placement), learned);
    // A wave of enemies that go one by one, and the next wave.
    (0..10_000).rev().for_each(|rows| _ = placement.place(TABLE, rows, 100));
    assert_eq!(placement.place(TABLE, 10, 100).parts(), 1);
    assert_eq!(cut(&mut placement), learned);
}

#[test]
fn a_storage_that_is_cut_anew_within_a_frame_is_observed_once() {
    let mut placement = Placement::new(4);
    for rows in [100_000, 1_000].repeat(50) {
        placement.place(TABLE, rows, 64);
        observe_frame(&mut placement, TABLE, &[1_000; 4], 32);
    }
    assert_eq!(placement.observed, [TABLE]);
}
