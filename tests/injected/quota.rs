//! A CPU quota: `WorkerCount::Auto` takes no more workers than it keeps busy, and one that comes
//! while an app runs slows it but never stops it.

use std::{
    thread,
    time::{Duration, Instant},
};

use bevy::prelude::*;
use bevy_affinity::{prelude::*, topology::Topology};

use crate::{
    alone::{PATIENCE, alone, skip},
    assert_frames,
    cgroup::OwnGroup,
    common::{Scheduling, start_compute_threads},
    counting, workers,
};

/// A gang that may have all cores.
fn auto() -> AffinitySettings {
    AffinitySettings { spare_cores: SpareCores::Exactly(0), ..default() }
}

/// A group of this process; says what is missing where there can be none.
fn own_group() -> Option<OwnGroup> {
    // Not by the topology, which would keep for a while what it finds here.
    if thread::available_parallelism().map_or(1, usize::from) < 2 {
        skip("needs two cores, and leave to keep them busy");
        return None;
    }
    OwnGroup::enter().map_err(|error| skip(&format!("needs a control group that may be limited ({error})"))).ok()
}

fn app() -> App {
    start_compute_threads();
    let mut app = App::new();
    app.insert_resource(auto()).insert_resource(SchedulerMode::LockStep).add_plugins(AffinityParallelPlugin);
    counting(app)
}

fn run_until(app: &mut App, expected: usize) {
    let began = Instant::now();
    while workers(app) != expected {
        assert_frames(app, 1);
        assert!(began.elapsed() < PATIENCE / 2, "{} workers instead of {expected}", workers(app));
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_quota_from_the_start() {
    alone(|| {
        let Some(group) = own_group() else { return };
        group.limit(Some(100)).expect("a group of ours");
        let mut app = app();
        assert_eq!((workers(&app), thread::available_parallelism().map_or(1, usize::from)), (1, 1));
        assert_frames(&mut app, 20);
    });
}

#[test]
fn a_quota_that_comes_and_goes() {
    alone(|| {
        let Some(group) = own_group() else { return };
        let mut app = app();
        let all = workers(&app);
        assert_eq!(all, Topology::get().parallelism());
        // Less than a core for the whole gang: rounds stop in their midst until the next period.
        group.limit(Some(20)).expect("a group of ours");
        app.insert_resource(Scheduling::lock_step(all).settings());
        assert_frames(&mut app, 300);
        assert_eq!(workers(&app), all);

        app.insert_resource(auto());
        run_until(&mut app, 1);
        group.limit(None).expect("a group of ours");
        run_until(&mut app, all);
        assert_frames(&mut app, 50);
    });
}
