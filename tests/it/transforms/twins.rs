//! Twin worlds: the same edits for each, and after every frame they must be equal.

use bevy::{
    ecs::{entity_disabling::Disabled, relationship::RelationshipTarget},
    prelude::*,
    transform::systems::{mark_dirty_trees, propagate_parent_transforms, sync_simple_transforms},
};
use bevy_affinity::prelude::*;
use proptest::sample::Index;

use crate::common::{Scheduling, start_compute_threads};

/// Tells the entities of a world apart: the plugins have entities of their own, and not the same
/// ones.
#[derive(Component, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Number(usize);

/// One edit of a world.
#[derive(Clone, Debug)]
pub enum Edit {
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
    RemoveBoth(Index),
    RemoveTransform(Index),
    RemoveGlobal(Index),
    RemoveMark(Index),
    InsertTransform(Index, u8),
    /// Written by hand: what it is derived from says otherwise.
    Displace(Index, u8),
    Disable(Index),
    Enable(Index),
    Optimize(bool),
}

/// What happens to the worlds in a frame.
#[derive(Clone, Debug, Default)]
pub struct Frame {
    pub edits: Vec<Edit>,
    /// Roots that others name as their children, for this frame: who names, and which.
    pub names: Vec<(Index, Index)>,
    /// Edits before, between and after the three systems.
    pub meanwhile: [Vec<Edit>; 4],
    /// The mode when the frame begins and from each of these times on, in worlds that switch.
    pub modes: [usize; 5],
}

pub fn transform(number: u8) -> Transform {
    let number = f32::from(number);
    Transform::from_xyz(number.sin(), number * 0.1, 1.0 / (number + 1.0))
        .with_rotation(Quat::from_euler(EulerRot::XYZ, number, 0.3 * number, -number))
        .with_scale(Vec3::new(1.0 + 0.01 * number, 0.9, 1.1))
}

/// The entities that can be edited.
#[derive(Resource, Default)]
struct Population {
    entities: Vec<Entity>,
    /// How many there ever were.
    spawned: usize,
}

impl Population {
    fn spawn(&mut self, world: &mut World, transform: Transform, parent: Option<Entity>) {
        let mut entity = world.spawn((Number(self.spawned), transform));
        self.spawned += 1;
        if let Some(parent) = parent {
            entity.insert(ChildOf(parent));
        }
        self.entities.push(entity.id());
    }
}

fn is_above(world: &World, above: Entity, below: Entity) -> bool {
    let mut line = std::iter::successors(Some(below), |&entity| Some(world.get::<ChildOf>(entity)?.parent()));
    line.any(|entity| entity == above)
}

impl Edit {
    fn despawns(&self) -> bool {
        matches!(self, Self::Despawn(_))
    }

    fn apply(&self, world: &mut World, population: &mut Population) {
        let is_empty = population.entities.is_empty();
        if is_empty && !matches!(self, Self::Spawn { .. } | Self::Optimize(_)) {
            return;
        }
        let pick = |index: &Index| *index.get(&population.entities);
        match self {
            Self::Spawn { parent, count } => {
                let parent = parent.as_ref().filter(|_| !is_empty).map(pick);
                (0..*count).for_each(|number| population.spawn(world, transform(number as u8), parent));
            }
            Self::Despawn(index) => {
                world.despawn(pick(index));
                population.entities.retain(|&entity| world.get_entity(entity).is_ok());
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
                if !is_above(world, child, parent) {
                    world.entity_mut(child).insert(ChildOf(parent));
                }
            }
            Self::Orphan(index) => _ = world.entity_mut(pick(index)).remove::<ChildOf>(),
            Self::RemoveBoth(index) => _ = world.entity_mut(pick(index)).remove::<(Transform, GlobalTransform)>(),
            Self::RemoveTransform(index) => _ = world.entity_mut(pick(index)).remove::<Transform>(),
            Self::RemoveGlobal(index) => _ = world.entity_mut(pick(index)).remove::<GlobalTransform>(),
            Self::RemoveMark(index) => _ = world.entity_mut(pick(index)).remove::<TransformTreeChanged>(),
            Self::InsertTransform(index, number) => _ = world.entity_mut(pick(index)).insert(transform(*number)),
            Self::Displace(index, number) => {
                if let Some(mut global) = world.get_mut::<GlobalTransform>(pick(index)) {
                    *global = GlobalTransform::from(transform(*number));
                }
            }
            Self::Disable(index) => _ = world.entity_mut(pick(index)).insert(Disabled),
            Self::Enable(index) => _ = world.entity_mut(pick(index)).remove::<Disabled>(),
            Self::Optimize(true) => world.insert_resource(StaticTransformOptimizations::Enabled),
            Self::Optimize(false) => world.insert_resource(StaticTransformOptimizations::Disabled),
        }
    }
}

/// An index that becomes free is used again in a later frame only: Bevy's bits for visited entities
/// know indices, not generations.
fn apply(edits: &[Edit], world: &mut World) {
    let (despawns, others): (Vec<_>, Vec<_>) = edits.iter().partition(|edit| edit.despawns());
    world.resource_scope(|world, mut population: Mut<Population>| {
        others.into_iter().chain(despawns).for_each(|edit| edit.apply(world, &mut population));
    });
}

/// The frame that the world is in.
#[derive(Resource, Default)]
struct Now(Frame);

/// Whether the world changes its mode, too.
#[derive(Resource)]
struct Switches;

fn switch(world: &mut World, time: usize) {
    if world.contains_resource::<Switches>() {
        let mode = world.resource::<Now>().0.modes[time];
        world.insert_resource(SchedulerMode::ALL[mode % SchedulerMode::ALL.len()]);
    }
}

fn meanwhile<const TIME: usize>(world: &mut World) {
    switch(world, TIME + 1);
    let edits = std::mem::take(&mut world.resource_mut::<Now>().0.meanwhile[TIME]);
    apply(&edits, world);
}

/// What can be told apart about the transforms, in the frame in which it is seen.
#[derive(Resource, Default, PartialEq, Debug)]
pub struct Seen(Vec<Row>);

/// The place in bits, if there is one, and whether it and the mark have changed.
type Row = (Number, Option<([u32; 12], bool)>, Option<bool>);

type Node<'a> = (&'a Number, Option<Ref<'a, GlobalTransform>>, Option<Ref<'a, TransformTreeChanged>>);

type DisabledOrNot = Or<(With<Disabled>, Without<Disabled>)>;

fn see(nodes: Query<Node, DisabledOrNot>, mut seen: ResMut<Seen>) {
    let place = |global: Ref<GlobalTransform>| (global.affine().to_cols_array().map(f32::to_bits), global.is_changed());
    let row = |(number, global, tree): (&_, Option<Ref<_>>, Option<Ref<TransformTreeChanged>>)| {
        (*number, global.map(place), tree.map(|tree| tree.is_changed()))
    };
    seen.0 = nodes.iter().map(row).collect();
    seen.0.sort_unstable_by_key(|(number, ..)| *number);
}

pub struct Twin {
    name: String,
    pub app: App,
}

impl Twin {
    fn new(name: String, mut app: App) -> Self {
        app.add_plugins(TransformPlugin)
            .init_resource::<Population>()
            .init_resource::<Now>()
            .init_resource::<Seen>()
            .add_systems(Last, see);
        Self { name, app }
    }

    fn of_ours(scheduling: Scheduling) -> Self {
        let mut app = scheduling.app();
        app.add_plugins(AffinityTransformPlugin);
        if scheduling.workers % 2 == 1 {
            // Two that could run at the same time, on Bevy's multi-threaded executor.
            app.insert_resource(AffinitySchedules::none()).add_systems(PostUpdate, (|| {}, || {}));
        }
        Self::new(format!("{scheduling:?}"), app)
    }

    /// The reference, which has only Bevy's plugin, first; then ours in every mode, and in a mode
    /// that changes.
    pub fn all() -> Vec<Self> {
        start_compute_threads();
        let reference = Self::new("Bevy".into(), App::new());
        let switching = (1..=3).map(|workers| {
            let mut twin = Self::of_ours(Scheduling::lock_step(workers));
            twin.app.insert_resource(Switches);
            twin.name = format!("{workers} workers, modes that change");
            twin
        });
        [reference].into_iter().chain(Scheduling::all().map(Self::of_ours)).chain(switching).collect()
    }

    /// Has edits made between the systems too, ordered by Bevy's functions.
    pub fn meanwhile(&mut self) {
        let times = (
            meanwhile::<0>.before(mark_dirty_trees),
            meanwhile::<1>.after(mark_dirty_trees).before(propagate_parent_transforms),
            meanwhile::<2>.after(propagate_parent_transforms).before(sync_simple_transforms),
            meanwhile::<3>.after(sync_simple_transforms),
        );
        self.app.add_systems(PostUpdate, times);
    }

    pub fn spawn(&mut self, transform: Transform, parent: Option<usize>) {
        self.app.world_mut().resource_scope(|world, mut population: Mut<Population>| {
            let parent = parent.map(|parent| population.entities[parent]);
            population.spawn(world, transform, parent);
        });
    }

    pub fn entities(&self) -> Vec<Entity> {
        self.app.world().resource::<Population>().entities.clone()
    }

    fn run(&mut self, frame: &Frame) {
        self.app.insert_resource(Now(frame.clone()));
        switch(self.app.world_mut(), 0);
        apply(&frame.edits, self.app.world_mut());
        let named: Vec<_> = frame.names.iter().filter_map(|names| self.name(names)).collect();
        self.app.update();
        for (parent, root) in named {
            self.children(parent).expect("it had children").collection_mut_risky().retain(|&child| child != root);
        }
    }

    /// Lets an entity name a root as its child. A child that somebody else names makes Bevy panic.
    fn name(&mut self, (parent, root): &(Index, Index)) -> Option<(Entity, Entity)> {
        let entities = self.entities();
        let [parent, root] = [parent, root].map(|index| (!entities.is_empty()).then(|| *index.get(&entities)));
        let (parent, root) = (parent?, root?);
        let is_root = self.app.world().get::<ChildOf>(root).is_none();
        let mut children = self.children(parent)?;
        let is_new = !children.contains(&root);
        (is_root && is_new).then(|| {
            children.collection_mut_risky().push(root);
            (parent, root)
        })
    }

    fn children(&mut self, parent: Entity) -> Option<Mut<'_, Children>> {
        self.app.world_mut().get_mut(parent)
    }

    fn seen(&self) -> &Seen {
        self.app.world().resource()
    }
}

/// Runs the frames in all twins, and compares what they saw.
pub fn run(twins: &mut [Twin], frames: &[Frame]) {
    for (number, frame) in frames.iter().enumerate() {
        twins.iter_mut().for_each(|twin| twin.run(frame));
        let (reference, others) = twins.split_first().expect("there is a reference");
        for twin in others {
            assert_eq!(twin.seen(), reference.seen(), "frame {number}: {}", twin.name);
        }
    }
}
