//! The node next to a point.

use crate::map::Network;

/// Nodes from west to east. A search looks east and west until nothing can be nearer: of a city's
/// nodes it sees some hundred.
pub struct Nearest(Vec<(f32, f32, u32)>);

impl Nearest {
    pub fn new(network: &Network) -> Self {
        let mut nodes: Vec<_> = (0..).zip(&network.nodes).map(|(number, node)| (node.x, node.y, number)).collect();
        nodes.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.2.cmp(&b.2)));
        Self(nodes)
    }

    /// The nearest node to a point in the network's metres.
    pub fn node(&self, (x, y): (f32, f32)) -> u32 {
        let (west, east) = self.0.split_at(self.0.partition_point(|node| node.0 < x));
        let mut best = (f32::INFINITY, 0);
        for (node_x, node_y, node) in east {
            if node_x - x >= best.0 {
                break;
            }
            best = nearer(best, (node_x - x).hypot(node_y - y), *node);
        }
        for (node_x, node_y, node) in west.iter().rev() {
            if x - node_x >= best.0 {
                break;
            }
            best = nearer(best, (node_x - x).hypot(node_y - y), *node);
        }
        best.1
    }
}

fn nearer(best: (f32, u32), distance: f32, node: u32) -> (f32, u32) {
    if distance < best.0 { (distance, node) } else { best }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::map::{Control, Node};

    #[test]
    fn agrees_with_a_look_at_all() {
        let place = |number: u32| ((number * 37 % 101) as f32, (number * 53 % 89) as f32);
        let nodes: Vec<Node> = (0..300).map(place).map(|(x, y)| Node::new(x, y, Control::Priority)).collect();
        let nearest = Nearest::new(&Network::new("x", nodes.clone(), Vec::new()));
        for (x, y) in [(0.0, 0.0), (50.3, 40.1), (-500.0, 20.0), (900.0, 900.0), (50.0, -70.0)] {
            let distance = |node: &Node| (node.x - x).hypot(node.y - y);
            let least = nodes.iter().map(distance).fold(f32::INFINITY, f32::min);
            assert_eq!(distance(&nodes[nearest.node((x, y)) as usize]), least);
        }
    }
}
