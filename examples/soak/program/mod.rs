//! The program that both worlds run: each step once over plain `Query` and once over this crate's
//! parameters, and the same function of a row in both.

mod due;
mod faults;
mod inner;
mod kernels;
mod mail;
mod orders;
mod pool;
mod sweeps;
mod trees;
mod watch;

use bevy::{
    ecs::{schedule::ScheduleConfigs, system::ScheduleSystem},
    prelude::*,
};
use bevy_affinity::prelude::*;

pub use faults::Planted;
pub use orders::Note;

pub type Configs = ScheduleConfigs<ScheduleSystem>;

/// Which of the two worlds.
#[derive(Resource, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Bevy alone.
    Plain,
    /// With this crate.
    Ours,
}

/// One step of a frame.
pub struct Step {
    name: &'static str,
    systems: Configs,
}

impl Side {
    /// A step that is one system on either side.
    fn step<P, O>(
        self,
        name: &'static str,
        plain: impl IntoSystem<(), (), P>,
        ours: impl IntoSystem<(), (), O>,
    ) -> Step {
        let systems = match self {
            Self::Plain => plain.into_configs(),
            Self::Ours => ours.affine(),
        };
        Step { name, systems }
    }
}

/// What a frame's steps do; the same in both worlds.
#[derive(Resource, Clone, Debug, Default)]
pub struct Script {
    /// What the choices in closures depend on.
    pub salt: u64,
    /// A bit for each step that runs.
    pub steps: u64,
    /// What the clock shows: rows are due by it.
    pub now: u64,
    /// The entity whose row panics, and nobody catches it.
    pub doomed: Option<u32>,
}

/// What the steps of a frame found out, in their order.
#[derive(Resource, Default, Debug)]
pub struct Log(pub Vec<(&'static str, u64)>);

impl Log {
    pub fn note(&mut self, what: &'static str, value: u64) {
        self.0.push((what, value));
    }
}

#[derive(SystemSet, Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct StepSet(usize);

/// All steps, in their order.
pub fn steps(side: Side) -> Vec<Step> {
    let parts = [
        sweeps::steps(side),
        mail::steps(side),
        due::steps(side),
        kernels::steps(side),
        orders::steps(side),
        trees::steps(side),
        pool::steps(side),
        inner::steps(side),
        faults::steps(side),
    ];
    parts.into_iter().flatten().collect()
}

/// Their names.
pub fn step_names() -> Vec<&'static str> {
    steps(Side::Plain).iter().map(|step| step.name).collect()
}

/// Adds the program to an app.
pub fn add_to(app: &mut App, side: Side) {
    app.insert_resource(side).init_resource::<Script>().init_resource::<Log>().add_message::<Note>();
    app.init_resource::<due::Post>().init_resource::<Calendar<u64>>();
    for (number, step) in steps(side).into_iter().enumerate() {
        let runs = move |script: Res<Script>| script.steps >> number & 1 == 1;
        app.configure_sets(Update, StepSet(number).run_if(runs));
        if number > 0 {
            app.configure_sets(Update, StepSet(number - 1).before(StepSet(number)));
        }
        app.add_systems(Update, step.systems.in_set(StepSet(number)));
    }
    app.add_systems(Last, watch::watch);
}
