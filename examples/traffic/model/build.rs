//! From a road network to intersections.

use super::approach::Approach;
use super::control::{Rules, lanes};
use super::exit::Exit;
use super::green_wave;
use super::incidence::Incidence;
use super::intersection::Intersection;
use super::road::{drive_time, hole_time, storage};
use crate::map::Network;

/// The intersections of a network, in its order, all roads empty. Approach `a` of an intersection
/// is the road `first road + a`.
pub fn intersections(network: &Network, incidence: &Incidence) -> Vec<Intersection> {
    let with_offset = |(node, offset)| intersection(network, incidence, node, offset);
    (0..).zip(green_wave::offsets(network, incidence)).map(with_offset).collect()
}

fn intersection(network: &Network, incidence: &Incidence, node: u32, offset: u16) -> Intersection {
    let roads = incidence.approaches(node);
    let links = incidence.links_into(network, node);
    let control = network.nodes[node as usize].control;
    let Rules { programme, phases, flows, right_of_way } = Rules::new(network, incidence, node, control, offset);
    let approach = |(index, road): (usize, u32)| {
        let exit = incidence.exit_number(road);
        let approach = Approach::new(links[index].from, exit, phases[index], flows[index]);
        approach.with_lanes(lanes(network, incidence, node, index))
    };
    let approaches = roads.enumerate().map(approach).collect();
    let exits = incidence.exits(node).iter().map(|&road| exit(network, incidence, road)).collect();
    Intersection::new(node, programme, approaches, exits).with_right_of_way(right_of_way)
}

fn exit(network: &Network, incidence: &Incidence, road: u32) -> Exit {
    let link = &network.links[road as usize];
    let approach = (road - incidence.approaches(link.to).start) as u8;
    Exit::new(link.to, approach, storage(link), drive_time(link), hole_time(link))
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
