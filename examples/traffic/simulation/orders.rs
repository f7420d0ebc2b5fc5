//! What the player tells the city to do. An order takes effect at the start of a stated second,
//! whatever runs the city and however fast, so that the same orders always lead to the same city.

use std::collections::VecDeque;
use std::sync::Arc;

use bevy::ecs::component::{Component, Mutable};
use bevy::ecs::system::SystemState;
use bevy::prelude::{Entity, Mut, Query, Res, Resource, World};
use bevy_affinity::prelude::Agenda;

use super::Now;
use super::entities::{Crossings, Departures, Directory, Plan, time};
use super::router::Request;
use super::ways;
#[cfg(feature = "game")]
use super::ways::Ways;
use crate::city::City;
use crate::model::{Demand, Due, Intersection, Order, Refusal, Road};

/// How long a rush hour lasts: half an hour, in seconds.
pub const RUSH_HOUR: u32 = 1_800;

/// Orders that have not taken effect yet, in the order in which they will.
#[derive(Resource, Default)]
pub struct Orders {
    /// Those that are not given yet.
    planned: VecDeque<(u32, Order)>,
    pending: VecDeque<(u32, Order)>,
}

impl Orders {
    /// When a road closes or reopens next, and whether it closes.
    #[cfg(feature = "game")]
    pub fn of_road(&self, road: u32) -> Option<(u32, bool)> {
        self.pending.iter().find_map(|&(at, order)| match order {
            Order::Road { road: other, closed } if other == road => Some((at, closed)),
            _ => None,
        })
    }

    /// What happens to the signals of an intersection next, in the order in which it will.
    #[cfg(feature = "game")]
    pub fn of_signals(&self, node: u32) -> impl Iterator<Item = Order> {
        self.pending.iter().map(|&(_, order)| order).filter(move |order| match *order {
            Order::Signals { node: other, .. } | Order::Lights { node: other, .. } => other == node,
            Order::Road { .. } | Order::RushHour { .. } => false,
        })
    }

    /// The rush hours that a file or a challenge has planned.
    #[cfg(feature = "game")]
    pub fn planned_for_all(&self) -> impl Iterator<Item = (u32, Order)> {
        self.planned.iter().copied().filter(|(_, order)| order.is_for_all())
    }

    /// Whether orders are still to take effect, planned or given, that are for the played city only.
    #[cfg(feature = "game")]
    pub fn plans_changes(&self) -> bool {
        self.planned.iter().chain(&self.pending).any(|(_, order)| !order.is_for_all())
    }

    /// Whether the next signals at an intersection are put up or taken away.
    fn lights(&self, node: u32) -> Option<bool> {
        self.pending.iter().rev().find_map(|&(_, order)| match order {
            Order::Lights { node: other, up } if other == node => Some(up),
            _ => None,
        })
    }

    fn insert(&mut self, at: u32, order: Order) {
        let place = self.pending.partition_point(|&(other, _)| other <= at);
        self.pending.insert(place, (at, order));
    }

    /// Whether there is something to do in second `now`.
    fn are_due(&self, now: u32) -> bool {
        [&self.planned, &self.pending].into_iter().filter_map(VecDeque::front).any(|&(at, _)| at <= now)
    }

    fn take_planned(&mut self, now: u32) -> Option<Order> {
        let (_, order) = self.planned.pop_front_if(|&mut (at, _)| at <= now)?;
        Some(order)
    }

    fn take_due(&mut self, now: u32) -> Option<Order> {
        let (_, order) = self.pending.pop_front_if(|&mut (at, _)| at <= now)?;
        Some(order)
    }

    /// Whether an order of second `now` needs other ways.
    #[cfg(feature = "game")]
    fn needs_ways(&self, now: u32) -> bool {
        self.pending.iter().any(|&(at, order)| at <= now && matches!(order, Order::Road { .. }))
    }
}

/// Has orders given at the begin of stated seconds; those of one second in the order in which they
/// stand here, behind those that are planned already.
pub fn plan(world: &mut World, orders: &[(u32, Order)]) -> Result<(), Refusal> {
    let planned = world.get_resource::<Orders>().into_iter().flat_map(|all| all.planned.iter().copied());
    let network = &world.resource::<Plan>().network;
    Order::check_all(orders, planned, network, |node| has_signals(world, node)).map_err(|(_, refusal)| refusal)?;
    let mut all = world.get_resource_or_init::<Orders>();
    all.planned.extend(orders);
    all.planned.make_contiguous().sort_by_key(|&(at, _)| at);
    Ok(())
}

/// Gives an order and returns the second of its effect.
#[cfg(any(test, feature = "game"))]
pub fn give(world: &mut World, order: Order) -> Result<u32, Refusal> {
    check(world, order)?;
    Ok(give_checked(world, order))
}

fn give_checked(world: &mut World, order: Order) -> u32 {
    let at = world.resource::<Now>().0 + order.delay();
    if let Order::Road { road, closed } = order {
        ways::request(world, Request::Road { road, closed });
    }
    world.get_resource_or_init::<Orders>().insert(at, order);
    at
}

#[cfg(any(test, feature = "game"))]
fn check(world: &World, order: Order) -> Result<(), Refusal> {
    order.check(&world.resource::<Plan>().network, |node| has_signals(world, node))
}

/// Whether there are signals, or will be.
fn has_signals(world: &World, node: u32) -> bool {
    let pending = world.get_resource::<Orders>().and_then(|orders| orders.lights(node));
    if let Some(up) = pending {
        return up;
    }
    let entity = world.resource::<Directory>().intersection(node);
    world.get::<Intersection>(entity).is_some_and(Intersection::has_signals)
}

/// Whether the next step can be made without waiting for a search.
#[cfg(feature = "game")]
pub fn is_ready(world: &mut World) -> bool {
    let now = world.resource::<Now>().0;
    let an_order_waits = world.get_resource::<Orders>().is_some_and(|orders| orders.needs_ways(now));
    world.get_resource_mut::<Ways>().is_none_or(|mut ways| ways.are_ready(now, an_order_waits))
}

/// Lets the orders of this second take effect.
pub(super) fn obey_all(world: &mut World) {
    let now = world.resource::<Now>().0;
    if world.get_resource::<Orders>().is_some_and(|orders| orders.are_due(now)) {
        give_planned(world);
        world.resource_scope(|world, mut orders: Mut<Orders>| obey(world, &mut orders));
    }
}

fn give_planned(world: &mut World) {
    let now = world.resource::<Now>().0;
    while let Some(order) = world.resource_mut::<Orders>().take_planned(now) {
        give_checked(world, order);
    }
}

fn obey(world: &mut World, orders: &mut Orders) {
    let now = world.resource::<Now>().0;
    while let Some(order) = orders.take_due(now) {
        match order {
            Order::Signals { node, timing } => {
                change_intersection(world, node, now, |intersection| intersection.set_timing(timing, now));
            }
            Order::Lights { node, up } => {
                let rules = world.resource::<Plan>().rules(node, up);
                change_intersection(world, node, now, |intersection| intersection.set_rules(rules, now));
            }
            Order::Road { road, closed } => {
                ways::take(world);
                set_closed(world, road, closed, now);
            }
            Order::RushHour { node } => rush(world, node, now),
        }
    }
}

fn set_closed(world: &mut World, road: u32, closed: bool, now: u32) {
    let (node, exit) = world.resource::<Plan>().road_start(road);
    change_intersection(world, node, now, |intersection| intersection.set_closed(exit, closed));
    let entity = world.resource::<Directory>().road(road);
    change::<Road>(world, entity, |road| road.closed = closed);
}

/// Changes an intersection, and lets it look at once what that means.
fn change_intersection(world: &mut World, node: u32, now: u32, change_it: impl FnOnce(&mut Intersection)) {
    let entity = world.resource::<Directory>().intersection(node);
    change(world, entity, change_it);
    let mut crossings = SystemState::<Agenda<Crossings>>::new(world);
    if let Ok(crossings) = crossings.get_mut(world) {
        crossings.wake(entity, time(now));
    }
}

fn change<C: Component<Mutability = Mutable>>(
    world: &mut World,
    entity: bevy::prelude::Entity,
    change_it: impl FnOnce(&mut C),
) {
    if let Some(mut component) = world.get_mut::<C>(entity) {
        change_it(&mut component);
    }
}

fn rush(world: &mut World, node: u32, now: u32) {
    let city = Arc::clone(&world.resource::<Plan>().0);
    start_rush(&mut world.resource_mut::<Demand>(), &city, node, now);
    let mut cars = SystemState::<(Query<(Entity, &mut Due)>, Agenda<Departures>, Res<Demand>)>::new(world);
    let Ok((mut cars, departures, demand)) = cars.get_mut(world) else { return };
    for (entity, mut due) in &mut cars {
        due.hurry(now, &demand);
        // Sooner than before, or as before.
        departures.wake(entity, time(due.0));
    }
}

/// From second `now` on most trips lead toward an intersection, but for trips that are given.
pub fn start_rush(demand: &mut Demand, city: &City, node: u32, now: u32) {
    if demand.is_given() {
        return;
    }
    let position = |node: u32| (city.network.nodes[node as usize].x, city.network.nodes[node as usize].y);
    demand.rush(now + RUSH_HOUR, position(node), position, &city.routes);
}
