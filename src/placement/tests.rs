use proptest::prelude::*;

use super::{Footprints, Placement, Runs, Storage};
use crate::topology::CoreId;

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
        // A cut moves past the next only by what the growth forces: never more than the change for each cut.
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

/// What happens between two frames: a number of rows, and what each worker takes in nanoseconds for its own.
fn frame() -> impl Strategy<Value = (u32, [u64; 4], u32)> {
    (0u32..30_000, any::<[u16; 4]>().prop_map(|costs| costs.map(u64::from)), 0u32..64)
}

proptest! {
    /// What the sweeps of several threads at a time rest on.
    #[test]
    fn runs_stay_disjoint_and_complete_while_cuts_are_learned(
        workers in 2usize..5,
        rows in 1u32..30_000,
        frames in prop::collection::vec((frame(), 1usize..60), 1..6),
    ) {
        let mut placement = Placement::new(workers);
        placement.place(TABLE, rows, 1);
        for ((rows, costs, dear), times) in frames {
            for _ in 0..times {
                placement.place(TABLE, rows, 1);
                assert_complete(placement.get(TABLE).expect("placed"), workers, rows);
                (0..workers).for_each(|worker| placement.observe(TABLE, worker, costs[worker] * 100));
                if let Some(profile) = placement.get(TABLE).and_then(Runs::profile) {
                    let cut = (u64::from(rows) * u64::from(dear) / 64) as u32;
                    profile.add(0..cut, costs[0]);
                    profile.add(cut..rows, costs[1]);
                }
                placement.end_frame();
                assert_complete(placement.get(TABLE).expect("placed"), workers, rows);
            }
        }
    }
}

#[test]
fn what_others_swept_counts_to_the_owner() {
    // Both are as busy; but all of the first one's time went into the second one's rows.
    let learns = |thefts: bool| {
        let mut placement = Placement::new(2);
        placement.place(TABLE, 1_000, 1);
        (0..100).any(|_| {
            if thefts {
                placement.claims.note_theft(1, 0, 90_000);
            }
            for worker in 0..2 {
                let cost = placement.cost_of_share(worker, 100_000);
                placement.observe(TABLE, worker, cost);
            }
            placement.claims.forget_thefts();
            placement.end_frame();
            placement.get(TABLE).and_then(Runs::profile).is_some()
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
    assert_eq!(sweep(0..3_000, 0), 3_000, "nobody was there before");
    assert_eq!(sweep(3_000..5_000, 1), 5_000 - 3_072, "the rest of a block that the other core swept in part");
    assert_eq!(sweep(0..1_000, 0), 1_000);
    assert_eq!(sweep(0..1_000, 1), 0);
    assert_eq!(sweep(0..1_000, 1), 1_000);
}
