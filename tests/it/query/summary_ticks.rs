//! Components that ask Bevy for a summary tick: readers skip whole tables by it, so it must be set
//! wherever ours writes.

use bevy::{ecs::change_detection::ContiguousRef, prelude::*};
use bevy_affinity::prelude::*;

use crate::common::Scheduling;

#[derive(Component)]
#[component(summary_tick)]
struct Heat(u32);

/// A neighbour to send to, and whether a frame's system is to write.
#[derive(Component)]
struct Next(Entity);

#[derive(Resource)]
struct Writes(bool);

/// What the summary ticks of the tables said in each frame.
#[derive(Resource, Default)]
struct Seen(Vec<bool>);

fn look(heats: Query<Ref<Heat>>, mut seen: ResMut<Seen>) {
    let tables = heats.contiguous_iter().expect("heat is in tables");
    let changed = |table| ContiguousRef::split(table).1.summary_tick_is_changed().expect("heat has a summary tick");
    let changed = tables.map(changed).fold(false, |any, table| any | table);
    seen.0.push(changed);
}

fn writes(writes: Res<Writes>) -> bool {
    writes.0
}

/// Asserts that a reader sees by the summary whether `system` wrote in a frame, in every mode.
fn assert_seen<M>(system: impl IntoAffine<M> + Copy) {
    for scheduling in Scheduling::all() {
        let mut app = scheduling.app();
        app.insert_resource(Writes(true)).init_resource::<Seen>();
        app.add_systems(Update, (system.affine().run_if(writes), look).chain());
        let world = app.world_mut();
        let first = world.spawn_empty().id();
        world.entity_mut(first).insert((Heat(1), Next(first)));
        (0..5000).for_each(|heat| _ = world.spawn((Heat(heat), Next(first))));
        for frame_writes in [true, true, false, true, false, false, true] {
            app.insert_resource(Writes(frame_writes)).update();
        }
        let seen = &app.world().resource::<Seen>().0;
        assert_eq!(seen[1..], [true, false, true, false, false, true], "{scheduling:?}");
    }
}

#[test]
fn rows() {
    fn warm(mut heats: AffineQuery<&mut Heat>) {
        heats.par_iter_mut().for_each(|mut heat| heat.0 += 1);
    }
    assert_seen(warm);
}

#[test]
fn one_row_of_many() {
    fn warm(mut heats: AffineQuery<(Entity, &mut Heat, &Next)>) {
        heats.par_iter_mut().for_each(|(entity, mut heat, next)| {
            if entity == next.0 {
                heat.0 += 1;
            }
        });
    }
    assert_seen(warm);
}

#[test]
fn chunks() {
    fn warm(mut heats: AffineQuery<&mut Heat>) {
        heats.par_iter_mut().for_each_chunk(|heats| heats.iter_mut().for_each(|heat| heat.0 += 1));
    }
    assert_seen(warm);
}

#[test]
fn chunks_of_components_that_may_be_missing() {
    fn warm(mut heats: AffineQuery<(&Next, Option<&mut Heat>)>) {
        heats.par_iter_mut().for_each_chunk(|(_, heats)| heats.into_iter().flatten().for_each(|heat| heat.0 += 1));
    }
    assert_seen(warm);
}

#[test]
fn contiguous_runs() {
    fn warm(mut heats: AffineQuery<&mut Heat>) -> Result {
        heats.contiguous_par_iter_mut()?.for_each(|mut heats| heats.iter_mut().for_each(|heat| heat.0 += 1));
        Ok(())
    }
    assert_seen(warm);
}

#[test]
fn receivers_of_messages() {
    fn warm(senders: AffineQuery<&Next>, mut heats: AffineQuery<&mut Heat>) {
        senders.par_iter().scatter(
            &mut heats,
            |outbox, next| outbox.send(next.0, 1),
            |mut heat, message: u32| heat.0 = heat.0.wrapping_add(message),
        );
    }
    assert_seen(warm);
}

#[test]
fn kernels() {
    fn warm(Row(mut heat): Row<&mut Heat>) {
        heat.0 += 1;
    }
    fn cool(Row(mut heat): Row<&mut Heat>) {
        heat.0 -= 1;
    }
    for scheduling in Scheduling::all() {
        let mut app = scheduling.app();
        app.insert_resource(Writes(true)).init_resource::<Seen>();
        app.add_systems(Update, (fused((warm, cool)).affine().run_if(writes), look).chain());
        (0..5000).for_each(|heat| _ = app.world_mut().spawn(Heat(heat)));
        for frame_writes in [true, false, true, false] {
            app.insert_resource(Writes(frame_writes)).update();
        }
        assert_eq!(app.world().resource::<Seen>().0, [true, false, true, false], "{scheduling:?}");
    }
}

#[test]
fn nodes_of_trees() {
    fn warm(mut nodes: AffineTree<&mut Heat>, roots: Query<Entity, With<Heat>>) {
        nodes.propagate(roots.iter().map(|root| (root, ())), |(), _, mut heat| {
            heat.0 += 1;
            Some(())
        });
    }
    assert_seen(warm);
}
