//! Fused systems, and the same kernels as systems of their own.

use bevy::{ecs::resource::IsResource, prelude::*};
use bevy_affinity::prelude::*;

use super::{Script, Side, Step};
use crate::{
    components::{A, B, Number, S, Seen, Z},
    dice::{mix, mix_slowly},
};

macro_rules! kernels {
    ($($name:ident: $data:ty, $filter:ty, |$item:pat, $salt:ident| $body:expr;)*) => {
        $(fn $name(Row($item): Row<$data, $filter>, script: &Script) {
            let $salt = script.salt;
            $body
        })*

        /// One row after another through Bevy's `Query`.
        mod plain {
            use super::*;

            $(pub fn $name(mut rows: Query<$data, $filter>, script: Res<Script>) {
                let $salt = script.salt;
                for $item in &mut rows {
                    $body
                }
            })*
        }
    };
}

kernels! {
    // What later kernels changed in the frame before.
    look_back: (&mut Seen, Ref<B>), (), |(mut seen, b), _salt| {
        if b.is_changed() {
            seen.0 = seen.0.wrapping_add(0x100_0000);
        }
    };
    stir: (&mut A, &Number), (), |(mut a, number), salt| {
        if mix(salt ^ u64::from(number.0)).is_multiple_of(4) {
            a.0 = mix_slowly(a.0);
        }
    };
    follow: (&mut B, &A), Changed<A>, |(mut b, a), _salt| b.0 = mix_slowly(b.0 ^ a.0);
    count: &mut Seen, Or<(Changed<B>, Added<A>)>, |mut seen, _salt| seen.0 = seen.0.wrapping_add(1);
    sparse: (&mut S, Option<&mut A>, Has<Z>), (), |(mut s, a, has_z), salt| {
        s.0 = mix_slowly(s.0 ^ salt ^ u64::from(has_z));
        if let Some(mut a) = a {
            a.set_if_neq(A(s.0 % 8));
        }
    };
    whole: EntityMut, (With<Z>, Without<IsResource>), |mut entity, salt| {
        let a = entity.get::<A>().map_or(salt, |a| a.0);
        if let Some(mut b) = entity.get_mut::<B>() {
            b.0 ^= a;
        }
    };
}

pub fn steps(side: Side) -> Vec<Step> {
    let by_table = match side {
        Side::Plain => (plain::look_back, plain::stir, plain::follow, plain::count).chain(),
        Side::Ours => fused((look_back, stir, follow, count)).affine(),
    };
    let by_archetype = match side {
        Side::Plain => (plain::sparse, plain::follow, plain::whole, plain::count).chain(),
        Side::Ours => fused((sparse, follow, whole, count)).affine(),
    };
    vec![Step { name: "fused by table", systems: by_table }, Step { name: "fused by archetype", systems: by_archetype }]
}
