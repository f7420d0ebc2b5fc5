//! The order of points along Hilbert's curve: points that are near in the plane are mostly near in
//! the order.

use super::{Node, geo};

/// Bits of each coordinate on the curve: cells of about 2 m on a map of 100 km.
const BITS: u32 = 16;

/// Numbers of the nodes for which `keep` holds, sorted along the curve.
pub fn order(nodes: &[Node], keep: &[bool]) -> Vec<u32> {
    let kept = || nodes.iter().zip(keep).enumerate().filter(|(_, (_, keep))| **keep);
    let (left, right) = geo::span(kept().map(|(_, (node, _))| f64::from(node.x)));
    let (bottom, top) = geo::span(kept().map(|(_, (node, _))| f64::from(node.y)));
    // One scale for both axes, so that distances count the same in either.
    let side = (right - left).max(top - bottom).max(1.0);
    let cell = |value: f32, least: f64| ((f64::from(value) - least) / side * f64::from((1 << BITS) - 1)) as u32;
    let mut order: Vec<(u32, u32)> =
        kept().map(|(number, (node, _))| (index(cell(node.x, left), cell(node.y, bottom)), number as u32)).collect();
    order.sort_unstable();
    order.into_iter().map(|(_, number)| number).collect()
}

/// Position of a cell along the curve that fills the square of `1 << BITS` cells a side.
fn index(mut x: u32, mut y: u32) -> u32 {
    let mut position = 0;
    for bit in (0..BITS).rev() {
        let (right, upper) = (x >> bit & 1, y >> bit & 1);
        position = position << 2 | (3 * right) ^ upper;
        // Each lower quadrant holds the curve turned over, so its cells are seen through a mirror.
        if upper == 0 {
            if right == 1 {
                (x, y) = (!x, !y);
            }
            (x, y) = (y, x);
        }
    }
    position
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::map::Control;

    #[test]
    fn consecutive_positions_are_neighbouring_cells() {
        let side = 64;
        let mut cells: Vec<_> = (0..side * side).map(|i| (index(i % side, i / side), i % side, i / side)).collect();
        cells.sort_unstable();
        for (position, pair) in cells.windows(2).enumerate() {
            assert_eq!(pair[0].0, position as u32);
            assert_eq!(pair[0].1.abs_diff(pair[1].1) + pair[0].2.abs_diff(pair[1].2), 1, "{pair:?}");
        }
    }

    #[test]
    fn only_kept_nodes_are_numbered() {
        let node = |x: f32| Node::new(x, 0.0, Control::Priority);
        let nodes = [node(300.0), node(0.0), node(100.0), node(200.0)];
        assert_eq!(order(&nodes, &[true, true, false, true]), [1, 3, 0]);
        assert!(order(&nodes, &[false; 4]).is_empty());
    }
}
