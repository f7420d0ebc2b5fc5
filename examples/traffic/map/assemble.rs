//! From loose roads to a network that can be simulated.

use super::{Link, MapError, Network, Node, component, geo, hilbert};

/// Keeps the largest part in which every place can be reached from every other, and numbers it so
/// that neighbours in the city are neighbours in memory. Self-loops go; parallel links stay, for
/// two roads carry more than one.
pub fn assemble(network: Network) -> Result<Network, MapError> {
    let Network { name, nodes, links, bans, .. } = &network;
    let roads = links.iter().filter(|link| link.from != link.to);
    let keep = component::largest(nodes.len(), roads.map(|link| (link.from, link.to)));
    let order = hilbert::order(nodes, &keep);
    let (sorted, old_numbers) = renumber(links, &order, nodes.len());
    if sorted.is_empty() {
        return Err(MapError::new(name, why_empty(links)));
    }
    let lost = note_of_left_out(order.len(), nodes.len(), links);
    let bans = renumber_bans(bans, &old_numbers, links.len());
    drop(old_numbers);
    let mut nodes: Vec<Node> = order.iter().map(|&old| nodes[old as usize]).collect();
    let (x, y) = centre(&mut nodes);
    let globe = network.globe.map(|globe| globe.moved(x, y));
    let unread = with_note(network.unread, lost);
    let mut bends = network.bends;
    bends.shift(x, y);
    Ok(Network { nodes, links: sorted, bans, globe, bends, unread, ..network })
}

/// Why nothing is left of these links.
fn why_empty(links: &[Link]) -> &'static str {
    if !links.is_empty() && links.iter().all(|link| link.from == link.to) {
        "empty network: all its roads end at the junction where they begin"
    } else {
        "empty network: no road can be driven there and back"
    }
}

/// With a note of what is left out, which comes first if that is much: not all see the others.
pub fn with_note(mut notes: Vec<String>, lost: Option<(String, bool)>) -> Vec<String> {
    match lost {
        Some((note, true)) => notes.insert(0, note),
        Some((note, false)) => notes.push(note),
        None => {}
    }
    notes
}

/// What is told where `kept` nodes are fewer than have a road, and whether they are far fewer.
pub fn note_of_left_out(kept: usize, nodes: usize, links: &[Link]) -> Option<(String, bool)> {
    let mut have_roads = vec![false; nodes];
    for link in links.iter().filter(|link| link.from != link.to) {
        (have_roads[link.from as usize], have_roads[link.to as usize]) = (true, true);
    }
    let all = have_roads.into_iter().filter(|&has_roads| has_roads).count();
    let left_out = all.saturating_sub(kept);
    let note = || format!("{left_out} of {all} intersections are left out: no way leads there and back");
    (left_out > 0).then(|| (note(), left_out > all / 20))
}

/// Gives the nodes in `order` the numbers 0, 1, 2 and so on, drops links to other nodes and those
/// that return to their own, and sorts the rest. Returns them and the number that each had.
fn renumber(links: &[Link], order: &[u32], old_nodes: usize) -> (Vec<Link>, Vec<u32>) {
    let mut new = vec![None; old_nodes];
    for (number, &old) in order.iter().enumerate() {
        new[old as usize] = Some(number as u32);
    }
    let moved = |link: &Link| {
        let (from, to) = (new[link.from as usize]?, new[link.to as usize]?);
        (from != to).then_some(Link { from, to, length_dm: link.length_dm.max(1), ..*link })
    };
    let mut links: Vec<(Link, u32)> =
        links.iter().zip(0..).filter_map(|(link, old)| Some((moved(link)?, old))).collect();
    // All but the last make the order of parallels independent of their order in the file.
    links.sort_unstable_by_key(|&(link, old)| {
        let Link { from, to, length_dm, lanes, speed_kmh, lane_flow, class, .. } = link;
        (to, from, length_dm, speed_kmh, lanes, lane_flow, class, old)
    });
    links.into_iter().unzip()
}

/// Forbidden turns in the new numbers of links; those of links that are gone go too.
fn renumber_bans(bans: &[(u32, u32)], old_numbers: &[u32], old_links: usize) -> Vec<(u32, u32)> {
    if bans.is_empty() {
        return Vec::new();
    }
    let mut new = vec![None; old_links];
    for (number, &old) in (0..).zip(old_numbers) {
        new[old as usize] = Some(number);
    }
    let both = |&(from, to): &(u32, u32)| Some((new[from as usize]?, new[to as usize]?));
    let mut bans: Vec<(u32, u32)> = bans.iter().filter_map(both).collect();
    bans.sort_unstable();
    bans
}

/// Moves the origin to the middle of the nodes that are left, and tells where that was.
fn centre(nodes: &mut [Node]) -> (f32, f32) {
    let x = geo::middle(nodes.iter().map(|node| f64::from(node.x))) as f32;
    let y = geo::middle(nodes.iter().map(|node| f64::from(node.y))) as f32;
    for node in nodes {
        node.x -= x;
        node.y -= y;
    }
    (x, y)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::map::Control;

    fn network(name: &str, nodes: Vec<Node>, links: Vec<Link>) -> Result<Network, MapError> {
        assemble(Network::new(name, nodes, links))
    }

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
        let bans = vec![(0, 2), (4, 0)];
        let map = Network { bans, attribution: Some("someone".into()), ..Network::new("town", nodes, links) };
        let network = assemble(map).unwrap();
        assert_eq!(network.links, [link(1, 0, 1), link(0, 1, 700), link(0, 1, 900)]);
        assert_eq!(network.bans, [(2, 0)], "from the longer of the parallels and back");
        assert_eq!(network.nodes, [node(-50.0, false), node(50.0, true)]);
        assert_eq!(network.attribution.as_deref(), Some("someone"));
        assert_eq!(network.unread, ["1 of 3 intersections are left out: no way leads there and back"]);
    }

    #[test]
    fn links_are_sorted_by_target_then_source() {
        let nodes = (0..50).map(|i| node((i * 37 % 50) as f32, false)).collect();
        let links = (0..50).flat_map(|i| [link(i, (i + 1) % 50, 10), link((i + 1) % 50, i, 10)]).collect();
        let network = network("ring", nodes, links).unwrap();
        assert!(network.links.is_sorted_by_key(|link| (link.to, link.from)));
        assert!(network.nodes.is_sorted_by(|a, b| a.x < b.x), "a line is its own space-filling order");
    }

    #[test]
    fn nothing_to_drive_on_is_an_error() {
        let one_way = network("lane", vec![node(0.0, false), node(1.0, false)], vec![link(0, 1, 10)]);
        let nothing = network("void", Vec::new(), Vec::new());
        assert_eq!(one_way.unwrap_err().to_string(), "lane: empty network: no road can be driven there and back");
        assert!(nothing.unwrap_err().to_string().starts_with("void: empty network"));
        let toy = network("toy", vec![node(0.0, false)], vec![link(0, 0, 10)]);
        assert!(toy.unwrap_err().to_string().ends_with("all its roads end at the junction where they begin"));
    }
}
