//! A tagged system that is skipped has not run: it is not counted, and not in the record.

use bevy::{ecs::error::ignore, ecs::system::If, prelude::*};
use bevy_affinity::{SpanKind, prelude::*};

use crate::common::Scheduling;

#[derive(Component)]
struct Wanted;

#[derive(Resource)]
struct Missing;

#[derive(Resource, Default)]
struct Runs(u64);

fn with_single(_: Single<&Wanted>, mut runs: ResMut<Runs>) {
    runs.0 += 1;
}

fn with_if(_: If<Res<Missing>>, mut runs: ResMut<Runs>) {
    runs.0 += 1;
}

fn with_resource(_: Res<Missing>, mut runs: ResMut<Runs>) {
    runs.0 += 1;
}

fn unconditional(mut runs: ResMut<Runs>) {
    runs.0 += 1;
}

/// It runs, and fails.
fn failing(mut runs: ResMut<Runs>) -> Result {
    runs.0 += 1;
    Err("told to".into())
}

/// The calls that the diagnostics, the frames and the timeline know of.
fn known_calls(app: &App) -> [u64; 3] {
    let diagnostics = app.world().resource::<AffinityDiagnostics>();
    let timeline = app.world().resource::<AffinityTimeline>();
    [
        diagnostics.systems.iter().map(|system| system.calls).sum(),
        diagnostics.history().map(|frame| frame.calls).sum(),
        timeline.spans().filter(|span| span.kind == SpanKind::System).count() as u64,
    ]
}

#[test]
fn only_runs_are_calls() {
    for scheduling in [Scheduling::SERIAL, Scheduling::lock_step(2)] {
        let mut app = scheduling.app();
        app.set_error_handler(ignore).init_resource::<Runs>();
        app.world_mut().resource_mut::<AffinityTimeline>().record(true);
        app.add_systems(Update, (with_single, with_if, with_resource).affine())
            .add_systems(Update, unconditional.affine().run_if(|| false));
        (0..3).for_each(|_| app.update());
        assert_eq!(known_calls(&app), [0; 3]);
        assert!(app.world().resource::<AffinityDiagnostics>().systems.is_empty());

        app.insert_resource(Missing);
        let wanted = app.world_mut().spawn(Wanted).id();
        app.add_systems(Update, failing.affine());
        (0..3).for_each(|_| app.update());
        assert_eq!((known_calls(&app), app.world().resource::<Runs>().0), ([12; 3], 12));

        app.world_mut().despawn(wanted);
        app.world_mut().remove_resource::<Missing>();
        (0..3).for_each(|_| app.update());
        assert_eq!((known_calls(&app), app.world().resource::<Runs>().0), ([15; 3], 15));
    }
}
