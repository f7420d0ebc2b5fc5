//! What counts as changed when a frame ends: the same system in both worlds.

use bevy::{
    ecs::{entity_disabling::Disabled, query::Allow},
    prelude::*,
};

use crate::{
    components::{A, B, Mail, S, Seen, Sum, Watch, Z},
    dice::mix,
};

type Columns<'a> = (
    Option<Ref<'a, A>>,
    Option<Ref<'a, B>>,
    Option<Ref<'a, S>>,
    Option<Ref<'a, Z>>,
    Option<Ref<'a, Mail>>,
    Option<Ref<'a, Sum>>,
    Ref<'a, Seen>,
    Option<Ref<'a, Transform>>,
    Option<Ref<'a, GlobalTransform>>,
    Option<Ref<'a, TransformTreeChanged>>,
);

fn flags<T: Component>(column: &Option<Ref<T>>) -> u64 {
    column.as_ref().map_or(0, |cell| 1 | u64::from(cell.is_changed()) << 1 | u64::from(cell.is_added()) << 2)
}

pub fn watch(mut rows: Query<(&mut Watch, Columns), Allow<Disabled>>) {
    for (mut watch, (a, b, s, z, mail, sum, seen, transform, global, tree)) in &mut rows {
        let cells = [flags(&a), flags(&b), flags(&s), flags(&z), flags(&mail), flags(&sum)];
        let places = [flags(&transform), flags(&global), flags(&tree), u64::from(seen.is_changed())];
        let bits = cells.iter().chain(&places).fold(0, |bits, flags| bits << 3 | flags);
        *watch = Watch { last: bits, history: mix(watch.history ^ watch.last) };
    }
}
