//! Carries the player's orders to the city, and tells of each in the log.

use bevy::prelude::*;
use bevy_affinity::prelude::*;

use super::journal::Journal;
use super::score::Score;
use super::shared::{Frame, GameState};
use crate::model::{Demand, Order};
use crate::simulation::{self, Now};

/// What panels and keys ask for; given at the next frame's beginning, before any step.
#[derive(Resource, Default)]
pub struct Wishes(Vec<Wish>);

enum Wish {
    /// With one click or key.
    Orders(Vec<Order>),
    Undo,
}

impl Wishes {
    pub fn one(&mut self, order: Order) {
        self.all(vec![order]);
    }

    /// Orders that belong together.
    pub fn all(&mut self, orders: Vec<Order>) {
        self.0.push(Wish::Orders(orders));
    }

    /// Takes the last order back.
    pub fn undo(&mut self) {
        self.0.push(Wish::Undo);
    }
}

pub(super) fn plugin(app: &mut App) {
    app.init_resource::<Wishes>()
        .init_resource::<Journal>()
        .add_systems(Update, fulfil.after(Frame::Input).before(Frame::Simulate))
        .add_systems(
            Update,
            tell_mode.run_if(resource_equals(GameState::Playing).and_then(resource_changed::<SchedulerMode>)),
        );
}

fn fulfil(world: &mut World) {
    for wish in std::mem::take(&mut world.resource_mut::<Wishes>().0) {
        match wish {
            Wish::Orders(orders) => note_and_give(world, &orders),
            Wish::Undo => undo(world),
        }
    }
}

fn note_and_give(world: &mut World, orders: &[Order]) {
    let (Some(&first), now) = (orders.first(), world.resource::<Now>().0) else { return };
    if let Some(obstacle) = obstacle(world, first) {
        info!("{obstacle}");
        return;
    }
    let more = if orders.len() > 1 { format!(", and {} more", orders.len() - 1) } else { String::new() };
    Journal::note(world, now + first.delay(), orders, describe(first) + &more);
    give(world, orders);
}

fn undo(world: &mut World) {
    let Some((text, orders)) = world.resource_mut::<Journal>().take_last() else {
        info!("nothing to take back");
        return;
    };
    info!("undo: {text}");
    give(world, &orders);
}

fn give(world: &mut World, orders: &[Order]) {
    for &order in orders {
        match simulation::give(world, order) {
            Ok(at) => {
                info!("order for second {at}: {}", describe(order));
                Score::note_order(world, at, order);
            }
            Err(refusal) => warn!("refused: {refusal}"),
        }
    }
}

/// Why an order would change nothing. A rush hour while one runs, or is about to begin, would only
/// be longer.
fn obstacle(world: &World, order: Order) -> Option<&'static str> {
    let Order::RushHour { .. } = order else { return None };
    let (now, demand) = (world.resource::<Now>().0, world.resource::<Demand>());
    if demand.is_given() {
        Some("no rush hour: all trips are given")
    } else if demand.rush_end() > now || world.resource::<Score>().awaits_rush(now) {
        Some("a rush hour is under way already")
    } else {
        None
    }
}

fn describe(order: Order) -> String {
    match order {
        Order::Signals { node, timing } => format!(
            "signals of intersection {node}: cycle {} s, main green {} s, offset {} s",
            timing.cycle, timing.main_green, timing.offset
        ),
        Order::Lights { node, up: true } => format!("signals for intersection {node}"),
        Order::Lights { node, up: false } => format!("no signals for intersection {node}"),
        Order::Road { road, closed: true } => format!("close road {road}"),
        Order::Road { road, closed: false } => format!("reopen road {road}"),
        Order::RushHour { node } => format!("rush hour toward intersection {node}"),
    }
}

fn tell_mode(mode: Res<SchedulerMode>) {
    info!("mode: {:?}", *mode);
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::model::{Day, MORNING, PlannedTrips};

    #[test]
    fn trips_that_are_given_have_no_rush_hour() {
        let (day, rush) = (Day::starting_at(MORNING), Order::RushHour { node: 0 });
        let mut world = World::new();
        world.insert_resource(Now(0));
        world.init_resource::<Score>();
        world.init_resource::<Journal>();
        world.insert_resource(Demand::endless(1, day, 60..120));
        assert_eq!(obstacle(&world, rush), None);
        world.insert_resource(Demand::planned(1, day, Arc::new(PlannedTrips::new([]))));
        assert_eq!(obstacle(&world, rush), Some("no rush hour: all trips are given"));
        assert_eq!(obstacle(&world, Order::Road { road: 0, closed: true }), None);
        note_and_give(&mut world, &[rush]);
        assert!(world.resource::<Journal>().latest().next().is_none());
    }
}
