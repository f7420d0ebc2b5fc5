//! What kernels see as changed.

use std::panic::{AssertUnwindSafe, catch_unwind};

use bevy::prelude::*;
use bevy_affinity::prelude::*;

use crate::{
    Count,
    common::{Scheduling, start_compute_threads},
};

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
