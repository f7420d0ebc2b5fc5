//! Tagged systems that no schedule runs.

use bevy::{
    ecs::system::{RunSystemOnce, SystemId},
    prelude::*,
};
use bevy_affinity::{affine_system, prelude::*};

use crate::common::{Scheduling, start_compute_threads, swept_rows};
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

/// How often a one-shot system was called, and which rows it found to have changed.
type Looked = (u64, u64);

fn look(changed: AffineQuery<&Count, Changed<Count>>, mut calls: Local<u64>) -> Looked {
    *calls += 1;
    (*calls, changed.par_iter().map_reduce(|| 0, |count| count.0, |one, other| one + other))
}

fn look_plainly(changed: Query<&Count, Changed<Count>>, mut calls: Local<u64>) -> Looked {
    *calls += 1;
    (*calls, changed.iter().map(|count| count.0).sum())
}

/// A system that is run by others.
#[derive(Resource)]
struct Kept(SystemId<(), Looked>);

fn run_kept(world: &mut World) -> Looked {
    let kept = world.resource::<Kept>().0;
    world.run_system(kept).expect("it is registered")
}

/// What one-shot systems return, if they can be run.
fn looks(scheduling: Option<Scheduling>) -> Vec<Option<Looked>> {
    start_compute_threads();
    let mut app = scheduling.map_or_else(App::new, Scheduling::app);
    let rows: Vec<_> = app.world_mut().spawn_batch((0..800).map(Count)).collect();
    let mut looks = Vec::new();
    let mut look_at = |app: &mut App, id: SystemId<(), Looked>| {
        looks.push(app.world_mut().run_system(id).ok());
        app.update();
        for &row in rows.iter().skip(looks.len()).step_by(50) {
            app.world_mut().get_mut::<Count>(row).expect("it is there").0 += 1;
        }
    };
    let handle = match scheduling {
        None => app.world_mut().register_tracked_system(look_plainly),
        Some(_) => app.world_mut().register_tracked_system(affine_system(look)),
    };
    let id = SystemId::from(&handle);
    (0..3).for_each(|_| look_at(&mut app, id));
    // It lives as long as the last handle to it.
    let other_handle = handle.clone();
    drop(handle);
    (0..2).for_each(|_| look_at(&mut app, id));
    drop(other_handle);
    (0..2).for_each(|_| look_at(&mut app, id));

    let id = match scheduling {
        None => app.world_mut().register_system(look_plainly),
        Some(_) => app.world_mut().register_system(affine_system(look)),
    };
    (0..2).for_each(|_| look_at(&mut app, id));
    let removed = app.world_mut().unregister_system(id).expect("it is registered");
    look_at(&mut app, id);
    let id = app.world_mut().register_boxed_system(removed.system());
    (0..2).for_each(|_| look_at(&mut app, id));
    app.insert_resource(Kept(id));
    looks.extend((0..2).map(|_| app.world_mut().run_system_cached(run_kept).ok()));
    looks
}

#[test]
fn one_shot_systems_come_and_go_as_in_plain_bevy() {
    let expected = looks(None);
    let calls: Vec<_> = expected.iter().map(|looked| looked.map_or(0, |(calls, _)| calls)).collect();
    // When its last handle is dropped a system goes at the end of the frame.
    assert_eq!(calls, [1, 2, 3, 4, 5, 6, 0, 1, 2, 0, 3, 4, 5, 6]);
    for scheduling in Scheduling::all() {
        assert_eq!(looks(Some(scheduling)), expected, "{scheduling:?}");
    }
}
