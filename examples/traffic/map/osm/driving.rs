//! On which side of the road cars drive, as far as the map itself says.

use super::ways::Points;
use crate::map::geo::eastward;

/// Whether to the left: cars turn clockwise in roundabouts where they keep to the left, and
/// some roads have a tag. `None` if neither says anything, or both sides as often.
pub fn votes(points: &Points) -> Option<bool> {
    let mut left: i64 = 0;
    for (way, run) in points.runs() {
        let road = &points.ways[way as usize].road;
        let tagged = road.left_hand.map_or(0, |left| if left { 1 } else { -1 });
        let named = &points.named[run];
        let turning = if road.ring && named.first() == named.last() { -winding(points, named) } else { 0 };
        left += tagged + if road.forward.is_some() { turning } else { -turning };
    }
    (left != 0).then_some(left > 0)
}

/// 1 if a closed line turns counter-clockwise, -1 if clockwise.
fn winding(points: &Points, line: &[u32]) -> i64 {
    let place = |point: u32| points.points[point as usize].place.map_or((0.0, 0.0), |place| (place.lon, place.lat));
    let (x0, y0) = place(line[0]);
    let twice_area = |pair: &[u32]| {
        let ((ax, ay), (bx, by)) = (place(pair[0]), place(pair[1]));
        eastward(x0, ax) * (by - y0) - eastward(x0, bx) * (ay - y0)
    };
    let area: f64 = line.windows(2).map(twice_area).sum();
    if area == 0.0 { 0 } else { area.signum() as i64 }
}
