//! The city in Bevy: ordinary systems over entities. Tagged with `.affine()` they run on the pinned gang; untagged they
//! are what they would be without the crate.

mod app;
mod entities;
mod gauge;
mod systems;
mod threads;

pub use app::CityApp;

use std::sync::Arc;

use bevy::app::{App, Plugin};
use bevy::ecs::schedule::ScheduleLabel;
use bevy::prelude::{IntoScheduleConfigs, Resource};
use bevy_affinity::prelude::*;

use crate::city::City;
use entities::{Plan, spawn};
use systems::{arrive, cross, depart, sample, tick};

/// Runs once for every second of the city's time.
#[derive(ScheduleLabel, Clone, Debug, PartialEq, Eq, Hash)]
pub struct Step;

/// The second that is being simulated.
#[derive(Resource)]
pub struct Now(pub u32);

/// Adds a city and the systems that move its traffic.
pub struct TrafficPlugin {
    pub city: Arc<City>,
    /// Whether the systems run on the gang.
    pub affine: bool,
}

impl Plugin for TrafficPlugin {
    fn build(&self, app: &mut App) {
        let directory = spawn(app.world_mut(), &self.city);
        app.insert_resource(directory).insert_resource(Plan(Arc::clone(&self.city))).insert_resource(Now(0));
        if self.affine {
            app.add_systems(Step, (depart, cross, arrive, sample, tick).affine().chain());
        } else {
            app.add_systems(Step, (depart, cross, arrive, sample, tick).chain());
        }
    }
}
