//! How roads bend between their ends: for the eye only, for a queue knows lengths.

/// Which line a link follows, if it is not straight, and in which direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shape(i32);

impl Shape {
    pub const STRAIGHT: Self = Self(0);

    /// The same line, driven the other way.
    pub fn reversed(self) -> Self {
        Self(-self.0)
    }
}

/// The lines of all roads that bend, as the points between their ends, in metres like the nodes.
#[derive(Clone, Debug, Default)]
pub struct Bends {
    points: Vec<(f32, f32)>,
    /// Where the points of each line end.
    ends: Vec<u32>,
}

/// How far a line that is kept may be from the map's own, in metres: less than half a lane.
const TOLERANCE: f32 = 1.5;

impl Bends {
    /// Takes in a line through all these points, and returns how a link follows it.
    pub fn add(&mut self, line: &[(f32, f32)]) -> Shape {
        let before = self.points.len();
        simplify(line, &mut self.points);
        let (Ok(number), Ok(end)) = (i32::try_from(self.ends.len() + 1), u32::try_from(self.points.len())) else {
            self.points.truncate(before);
            return Shape::STRAIGHT;
        };
        if before == self.points.len() {
            return Shape::STRAIGHT;
        }
        self.ends.push(end);
        Shape(number)
    }

    /// The points between the ends of a link, as one drives.
    #[cfg(any(test, feature = "game"))]
    pub fn of(&self, shape: Shape) -> Vec<(f32, f32)> {
        let Some(number) = (shape.0.unsigned_abs() as usize).checked_sub(1) else { return Vec::new() };
        let begin = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        let points = &self.points[begin as usize..self.ends[number] as usize];
        if shape.0 < 0 { points.iter().rev().copied().collect() } else { points.to_vec() }
    }

    /// Moves the origin to a point.
    pub fn shift(&mut self, x: f32, y: f32) {
        for point in &mut self.points {
            *point = (point.0 - x, point.1 - y);
        }
    }
}

/// Adds the points between the ends of a line that it cannot do without (Douglas and Peucker).
fn simplify(line: &[(f32, f32)], kept: &mut Vec<(f32, f32)>) {
    let mut open = vec![(0, line.len().saturating_sub(1))];
    // The first half is looked at first: so points come in their order.
    while let Some((first, last)) = open.pop() {
        let away = |&point: &usize| distance(line[point], line[first], line[last]);
        let farthest = (first + 1..last).max_by(|a, b| away(a).total_cmp(&away(b)));
        if let Some(point) = farthest.filter(|point| away(point) > TOLERANCE) {
            open.push((point, last));
            open.push((first, point));
        } else if last + 1 < line.len() {
            kept.push(line[last]);
        }
    }
}

/// From a point to the stretch between two others.
fn distance(point: (f32, f32), a: (f32, f32), b: (f32, f32)) -> f32 {
    let (x, y) = (b.0 - a.0, b.1 - a.1);
    let (to_x, to_y) = (point.0 - a.0, point.1 - a.1);
    let share = ((to_x * x + to_y * y) / (x * x + y * y).max(f32::MIN_POSITIVE)).clamp(0.0, 1.0);
    (to_x - share * x).hypot(to_y - share * y)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_comes_back_in_either_direction_without_what_hardly_bends() {
        let mut bends = Bends::default();
        let first = bends.add(&[(0.0, 0.0), (50.0, 0.4), (100.0, 0.0), (100.0, 80.0), (90.0, 120.0)]);
        let second = bends.add(&[(0.0, 0.0), (10.0, 9.0), (0.0, 20.0)]);
        assert_eq!(bends.of(first), [(100.0, 0.0), (100.0, 80.0)]);
        assert_eq!(bends.of(first.reversed()), [(100.0, 80.0), (100.0, 0.0)]);
        assert_eq!(bends.of(second), [(10.0, 9.0)]);
        bends.shift(5.0, -1.0);
        assert_eq!(bends.of(second), [(5.0, 10.0)]);
    }

    #[test]
    fn what_is_straight_has_no_line() {
        let mut bends = Bends::default();
        for line in [&[][..], &[(1.0, 2.0)], &[(0.0, 0.0), (9.0, 9.0)], &[(0.0, 0.0), (5.0, 0.9), (10.0, 0.0)]] {
            assert_eq!(bends.add(line), Shape::STRAIGHT);
        }
        assert!(bends.of(Shape::STRAIGHT).is_empty() && bends.of(Shape::STRAIGHT.reversed()).is_empty());
        assert_eq!(bends.add(&[(0.0, 0.0), (5.0, 5.0), (0.0, 0.0)]), Shape(1), "there and back");
    }
}
