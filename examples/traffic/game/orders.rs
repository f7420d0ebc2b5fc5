//! Carries the player's orders to the city, and tells of each in the log.

use bevy::prelude::*;
use bevy_affinity::prelude::*;

use super::score::Score;
use super::shared::{Frame, GameState};
use crate::model::Demand;
use crate::simulation::{self, Now, Order};

/// What panels and keys ask for; given at the next frame's beginning, before any step.
#[derive(Resource, Default)]
pub struct Wishes(pub Vec<Order>);

pub(super) fn plugin(app: &mut App) {
    app.init_resource::<Wishes>()
        .add_systems(Update, give_orders.after(Frame::Input).before(Frame::Simulate))
        .add_systems(
            Update,
            tell_mode.run_if(resource_equals(GameState::Playing).and_then(resource_changed::<SchedulerMode>)),
        );
}

fn give_orders(world: &mut World) {
    for order in std::mem::take(&mut world.resource_mut::<Wishes>().0) {
        if is_second_rush(world, order) {
            info!("a rush hour is under way already");
            continue;
        }
        match simulation::give(world, order) {
            Ok(at) => {
                info!("order for second {at}: {}", describe(order));
                Score::note_order(world, at, order);
            }
            Err(refusal) => warn!("refused: {refusal}"),
        }
    }
}

/// Whether a rush hour is ordered while one runs, or is about to begin: it would only be longer.
fn is_second_rush(world: &World, order: Order) -> bool {
    let (now, score) = (world.resource::<Now>().0, world.resource::<Score>());
    matches!(order, Order::RushHour { .. }) && (world.resource::<Demand>().rush_end() > now || score.awaits_rush(now))
}

fn describe(order: Order) -> String {
    match order {
        Order::Signals { node, timing } => format!(
            "signals of intersection {node}: cycle {} s, main green {} s, offset {} s",
            timing.cycle, timing.main_green, timing.offset
        ),
        Order::Road { road, closed: true } => format!("close road {road}"),
        Order::Road { road, closed: false } => format!("reopen road {road}"),
        Order::RushHour { node } => format!("rush hour toward intersection {node}"),
    }
}

fn tell_mode(mode: Res<SchedulerMode>) {
    info!("mode: {:?}", *mode);
}
