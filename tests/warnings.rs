//! What the crate says in the log, and in panics, where it is used in a way that does not do what
//! was meant.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Mutex, Once, PoisonError},
};

use bevy::{ecs::system::RunSystemOnce, prelude::*};
use bevy_affinity::prelude::*;
use log::{Level, LevelFilter, Log, Metadata, Record};

#[path = "common/mod.rs"]
#[allow(dead_code, reason = "each test crate uses a part of it")]
mod common;

use common::Scheduling;

/// The warnings of this process, of all its tests.
struct Warnings(Mutex<Vec<String>>);

static WARNINGS: Warnings = Warnings(Mutex::new(Vec::new()));

impl Log for Warnings {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() <= Level::Warn
    }

    fn log(&self, record: &Record<'_>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(record.args().to_string());
    }

    fn flush(&self) {}
}

fn listen() {
    static HEARD: Once = Once::new();
    // Other tests wait until the first one has done both.
    HEARD.call_once(|| {
        log::set_logger(&WARNINGS).expect("the first logger of this process");
        log::set_max_level(LevelFilter::Warn);
    });
}

fn warnings_with(words: &str) -> Vec<String> {
    let warnings = WARNINGS.0.lock().unwrap_or_else(PoisonError::into_inner);
    warnings.iter().filter(|warning| warning.contains(words)).cloned().collect()
}

#[derive(Component)]
struct Health(u32);

fn app() -> App {
    listen();
    let mut app = Scheduling::lock_step(2).app();
    app.world_mut().spawn_batch((0..100).map(Health));
    app
}

#[test]
fn a_system_that_comes_and_goes_is_warned_of_once() {
    const LINE: u32 = line!() + 2;
    fn one_shot(mut healths: AffineQuery<&mut Health>) {
        healths.par_iter_mut().for_each(|mut health| health.0 += 1);
    }

    let mut app = app();
    (0..3).for_each(|_| app.world_mut().run_system_once(one_shot).unwrap());
    let warnings = warnings_with(&format!("tests/warnings.rs:{LINE}:"));
    assert_eq!(warnings.len(), 1, "{warnings:?}");
}

#[test]
fn untagged_systems_are_named_with_the_place_once_each() {
    const FIRST: u32 = line!() + 2;
    fn untagged(mut healths: AffineQuery<&mut Health>) {
        healths.par_iter_mut().for_each(|mut health| health.0 += 1);
        healths.par_iter().for_each(|_| {});
    }
    fn other_untagged(healths: AffineQuery<&Health>) {
        healths.par_iter().for_each(|_| {});
    }

    let mut app = app();
    app.add_systems(Update, (untagged, other_untagged));
    (0..3).for_each(|_| app.update());
    for line in [FIRST, FIRST + 1, FIRST + 4] {
        let warnings = warnings_with(&format!("tests/warnings.rs:{line}:"));
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert!(warnings[0].contains("because its system is not tagged"), "{warnings:?}");
        assert!(!warnings[0].contains("Plugin"), "it is there: {warnings:?}");
        // Bevy has names for systems only if it is built with its feature `debug`.
        assert!(warnings[0].contains("warnings::Health`"), "{warnings:?}");
    }
}

#[test]
fn an_untagged_fused_system_is_called_one() {
    fn heal(Row(mut health): Row<&mut Health>) {
        health.0 += 1;
    }

    let mut app = app();
    app.add_systems(Update, fused((heal,)));
    app.update();
    let warnings = warnings_with("a fused system runs on Bevy's threads");
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("its kernels are `") && warnings[0].contains("heal"), "{warnings:?}");
}

#[test]
fn tags_that_come_too_late_are_named() {
    fn too_late(mut healths: AffineQuery<&mut Health>) {
        healths.par_iter_mut().for_each(|mut health| health.0 += 1);
    }

    let mut app = app();
    app.add_systems(Update, too_late.run_if(|| true).affine());
    // Built, and so initialised, before the plugin has seen it.
    app.world_mut()
        .schedule_scope(Update, |world, schedule| schedule.initialize(world).map(|_| ()).expect("it can be built"));
    (0..3).for_each(|_| app.update());
    let warnings = warnings_with("is not tagged, since its schedule was built");
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("tests/warnings.rs:") && warnings[0].contains("Update"), "{warnings:?}");
}

/// Running `system` panics; the message.
fn panic_of<M>(system: impl IntoAffine<M>) -> String {
    let mut app = app();
    app.add_systems(Update, system.affine());
    let payload = catch_unwind(AssertUnwindSafe(|| app.update())).expect_err("it panics");
    payload.downcast_ref::<String>().cloned().unwrap_or_default()
}

#[test]
fn senders_that_are_receivers_are_told_of_scatter_within() {
    fn conduct(senders: AffineQuery<(Entity, &Health)>, mut receivers: AffineQuery<&mut Health>) {
        let receive = |mut health: Mut<Health>, message: u32| health.0 += message;
        senders.par_iter().scatter(&mut receivers, |outbox, (entity, _)| outbox.send(entity, 1_u32), receive);
    }

    let message = panic_of(conduct);
    assert!(message.contains("error[B0001]: AffineQuery<&mut Health> in "), "{message}");
    assert!(message.contains("`scatter_within`"), "{message}");
}

#[test]
fn a_second_agenda_is_named() {
    struct Meals;
    let message = panic_of(|_: Agenda<Meals>, _: Agenda<Meals>| {});
    assert!(message.contains("`Agenda<Meals>` conflicts with a previous parameter"), "{message}");
}

/// A system that is tagged is not told to be: what is missing is the plugin.
#[test]
fn a_tagged_system_without_the_plugin_is_told_so() {
    const LINE: u32 = line!() + 2;
    fn tagged(healths: AffineQuery<&Health>) {
        healths.par_iter().for_each(|_| {});
    }
    listen();
    let mut world = World::new();
    let mut schedule = Schedule::default();
    schedule.add_systems(tagged.affine());
    (0..3).for_each(|_| schedule.run(&mut world));
    let warnings = warnings_with(&format!("tests/warnings.rs:{LINE}:"));
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("the world has no `AffinityParallelPlugin`"), "{warnings:?}");
}

/// Also where another system is tagged, which leaves something of the plugin's in the world.
#[test]
fn an_untagged_system_without_the_plugin_is_told_of_both() {
    const LINE: u32 = line!() + 2;
    fn untagged(healths: AffineQuery<&Health>) {
        healths.par_iter().for_each(|_| {});
    }
    listen();
    let mut world = World::new();
    let mut schedule = Schedule::default();
    schedule.add_systems(((|| {}).affine(), untagged).chain());
    schedule.run(&mut world);
    let warnings = warnings_with(&format!("tests/warnings.rs:{LINE}:"));
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("and `AffinityParallelPlugin` to the app"), "{warnings:?}");
    assert!(!warnings[0].contains("did not see"), "{warnings:?}");
}

/// Bevy's systems run, and are not said to be untagged.
#[test]
fn transforms_without_the_plugin_are_bevys() {
    listen();
    let mut app = App::new();
    app.add_plugins((bevy::app::TaskPoolPlugin::default(), TransformPlugin, AffinityTransformPlugin));
    let entity = app.world_mut().spawn(Transform::from_xyz(1.0, 2.0, 3.0)).id();
    (0..3).for_each(|_| app.update());
    assert_eq!(app.world().get::<GlobalTransform>(entity).unwrap().translation(), Vec3::new(1.0, 2.0, 3.0));
    assert_eq!(warnings_with("`AffinityTransformPlugin` leaves transforms").len(), 1);
    assert_eq!(warnings_with("src/transforms").len(), 0);
}

/// Rows of another agenda are never due, in silence otherwise.
#[test]
fn an_agenda_without_rows_is_told_of_once() {
    struct Meals;
    fn eat(mut healths: AffineQuery<&mut Health>, mut agenda: Agenda<Meals>) {
        healths.par_iter_mut().due(&mut agenda, 1).for_each(|_| None);
    }
    let mut app = app();
    app.world_mut().spawn((Health(1), Due::<()>::at(0)));
    app.add_systems(Update, eat.affine());
    (0..200).for_each(|_| app.update());
    let warnings = warnings_with("no entity has a `Due<Meals>`");
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("tests/warnings.rs:"), "{warnings:?}");
}

/// An app's pool follows its settings; one of the program's own is not what systems get.
#[test]
fn a_pool_that_the_program_inserts_is_replaced_and_named() {
    listen();
    let foreign = || AffinityPool::new(&AffinitySettings { workers: WorkerCount::Exactly(3), ..default() });
    let mut app = App::new();
    app.insert_resource(AffinitySettings { workers: WorkerCount::Exactly(2), ..default() });
    app.insert_resource(foreign()).add_plugins(AffinityParallelPlugin).insert_resource(foreign());
    app.update();
    assert_eq!(app.world().resource::<AffinityPool>().workers(), 2);
    // As the plugin comes, and in the first frame.
    assert_eq!(warnings_with("`AffinityPool` that the program inserted").len(), 2);
}

/// A change of the settings is no pool of the program's own.
#[test]
fn a_pool_that_settings_replace_is_not_warned_of() {
    fn sweep(mut healths: AffineQuery<&mut Health>) {
        healths.par_iter_mut().for_each(|mut health| health.0 += 1);
    }
    listen();
    let mut app = App::new();
    app.add_plugins(AffinityParallelPlugin).add_systems(Startup, sweep.affine()).add_systems(Update, sweep.affine());
    for workers in [2, 3, 1, 2] {
        app.insert_resource(AffinitySettings { workers: WorkerCount::Exactly(workers), ..default() });
        (0..2).for_each(|_| app.update());
        assert_eq!(app.world().resource::<AffinityPool>().workers(), workers);
    }
    // The other test may have been first.
    assert!(warnings_with("`AffinityPool` that the program inserted").len() <= 2);
}

#[test]
fn systems_that_run_do_not_follow_exclusive_and_it_is_said() {
    listen();
    let mut app = app();
    app.update();
    let told = || warnings_with("`AffinitySettings::exclusive` was changed").len();
    assert_eq!(told(), 0);
    app.world_mut().resource_mut::<AffinitySettings>().exclusive = true;
    (0..2).for_each(|_| app.update());
    assert_eq!(told(), 1);
}

#[test]
fn messages_that_are_dropped_are_told_of_once_for_each_place() {
    #[derive(Resource)]
    struct Targets {
        gone: Entity,
        other: Entity,
    }
    const FIRST: u32 = line!() + 2;
    fn to_the_dead(mut healths: AffineQuery<&mut Health>, targets: Res<Targets>) {
        healths.par_iter_mut().scatter_within(|outbox, _| outbox.send(targets.gone, ()), |_, ()| {});
    }
    fn to_the_dead_too(mut healths: AffineQuery<&mut Health>, targets: Res<Targets>) {
        healths.par_iter_mut().scatter_within(|outbox, _| outbox.send(targets.gone, ()), |_, ()| {});
    }
    fn to_others(mut healths: AffineQuery<&mut Health>, targets: Res<Targets>) {
        healths.par_iter_mut().scatter_within(|outbox, _| outbox.send(targets.other, ()), |_, ()| {});
    }

    let mut app = app();
    let world = app.world_mut();
    let [gone, other] = [(); 2].map(|()| world.spawn_empty().id());
    world.despawn(gone);
    world.insert_resource(Targets { gone, other });
    app.add_systems(Update, (to_the_dead, to_the_dead_too, to_others).chain().affine());
    (0..3).for_each(|_| app.update());
    for (line, why) in [(FIRST, "do not exist"), (FIRST + 3, "do not exist"), (FIRST + 6, "do not match")] {
        let warnings = warnings_with(&format!("tests/warnings.rs:{line}:"));
        assert_eq!(warnings.len(), 1, "{line}: {warnings:?}");
        assert!(warnings[0].contains("dropped 100 messages") && warnings[0].contains(why), "{warnings:?}");
    }
}

/// To begin with all rows are looked at, later those that are due are found: a call of its own for
/// the crate, not for who reads its words.
#[test]
fn a_call_for_due_rows_is_told_of_once() {
    #[derive(Resource)]
    struct Gone(Entity);
    const UNTAGGED: u32 = line!() + 2;
    fn untagged(mut healths: AffineQuery<&mut Health>, mut agenda: Agenda<()>, mut now: Local<u64>) {
        healths.par_iter_mut().due(&mut agenda, *now).for_each(|_| Some(1_000));
        *now += 1;
    }
    const TAGGED: u32 = line!() + 7;
    fn to_the_dead(
        mut healths: AffineQuery<&mut Health>,
        mut agenda: Agenda<()>,
        mut now: Local<u64>,
        gone: Res<Gone>,
    ) {
        let due = healths.par_iter_mut().due(&mut agenda, *now);
        due.scatter_within(
            |outbox, _| {
                outbox.send(gone.0, ());
                Some(1_000)
            },
            |_, ()| None,
        );
        *now += 1;
    }
    let mut app = app();
    let world = app.world_mut();
    world.spawn_batch((0..100).map(|time| (Health(1), Due::<()>::at(time))));
    let gone = world.spawn_empty().id();
    world.despawn(gone);
    world.insert_resource(Gone(gone));
    app.add_systems(Update, (to_the_dead.affine(), untagged).chain());
    (0..50).for_each(|_| app.update());
    for (line, words) in [(UNTAGGED, "not tagged"), (TAGGED, "dropped")] {
        let warnings = warnings_with(&format!("tests/warnings.rs:{line}:"));
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert!(warnings[0].contains(words), "{warnings:?}");
    }
}

#[test]
fn a_tree_without_a_root_that_matches_is_told_of_once() {
    #[derive(Component)]
    struct Leaf;
    const LINE: u32 = line!() + 2;
    fn walk(mut healths: AffineTree<&mut Health>, roots: Query<Entity, With<Leaf>>) {
        healths.propagate(roots.iter().map(|root| (root, ())), |(), _, _| Some(()));
    }
    let mut app = app();
    app.add_systems(Update, walk.affine());
    app.update();
    let warnings = || warnings_with(&format!("tests/warnings.rs:{LINE}:"));
    assert!(warnings().is_empty(), "there is no root: {:?}", warnings());
    let matching = app.world_mut().spawn((Health(1), Leaf)).id();
    app.world_mut().spawn(Leaf);
    app.update();
    assert!(warnings().is_empty(), "one of two matches: {:?}", warnings());
    app.world_mut().despawn(matching);
    (0..3).for_each(|_| app.update());
    assert_eq!(warnings().len(), 1, "{:?}", warnings());
    assert!(warnings()[0].contains("visits nothing: its roots (1)"), "{:?}", warnings());
}

/// As a library does that starts its threads when it is used first.
#[test]
#[cfg(target_os = "linux")]
fn a_thread_that_was_started_on_a_worker_is_told_of() {
    use std::{
        sync::mpsc::channel,
        thread::{sleep, spawn},
        time::{Duration, Instant},
    };

    let mut app = app();
    let pool = app.world().resource::<AffinityPool>().clone();
    let several = bevy_affinity::topology::Topology::get().cores.len() > 1;
    // The thread ends when this is dropped.
    let child = Mutex::new(None);
    let start = || {
        let (end, ended) = channel::<()>();
        spawn(move || _ = ended.recv());
        end
    };
    let began = Instant::now();
    while several && child.lock().unwrap().is_none() && began.elapsed() < Duration::from_secs(5) {
        pool.run(|worker| {
            if worker.core().is_some() {
                child.lock().unwrap().get_or_insert_with(start);
            }
        });
    }
    let is_kept = child.lock().unwrap().is_some();
    let warnings = || warnings_with("a thread that was started on a worker");
    while is_kept && warnings().is_empty() {
        assert!(began.elapsed() < Duration::from_secs(30), "nothing was said");
        sleep(Duration::from_millis(10));
        app.update();
    }
    (0..3).for_each(|_| app.update());
    assert_eq!(warnings().len(), usize::from(is_kept));
}
