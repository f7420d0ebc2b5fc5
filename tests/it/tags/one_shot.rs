//! Tagged systems that no schedule runs.

use bevy::{ecs::system::RunSystemOnce, prelude::*};
use bevy_affinity::{affine_system, prelude::*};

use crate::common::{Scheduling, swept_rows};
use crate::tags::{Count, MANY, assert_counted, count_up, spawn_many};

fn sum(counts: AffineQuery<&Count>) -> u64 {
    counts.par_iter().map_reduce(|| 0, |count| count.0, |a, b| a + b)
}

#[test]
fn they_run_on_the_gang() {
    for scheduling in Scheduling::all() {
        let mut app = scheduling.app();
        spawn_many(&mut app);
        let count_up = app.register_system(affine_system(count_up));
        let sum = app.register_system(affine_system(sum));
        for frame in 1..=3 {
            app.update();
            app.world_mut().run_system(count_up).expect("it is registered");
            assert_eq!(app.world_mut().run_system(sum).expect("it is registered"), frame * MANY as u64);
        }
        assert_counted(&mut app, 3);
        if scheduling.is_parallel() {
            app.update();
            assert!(swept_rows(&app).iter().all(|&rows| rows > 0), "{scheduling:?}");
        }
    }
}

#[test]
fn once() {
    let mut app = Scheduling::lock_step(2).app();
    spawn_many(&mut app);
    app.world_mut().run_system_once(affine_system(count_up)).expect("it runs");
    assert_counted(&mut app, 1);
}

/// A command, an observer or an exclusive system may run one while a tagged system is run.
#[test]
fn from_within_a_tagged_system() {
    fn outer(world: &mut World) {
        world.run_system_once(affine_system(count_up)).expect("it runs");
    }

    for scheduling in Scheduling::all() {
        let mut app = scheduling.app();
        spawn_many(&mut app);
        app.add_systems(Update, outer.affine());
        (0..3).for_each(|_| app.update());
        assert_counted(&mut app, 3);
    }
}

/// The other half is tagged as well, wherever the pipe is.
#[test]
fn a_pipe_of_which_one_half_is_tagged() {
    type Adds = fn(&mut App);
    let pipes: [Adds; 3] = [
        |app| _ = app.add_systems(Update, affine_system(sum).pipe(count_up_behind).affine()),
        |app| _ = app.add_systems(Update, affine_system(sum).pipe(count_up_behind).run_if(|| true).affine()),
        |app| _ = app.add_systems(Update, (affine_system(sum).pipe(count_up_behind), || {}).chain().affine()),
    ];
    for add in pipes {
        let mut app = Scheduling::lock_step(2).app();
        spawn_many(&mut app);
        add(&mut app);
        app.update();
        assert_counted(&mut app, 1);
        assert_eq!(swept_rows(&app).iter().sum::<u64>(), 2 * MANY as u64);
    }
}

fn count_up_behind(_: In<u64>, counts: AffineQuery<&mut Count>) {
    count_up(counts);
}

/// Who tags a system twice tags it once: it is timed once, by its name.
#[test]
fn a_tagged_system_can_be_tagged() {
    let mut app = Scheduling::lock_step(2).app();
    app.world_mut().spawn_batch((0..100).map(Count));
    app.add_systems(Update, (affine_system(count_up).affine(), count_up.affine().affine()));
    app.update();
    app.update();
    let names: Vec<_> =
        app.world().resource::<AffinityDiagnostics>().systems.iter().map(|system| &system.name).collect();
    assert_eq!(names, ["it::tags::count_up", "it::tags::count_up#2"]);
}
