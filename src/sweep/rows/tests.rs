use super::*;

#[test]
fn rows_that_follow_each_other_are_one_segment() {
    let mut selection = Selection::default();
    for (ordinal, table, row) in [(0, 3, 5), (0, 3, 6), (0, 3, 8), (2, 9, 9)] {
        selection.push(ordinal, Storage::Table(table), row);
    }
    let segment = |first, ordinal, table, rows| Segment { first, storage: Storage::Table(table), ordinal, rows };
    let expected = [segment(0, 0, 3, 5..7), segment(2, 0, 3, 8..9), segment(3, 2, 9, 9..10)];
    assert_eq!((selection.rows(), selection.segments()), (4, &expected[..]));
    assert_eq!([0, 1, 2, 3, 4].map(|position| segment_at(selection.segments(), position)), [0, 0, 1, 2, 3]);
    selection.clear();
    assert_eq!(selection.rows(), 0);
}

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
