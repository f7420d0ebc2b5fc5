//! Bevy places one world, this crate the others: each transform equal to the bit, and what counts
//! as changed.

use bevy::prelude::*;
use proptest::{array::uniform4, collection::vec, prelude::*, sample::Index};

use crate::transforms::twins::{Edit, Frame, Twin, run, transform};

fn edit() -> impl Strategy<Value = Edit> {
    let entity = any::<Index>;
    let number = any::<u8>;
    prop_oneof![
        6 => (proptest::option::of(entity()), 1..6_usize).prop_map(|(parent, count)| Edit::Spawn { parent, count }),
        6 => (entity(), number()).prop_map(|(entity, number)| Edit::Move(entity, number)),
        1 => entity().prop_map(Edit::Touch),
        4 => (entity(), entity()).prop_map(|(parent, child)| Edit::Adopt { parent, child }),
        2 => entity().prop_map(Edit::Orphan),
        1 => entity().prop_map(Edit::RemoveBoth),
        1 => entity().prop_map(Edit::RemoveTransform),
        1 => entity().prop_map(Edit::RemoveGlobal),
        1 => entity().prop_map(Edit::RemoveMark),
        2 => (entity(), number()).prop_map(|(entity, number)| Edit::InsertTransform(entity, number)),
        1 => (entity(), number()).prop_map(|(entity, number)| Edit::Displace(entity, number)),
        1 => entity().prop_map(Edit::Disable),
        1 => entity().prop_map(Edit::Enable),
    ]
}

fn edit_or_despawn() -> impl Strategy<Value = Edit> {
    prop_oneof![20 => edit(), 1 => any::<Index>().prop_map(Edit::Despawn)]
}

/// Whoever does not look at orphans for a frame meets them in the next one, when their indices may
/// belong to others.
fn edit_or_optimize() -> impl Strategy<Value = Edit> {
    prop_oneof![15 => edit(), 1 => any::<bool>().prop_map(Edit::Optimize)]
}

fn modes() -> impl Strategy<Value = [usize; 5]> {
    prop::array::uniform5(0..16_usize)
}

/// Edits before the systems run.
fn frame() -> impl Strategy<Value = Frame> {
    let parts = (vec(edit_or_despawn(), 0..20), modes());
    parts.prop_map(|(edits, modes)| Frame { edits, modes, ..Frame::default() })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn random_edits(frames in vec(frame(), 1..25)) {
        run(&mut Twin::all(), &frames);
    }

    #[test]
    fn random_edits_without_optimizations(frames in vec(frame(), 1..10)) {
        let mut twins = Twin::all();
        for twin in &mut twins {
            twin.app.insert_resource(StaticTransformOptimizations::Disabled);
        }
        run(&mut twins, &frames);
    }

    #[test]
    fn optimizations_that_come_and_go(
        frames in vec((vec(edit_or_optimize(), 0..15), modes()), 1..20)
    ) {
        let frame = |(edits, modes)| Frame { edits, modes, ..Frame::default() };
        run(&mut Twin::all(), &frames.into_iter().map(frame).collect::<Vec<_>>());
    }

    /// Between the systems too, where the modes of some worlds change.
    #[test]
    fn random_edits_meanwhile(
        frames in vec((vec(edit_or_despawn(), 0..10), uniform4(vec(edit(), 0..4)), modes()), 1..20)
    ) {
        let mut twins = Twin::all();
        twins.iter_mut().for_each(Twin::meanwhile);
        let frame = |(edits, meanwhile, modes)| Frame { edits, meanwhile, modes, ..Frame::default() };
        run(&mut twins, &frames.into_iter().map(frame).collect::<Vec<_>>());
    }

    #[test]
    fn roots_that_others_name(
        frames in vec((vec(edit_or_despawn(), 0..10), vec(any::<(Index, Index)>(), 0..6), modes()), 1..20)
    ) {
        let frame = |(edits, names, modes)| Frame { edits, names, modes, ..Frame::default() };
        run(&mut Twin::all(), &frames.into_iter().map(frame).collect::<Vec<_>>());
    }
}

/// Thousands of entities, so that all workers take part.
#[test]
fn large_trees_of_which_a_part_changes() {
    let mut twins = Twin::all();
    for twin in &mut twins {
        for node in 0..20_000_usize {
            // Bushes of a thousand nodes, and a fan.
            let above = if node < 10_000 { node % 1000 } else { node - 10_000 };
            let parent = if node < 10_000 { node - above + above / 3 } else { 0 };
            twin.spawn(transform(node as u8), (above > 0).then_some(parent));
        }
    }
    let still = |modes| Frame { modes, ..Frame::default() };
    run(&mut twins, &[still([0; 5]), still([1; 5])]);
    for (step, mode) in [(1, 3), (100, 1), (3, 4), (7, 2)] {
        for twin in &mut twins {
            for entity in twin.entities().iter().step_by(step) {
                twin.app.world_mut().get_mut::<Transform>(*entity).expect("all have one").translation.x += 1.0;
            }
        }
        run(&mut twins, &[still([mode; 5])]);
    }
}
