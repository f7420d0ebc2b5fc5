//! Each kernel twice: to be fused, and as a plain system.

use bevy::prelude::*;
use bevy_affinity::prelude::*;

use crate::differential::population::{A, B, S, Z};
use crate::mix::mix_slowly;

/// What all rows of some kernels read.
#[derive(Resource, Clone, Copy)]
pub struct Seed(pub u64);

/// What rows look up on other entities. No kernel writes it.
#[derive(Component)]
pub struct Landmark(pub u64);

macro_rules! kernels {
    ($($name:ident: $data:ty, $filter:ty, $item:pat => $body:expr;)*) => {
        $(pub fn $name(Row($item): Row<$data, $filter>) {
            $body
        })*

        /// The same, one row after another through Bevy's `Query`.
        pub mod plain {
            use super::*;

            $(pub fn $name(mut query: Query<$data, $filter>) {
                for $item in &mut query {
                    $body
                }
            })*
        }
    };
}

kernels! {
    // Sees what later kernels changed in the frame before, and when.
    look_back: (&mut B, Ref<A>), (), (mut b, a) => {
        if a.is_changed() {
            b.0 = b.0.wrapping_add(u64::from(a.last_changed().get()));
        }
    };
    // Looks at some rows and leaves them unchanged.
    stir: (&mut A, &B), (), (mut a, b) => {
        if a.0 % 3 != 0 {
            a.0 = mix_slowly(a.0 ^ b.0);
        }
    };
    follow: &mut B, Changed<A>, mut b => b.0 = mix_slowly(b.0);
    sparse: (&mut S, Option<&A>), (), (mut s, a) => s.0 = mix_slowly(s.0 ^ a.map_or(7, |a| a.0));
    either: (&mut A, Option<&mut S>, Has<Z>), Or<(With<Z>, With<S>)>, (mut a, s, has_z) => {
        a.0 = a.0.wrapping_add(1 + u64::from(has_z));
        if let Some(mut s) = s {
            s.set_if_neq(S(a.0 & !1));
        }
    };
    added: (Entity, &mut A), Or<(Added<B>, Changed<S>)>, (entity, mut a) => a.0 ^= u64::from(entity.index_u32());
    all_of_it: EntityMut, With<A>, mut entity => {
        let b = entity.get::<B>().map_or(0, |b| b.0);
        if let Some(mut a) = entity.get_mut::<A>() && b % 2 == 1 {
            a.0 = a.0.wrapping_add(b);
        }
    };
}

/// With all kinds of parameters that rows can share.
pub fn shared(
    Row(mut b): Row<&mut B>,
    seed: &Seed,
    none: Option<&Missing>,
    landmarks: Query<&Landmark>,
    rest: Query<Entity, Without<Landmark>>,
) {
    let sum: u64 = landmarks.iter().map(|landmark| landmark.0).sum();
    b.0 = mix_slowly(b.0 ^ seed.0 ^ sum ^ u64::from(none.is_some()) ^ u64::from(rest.is_empty()));
}

pub fn shared_plainly(
    mut query: Query<&mut B>,
    seed: Res<Seed>,
    none: Option<Res<Missing>>,
    landmarks: Query<&Landmark>,
    rest: Query<Entity, Without<Landmark>>,
) {
    for b in &mut query {
        shared(Row(b), &seed, none.as_deref(), landmarks, rest);
    }
}

/// A resource that is not there.
#[derive(Resource)]
pub struct Missing;
