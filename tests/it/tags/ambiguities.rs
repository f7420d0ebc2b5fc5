//! What the plugins add is in no conflict with anything of Bevy's, and can be ordered against.

use std::panic::{AssertUnwindSafe, catch_unwind};

use bevy::{
    MinimalPlugins,
    diagnostic::{
        DiagnosticsPlugin, EntityCountDiagnosticsPlugin, FrameCountPlugin, FrameTimeDiagnosticsPlugin,
        LogDiagnosticsPlugin,
    },
    ecs::schedule::{LogLevel, ScheduleBuildSettings},
    input::InputPlugin,
    prelude::*,
    time::TimePlugin,
};
use bevy_affinity::{AffinitySystems, prelude::*};

use crate::common::Scheduling;
use crate::tags::count_up;

/// Plugins that are added together, with those that they need.
type Add = fn(&mut App);

const CLOCKS: [Add; 4] = [
    |_| {},
    |app| _ = app.add_plugins(TimePlugin),
    |app| _ = app.add_plugins((TimePlugin, FrameCountPlugin)),
    |app| _ = app.add_plugins(MinimalPlugins),
];

const DIAGNOSTICS: [Add; 5] = [
    |_| {},
    |app| _ = app.add_plugins(DiagnosticsPlugin),
    |app| _ = app.add_plugins((DiagnosticsPlugin, EntityCountDiagnosticsPlugin::default())),
    |app| _ = app.add_plugins((DiagnosticsPlugin, FrameTimeDiagnosticsPlugin::default())),
    |app| {
        app.add_plugins((
            DiagnosticsPlugin,
            FrameTimeDiagnosticsPlugin::default(),
            EntityCountDiagnosticsPlugin::default(),
            LogDiagnosticsPlugin::default(),
        ));
    },
];

/// `AffinityTransformPlugin` has tests of its own for this.
const TRANSFORMS: [Add; 2] = [|_| {}, |app| _ = app.add_plugins(TransformPlugin)];

const INPUT: [Add; 2] = [|_| {}, |app| _ = app.add_plugins(InputPlugin)];

/// Each combination that has what it needs: the times of frames and their number for two of the
/// diagnostics.
fn combinations() -> impl Iterator<Item = ([usize; 4], [Add; 4])> {
    let choices = (0..CLOCKS.len() * DIAGNOSTICS.len() * TRANSFORMS.len() * INPUT.len()).map(|number| {
        let (clock, rest) = (number % CLOCKS.len(), number / CLOCKS.len());
        let (diagnostics, rest) = (rest % DIAGNOSTICS.len(), rest / DIAGNOSTICS.len());
        [clock, diagnostics, rest % TRANSFORMS.len(), rest / TRANSFORMS.len()]
    });
    choices.filter(|[clock, diagnostics, ..]| *clock >= 2 || *diagnostics < 3).map(|choice| {
        let [clock, diagnostics, transforms, input] = choice;
        (choice, [CLOCKS[clock], DIAGNOSTICS[diagnostics], TRANSFORMS[transforms], INPUT[input]])
    })
}

/// Runs two frames, in which each ambiguity is an error; says whether there was none.
fn is_unambiguous(app: &mut App) -> bool {
    app.configure_schedules(ScheduleBuildSettings { ambiguity_detection: LogLevel::Error, ..default() });
    catch_unwind(AssertUnwindSafe(|| (0..2).for_each(|_| app.update()))).is_ok()
}

#[test]
fn no_combination_of_plugins_is_ambiguous() {
    for (choice, plugins) in combinations() {
        for order in 0..=2 {
            let mut app = Scheduling::lock_step(2).bare_app();
            let (before, after) = plugins.split_at([0, 2, 4][order]);
            before.iter().for_each(|add| add(&mut app));
            app.add_plugins(AffinityParallelPlugin);
            after.iter().for_each(|add| add(&mut app));
            app.add_systems(FixedUpdate, count_up.affine()).add_systems(Update, (count_up, || {}).affine());
            assert!(is_unambiguous(&mut app), "plugins {choice:?}, order {order}");
        }
    }
}

#[derive(Resource, Default)]
struct Seen(u64);

fn see(diagnostics: Res<AffinityDiagnostics>, mut seen: ResMut<Seen>) {
    seen.0 = diagnostics.frames;
}

#[test]
fn who_reads_the_diagnostics_when_they_are_written_is_told_and_can_be_ordered() {
    let seen = |systems: bevy::ecs::schedule::ScheduleConfigs<bevy::ecs::system::ScheduleSystem>| {
        let mut app = Scheduling::lock_step(2).app();
        app.init_resource::<Seen>().add_systems(Last, systems);
        is_unambiguous(&mut app).then(|| app.world().resource::<Seen>().0)
    };
    assert_eq!(seen(see.into_configs()), None);
    assert_eq!(seen(see.after(AffinitySystems::EndFrame)), Some(2));
    assert_eq!(seen(see.before(AffinitySystems::EndFrame)), Some(1));
}

#[test]
fn a_system_that_has_the_world_to_itself_may_run_in_first() {
    fn alone(_: &mut World) {}

    let mut app = Scheduling::lock_step(2).bare_app();
    let bevys = bevy::ecs::message::MessageUpdateSystems;
    app.add_plugins(AffinityParallelPlugin).add_systems(First, alone.after(bevys));
    assert!(is_unambiguous(&mut app));
}
