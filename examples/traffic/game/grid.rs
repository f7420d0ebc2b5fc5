//! A uniform grid over things that do not move.

use bevy::math::{IVec2, Vec2};

/// The numbers of things by the square cells that they touch.
pub struct Grid {
    cell: f32,
    /// Cell and number, sorted.
    entries: Vec<([i32; 2], u32)>,
}

/// Entries that lines are cut into besides their ends, about. A map of a country has some millions
/// of half cells of road; one with lines around the globe gets larger cells.
const MOST_SAMPLES: f32 = 8e6;

impl Grid {
    /// Things are lines from point to point, some of several pieces, with their numbers; `cell` is
    /// the side of a cell, at least.
    pub fn new(cell: f32, lines: impl Iterator<Item = (u32, (Vec2, Vec2))> + Clone) -> Self {
        let length: f64 = lines.clone().map(|(_, (start, end))| f64::from(start.distance(end))).sum();
        let cell = cell.max((length * 2.0) as f32 / MOST_SAMPLES);
        let mut entries = Vec::new();
        for (number, (start, end)) in lines {
            // A sample in every half cell: a corner that is cut off is nearer to the cells beside
            // it than any reach.
            let samples = (start.distance(end) / cell * 2.0).ceil() as u32;
            for sample in 0..=samples {
                let point = start.lerp(end, sample as f32 / samples.max(1) as f32);
                entries.push((locate(point, cell).to_array(), number));
            }
        }
        entries.sort_unstable();
        entries.dedup();
        Self { cell, entries }
    }

    /// All things within reach of a point and some that are farther away, none of them twice.
    pub fn near(&self, point: Vec2, reach: f32) -> impl Iterator<Item = u32> {
        let (first, last) =
            (locate(point - reach - self.cell / 2.0, self.cell), locate(point + reach + self.cell / 2.0, self.cell));
        let mut near: Vec<u32> = (first.x..=last.x).flat_map(|x| self.column(x, first.y, last.y)).collect();
        near.sort_unstable();
        near.dedup();
        near.into_iter()
    }

    fn column(&self, x: i32, first: i32, last: i32) -> impl Iterator<Item = u32> {
        let start = self.entries.partition_point(|&(cell, _)| cell < [x, first]);
        let end = self.entries.partition_point(|&(cell, _)| cell <= [x, last]);
        self.entries[start..end.max(start)].iter().map(|&(_, number)| number)
    }
}

fn locate(point: Vec2, cell: f32) -> IVec2 {
    (point / cell).floor().as_ivec2()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_within_reach_is_found() {
        let angle = |number: u32| number as f32 * 0.7;
        let lines: Vec<(Vec2, Vec2)> = (0..200)
            .map(|number| {
                let start = Vec2::from_angle(angle(number)) * number as f32 * 9.0;
                (start, start + Vec2::from_angle(angle(3 * number)) * 400.0)
            })
            .collect();
        let grid = Grid::new(100.0, (0..).zip(lines.iter().copied()));
        for number in 0..100 {
            let (point, reach) = (Vec2::from_angle(angle(7 * number)) * number as f32 * 15.0, number as f32);
            let near: Vec<u32> = grid.near(point, reach).collect();
            for (line, &(start, end)) in (0..).zip(&lines) {
                let along = ((point - start).dot(end - start) / (end - start).length_squared()).clamp(0.0, 1.0);
                let within = start.lerp(end, along).distance(point) <= reach;
                assert!(!within || near.contains(&line), "line {line} within {reach} of {point}");
            }
            assert!(near.is_sorted_by(|a, b| a < b) && near.len() < 200);
        }
    }

    /// From one end of the earth to the other, and a street.
    #[test]
    fn lines_around_the_globe_take_no_more_entries_than_a_country() {
        let ends = [(Vec2::ZERO, Vec2::new(1e9, 0.0)), (Vec2::new(50.0, 50.0), Vec2::new(90.0, 50.0))];
        let grid = Grid::new(150.0, (0..).zip(ends));
        assert!(grid.entries.len() < 10_000_000, "{}", grid.entries.len());
        assert_eq!(grid.near(Vec2::new(5e8, 3.0), 10.0).collect::<Vec<_>>(), [0]);
        assert_eq!(grid.near(Vec2::new(60.0, 55.0), 10.0).collect::<Vec<_>>(), [0, 1]);
    }
}
