//! Twin worlds: Bevy places one, this crate the others. After every frame of random edits they must be equal: each transform to the bit,
//! and what counts as changed.

use bevy::{ecs::entity_disabling::Disabled, prelude::*};
use bevy_affinity::prelude::*;
use proptest::{collection::vec, prelude::*, sample::Index};

use crate::common::{Scheduling, start_compute_threads};

/// Tells the entities of a world apart: the plugins have entities of their own, and not the same ones.
#[derive(Component, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Number(usize);

/// One edit of a world from outside its systems.
#[derive(Clone, Debug)]
enum Edit {
    Spawn {
        parent: Option<Index>,
        count: usize,
    },
    /// With all below it.
    Despawn(Index),
    Move(Index, u8),
    /// Changed, to what it was.
    Touch(Index),
    Adopt {
        parent: Index,
        child: Index,
    },
    Orphan(Index),
    RemoveTransform(Index),
    InsertTransform(Index, u8),
    /// Written by hand: what it is derived from says otherwise.
    Displace(Index, u8),
    Disable(Index),
    Enable(Index),
}

fn edits() -> impl Strategy<Value = Edit> {
    let entity = any::<Index>;
    let number = any::<u8>;
    prop_oneof![
        6 => (proptest::option::of(entity()), 1..6_usize).prop_map(|(parent, count)| Edit::Spawn { parent, count }),
        1 => entity().prop_map(Edit::Despawn),
        6 => (entity(), number()).prop_map(|(entity, number)| Edit::Move(entity, number)),
        1 => entity().prop_map(Edit::Touch),
        4 => (entity(), entity()).prop_map(|(parent, child)| Edit::Adopt { parent, child }),
        2 => entity().prop_map(Edit::Orphan),
        1 => entity().prop_map(Edit::RemoveTransform),
        1 => (entity(), number()).prop_map(|(entity, number)| Edit::InsertTransform(entity, number)),
        1 => (entity(), number()).prop_map(|(entity, number)| Edit::Displace(entity, number)),
        1 => entity().prop_map(Edit::Disable),
        1 => entity().prop_map(Edit::Enable),
    ]
}

fn transform(number: u8) -> Transform {
    let number = f32::from(number);
    Transform::from_xyz(number.sin(), number * 0.1, 1.0 / (number + 1.0))
        .with_rotation(Quat::from_euler(EulerRot::XYZ, number, 0.3 * number, -number))
        .with_scale(Vec3::new(1.0 + 0.01 * number, 0.9, 1.1))
}

impl Edit {
    fn despawns(&self) -> bool {
        matches!(self, Self::Despawn(_))
    }

    /// `spawned` counts the entities that there ever were.
    fn apply(&self, world: &mut World, entities: &mut Vec<Entity>, spawned: &mut usize) {
        if entities.is_empty() && !matches!(self, Self::Spawn { .. }) {
            return;
        }
        let pick = |index: &Index| *index.get(entities);
        match self {
            Self::Spawn { parent, count } => {
                let parent = parent.as_ref().filter(|_| !entities.is_empty()).map(pick);
                for number in 0..*count {
                    let mut entity = world.spawn((Number(*spawned), transform(number as u8)));
                    *spawned += 1;
                    if let Some(parent) = parent {
                        entity.insert(ChildOf(parent));
                    }
                    entities.push(entity.id());
                }
            }
            Self::Despawn(index) => {
                world.despawn(pick(index));
                entities.retain(|&entity| world.get_entity(entity).is_ok());
            }
            Self::Move(index, number) => {
                if let Some(mut moved) = world.get_mut::<Transform>(pick(index)) {
                    *moved = transform(*number);
                }
            }
            Self::Touch(index) => {
                if let Some(mut touched) = world.get_mut::<Transform>(pick(index)) {
                    touched.set_changed();
                }
            }
            Self::Adopt { parent, child } => {
                let (parent, child) = (pick(parent), pick(child));
                let mut above =
                    std::iter::successors(Some(parent), |&entity| Some(world.get::<ChildOf>(entity)?.parent()));
                if above.all(|entity| entity != child) {
                    world.entity_mut(child).insert(ChildOf(parent));
                }
            }
            Self::Orphan(index) => _ = world.entity_mut(pick(index)).remove::<ChildOf>(),
            Self::RemoveTransform(index) => _ = world.entity_mut(pick(index)).remove::<(Transform, GlobalTransform)>(),
            Self::InsertTransform(index, number) => _ = world.entity_mut(pick(index)).insert(transform(*number)),
            Self::Displace(index, number) => {
                if let Some(mut global) = world.get_mut::<GlobalTransform>(pick(index)) {
                    *global = GlobalTransform::from(transform(*number));
                }
            }
            Self::Disable(index) => _ = world.entity_mut(pick(index)).insert(Disabled),
            Self::Enable(index) => _ = world.entity_mut(pick(index)).remove::<Disabled>(),
        }
    }
}

/// What can be told apart about the transforms, in the frame in which it is seen.
#[derive(Resource, Default, PartialEq, Debug)]
struct Seen(Vec<(Number, [u32; 12], bool, Option<bool>)>);

type Node<'a> = (&'a Number, Ref<'a, GlobalTransform>, Option<Ref<'a, TransformTreeChanged>>);

type DisabledOrNot = Or<(With<Disabled>, Without<Disabled>)>;

fn see(nodes: Query<Node, DisabledOrNot>, mut seen: ResMut<Seen>) {
    let row = |(number, global, tree): (&_, Ref<GlobalTransform>, Option<Ref<TransformTreeChanged>>)| {
        let bits = global.affine().to_cols_array().map(f32::to_bits);
        (*number, bits, global.is_changed(), tree.map(|tree| tree.is_changed()))
    };
    seen.0 = nodes.iter().map(row).collect();
    seen.0.sort_unstable_by_key(|(number, ..)| *number);
}

struct Twin {
    name: String,
    app: App,
    entities: Vec<Entity>,
    spawned: usize,
}

impl Twin {
    fn new(name: String, mut app: App, optimizations: StaticTransformOptimizations) -> Self {
        app.add_plugins(TransformPlugin).insert_resource(optimizations).init_resource::<Seen>().add_systems(Last, see);
        Self { name, app, entities: Vec::new(), spawned: 0 }
    }

    /// The reference first.
    fn all(optimizations: impl Fn() -> StaticTransformOptimizations) -> Vec<Self> {
        start_compute_threads();
        let reference = Self::new("Bevy".into(), App::new(), optimizations());
        let ours = Scheduling::all().map(|scheduling| {
            let mut app = scheduling.app();
            app.add_plugins(AffineTransformPlugin);
            Self::new(format!("{scheduling:?}"), app, optimizations())
        });
        [reference].into_iter().chain(ours).collect()
    }

    fn frame(&mut self, edits: &[Edit]) {
        // An index that becomes free is used again in a later frame only: Bevy's bits for visited entities know indices, not generations.
        let (despawns, others): (Vec<_>, Vec<_>) = edits.iter().partition(|edit| edit.despawns());
        for edit in others.into_iter().chain(despawns) {
            edit.apply(self.app.world_mut(), &mut self.entities, &mut self.spawned);
        }
        self.app.update();
    }

    fn seen(&self) -> &Seen {
        self.app.world().resource()
    }
}

fn run(twins: &mut [Twin], frames: &[Vec<Edit>]) {
    for (frame, edits) in frames.iter().enumerate() {
        twins.iter_mut().for_each(|twin| twin.frame(edits));
        let (reference, others) = twins.split_first().expect("there is a reference");
        for twin in others {
            assert_eq!(twin.seen(), reference.seen(), "frame {frame}: {}", twin.name);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn random_edits(frames in vec(vec(edits(), 0..20), 1..25)) {
        run(&mut Twin::all(StaticTransformOptimizations::default), &frames);
    }

    #[test]
    fn random_edits_without_optimizations(frames in vec(vec(edits(), 0..20), 1..10)) {
        run(&mut Twin::all(|| StaticTransformOptimizations::Disabled), &frames);
    }
}

/// Thousands of entities, so that all workers take part.
#[test]
fn large_trees_of_which_a_part_changes() {
    let mut twins = Twin::all(StaticTransformOptimizations::default);
    for twin in &mut twins {
        for node in 0..20_000_usize {
            // Bushes of a thousand nodes, and a fan.
            let above = if node < 10_000 { node % 1000 } else { node - 10_000 };
            let mut entity = twin.app.world_mut().spawn((Number(node), transform(node as u8)));
            if above > 0 {
                entity.insert(ChildOf(twin.entities[if node < 10_000 { node - above + above / 3 } else { 0 }]));
            }
            let entity = entity.id();
            twin.entities.push(entity);
        }
    }
    run(&mut twins, &[vec![], vec![]]);
    for step in [1, 100, 3] {
        for twin in &mut twins {
            for entity in twin.entities.iter().step_by(step) {
                twin.app.world_mut().get_mut::<Transform>(*entity).expect("all have one").translation.x += 1.0;
            }
        }
        run(&mut twins, &[vec![]]);
    }
}
