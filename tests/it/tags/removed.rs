//! Tagged systems can be taken out of a schedule as any others can, and are forgotten then.

use bevy::{
    ecs::schedule::{InternedSystemSet, ScheduleCleanupPolicy},
    prelude::*,
};
use bevy_affinity::prelude::*;

use crate::common::Scheduling;
use crate::tags::{Trace, first, fourth, second, third, traced_frame};

#[derive(SystemSet, Clone, Debug, PartialEq, Eq, Hash)]
struct Group;

const POLICIES: [fn() -> ScheduleCleanupPolicy; 4] = [
    || ScheduleCleanupPolicy::RemoveSetAndSystems,
    || ScheduleCleanupPolicy::RemoveSystemsOnly,
    || ScheduleCleanupPolicy::RemoveSetAndSystemsAllowBreakages,
    || ScheduleCleanupPolicy::RemoveSystemsOnlyAllowBreakages,
];

fn fifth(mut trace: ResMut<Trace>) {
    trace.0.push("fifth");
}

/// What runs before and after `set` is removed, and after `fifth` was added. (Nothing that is in a
/// set that was removed can be added again, with or without tags: Bevy 0.19.1 panics.)
fn traces(tagged: bool, set: InternedSystemSet, policy: fn() -> ScheduleCleanupPolicy) -> [Vec<&'static str>; 3] {
    let mut app = Scheduling::lock_step(2).app();
    app.init_resource::<Trace>();
    match tagged {
        true => app.add_systems(
            Update,
            (first.affine(), (second, third).affine().chain().in_set(Group), fourth.affine()).chain(),
        ),
        false => app.add_systems(Update, (first, (second, third).chain().in_set(Group), fourth).chain()),
    };
    let before = traced_frame(&mut app);
    // Looked into, and perhaps given another executor.
    traced_frame(&mut app);
    app.world_mut()
        .schedule_scope(Update, |world, schedule| schedule.remove_systems_in_set(set, world, policy()))
        .expect("the set is there");
    let removed = traced_frame(&mut app);
    match tagged {
        true => app.add_systems(Update, fifth.affine().after(fourth)),
        false => app.add_systems(Update, fifth.after(fourth)),
    };
    let added = traced_frame(&mut app);
    [before, removed, added]
}

#[test]
fn what_is_left_runs_as_if_nothing_was_tagged() {
    for policy in POLICIES {
        for set in [Group.intern(), second.into_system_set().intern(), third.into_system_set().intern()] {
            let [before, mut removed, added] = traces(true, set, policy);
            let [_, mut plain, plain_added] = traces(false, set, policy);
            // Without the edges that went with the systems any order is right.
            removed.sort_unstable();
            plain.sort_unstable();
            assert_eq!(
                (before, removed),
                (vec!["first", "second", "third", "fourth"], plain),
                "{set:?} {:?}",
                policy()
            );
            assert_eq!(added.len(), plain_added.len(), "{set:?} {:?}", policy());
        }
    }
}

#[test]
fn all_tagged_systems_at_once() {
    for policy in POLICIES {
        let mut app = Scheduling::lock_step(2).app();
        app.add_systems(Update, (first.affine(), second, third.affine(), fourth).chain());
        assert_eq!(traced_frame(&mut app), ["first", "second", "third", "fourth"]);
        let removed = app
            .world_mut()
            .schedule_scope(Update, |world, schedule| schedule.remove_systems_in_set(AffineSystems, world, policy()));
        assert_eq!(removed.expect("the set is there"), 2);
        for _ in 0..3 {
            let mut traced = traced_frame(&mut app);
            traced.sort_unstable();
            assert_eq!(traced, ["fourth", "second"]);
        }
        assert!(app.world().resource::<AffinityDiagnostics>().systems.is_empty(), "{:?}", policy());
    }
}
