//! The shapes of queries that are compared, and what each does to its rows.

use bevy::{
    ecs::{
        entity_disabling::Disabled,
        query::{Allow, AnyOf, IterQueryData, QueryData, QueryFilter},
    },
    prelude::*,
};

use super::population::{A, B, S, Z};
use crate::mix::mix_slowly;

/// What a closure saw of one row.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Visit {
    pub entity: Entity,
    pub seen: Vec<u64>,
}

pub fn visit<const N: usize>(entity: Entity, seen: [u64; N]) -> Visit {
    Visit { entity, seen: seen.to_vec() }
}

/// A query and what is done with each of its items.
pub trait Shape: 'static {
    type Data: IterQueryData + 'static;
    type Filter: QueryFilter + 'static;

    fn visit(item: <Self::Data as QueryData>::Item<'_, '_>) -> Visit;
}

macro_rules! shapes {
    ($($name:ident: $data:ty, $filter:ty, $item:pat => $visit:expr;)*) => {$(
        pub struct $name;

        impl Shape for $name {
            type Data = $data;
            type Filter = $filter;

            fn visit($item: <$data as QueryData>::Item<'_, '_>) -> Visit {
                $visit
            }
        }
    )*};
}

shapes! {
    WriteTable: (Entity, &'static mut A, &'static B), (), (entity, mut a, b) => {
        // Some rows are looked at and left unchanged.
        if a.0 % 3 != 0 {
            a.0 = mix_slowly(a.0 ^ b.0);
        }
        visit(entity, [a.0, b.0])
    };
    WriteOptional: (Entity, &'static mut A, Option<&'static mut B>, Has<Z>), (), (entity, mut a, b, has_z) => {
        a.0 = mix_slowly(a.0 + u64::from(has_z));
        let b = b.map(|mut b| {
            b.0 ^= a.0;
            b.0
        });
        visit(entity, [a.0, b.unwrap_or(u64::MAX), u64::from(has_z)])
    };
    WriteByArchetype: (Entity, &'static mut A), With<S>, (entity, mut a) => {
        a.0 = mix_slowly(a.0 + 1);
        visit(entity, [a.0])
    };
    WriteSparse: (Entity, &'static mut S), (), (entity, mut s) => {
        s.0 = mix_slowly(s.0);
        visit(entity, [s.0])
    };
    WriteMixed: (Entity, &'static mut A, &'static mut S, &'static Z), Without<B>, (entity, mut a, mut s, _) => {
        std::mem::swap(&mut a.0, &mut s.0);
        visit(entity, [a.0, s.0])
    };
    WriteEither: (Entity, &'static mut B), Or<(With<Z>, With<S>)>, (entity, mut b) => {
        b.0 = mix_slowly(b.0);
        visit(entity, [b.0])
    };
    WriteIfDifferent: (Entity, &'static mut B), (), (entity, mut b) => {
        let even = B(b.0 & !1);
        let differed = b.set_if_neq(even);
        visit(entity, [u64::from(differed), b.last_changed().get().into()])
    };
    WriteChanged: (Entity, &'static mut A), Changed<B>, (entity, mut a) => {
        a.0 = mix_slowly(a.0);
        visit(entity, [a.0])
    };
    WriteAdded: (Entity, &'static mut A), Or<(Added<A>, Changed<S>)>, (entity, mut a) => {
        a.0 = mix_slowly(a.0);
        visit(entity, [a.0])
    };
    WriteAny: (Entity, AnyOf<(&'static mut A, &'static B, &'static S)>), (), (entity, (a, b, s)) => {
        let a = a.map_or(0, |mut a| {
            a.0 += 1;
            a.0
        });
        visit(entity, [a, b.map_or(0, |b| b.0), s.map_or(0, |s| s.0)])
    };
    WriteUnsized: (Entity, &'static mut Z), (), (entity, mut z) => {
        if entity.index_u32() % 2 == 0 {
            z.set_changed();
        }
        visit(entity, [])
    };
    WriteDisabled: (Entity, &'static mut A, Has<Disabled>), Allow<Disabled>, (entity, mut a, disabled) => {
        a.0 += 1;
        visit(entity, [a.0, u64::from(disabled)])
    };
    WriteEntity: EntityMut<'static>, With<A>, mut entity => {
        let s = entity.get::<S>().map_or(0, |s| s.0);
        if let Some(mut a) = entity.get_mut::<A>() {
            a.0 = mix_slowly(a.0 ^ s);
        }
        visit(entity.id(), [s])
    };
    ReadTicks: (Entity, Ref<'static, A>, Option<Ref<'static, S>>), (), (entity, a, s) => {
        let ticks = [a.added().get().into(), a.last_changed().get().into(), u64::from(a.is_changed())];
        visit(entity, ticks.map(|tick: u64| tick + s.as_ref().map_or(0, |s| u64::from(s.is_changed()))))
    };
    ReadAdded: (Entity, &'static B), Added<B>, (entity, b) => visit(entity, [mix_slowly(b.0)]);
    ReadOnlyDisabled: (Entity, Option<&'static A>), With<Disabled>, (entity, a) => {
        visit(entity, [a.map_or(0, |a| a.0)])
    };
}
