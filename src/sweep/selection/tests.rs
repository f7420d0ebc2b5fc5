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
