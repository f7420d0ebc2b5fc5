//! The city in Bevy: ordinary systems over entities. Tagged with `.affine()` they run on the pinned
//! gang; untagged they are what they would be without the crate.

mod app;
mod counts;
mod entities;
mod experience;
#[cfg(feature = "game")]
mod fork;
mod gauge;
mod orders;
mod record;
mod router;
mod systems;
mod threads;
mod ways;

pub use app::CityApp;

use std::sync::Arc;

use bevy::app::{App, Plugin};
use bevy::ecs::schedule::ScheduleLabel;
use bevy::prelude::{IntoScheduleConfigs, Resource, World};
use bevy_affinity::prelude::*;

use crate::city::City;
use crate::districts::Districts;
use crate::model::TravelTimes;
#[cfg(not(feature = "game"))]
use entities::CurrentRoutes;
pub use entities::Plan;
use entities::spawn;
#[cfg(feature = "game")]
pub use entities::{CurrentRoutes, Directory, Number};
pub use experience::Experience;
#[cfg(feature = "game")]
pub use fork::fork;
#[cfg(any(test, feature = "game"))]
pub use orders::give;
pub use orders::start_rush;
#[cfg(feature = "game")]
pub use orders::{Orders, is_ready, plan};

use systems::{arrive, cross, depart, sample};

/// Runs once for every second of the city's time.
#[derive(ScheduleLabel, Clone, Debug, PartialEq, Eq, Hash)]
pub struct Step;

/// The second that is being simulated.
#[derive(Resource)]
pub struct Now(pub u32);

/// Adds the systems that move a city's traffic: see [`populate`] for the city.
pub struct TrafficPlugin {
    /// Whether the systems run on the gang.
    pub affine: bool,
}

impl Plugin for TrafficPlugin {
    fn build(&self, app: &mut App) {
        if self.affine {
            app.add_systems(Step, (depart, cross, arrive, sample).affine().chain());
        } else {
            app.add_systems(Step, (depart, cross, arrive, sample).chain());
        }
        counts::plugin(app, self.affine);
    }
}

/// Simulates a second: orders take effect, drivers take other ways, and the city's systems run.
pub fn step(world: &mut World) {
    orders::obey_all(world);
    ways::replan(world);
    world.run_schedule(Step);
    world.resource_mut::<Now>().0 += 1;
}

/// Gives the world a city to simulate, which must happen before the first [`Step`].
pub fn populate(world: &mut World, city: Arc<City>) {
    let directory = spawn(world, &city);
    world.insert_resource(directory);
    world.insert_resource(CurrentRoutes(Arc::clone(&city.routes)));
    world.insert_resource(city.demand());
    world.insert_resource(TravelTimes::default());
    world.insert_resource(Districts::new(&city.network));
    world.insert_resource(Plan(city));
    world.insert_resource(Now(0));
}
