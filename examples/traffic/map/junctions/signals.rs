//! Signals at nodes where nothing crosses.

use super::{Control, Network, Roads};

/// Decimetres within which a stop line belongs to the junction behind it.
const STOP_LINE: u32 = 600;

/// Takes the signals from nodes with fewer than three neighbours: those near a crossing are its
/// stop lines, and it gets them; the others are for people on foot. Returns how many those are.
pub fn move_to_crossings(network: &mut Network) -> usize {
    let roads = Roads::of(network);
    let neighbours: Vec<usize> = (0..network.nodes.len() as u32).map(|node| neighbours(&roads, node)).collect();
    let lonely: Vec<u32> = (0..)
        .zip(&network.nodes)
        .filter(|(_, node)| node.has_signals())
        .map(|(number, _): (u32, _)| number)
        .filter(|&node| neighbours[node as usize] < 3)
        .collect();
    let crossing = |node: u32| {
        let links = roads.out.of(node).iter().chain(roads.into.of(node)).map(|&link| roads.link(link));
        let ends = links.map(|link| (link.length_dm, if link.from == node { link.to } else { link.from }));
        ends.filter(|&(length, end)| length <= STOP_LINE && neighbours[end as usize] >= 3).min()
    };
    let crossings: Vec<Option<u32>> = lonely.iter().map(|&node| crossing(node).map(|(_, end)| end)).collect();
    for &node in &lonely {
        network.nodes[node as usize].control = Control::Priority;
    }
    for &node in crossings.iter().flatten() {
        network.nodes[node as usize].control = Control::Signals;
    }
    crossings.iter().filter(|crossing| crossing.is_none()).count()
}

/// How many nodes a road leads to or comes from; more than two are not told apart.
fn neighbours(roads: &Roads, node: u32) -> usize {
    let mut known = [None; 3];
    for &link in roads.out.of(node).iter().chain(roads.into.of(node)) {
        let link = roads.link(link);
        let other = if link.from == node { link.to } else { link.from };
        let place = known.iter().position(|known| known.is_none() || *known == Some(other));
        match place {
            Some(place) => known[place] = Some(other),
            None => return 3,
        }
    }
    known.iter().flatten().count()
}
