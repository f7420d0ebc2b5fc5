//! From a road network to intersections.

use super::approach::Approach;
use super::incidence::Incidence;
use super::intersection::{Exit, Intersection};
use super::road::{flow, storage, travel_time};
use super::signal::{Arm, Phase, Programme, group};
use crate::map::{Link, Network};

/// The intersections of a network, in its order, all roads empty. Approach `a` of an intersection
/// is the road `first road + a`.
pub fn intersections(network: &Network, incidence: &Incidence) -> Vec<Intersection> {
    (0..network.nodes.len() as u32).map(|node| intersection(network, incidence, node)).collect()
}

fn intersection(network: &Network, incidence: &Incidence, node: u32) -> Intersection {
    let roads = incidence.approaches(node);
    let links = &network.links[roads.start as usize..roads.end as usize];
    let (programme, phases) = signals(network, node, links);
    let approach = |(road, (link, phase)): (u32, (&Link, Phase))| {
        Approach::new(link.from, incidence.exit_number(road), phase, flow(link), &programme)
    };
    let approaches = roads.zip(links.iter().zip(phases)).map(approach).collect();
    let exits = incidence.exits(node).iter().map(|&road| exit(network, incidence, road)).collect();
    Intersection::new(programme, approaches, exits)
}

fn exit(network: &Network, incidence: &Incidence, road: u32) -> Exit {
    let link = &network.links[road as usize];
    Exit {
        free: storage(link),
        travel_time: travel_time(link),
        target: link.to,
        approach: (road - incidence.approaches(link.to).start) as u8,
        closed: false,
    }
}

/// An intersection without signals, or with one phase only, is always green.
fn signals(network: &Network, node: u32, links: &[Link]) -> (Programme, Vec<Phase>) {
    let arms: Vec<Arm> = links.iter().map(|link| arm(network, link)).collect();
    let phases = group(&arms);
    if network.nodes[node as usize].has_signals() && phases.contains(&1) {
        (Programme::for_node(node), phases)
    } else {
        (Programme::ALWAYS_GREEN, vec![0; links.len()])
    }
}

fn arm(network: &Network, link: &Link) -> Arm {
    let (from, to) = (&network.nodes[link.from as usize], &network.nodes[link.to as usize]);
    let decimetres = |metres: f32| (f64::from(metres) * 10.0).round() as i64;
    let direction = (decimetres(from.x) - decimetres(to.x), decimetres(from.y) - decimetres(to.y));
    Arm { direction, weight: u32::from(link.lanes) * u32::from(link.speed_kmh) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::grid;

    #[test]
    fn both_ends_of_every_link_know_each_other() {
        let network = grid(5);
        let incidence = Incidence::new(&network).unwrap();
        let intersections = intersections(&network, &incidence);
        for (node, intersection) in intersections.iter().enumerate() {
            for (number, exit) in intersection.exits().iter().enumerate() {
                let approach = &intersections[exit.target as usize].approaches()[usize::from(exit.approach)];
                assert_eq!((approach.upstream as usize, usize::from(approach.upstream_exit)), (node, number));
            }
        }
    }
}
