use bevy_ecs::prelude::{Component, World};

use super::*;
use crate::sweep::Matched;

fn lay(layout: &mut Layout, rows: &[(u32, Range<u32>)]) {
    let mut progress = Progress::default();
    for (ordinal, (table, rows)) in (0..).zip(rows) {
        layout.lay(&mut progress, ordinal, Storage::Table(*table), rows.clone());
    }
    layout.end(&progress);
}

fn layout() -> Layout {
    let mut layout = Layout::default();
    lay(&mut layout, &[(7, 100..103), (8, 5..5), (9, 0..10)]);
    layout
}

fn ranges(positions: Range<u64>) -> Vec<(u32, Storage, Range<u32>)> {
    let mut ranges = Vec::new();
    layout().for_each_range(positions, |ordinal, storage, rows| ranges.push((ordinal, storage, rows)));
    ranges
}

#[test]
fn positions_are_found_in_their_storages() {
    assert_eq!(layout().rows(), 13);
    assert_eq!(ranges(0..13), [(0, Storage::Table(7), 100..103), (2, Storage::Table(9), 0..10)]);
    assert_eq!(ranges(2..4), [(0, Storage::Table(7), 102..103), (2, Storage::Table(9), 0..1)]);
    assert_eq!(ranges(12..20), [(2, Storage::Table(9), 9..10)]);
    assert_eq!(ranges(3..3), []);
}

#[test]
fn storages_without_rows_have_no_segment() {
    assert_eq!([0, 2, 3, 12, 13].map(|position| segment_at(layout().segments(), position)), [0, 0, 1, 1, 2]);
}

#[test]
fn a_layout_that_is_laid_out_anew_forgets_what_was_there() {
    let mut layout = layout();
    lay(&mut layout, &[(7, 100..103), (8, 0..2)]);
    assert_eq!((layout.rows(), layout.segments().len()), (5, 2));
    assert_eq!(layout.segments()[1], Segment { first: 3, storage: Storage::Table(8), ordinal: 1, rows: 0..2 });
    lay(&mut layout, &[]);
    assert_eq!((layout.rows(), layout.segments().len()), (0, 0));
}

#[derive(Component)]
struct Row;

#[test]
fn a_sweep_of_all_rows_is_cut_as_such_after_one_of_a_few() {
    let mut world = World::new();
    world.spawn_batch((0..1_000).map(|_| Row));
    let query = world.query::<&Row>();
    let mut matched = Matched::new(true);
    matched.update(&query, world.archetypes());
    let all = Rows::new(world.as_unsafe_world_cell_readonly(), &matched);
    let mut selection = Selection::default();
    selection.push(0, matched.storages[0], 7);
    let few = Rows { selection: Some(&selection), ..all };
    let (mut layouts, mut placement) = (Layouts::default(), Placement::new(2));
    for rows in [few, all, few] {
        layouts.lay_out(&rows, &mut placement, 1);
        assert_eq!(layouts.about(&all), 1_000);
    }
}
