//! What controls an intersection: signals or right of way, and what its approaches pass with that.

use super::incidence::Incidence;
use super::lanes::{Lanes, Turn};
use super::planned_signal::PlannedSignal;
use super::right_of_way::{RightOfWay, Side};
use super::road::flow;
use super::signal::{Arm, Phase, Programme, group};
use crate::map::{self, Link, Network, SignalPlan};

/// Vehicles an hour that each link passes at its end, in the order of the network: with its share
/// of green, or as far as it has to give way.
pub fn capacities(network: &Network, incidence: &Incidence) -> Vec<u32> {
    (0..network.nodes.len() as u32).flat_map(|node| of_node(network, incidence, node)).collect()
}

fn of_node(network: &Network, incidence: &Incidence, node: u32) -> Vec<u32> {
    let links = incidence.links_into(network, node);
    let control = network.nodes[node as usize].control;
    let Rules { programme, phases, right_of_way, .. } = Rules::new(network, incidence, node, control, 0);
    let capacity = |(index, (link, phase)): (usize, (&Link, Phase))| {
        let yields = right_of_way.as_ref().map_or(100, |right_of_way| right_of_way.percent(index));
        let planned = lanes(network, incidence, node, index).map(|lanes| lanes.green_percent());
        let green = planned.unwrap_or(programme.green_percent(phase));
        entry_flow(link, right_of_way.as_ref(), index) * green.min(yields) / 100
    };
    links.iter().zip(phases).enumerate().map(capacity).collect()
}

/// What controls one intersection.
#[derive(Clone, Debug)]
pub struct Rules {
    pub programme: Programme,
    /// By approach, as are the flows.
    pub phases: Vec<Phase>,
    pub flows: Vec<u32>,
    pub right_of_way: Option<RightOfWay>,
}

impl Rules {
    /// What `control` means at an intersection; signals, if that has any, are ahead by `offset`.
    pub fn new(network: &Network, incidence: &Incidence, node: u32, control: map::Control, offset: u16) -> Self {
        let links = incidence.links_into(network, node);
        let phases = phases(network, node, links);
        let has_signals = control == map::Control::Signals && phases.contains(&1);
        let programme = if has_signals { Programme::two_phases(offset) } else { Programme::ALWAYS_GREEN };
        // One phase only is always green.
        let phases = if has_signals { phases } else { vec![0; links.len()] };
        let right_of_way = right_of_way(network, incidence, node, links, control);
        let flow = |(index, link)| entry_flow(link, right_of_way.as_ref(), index);
        let flows = links.iter().enumerate().map(flow).collect();
        Self { programme, phases, flows, right_of_way }
    }

    /// Why signals cannot be put up or taken away at an intersection, if they cannot.
    pub fn are_fixed(network: &Network, node: u32) -> Option<&'static str> {
        let first = network.links.partition_point(|link| link.to < node);
        let links = &network.links[first..network.links.partition_point(|link| link.to <= node)];
        if plan(network, node).is_some() {
            Some("the scenario's programme")
        } else if network.nodes[node as usize].control == map::Control::Roundabout {
            Some("a roundabout")
        } else {
            (!phases(network, node, links).contains(&1)).then_some("no roads that cross")
        }
    }
}

/// Vehicles an hour that an approach passes while it has green and nobody is in its way.
fn entry_flow(link: &Link, right_of_way: Option<&RightOfWay>, approach: usize) -> u32 {
    let percent = right_of_way.map_or(100, |right_of_way| right_of_way.entry_percent(approach));
    (flow(link) * percent / 100).max(1)
}

fn right_of_way(
    network: &Network,
    incidence: &Incidence,
    node: u32,
    links: &[Link],
    control: map::Control,
) -> Option<RightOfWay> {
    let into: Vec<Side> = links.iter().map(|link| side(network, node, link)).collect();
    let exits = incidence.exits(node).iter();
    let out: Vec<Side> = exits.map(|&road| side(network, node, &network.links[road as usize])).collect();
    RightOfWay::new(control, &into, &out, network.left_hand)
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

/// In which phase each approach would have green.
fn phases(network: &Network, node: u32, links: &[Link]) -> Vec<Phase> {
    let arms: Vec<Arm> = links.iter().map(|link| Arm::of(network, node, link)).collect();
    group(&arms)
}
