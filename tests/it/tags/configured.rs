//! Tuples, order, conditions and sets behind the tag; systems of every kind.

use std::sync::atomic::{AtomicUsize, Ordering};

use bevy::{
    ecs::{
        error::{BevyError, ErrorContext, FallbackErrorHandler},
        system::BoxedSystem,
    },
    prelude::*,
};
use bevy_affinity::prelude::*;

use crate::common::Scheduling;
use crate::tags::{Count, Trace, first, fourth, second, third, traced_frame};

const GANG: Scheduling = Scheduling::lock_step(3);

#[derive(SystemSet, Clone, Debug, PartialEq, Eq, Hash)]
enum Stage {
    Early,
    Late,
}

#[test]
fn one_system() {
    let mut app = GANG.app();
    app.add_systems(Update, first.affine());
    assert_eq!(traced_frame(&mut app), ["first"]);
}

#[test]
fn a_boxed_system() {
    let mut app = GANG.app();
    let boxed: BoxedSystem<(), ()> = Box::new(IntoSystem::into_system(second));
    app.add_systems(Update, (first.affine(), boxed.affine()).chain());
    assert_eq!(traced_frame(&mut app), ["first", "second"]);
}

#[test]
fn chained_tuples() {
    let mut app = GANG.app();
    app.add_systems(Update, (fourth, third, second, first).affine().chain());
    assert_eq!(traced_frame(&mut app), ["fourth", "third", "second", "first"]);
}

#[test]
fn nested_tuples() {
    let mut app = GANG.app();
    app.add_systems(Update, (((first,), (second, (third,))), fourth).affine());
    let mut trace = traced_frame(&mut app);
    trace.sort_unstable();
    assert_eq!(trace, ["first", "fourth", "second", "third"]);
}

#[test]
fn chains_of_tagged_and_untagged_tuples() {
    let mut app = GANG.app();
    app.add_systems(Update, (third, (second, first).affine().chain(), fourth.affine()).chain());
    assert_eq!(traced_frame(&mut app), ["third", "second", "first", "fourth"]);
}

#[test]
fn before_and_after_a_system() {
    let mut app = GANG.app();
    app.add_systems(Update, (first.affine().before(second), second, third.affine().after(second)));
    app.add_systems(Update, fourth.after(third));
    assert_eq!(traced_frame(&mut app), ["first", "second", "third", "fourth"]);
}

#[test]
fn before_and_after_all_tagged_systems() {
    let mut app = GANG.app();
    // Added against the order that is asked for, which Bevy would take otherwise.
    app.add_systems(Update, (second.affine(), first.before(AffineSystems)));
    app.add_systems(PostUpdate, (fourth.after(AffineSystems), third.affine()));
    assert_eq!(traced_frame(&mut app), ["first", "second", "third", "fourth"]);
}

#[test]
fn conditions() {
    let mut app = GANG.app();
    let odd_frame = |mut frame: Local<u32>| {
        *frame += 1;
        *frame % 2 == 1
    };
    app.add_systems(Update, (first, second).affine().chain().run_if(odd_frame));
    app.add_systems(Update, (third, fourth).affine().chain().distributive_run_if(|| false));
    assert_eq!(traced_frame(&mut app), ["first", "second"]);
    assert!(traced_frame(&mut app).is_empty());
}

#[test]
fn sets() {
    let mut app = GANG.app();
    app.configure_sets(Update, (Stage::Early, Stage::Late).chain());
    app.add_systems(
        Update,
        (first.affine().in_set(Stage::Late), (second, third).affine().chain().in_set(Stage::Early)),
    );
    assert_eq!(traced_frame(&mut app), ["second", "third", "first"]);
}

#[test]
fn exclusive_systems() {
    fn spawn(world: &mut World) {
        world.spawn(Count(7));
    }

    fn check(counts: AffineQuery<&Count>, mut trace: ResMut<Trace>) {
        assert!(counts.single().is_ok_and(|count| count.0 == 7));
        trace.0.push("spawned");
    }

    for scheduling in Scheduling::all() {
        let mut app = scheduling.app();
        app.add_systems(Update, (spawn, check).affine().chain());
        assert_eq!(traced_frame(&mut app), ["spawned"], "{scheduling:?}");
    }
}

#[test]
fn systems_that_return_results() {
    static ERRORS: AtomicUsize = AtomicUsize::new(0);

    fn note(_: BevyError, _: ErrorContext) {
        ERRORS.fetch_add(1, Ordering::Relaxed);
    }

    fn succeed(mut trace: ResMut<Trace>) -> Result {
        trace.0.push("succeeded");
        Ok(())
    }

    fn fail() -> Result {
        Err("no road ahead".into())
    }

    let mut app = GANG.app();
    app.insert_resource(FallbackErrorHandler(note)).add_systems(Update, (fail, succeed).affine().chain());
    assert_eq!(traced_frame(&mut app), ["succeeded"]);
    assert_eq!(ERRORS.load(Ordering::Relaxed), 1);
}

#[test]
fn systems_are_skipped_as_their_parameters_say() {
    fn only_one(_: Single<&Count>, mut trace: ResMut<Trace>) {
        trace.0.push("one");
    }

    let mut app = GANG.app();
    app.add_systems(Update, (only_one, first).affine().chain());
    assert_eq!(traced_frame(&mut app), ["first"]);
    app.world_mut().spawn(Count(0));
    assert_eq!(traced_frame(&mut app), ["one", "first"]);
}

#[test]
fn closures_and_pipes() {
    fn measure(counts: AffineQuery<&Count>) -> usize {
        counts.iter().count()
    }

    let mut app = GANG.app();
    app.world_mut().spawn(Count(0));
    let report = |In(count): In<usize>, mut trace: ResMut<Trace>| trace.0.push(if count == 1 { "one" } else { "?" });
    app.add_systems(
        Update,
        (measure.pipe(report), |mut trace: ResMut<Trace>| trace.0.push("closure")).affine().chain(),
    );
    assert_eq!(traced_frame(&mut app), ["one", "closure"]);
}

#[test]
fn local_state_and_ticks_are_kept_between_frames() {
    fn count_frames(mut frames: Local<u32>, added: AffineQuery<(), Added<Count>>, mut trace: ResMut<Trace>) {
        *frames += 1;
        assert_eq!(added.iter().count(), usize::from(*frames == 1), "frame {}", *frames);
        trace.0.push("counted");
    }

    let mut app = GANG.app();
    app.world_mut().spawn(Count(0));
    app.add_systems(Update, count_frames.affine());
    (0..3).for_each(|_| assert_eq!(traced_frame(&mut app), ["counted"]));
}

#[test]
fn tagged_systems_are_timed_by_name() {
    let mut app = GANG.app();
    app.add_systems(Update, ((first, second).affine().chain(), third));
    traced_frame(&mut app);
    traced_frame(&mut app);
    let systems = &app.world().resource::<AffinityDiagnostics>().systems;
    let calls: Vec<_> = systems.iter().map(|system| (system.name.as_str(), system.calls)).collect();
    assert_eq!(calls, [("it::tags::first", 2), ("it::tags::second", 2)]);
}
