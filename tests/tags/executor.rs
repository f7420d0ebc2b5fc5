//! Which executor a schedule runs on.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use bevy::{
    ecs::{
        error::{BevyError, ErrorContext},
        schedule::{FixedBitSet, MultiThreadedExecutor, ScheduleConfigs, SystemExecutor, SystemSchedule},
        system::ScheduleSystem,
    },
    prelude::*,
};
use bevy_affinity::prelude::*;

use crate::{assert_counted, common::Scheduling, count_up, spawn_many};

/// Bevy's executor, counting its runs.
struct Counting {
    runs: Arc<AtomicUsize>,
    executor: MultiThreadedExecutor,
}

impl SystemExecutor for Counting {
    fn init(&mut self, schedule: &SystemSchedule) {
        self.executor.init(schedule);
    }

    fn run(
        &mut self,
        schedule: &mut SystemSchedule,
        world: &mut World,
        skip_systems: Option<&FixedBitSet>,
        error_handler: fn(BevyError, ErrorContext),
    ) {
        self.runs.fetch_add(1, Ordering::Relaxed);
        self.executor.run(schedule, world, skip_systems, error_handler);
    }

    fn set_apply_final_deferred(&mut self, value: bool) {
        self.executor.set_apply_final_deferred(value);
    }
}

fn untagged() {}

/// How often Bevy's executor ran a schedule with these systems in three frames; `count_up` must be
/// among them.
fn runs_on_bevys_executor(systems: ScheduleConfigs<ScheduleSystem>) -> usize {
    let mut app = Scheduling::lock_step(3).app();
    let runs = Arc::new(AtomicUsize::new(0));
    app.edit_schedule(Update, |schedule| {
        schedule.set_executor(Counting { runs: runs.clone(), executor: MultiThreadedExecutor::new() });
    });
    spawn_many(&mut app);
    app.add_systems(Update, systems);
    (0..3).for_each(|_| app.update());
    assert_counted(&mut app, 3);
    runs.load(Ordering::Relaxed)
}

#[test]
fn a_schedule_of_tagged_systems_runs_on_one_thread() {
    assert_eq!(runs_on_bevys_executor((count_up, untagged).affine()), 0);
}

#[test]
fn sync_points_do_not_untag_a_schedule() {
    fn spawn(mut commands: Commands) {
        commands.spawn_empty();
    }

    assert_eq!(runs_on_bevys_executor((spawn, count_up).affine().chain()), 0);
}

#[test]
fn a_mixed_schedule_keeps_its_executor() {
    assert_eq!(runs_on_bevys_executor((count_up.affine(), untagged).into_configs()), 3);
}
