//! From a road network to intersections.

use super::approach::Approach;
use super::exit::Exit;
use super::green_wave;
use super::incidence::Incidence;
use super::intersection::Intersection;
use super::right_of_way::{RightOfWay, Side};
use super::road::{drive_time, flow, hole_time, storage};
use super::signal::{Arm, Phase, Programme, group};
use crate::map::{Link, Network};

/// The intersections of a network, in its order, all roads empty. Approach `a` of an intersection
/// is the road `first road + a`.
pub fn intersections(network: &Network, incidence: &Incidence) -> Vec<Intersection> {
    let with_offset = |(node, offset)| intersection(network, incidence, node, offset);
    (0..).zip(green_wave::offsets(network, incidence)).map(with_offset).collect()
}

/// Vehicles an hour that each link passes at its end, in the order of the network: with its share
/// of green, or as far as it has to give way.
pub fn capacities(network: &Network, incidence: &Incidence) -> Vec<u32> {
    let of_node = |node| intersection(network, incidence, node, 0).capacities();
    (0..network.nodes.len() as u32).flat_map(of_node).collect()
}

fn intersection(network: &Network, incidence: &Incidence, node: u32, offset: u16) -> Intersection {
    let roads = incidence.approaches(node);
    let links = &network.links[roads.start as usize..roads.end as usize];
    let (programme, phases) = signals(network, node, links, offset);
    let right_of_way = right_of_way(network, incidence, node, links);
    let approach = |(index, road): (usize, u32)| {
        let link = &links[index];
        let entry = right_of_way.as_ref().map_or(100, |right_of_way| right_of_way.entry_percent(index));
        let flow = (flow(link) * entry / 100).max(1);
        Approach::new(link.from, incidence.exit_number(road), phases[index], flow, &programme)
    };
    let approaches = roads.enumerate().map(approach).collect();
    let exits = incidence.exits(node).iter().map(|&road| exit(network, incidence, road)).collect();
    Intersection::new(node, programme, approaches, exits).with_right_of_way(right_of_way)
}

fn right_of_way(network: &Network, incidence: &Incidence, node: u32, links: &[Link]) -> Option<RightOfWay> {
    let into: Vec<Side> = links.iter().map(|link| side(network, node, link)).collect();
    let exits = incidence.exits(node).iter();
    let out: Vec<Side> = exits.map(|&road| side(network, node, &network.links[road as usize])).collect();
    RightOfWay::new(network.nodes[node as usize].control, &into, &out, network.left_hand)
}

/// A road as seen from one of its ends.
fn side(network: &Network, node: u32, link: &Link) -> Side {
    let neighbour = if link.to == node { link.from } else { link.to };
    Side { arm: Arm::of(network, node, link), class: link.class, neighbour }
}

fn exit(network: &Network, incidence: &Incidence, road: u32) -> Exit {
    let link = &network.links[road as usize];
    let approach = (road - incidence.approaches(link.to).start) as u8;
    Exit::new(link.to, approach, storage(link), drive_time(link), hole_time(link))
}

/// An intersection without signals, or with one phase only, is always green.
fn signals(network: &Network, node: u32, links: &[Link], offset: u16) -> (Programme, Vec<Phase>) {
    let arms: Vec<Arm> = links.iter().map(|link| Arm::of(network, node, link)).collect();
    let phases = group(&arms);
    if network.nodes[node as usize].has_signals() && phases.contains(&1) {
        (Programme::two_phases(offset), phases)
    } else {
        (Programme::ALWAYS_GREEN, vec![0; links.len()])
    }
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
