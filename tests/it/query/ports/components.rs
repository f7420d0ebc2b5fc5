//! What the ported systems read and write, whichever `Query` they are compiled with.

use bevy::prelude::*;

#[derive(Component, Clone, Copy)]
pub struct Velocity(pub Vec2);
#[derive(Component, Clone, Copy)]
pub struct Place(pub Vec3);
#[derive(Component, Clone, Copy)]
pub struct Rotation(pub Vec3);
#[derive(Component, Clone, Copy)]
pub struct Matrix(pub Mat4);
#[derive(Component, Clone, Copy)]
#[component(storage = "SparseSet")]
pub struct Sparse(pub f32);
#[derive(Component, Clone, Copy)]
pub struct Data(pub f32);

/// One of the components by which rows are scattered over many tables.
#[derive(Component, Clone, Copy)]
pub struct Fragment<const N: usize>;
