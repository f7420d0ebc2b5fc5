//! What kernels see as changed.

use std::panic::{AssertUnwindSafe, catch_unwind};

use bevy::prelude::*;
use bevy_affinity::prelude::*;

use crate::common::{Scheduling, start_compute_threads};
use crate::fused::Count;

/// How often its row's `Count` was seen to have changed.
#[derive(Component, Default)]
struct Before(u64);

#[derive(Component, Default)]
struct After(u64);

fn see_before(Row(mut before): Row<&mut Before, Changed<Count>>) {
    before.0 += 1;
}

fn see_after(Row((mut after, count)): Row<(&mut After, Ref<Count>)>) {
    after.0 += u64::from(count.is_changed());
}

#[test]
fn a_change_is_seen_later_in_the_run_and_earlier_in_the_next() {
    fn change_once(Row(mut count): Row<&mut Count>) {
        if count.0 == 0 {
            count.0 = 1;
        }
    }

    for scheduling in Scheduling::all() {
        let mut app = scheduling.app();
        let row = app.world_mut().spawn((Count(1), Before::default(), After::default())).id();
        app.add_systems(Update, fused((see_before, change_once, see_after)).affine());
        let seen = |app: &App| [app.world().get::<Before>(row).unwrap().0, app.world().get::<After>(row).unwrap().0];
        app.update();
        assert_eq!(seen(&app), [1, 1], "it is new to both: {scheduling:?}");
        app.update();
        assert_eq!(seen(&app), [1, 1], "nothing changed: {scheduling:?}");
        app.world_mut().get_mut::<Count>(row).unwrap().bypass_change_detection().0 = 0;
        app.update();
        assert_eq!(seen(&app), [1, 2], "the later one sees it at once: {scheduling:?}");
        app.update();
        assert_eq!(seen(&app), [2, 2], "the earlier one in the next run: {scheduling:?}");
        app.update();
        assert_eq!(seen(&app), [2, 2], "nobody twice: {scheduling:?}");
    }
}

#[test]
fn a_run_that_panicked_is_not_a_last_run() {
    #[derive(Resource)]
    struct Fails(bool);

    fn fail(Row(_): Row<&Count>, fails: &Fails) {
        assert!(!fails.0, "told to");
    }

    start_compute_threads();
    let mut world = World::new();
    world.insert_resource(Fails(false));
    let row = world.spawn((Count(1), Before::default(), After::default())).id();
    let mut system = IntoSystem::into_system(fused((fail, see_before, see_after)));
    system.initialize(&mut world);
    system.run((), &mut world).expect("it runs");
    world.get_mut::<Count>(row).unwrap().0 = 2;
    world.insert_resource(Fails(true));
    let failed = catch_unwind(AssertUnwindSafe(|| system.run((), &mut world)));
    assert!(failed.is_err());
    world.insert_resource(Fails(false));
    system.run((), &mut world).expect("it runs again");
    assert_eq!(world.get::<Before>(row).unwrap().0, 2);
    assert_eq!(world.get::<After>(row).unwrap().0, 2);
}

/// Wherever in the list the kernel is whose resource is missing: the others have not run either.
#[test]
fn a_run_that_lacks_a_resource_is_not_a_last_run() {
    #[derive(Resource)]
    struct Needed;

    fn needs(Row(_): Row<&Count>, _: &Needed) {}

    fn check<M, S: IntoSystem<(), (), M>>(chain: S) {
        let mut world = World::new();
        world.insert_resource(Needed);
        let row = world.spawn((Count(1), Before::default(), After::default())).id();
        let mut system = IntoSystem::into_system(chain);
        system.initialize(&mut world);
        let mut run = |world: &mut World| {
            let is_complete = system.run((), world).is_ok();
            let row = world.entity(row);
            (is_complete, row.get::<Before>().unwrap().0, row.get::<After>().unwrap().0)
        };
        assert_eq!(run(&mut world), (true, 1, 1));
        for seen in 2..5 {
            world.get_mut::<Count>(row).unwrap().0 += 1;
            assert_eq!(run(&mut world), (true, seen, seen), "it changed");
            world.remove_resource::<Needed>();
            (0..seen).for_each(|_| assert_eq!(run(&mut world), (false, seen, seen), "none runs"));
            world.insert_resource(Needed);
            assert_eq!(run(&mut world), (true, seen, seen), "nothing changed since");
        }
        // What changes while it cannot run is new when it can.
        world.remove_resource::<Needed>();
        assert_eq!(run(&mut world), (false, 4, 4));
        world.get_mut::<Count>(row).unwrap().0 += 1;
        assert_eq!(run(&mut world), (false, 4, 4));
        world.insert_resource(Needed);
        assert_eq!(run(&mut world), (true, 5, 5));
        assert_eq!(run(&mut world), (true, 5, 5));
    }

    start_compute_threads();
    check(fused((needs, see_before, see_after)));
    check(fused((see_before, needs, see_after)));
    check(fused((see_before, see_after, needs)));
}
