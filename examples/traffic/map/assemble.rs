//! From loose roads to a network that can be simulated.

use super::{Control, Link, MapError, Network, Node, component, geo, hilbert};

/// Fewest roads that meet at a node for it to get signals on a map that has none.
const SIGNAL_DEGREE: u32 = 3;

/// Keeps the largest part in which every place can be reached from every other, and numbers it so
/// that neighbours in the city are neighbours in memory. Self-loops go; parallel links stay, for
/// two roads carry more than one.
pub fn assemble(
    name: &str,
    attribution: Option<&str>,
    nodes: Vec<Node>,
    mut links: Vec<Link>,
) -> Result<Network, MapError> {
    links.retain(|link| link.from != link.to);
    let keep = component::largest(nodes.len(), links.iter().map(|link| (link.from, link.to)));
    let order = hilbert::order(&nodes, &keep);
    let links = renumber(links, &order, nodes.len());
    if links.is_empty() {
        return Err(MapError::new(name, "empty network: no road can be driven there and back"));
    }
    let mut nodes: Vec<Node> = order.iter().map(|&old| nodes[old as usize]).collect();
    centre(&mut nodes);
    if !nodes.iter().any(Node::has_signals) {
        place_signals(&mut nodes, &links);
    }
    Ok(Network { attribution: attribution.map(Into::into), ..Network::new(name, nodes, links) })
}

/// Gives the nodes in `order` the numbers 0, 1, 2 and so on, drops links to other nodes and sorts
/// the rest.
fn renumber(links: Vec<Link>, order: &[u32], old_nodes: usize) -> Vec<Link> {
    let mut new = vec![None; old_nodes];
    for (number, &old) in order.iter().enumerate() {
        new[old as usize] = Some(number as u32);
    }
    let mut links: Vec<Link> = links
        .into_iter()
        .filter_map(|link| {
            let (from, to) = (new[link.from as usize]?, new[link.to as usize]?);
            Some(Link { from, to, length_dm: link.length_dm.max(1), ..link })
        })
        .collect();
    // The last three make the order of parallels independent of their order in the file.
    links.sort_unstable_by_key(|link| (link.to, link.from, link.length_dm, link.speed_kmh, link.lanes));
    links
}

/// Moves the origin to the middle of the nodes that are left.
fn centre(nodes: &mut [Node]) {
    let x = geo::middle(nodes.iter().map(|node| f64::from(node.x))) as f32;
    let y = geo::middle(nodes.iter().map(|node| f64::from(node.y))) as f32;
    for node in nodes {
        node.x -= x;
        node.y -= y;
    }
}

/// Puts signals where at least [`SIGNAL_DEGREE`] roads meet, a two-way road counting once.
fn place_signals(nodes: &mut [Node], links: &[Link]) {
    let mut roads: Vec<(u32, u32)> =
        links.iter().map(|link| (link.from.min(link.to), link.from.max(link.to))).collect();
    roads.sort_unstable();
    roads.dedup();
    let mut degrees = vec![0; nodes.len()];
    for (a, b) in roads {
        degrees[a as usize] += 1;
        degrees[b as usize] += 1;
    }
    for (node, degree) in nodes.iter_mut().zip(degrees) {
        if degree >= SIGNAL_DEGREE {
            node.control = Control::Signals;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(x: f32, signal: bool) -> Node {
        Node::new(x, 0.0, if signal { Control::Signals } else { Control::Priority })
    }

    fn link(from: u32, to: u32, length_dm: u32) -> Link {
        Link::new(from, to, length_dm, 1, 50)
    }

    #[test]
    fn loops_and_one_way_exits_go_but_parallels_stay() {
        let nodes = vec![node(0.0, false), node(100.0, true), node(200.0, false)];
        let links = vec![link(0, 1, 900), link(0, 1, 700), link(1, 0, 0), link(0, 0, 5), link(1, 2, 9)];
        let network = assemble("town", Some("someone"), nodes, links).unwrap();
        assert_eq!(network.links, [link(1, 0, 1), link(0, 1, 700), link(0, 1, 900)]);
        assert_eq!(network.nodes, [node(-50.0, false), node(50.0, true)]);
        assert_eq!(network.attribution.as_deref(), Some("someone"));
    }

    #[test]
    fn links_are_sorted_by_target_then_source() {
        let nodes = (0..50).map(|i| node((i * 37 % 50) as f32, false)).collect();
        let links = (0..50).flat_map(|i| [link(i, (i + 1) % 50, 10), link((i + 1) % 50, i, 10)]).collect();
        let network = assemble("ring", None, nodes, links).unwrap();
        assert!(network.links.is_sorted_by_key(|link| (link.to, link.from)));
        assert!(network.nodes.is_sorted_by(|a, b| a.x < b.x), "a line is its own space-filling order");
    }

    #[test]
    fn crossings_get_signals_where_the_map_has_none() {
        let nodes = vec![node(0.0, false), node(1.0, false), node(2.0, false), node(3.0, false)];
        let links = (1..4).flat_map(|i| [link(0, i, 10), link(i, 0, 10)]).collect();
        let network = assemble("star", None, nodes, links).unwrap();
        assert_eq!(network.nodes.iter().filter(|node| node.has_signals()).count(), 1);
    }

    #[test]
    fn nothing_to_drive_on_is_an_error() {
        let one_way = assemble("lane", None, vec![node(0.0, false), node(1.0, false)], vec![link(0, 1, 10)]);
        let nothing = assemble("void", None, Vec::new(), Vec::new());
        assert_eq!(one_way.unwrap_err().to_string(), "lane: empty network: no road can be driven there and back");
        assert!(nothing.unwrap_err().to_string().starts_with("void: empty network"));
    }
}
