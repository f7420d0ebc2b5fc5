//! The entities of the twin worlds: what they hold, and the random changes to them.

use bevy::{ecs::entity_disabling::Disabled, prelude::*};
use proptest::{prelude::*, sample::Index};

/// A component in a table.
#[derive(Component, Clone, Copy, Debug, PartialEq)]
pub struct A(pub u64);

/// Another one.
#[derive(Component, Clone, Copy, Debug, PartialEq)]
pub struct B(pub u64);

/// A component in a sparse set.
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(storage = "SparseSet")]
pub struct S(pub u64);

/// A component without size.
#[derive(Component, Clone, Copy, Debug, PartialEq)]
pub struct Z;

/// What can be put on an entity and taken off it.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    A,
    B,
    S,
    Z,
    Disabled,
}

impl Kind {
    const ALL: [Self; 5] = [Self::A, Self::B, Self::S, Self::Z, Self::Disabled];

    fn insert(self, mut entity: EntityWorldMut, value: u64) {
        match self {
            Self::A => entity.insert(A(value)),
            Self::B => entity.insert(B(value)),
            Self::S => entity.insert(S(value)),
            Self::Z => entity.insert(Z),
            Self::Disabled => entity.insert(Disabled),
        };
    }

    fn remove(self, mut entity: EntityWorldMut) {
        match self {
            Self::A => entity.remove::<A>(),
            Self::B => entity.remove::<B>(),
            Self::S => entity.remove::<S>(),
            Self::Z => entity.remove::<Z>(),
            Self::Disabled => entity.remove::<Disabled>(),
        };
    }
}

/// One change to a world from outside its systems.
#[derive(Clone, Debug)]
pub enum Step {
    Spawn { kinds: Vec<Kind>, rows: usize },
    Despawn { first: Index, rows: usize },
    Insert(Index, Kind, u64),
    Remove(Index, Kind),
}

/// Any step; spawning or despawning up to `rows` entities at once, about as many of each.
pub fn steps(rows: usize) -> impl Strategy<Value = Step> {
    let kind = || prop::sample::select(&Kind::ALL[..]);
    let entity = any::<Index>;
    prop_oneof![
        3 => (prop::sample::subsequence(&Kind::ALL[..], 0..=5), 1..=rows)
            .prop_map(|(kinds, rows)| Step::Spawn { kinds, rows }),
        3 => (entity(), 1..=rows).prop_map(|(first, rows)| Step::Despawn { first, rows }),
        3 => (entity(), kind(), 0..1000_u64).prop_map(|(entity, kind, value)| Step::Insert(entity, kind, value)),
        3 => (entity(), kind()).prop_map(|(entity, kind)| Step::Remove(entity, kind)),
    ]
}

/// The entities that steps have spawned and not despawned, in the same order in each twin.
#[derive(Default)]
pub struct Population(Vec<Entity>);

impl Population {
    pub fn apply(&mut self, world: &mut World, step: &Step) {
        match step {
            Step::Spawn { kinds, rows } => self.spawn(world, kinds, *rows),
            _ if self.0.is_empty() => {}
            Step::Despawn { first, rows } => {
                let first = first.index(self.0.len());
                let despawned = self.0.drain(first..self.0.len().min(first + rows));
                despawned.for_each(|entity| assert!(world.despawn(entity)));
            }
            Step::Insert(index, kind, value) => kind.insert(world.entity_mut(*index.get(&self.0)), *value),
            Step::Remove(index, kind) => kind.remove(world.entity_mut(*index.get(&self.0))),
        }
    }

    pub fn spawn(&mut self, world: &mut World, kinds: &[Kind], rows: usize) {
        for row in 0..rows {
            let entity = world.spawn_empty().id();
            for kind in kinds {
                kind.insert(world.entity_mut(entity), row as u64);
            }
            self.0.push(entity);
        }
    }

    /// The entity spawned last.
    pub fn last<'w>(&self, world: &'w mut World) -> EntityWorldMut<'w> {
        world.entity_mut(*self.0.last().expect("an entity was spawned"))
    }

    /// All that can be told apart about the entities.
    pub fn snapshot(&self, world: &World) -> Vec<Snapshot> {
        self.0.iter().map(|&entity| Snapshot::of(world.entity(entity))).collect()
    }
}

/// One entity's components and when they were added and changed.
#[derive(Debug, PartialEq)]
pub struct Snapshot {
    entity: Entity,
    a: Option<Cell<A>>,
    b: Option<Cell<B>>,
    s: Option<Cell<S>>,
    z: Option<Cell<Z>>,
}

impl Snapshot {
    fn of(entity: EntityRef) -> Self {
        Self { entity: entity.id(), a: Cell::of(entity), b: Cell::of(entity), s: Cell::of(entity), z: Cell::of(entity) }
    }
}

#[derive(Debug, PartialEq)]
struct Cell<T> {
    value: T,
    added: u32,
    changed: u32,
}

impl<T: Component + Copy> Cell<T> {
    fn of(entity: EntityRef) -> Option<Self> {
        let ticks = entity.get_change_ticks::<T>()?;
        Some(Self { value: *entity.get::<T>()?, added: ticks.added.get(), changed: ticks.changed.get() })
    }
}
