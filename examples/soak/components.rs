//! What entities are made of.

use bevy::{ecs::entity_disabling::Disabled, prelude::*};
use bevy_affinity::Due;

use crate::{dice::mix, program::Side};

/// Tells the entities of a world apart: each has a number of its own, and the same one in both
/// worlds.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Number(pub u32);

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

/// Moves an entity to a table of its own.
#[derive(Component, Clone, Copy, Debug, PartialEq)]
pub struct Mark<const N: usize>;

/// Moves an entity to an archetype of its own, in the same table.
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(storage = "SparseSet")]
pub struct Tag;

/// Whom an entity sends to; may be gone.
#[derive(Component, Clone, Copy, Debug, PartialEq)]
pub struct Link(pub Entity);

/// What was received, in this order.
#[derive(Component, Clone, Copy, Debug, PartialEq)]
pub struct Mail(pub u64);

/// When a row is due, in the plain world; in ours that is [`Due`].
#[derive(Component, Clone, Copy, Debug, PartialEq)]
pub struct At(pub u64);

/// The time of a row that sleeps until it is woken.
pub const NEVER: u64 = Due::<()>::NEVER;

/// What a tree was found to hold.
#[derive(Component, Clone, Copy, Debug, PartialEq)]
pub struct Sum(pub u64);

/// How often systems saw a change of the entity.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
pub struct Seen(pub u64);

/// Which components had changed when a frame ended.
#[derive(Component, Clone, Copy, Default, PartialEq)]
pub struct Watch {
    /// An octal digit for each component: 1 if it is there, 2 if it has changed, 4 if it was added.
    pub last: u64,
    /// The hash of all frames.
    pub history: u64,
}

impl std::fmt::Debug for Watch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "0o{:o} after {:x}", self.last, self.history)
    }
}

/// Written by sweeps that panic in the middle, and compared by nobody: how far they come is
/// nobody's promise.
#[derive(Component, Clone, Copy, Debug, Default)]
pub struct Scratch(pub u64);

/// What every entity has.
pub fn base(number: u32) -> impl Bundle {
    (Number(number), Seen::default(), Watch::default(), Scratch::default())
}

/// What can be put on an entity and taken off it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    A,
    B,
    S,
    Z,
    Mark0,
    Mark1,
    Tag,
    Link,
    Mail,
    /// A time: see [`At`].
    Due,
    /// A place in space and in trees.
    Node,
    Disabled,
}

impl Kind {
    pub const ALL: [Self; 12] = [
        Self::A,
        Self::B,
        Self::S,
        Self::Z,
        Self::Mark0,
        Self::Mark1,
        Self::Tag,
        Self::Link,
        Self::Mail,
        Self::Due,
        Self::Node,
        Self::Disabled,
    ];

    pub fn insert(self, entity: &mut EntityWorldMut, value: u64, target: Entity) {
        match self {
            Self::A => entity.insert(A(value)),
            Self::B => entity.insert(B(value)),
            Self::S => entity.insert(S(value)),
            Self::Z => entity.insert(Z),
            Self::Mark0 => entity.insert(Mark::<0>),
            Self::Mark1 => entity.insert(Mark::<1>),
            Self::Tag => entity.insert(Tag),
            Self::Link => entity.insert(Link(target)),
            Self::Mail => entity.insert(Mail(value)),
            Self::Due => match entity.resource::<Side>() {
                Side::Plain => entity.insert(At(time(value))),
                Side::Ours => entity.insert(Due::<()>::at(time(value))),
            },
            Self::Node => entity.insert((transform(value), Sum(0))),
            Self::Disabled => entity.insert(Disabled),
        };
    }

    pub fn remove(self, entity: &mut EntityWorldMut) {
        match self {
            Self::A => entity.remove::<A>(),
            Self::B => entity.remove::<B>(),
            Self::S => entity.remove::<S>(),
            Self::Z => entity.remove::<Z>(),
            Self::Mark0 => entity.remove::<Mark<0>>(),
            Self::Mark1 => entity.remove::<Mark<1>>(),
            Self::Tag => entity.remove::<Tag>(),
            Self::Link => entity.remove::<Link>(),
            Self::Mail => entity.remove::<Mail>(),
            Self::Due => entity.remove::<(At, Due)>(),
            Self::Node => entity.remove::<(Transform, GlobalTransform, Sum)>(),
            Self::Disabled => entity.remove::<Disabled>(),
        };
    }
}

/// One row in eight sleeps; of the others some are due at once, most in the course of a life.
fn time(value: u64) -> u64 {
    let value = mix(value);
    if value.is_multiple_of(8) { NEVER } else { value / 8 % 64 }
}

fn transform(value: u64) -> Transform {
    let number = (mix(value) % 256) as f32;
    Transform::from_xyz(number.sin(), number * 0.1, 1.0 / (number + 1.0))
        .with_rotation(Quat::from_euler(EulerRot::XYZ, number, 0.3 * number, -number))
        .with_scale(Vec3::new(0.9 + 0.001 * number, 0.9, 1.1))
}
