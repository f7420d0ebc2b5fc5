//! Copies a running city into a simulation of its own.

use std::sync::Arc;

use bevy::prelude::{Component, World};

use super::Now;
use super::entities::{CurrentRoutes, Number, Plan};
use super::ways::Ways;
use crate::model::Demand;
use crate::plain::{Plain, State};

/// The city as it is between two steps, on arrays and one thread. It knows which roads are closed,
/// and its drivers go on looking for other ways; it knows nothing of orders that have not taken
/// effect.
pub fn fork(world: &mut World) -> Plain {
    let ways = world.get_resource::<Ways>();
    let (experience, replans) =
        ways.map(|ways| (ways.experience().clone(), ways.replans().clone())).unwrap_or_default();
    let rerouter = ways.and_then(Ways::rerouter);
    let state = State {
        now: world.resource::<Now>().0,
        routes: Arc::clone(&world.resource::<CurrentRoutes>().0),
        demand: world.resource::<Demand>().clone(),
        intersections: rows(world),
        roads: rows(world),
        due: rows(world),
        trips: rows(world),
        experience,
        rerouter,
        replans,
    };
    Plain::resume(Arc::clone(&world.resource::<Plan>().0), state)
}

/// A component of all its entities, by their numbers.
fn rows<C: Component + Clone>(world: &mut World) -> Vec<C> {
    let mut query = world.query::<(&Number, &C)>();
    let mut rows: Vec<(u32, C)> = query.iter(world).map(|(number, row)| (number.0, row.clone())).collect();
    rows.sort_unstable_by_key(|&(number, _)| number);
    rows.into_iter().map(|(_, row)| row).collect()
}
