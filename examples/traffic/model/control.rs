//! What controls an intersection: signals or right of way, and what its approaches pass with that.

use super::incidence::Incidence;
use super::lanes::{Lanes, Turn};
use super::planned_signal::PlannedSignal;
use super::right_of_way::{RightOfWay, Side};
use super::road::flow;
use super::signal::{Arm, Phase, Programme, group};
use crate::map::{Link, Network, SignalPlan};

/// Vehicles an hour that each link passes at its end, in the order of the network: with its share
/// of green, or as far as it has to give way.
pub fn capacities(network: &Network, incidence: &Incidence) -> Vec<u32> {
    (0..network.nodes.len() as u32).flat_map(|node| of_node(network, incidence, node)).collect()
}

fn of_node(network: &Network, incidence: &Incidence, node: u32) -> Vec<u32> {
    let links = incidence.links_into(network, node);
    let (programme, phases) = signals(network, node, links, 0);
    let right_of_way = right_of_way(network, incidence, node, links);
    let capacity = |(index, (link, phase)): (usize, (&Link, Phase))| {
        let yields = right_of_way.as_ref().map_or(100, |right_of_way| right_of_way.percent(index));
        let planned = lanes(network, incidence, node, index).map(|lanes| lanes.green_percent());
        let green = planned.unwrap_or(programme.green_percent(phase));
        entry_flow(link, right_of_way.as_ref(), index) * green.min(yields) / 100
    };
    links.iter().zip(phases).enumerate().map(capacity).collect()
}

/// Vehicles an hour that an approach passes while it has green and nobody is in its way.
pub fn entry_flow(link: &Link, right_of_way: Option<&RightOfWay>, approach: usize) -> u32 {
    let percent = right_of_way.map_or(100, |right_of_way| right_of_way.entry_percent(approach));
    (flow(link) * percent / 100).max(1)
}

pub fn right_of_way(network: &Network, incidence: &Incidence, node: u32, links: &[Link]) -> Option<RightOfWay> {
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

/// The lanes of an approach where a programme tells movements apart.
pub fn lanes(network: &Network, incidence: &Incidence, node: u32, approach: usize) -> Option<Lanes> {
    let plan = plan(network, node)?;
    let first = incidence.approaches(node).start;
    let place = |movement: usize| {
        let movement = &plan.movements[movement];
        ((movement.from - first) as u8, incidence.exit_number(movement.to))
    };
    let mut turns: Vec<Option<Turn>> = vec![None; incidence.exits(node).len()];
    for (number, movement) in plan.movements.iter().enumerate() {
        let (from, exit) = place(number);
        if usize::from(from) == approach {
            let signal = PlannedSignal::new(plan.cycle, plan.offset, movement.greens.clone());
            let holds = movement.holds.iter().map(|&other| place(other as usize)).collect();
            turns[usize::from(exit)] = Some(Turn::new(signal, movement.lanes, holds));
        }
    }
    let link = &network.links[first as usize + approach];
    let lanes = link.lanes.min(SignalPlan::MOST_LANES as u8);
    Some(Lanes::new(lanes, flow(link) / u32::from(lanes), turns.into()))
}

fn plan(network: &Network, node: u32) -> Option<&SignalPlan> {
    let number = network.plans.binary_search_by_key(&node, |plan| plan.node).ok()?;
    Some(&network.plans[number])
}

/// An intersection without signals, or with one phase only, is always green.
pub fn signals(network: &Network, node: u32, links: &[Link], offset: u16) -> (Programme, Vec<Phase>) {
    let arms: Vec<Arm> = links.iter().map(|link| Arm::of(network, node, link)).collect();
    let phases = group(&arms);
    if network.nodes[node as usize].has_signals() && phases.contains(&1) {
        (Programme::two_phases(offset), phases)
    } else {
        (Programme::ALWAYS_GREEN, vec![0; links.len()])
    }
}
