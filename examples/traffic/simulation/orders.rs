//! What the player tells the city to do. An order takes effect at the start of a stated second,
//! whatever runs the city and however fast, so that the same orders always lead to the same city.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use bevy::ecs::component::{Component, Mutable};
use bevy::ecs::system::SystemState;
use bevy::prelude::{Entity, Mut, Query, Res, Resource, World};
use bevy_affinity::prelude::Agenda;

use super::Now;
use super::entities::{Crossings, Departures, Directory, Plan, time};
use super::router::Request;
#[cfg(feature = "game")]
use super::ways::Ways;
use super::ways::{self, ROUTING_TIME};
use crate::city::City;
use crate::model::{Demand, Due, Intersection, Road, Timing};

/// How long a rush hour lasts: half an hour, in seconds.
pub const RUSH_HOUR: u32 = 1_800;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The signals of an intersection follow another timing.
    Signals { node: u32, timing: Timing },
    /// A road closes or reopens. Cars on it drive on, none enters it.
    Road { road: u32, closed: bool },
    /// Most trips lead toward an intersection for a while.
    RushHour { node: u32 },
}

/// Why the city does not take an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal(String);

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for Refusal {}

/// Orders that have not taken effect yet, in the order in which they will.
#[derive(Resource, Default)]
pub struct Orders {
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

    fn insert(&mut self, at: u32, order: Order) {
        let place = self.pending.partition_point(|&(other, _)| other <= at);
        self.pending.insert(place, (at, order));
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

/// Gives an order and returns the second of its effect.
pub fn give(world: &mut World, order: Order) -> Result<u32, Refusal> {
    check(world, order)?;
    let now = world.resource::<Now>().0;
    let at = match order {
        Order::Road { road, closed } => {
            ways::request(world, Request::Road { road, closed });
            now + ROUTING_TIME
        }
        Order::Signals { .. } | Order::RushHour { .. } => now,
    };
    world.get_resource_or_init::<Orders>().insert(at, order);
    Ok(at)
}

fn check(world: &World, order: Order) -> Result<(), Refusal> {
    let city = world.resource::<Plan>();
    let (kind, number, count) = match order {
        Order::Road { road, .. } => ("road", road, city.network.links.len()),
        Order::Signals { node, .. } | Order::RushHour { node } => ("intersection", node, city.network.nodes.len()),
    };
    if number as usize >= count {
        return Err(Refusal(format!("there is no {kind} {number}: the last is {}", count - 1)));
    }
    if let Order::Signals { node, timing } = order {
        let entity = world.resource::<Directory>().intersection(node);
        if !world.get::<Intersection>(entity).is_some_and(Intersection::has_signals) {
            return Err(Refusal(format!("intersection {node} has no signals")));
        }
        timing.check().map_err(|error| Refusal(error.to_string()))?;
    }
    Ok(())
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
    if world.contains_resource::<Orders>() {
        world.resource_scope(|world, mut orders: Mut<Orders>| obey(world, &mut orders));
    }
}

fn obey(world: &mut World, orders: &mut Orders) {
    let now = world.resource::<Now>().0;
    while let Some(order) = orders.take_due(now) {
        match order {
            Order::Signals { node, timing } => {
                change_intersection(world, node, now, |intersection| intersection.set_timing(timing, now));
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

/// From second `now` on most trips lead toward an intersection.
pub fn start_rush(demand: &mut Demand, city: &City, node: u32, now: u32) {
    let position = |node: u32| (city.network.nodes[node as usize].x, city.network.nodes[node as usize].y);
    demand.rush(now + RUSH_HOUR, position(node), position, &city.routes);
}
