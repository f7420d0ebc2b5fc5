//! Kernels may overlap with each other, and with nothing else.

use bevy::{
    ecs::{
        schedule::{LogLevel, ScheduleBuildSettings, ScheduleConfigs},
        system::ScheduleSystem,
    },
    prelude::*,
};
use bevy_affinity::prelude::*;

use crate::common::Scheduling;
use crate::fused::{Count, Number};

#[derive(Resource, Default)]
struct Total(u64);

fn count_up(Row(mut count): Row<&mut Count>) {
    count.0 += 1;
}

fn read_count(Row(_): Row<(&Count, &Number)>) {}

fn read_total(Row(_): Row<&Number>, total: &Total) {
    assert_eq!(total.0, 0);
}

/// Whether the systems can run in any order.
fn is_unambiguous<M>(systems: impl IntoScheduleConfigs<ScheduleSystem, M>) -> bool {
    let mut app = Scheduling::lock_step(2).app();
    app.init_resource::<Total>();
    let mut schedule = Schedule::default();
    schedule.set_build_settings(ScheduleBuildSettings { ambiguity_detection: LogLevel::Error, ..default() });
    schedule.add_systems(systems);
    schedule.initialize(app.world_mut()).is_ok()
}

fn with(other: ScheduleConfigs<ScheduleSystem>) -> bool {
    is_unambiguous((fused((count_up, read_count, read_total)).affine(), other))
}

#[test]
fn what_any_kernel_touches_is_in_conflict_with_other_systems() {
    fn write_count(_: Query<&mut Count>) {}
    fn write_number(_: Query<&mut Number>) {}
    fn write_total(_: ResMut<Total>) {}

    assert!(!with(write_count.into_configs()));
    assert!(!with(write_number.into_configs()));
    assert!(!with(write_total.into_configs()));
}

#[test]
fn what_no_kernel_touches_is_not() {
    fn read_others(_: Query<(&Number, &Name)>, _: Res<Total>) {}
    fn write_others(_: Query<&mut Count, Without<Count>>, _: Query<&mut Name>) {}

    assert!(with(read_others.into_configs()));
    assert!(with(write_others.into_configs()));
}

fn run<M>(system: impl IntoScheduleConfigs<ScheduleSystem, M>) {
    let mut app = Scheduling::lock_step(2).app();
    app.world_mut().spawn((Count(0), Number(0)));
    app.add_systems(Update, system).update();
}

#[test]
#[should_panic(expected = "B0001")]
fn a_shared_query_cannot_read_what_its_own_kernel_writes() {
    fn conflicting(_: Row<&mut Count>, _: Query<&Count>) {}

    run(fused((conflicting,)).affine());
}

#[test]
#[should_panic(expected = "B0001")]
fn a_shared_query_cannot_read_what_an_earlier_kernel_writes() {
    fn conflicting(_: Row<&Number>, _: Query<&Count>) {}

    run(fused((count_up, conflicting)).affine());
}

#[test]
#[should_panic(expected = "B0001")]
fn a_shared_query_cannot_read_what_a_later_kernel_writes() {
    fn conflicting(_: Row<&Number>, _: Query<EntityRef>) {}

    run(fused((conflicting, count_up)).affine());
}

#[test]
fn a_shared_query_can_read_other_entities() {
    fn disjoint(_: Row<&Number>, counts: Query<&Count, Without<Number>>) {
        assert!(counts.is_empty());
    }
    fn numbered(Row(mut count): Row<&mut Count, With<Number>>) {
        count.0 += 1;
    }

    run(fused((numbered, disjoint)).affine());
}

#[test]
#[should_panic(expected = "conflicts with a previous access")]
fn a_row_cannot_conflict_with_itself() {
    fn conflicting(_: Row<(&mut Count, &Count)>) {}

    run(fused((conflicting,)).affine());
}

#[test]
#[should_panic(expected = "Resource does not exist")]
fn a_missing_resource_is_reported_as_by_any_system() {
    run(fused((read_total,)).affine());
}
