//! Sweeps over rows: all the ways to iterate, over all the kinds of queries.

use bevy::{
    ecs::{
        entity::Entities,
        entity_disabling::Disabled,
        query::{Allow, AnyOf},
        resource::IsResource,
    },
    prelude::*,
};
use bevy_affinity::prelude::*;

use super::{Log, Script, Side, Step};
use crate::{
    components::{A, B, Number, S, Seen, Tag, Z},
    dice::{Trail, mix, mix_slowly},
    order::by_archetype,
};

/// A system over `Query`, one row after another, and one over `AffineQuery` with `for_each`.
macro_rules! sweep {
    ($side:expr, $name:literal, $data:ty, $filter:ty, $visit:expr) => {
        $side.step(
            $name,
            |mut rows: Query<$data, $filter>, script: Res<Script>| {
                let salt = script.salt;
                rows.iter_mut().for_each(|row| $visit(salt, row));
            },
            |mut rows: AffineQuery<$data, $filter>, script: Res<Script>| {
                let salt = script.salt;
                rows.par_iter_mut().for_each(|row| $visit(salt, row));
            },
        )
    };
}

pub fn steps(side: Side) -> Vec<Step> {
    vec![
        sweep!(side, "stir", (&mut A, &B), (), stir),
        sweep!(side, "stir by archetype", (&mut A, Option<&mut S>), With<Tag>, stir_optional),
        sweep!(side, "stir any", AnyOf<(&mut B, &mut S)>, Without<Z>, stir_any),
        sweep!(side, "see changes", &mut Seen, Or<(Changed<A>, Changed<S>)>, see),
        sweep!(side, "see additions", (&mut Seen, Ref<B>), Or<(Added<A>, With<Z>)>, see_row),
        sweep!(side, "disabled too", (&mut A, Has<Disabled>), Allow<Disabled>, stir_disabled),
        sweep!(side, "whole entities", EntityMut, (With<A>, Without<IsResource>), stir_entity),
        scratch(side),
        chunks(side),
        reduce(side),
        params(side),
        within(side),
        untagged(side),
    ]
}

/// Looks at some rows and leaves them unchanged.
fn stir(salt: u64, (mut a, b): (Mut<A>, &B)) {
    if !(a.0 ^ salt).is_multiple_of(3) {
        a.0 = mix_slowly(a.0 ^ b.0);
    }
}

fn stir_optional(salt: u64, (mut a, s): (Mut<A>, Option<Mut<S>>)) {
    a.0 = mix_slowly(a.0 ^ salt);
    if let Some(mut s) = s {
        s.set_if_neq(S(a.0 % 4));
    }
}

fn stir_any(salt: u64, (b, s): (Option<Mut<B>>, Option<Mut<S>>)) {
    b.into_iter().for_each(|mut b| b.0 = mix_slowly(b.0 ^ salt));
    s.into_iter().for_each(|mut s| s.0 = s.0.wrapping_add(salt));
}

fn see(_: u64, mut seen: Mut<Seen>) {
    seen.0 = seen.0.wrapping_add(1);
}

fn see_row(_: u64, (mut seen, b): (Mut<Seen>, Ref<B>)) {
    seen.0 = seen.0.wrapping_add(0x1_0000 * (u64::from(b.is_added()) + 2 * u64::from(b.is_changed())));
}

fn stir_disabled(salt: u64, (mut a, disabled): (Mut<A>, bool)) {
    a.0 = mix_slowly(a.0 ^ salt ^ u64::from(disabled));
}

fn stir_entity(salt: u64, mut entity: EntityMut) {
    let s = entity.get::<S>().map_or(salt, |s| s.0);
    if let Some(mut a) = entity.get_mut::<A>() {
        a.0 = mix(a.0 ^ s);
    }
}

/// Each thread has a value of its own, and starts it anew: no row may see what another left in it.
fn scratch(side: Side) -> Step {
    fn visit(used: &mut Vec<u64>, mut s: Mut<S>, b: Option<&B>) {
        used.clear();
        used.extend([s.0, b.map_or(1, |b| b.0)]);
        s.0 = mix_slowly(used.iter().fold(0, |sum, used| sum ^ used));
    }
    side.step(
        "for_each_init",
        |mut rows: Query<(&mut S, Option<&B>)>| {
            let mut used = Vec::new();
            rows.iter_mut().for_each(|(s, b)| visit(&mut used, s, b));
        },
        |mut rows: AffineQuery<(&mut S, Option<&B>)>| {
            rows.par_iter_mut().for_each_init(Vec::new, |used, (s, b)| visit(used, s, b));
        },
    )
}

fn chunks(side: Side) -> Step {
    fn visit(a: &mut A, b: Option<&mut B>, has_z: bool) {
        a.0 = mix_slowly(a.0 ^ u64::from(has_z));
        b.into_iter().for_each(|b| b.0 ^= a.0);
    }
    side.step(
        "for_each_chunk",
        |mut rows: Query<(&mut A, Option<&mut B>, Option<&Z>)>| {
            for (mut a, mut b, z) in &mut rows {
                visit(&mut a, b.as_deref_mut(), z.is_some());
            }
        },
        |mut rows: AffineQuery<(&mut A, Option<&mut B>, Option<&Z>)>| {
            rows.par_iter_mut().for_each_chunk(|(a, mut b, z)| {
                for (row, a) in a.iter_mut().enumerate() {
                    visit(a, b.as_deref_mut().map(|b| &mut b[row]), z.is_some());
                }
            });
        },
    )
}

fn reduce(side: Side) -> Step {
    type Row<'a> = (&'a Number, &'a A, Option<&'a S>);
    fn value((number, a, s): Row) -> Trail {
        Trail::of(mix_slowly(u64::from(number.0) ^ a.0 ^ s.map_or(0, |s| s.0)))
    }
    side.step(
        "map_reduce",
        |rows: Query<(Entity, Row)>, entities: &Entities, mut log: ResMut<Log>| {
            let values = by_archetype(entities, rows).into_iter().map(|(_, row)| value(row));
            log.note("reduced", values.fold(Trail::EMPTY, Trail::then).hash());
        },
        |rows: AffineQuery<Row<'static>>, mut log: ResMut<Log>| {
            log.note("reduced", rows.par_iter().map_reduce(|| Trail::EMPTY, value, Trail::then).hash());
        },
    )
}

/// Two queries that may not be used at a time, and the methods of `Query` that are not parallel.
fn params(side: Side) -> Step {
    type Both<'w, 's, A, B> = ParamSet<'w, 's, (A, B)>;
    type Copied<'a> = (&'a A, &'a mut B);
    side.step(
        "param sets",
        |mut both: Both<Query<&mut A, With<B>>, Query<Copied>>| {
            both.p0().iter_mut().for_each(|mut a| a.0 = mix_slowly(a.0));
            both.p1().iter_mut().for_each(|(a, mut b)| b.0 ^= a.0);
        },
        |mut both: Both<AffineQuery<&mut A, With<B>>, AffineQuery<Copied<'static>>>| {
            both.p0().par_iter_mut().for_each(|mut a| a.0 = mix_slowly(a.0));
            both.p1().reborrow().iter_mut().for_each(|(a, mut b)| b.0 ^= a.0);
        },
    )
}

/// Sweeps inside of a sweep.
fn within(side: Side) -> Step {
    fn is_outer(salt: u64, number: &Number) -> bool {
        mix(salt ^ u64::from(number.0)).is_multiple_of(256)
    }
    side.step(
        "nested sweeps",
        |mut outer: Query<(&Number, &mut Seen)>,
         inner: Query<(Entity, &S)>,
         entities: &Entities,
         script: Res<Script>| {
            let inner = by_archetype(entities, inner);
            for (_, mut seen) in outer.iter_mut().filter(|(number, _)| is_outer(script.salt, number)) {
                seen.0 = mix(seen.0 ^ inner.iter().map(|(_, s)| s.0).collect::<Trail>().hash());
            }
        },
        |mut outer: AffineQuery<(&Number, &mut Seen)>, inner: AffineQuery<&S>, script: Res<Script>| {
            outer.par_iter_mut().for_each(|(number, mut seen)| {
                if is_outer(script.salt, number) {
                    let sum = inner.par_iter().map_reduce(|| Trail::EMPTY, |s| Trail::of(s.0), Trail::then);
                    seen.0 = mix(seen.0 ^ sum.hash());
                }
            });
        },
    )
}

/// Without the tag the same query runs on Bevy's own threads.
fn untagged(side: Side) -> Step {
    let systems = match side {
        Side::Plain => {
            (|mut rows: Query<(&mut B, &A)>| rows.iter_mut().for_each(|(mut b, a)| b.0 ^= mix(a.0))).into_configs()
        }
        Side::Ours => (|mut rows: AffineQuery<(&mut B, &A)>| {
            rows.par_iter_mut().for_each(|(mut b, a)| b.0 ^= mix(a.0));
        })
        .into_configs(),
    };
    Step { name: "untagged", systems }
}
