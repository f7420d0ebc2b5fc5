//! Two apps that run the same program: one with plain Bevy, one with this crate. A frame of both is
//! one step of the soak.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
    thread,
    time::Duration,
};

use bevy::{
    ecs::{entity_disabling::Disabled, query::Allow, schedule::SingleThreadedExecutor},
    prelude::*,
};
use bevy_affinity::prelude::*;

use crate::{
    changes::{Change, NextNumber},
    compare,
    components::{Number, Seen},
    order::by_archetype,
    program::{self, Log, Planted, Script, Side},
};

/// All that happens to both apps in one frame, and to the gang.
#[derive(Clone, Debug, Default)]
pub struct Frame {
    pub changes: Vec<Change>,
    pub script: Script,
    pub settings: Option<AffinitySettings>,
    pub mode: Option<SchedulerMode>,
    /// Long enough for workers to block.
    pub pause: Option<Duration>,
}

/// What an app is made with.
#[derive(Clone, Debug)]
pub struct Birth {
    pub settings: AffinitySettings,
    pub mode: SchedulerMode,
    /// Whether another system may run beside the tagged ones, and Bevy's multi-threaded executor
    /// has all schedules.
    pub beside: bool,
    pub static_transforms: bool,
}

/// One app, and what is asked of it every frame.
struct Twin {
    app: App,
    entities: QueryState<Entity, (With<Number>, Allow<Disabled>)>,
    rows: compare::Rows,
}

/// What a system does that runs beside the program.
#[derive(Resource, Default)]
struct Beside(u64);

fn beside(mut beside: ResMut<Beside>) {
    beside.0 += 1;
}

impl Twin {
    fn new(side: Side, birth: &Birth) -> Self {
        let mut app = App::new();
        app.add_plugins(TransformPlugin).init_resource::<NextNumber>().init_resource::<Beside>();
        if !birth.static_transforms {
            app.insert_resource(StaticTransformOptimizations::Disabled);
        }
        match side {
            Side::Plain => {
                let serially = |schedule: &mut Schedule| _ = schedule.set_executor(SingleThreadedExecutor::new());
                app.edit_schedule(Update, serially).edit_schedule(Last, serially);
            }
            Side::Ours => {
                app.insert_resource(birth.settings.clone()).insert_resource(birth.mode);
                app.add_plugins((AffinityParallelPlugin, AffinityTransformPlugin));
            }
        }
        program::add_to(&mut app, side);
        if birth.beside {
            app.insert_resource(AffinitySchedules::none()).add_systems(Update, beside);
        }
        let (entities, rows) = (app.world_mut().query_filtered(), app.world_mut().query_filtered());
        Self { app, entities, rows }
    }

    fn prepare(&mut self, frame: &Frame) {
        let entities: Vec<_> = self.in_order().into_iter().map(|(entity, ())| entity).collect();
        let world = self.app.world_mut();
        frame.changes.iter().for_each(|change| change.apply(world, &entities));
        world.insert_resource(frame.script.clone());
        world.resource_mut::<Log>().0.clear();
    }

    /// All entities, in the same order in both worlds.
    fn in_order(&mut self) -> Vec<(Entity, ())> {
        let world = self.app.world();
        by_archetype(world.entities(), self.entities.iter(world).map(|entity| (entity, ())))
    }

    /// The payload of the row that was to panic, if it did.
    ///
    /// # Errors
    /// What another panic said.
    fn update(&mut self) -> Result<Option<Planted>, String> {
        match catch_unwind(AssertUnwindSafe(|| self.app.update())).map_err(<Box<dyn Any + Send>>::downcast::<Planted>) {
            Ok(()) => Ok(None),
            Err(Ok(planted)) => Ok(Some(*planted)),
            Err(Err(other)) => Err(said(&*other)),
        }
    }

    fn side(&mut self) -> compare::Side<'_> {
        self.rows.update_archetypes(self.app.world());
        compare::Side { world: self.app.world(), rows: &mut self.rows }
    }
}

/// What a panic said.
fn said(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().map(String::as_str).or(payload.downcast_ref::<&str>().copied());
    text.unwrap_or("something that is no text").to_owned()
}

pub struct Twins {
    plain: Twin,
    ours: Twin,
}

impl Twins {
    pub fn new(birth: &Birth) -> Self {
        Self { plain: Twin::new(Side::Plain, birth), ours: Twin::new(Side::Ours, birth) }
    }

    /// Runs a frame of both. Whether both ended with the panic that was planted: they can only be
    /// dropped then.
    ///
    /// # Errors
    /// Any other panic, or one of a single app.
    pub fn run(&mut self, frame: &Frame) -> Result<bool, String> {
        let world = self.ours.app.world_mut();
        frame.settings.iter().for_each(|settings| world.insert_resource(settings.clone()));
        frame.mode.iter().for_each(|&mode| world.insert_resource(mode));
        self.plain.prepare(frame);
        self.ours.prepare(frame);
        frame.pause.iter().for_each(|&pause| thread::sleep(pause));
        let plain = self.plain.update().map_err(|panic| format!("a panic in plain Bevy: {panic}"))?;
        let ours = self.ours.update().map_err(|panic| format!("a panic: {panic}"))?;
        if plain != ours {
            return Err(format!("panics that left the app\n  ours:  {ours:?}\n  plain: {plain:?}"));
        }
        Ok(ours.is_some())
    }

    /// How many rows were compared.
    ///
    /// # Errors
    /// The first difference.
    pub fn compare(&mut self) -> Result<u64, String> {
        compare::compare(self.ours.side(), self.plain.side())
    }

    pub fn count(&mut self) -> usize {
        self.plain.entities.iter(self.plain.app.world()).count()
    }

    /// The number of the entity in a row.
    pub fn number_of(&mut self, row: usize) -> Option<u32> {
        let (entity, ()) = *self.plain.in_order().get(row)?;
        self.plain.app.world().get::<Number>(entity).map(|number| number.0)
    }

    /// Rows that workers other than the leader have swept since the settings last changed.
    pub fn shared_rows(&self) -> u64 {
        let diagnostics = self.ours.app.world().resource::<AffinityDiagnostics>();
        diagnostics.workers.iter().skip(1).map(|worker| worker.swept_rows).sum()
    }

    /// What the steps of the last frame found out.
    pub fn log(&self) -> &Log {
        self.plain.app.world().resource()
    }

    /// Changes one bit in our world alone, without telling anybody. If there is none, one result.
    pub fn plant(&mut self) {
        let world = self.ours.app.world_mut();
        let mut rows = world.query_filtered::<&mut Seen, Allow<Disabled>>();
        match rows.iter_mut(world).last() {
            Some(mut seen) => seen.bypass_change_detection().0 ^= 1,
            None => world.resource_mut::<Log>().note("planted", 1),
        }
    }
}
