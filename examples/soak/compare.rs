//! Whether two worlds are equal: every component of every entity to the bit, the order of rows in
//! their tables, and what systems found out.

use bevy::{
    ecs::{
        entity_disabling::Disabled,
        query::{Allow, QueryData},
    },
    prelude::*,
};
use bevy_affinity::Due;

use crate::{
    components::{A, At, B, Link, Mail, Mark, Number, S, Seen, Sum, Tag, Watch, Z},
    dice::Trail,
    order::by_archetype,
    program::Log,
};

type Values<'a> = (
    Option<&'a A>,
    Option<&'a B>,
    Option<&'a S>,
    Option<&'a Link>,
    Option<&'a Mail>,
    Option<&'a Sum>,
    (Option<&'a At>, Option<&'a Due>),
    &'a Seen,
    &'a Watch,
);
type Marks = (Has<Z>, Has<Tag>, Has<Mark<0>>, Has<Mark<1>>, Has<Disabled>);
type Places<'a> = (Option<&'a Transform>, Option<&'a GlobalTransform>, Option<&'a ChildOf>, Option<&'a Children>);
type Columns<'a> = (&'a Number, Values<'a>, Marks, Places<'a>);

type Item<'w, 's> = <Columns<'static> as QueryData>::Item<'w, 's>;

/// All rows of a world.
pub type Rows = QueryState<(Entity, Columns<'static>), Allow<Disabled>>;

/// All that can be told apart about one entity.
#[derive(Debug, PartialEq)]
struct Row {
    number: u32,
    /// Its place in its table.
    table_row: u32,
    a: Option<u64>,
    b: Option<u64>,
    s: Option<u64>,
    /// The number of an entity, or that it is gone.
    link: Option<Option<u32>>,
    mail: Option<u64>,
    sum: Option<u64>,
    /// When it is due.
    time: Option<u64>,
    seen: u64,
    watch: Watch,
    marks: [bool; 5],
    transform: Option<Transform>,
    global: Option<[u32; 12]>,
    parent: Option<Option<u32>>,
    children: Option<u64>,
}

impl Row {
    fn of(world: &World, entity: Entity, (number, values, marks, places): Item) -> Self {
        let (a, b, s, link, mail, sum, (at, due), seen, watch) = values;
        let (transform, global, parent, children) = places;
        let place = world.entities().get_spawned(entity).expect("a row's entity exists");
        let number_of = |entity: Entity| world.get::<Number>(entity).map(|number| number.0);
        let children_hash = |children: &Children| {
            children.iter().map(|child| number_of(child).map_or(u64::MAX, u64::from)).collect::<Trail>().hash()
        };
        Self {
            number: number.0,
            table_row: place.table_row.index_u32(),
            a: a.map(|a| a.0),
            b: b.map(|b| b.0),
            s: s.map(|s| s.0),
            link: link.map(|link| number_of(link.0)),
            mail: mail.map(|mail| mail.0),
            sum: sum.map(|sum| sum.0),
            time: at.map(|at| at.0).or(due.map(Due::time)),
            seen: seen.0,
            watch: *watch,
            marks: marks.into(),
            transform: transform.copied(),
            global: global.map(|global| global.affine().to_cols_array().map(f32::to_bits)),
            parent: parent.map(|parent| number_of(parent.parent())),
            children: children.map(children_hash),
        }
    }
}

/// Both worlds, each with the rows that it has.
pub struct Side<'a> {
    pub world: &'a World,
    pub rows: &'a mut Rows,
}

impl Side<'_> {
    fn in_order(self) -> Vec<Row> {
        let rows = by_archetype(self.world.entities(), self.rows.iter(self.world));
        rows.into_iter().map(|(entity, columns)| Row::of(self.world, entity, columns)).collect()
    }
}

/// How many rows were compared.
///
/// # Errors
/// What differs, in some words.
pub fn compare(ours: Side, plain: Side) -> Result<u64, String> {
    compare_logs(&ours.world.resource::<Log>().0, &plain.world.resource::<Log>().0)?;
    let (ours, plain) = (ours.in_order(), plain.in_order());
    let difference = (0..ours.len().max(plain.len())).find(|&row| ours.get(row) != plain.get(row));
    difference.map_or(Ok(ours.len() as u64), |row| {
        Err(format!("row {row}\n  ours:  {:?}\n  plain: {:?}", ours.get(row), plain.get(row)))
    })
}

fn compare_logs(ours: &[(&str, u64)], plain: &[(&str, u64)]) -> Result<(), String> {
    let place = (0..ours.len().max(plain.len())).find(|&place| ours.get(place) != plain.get(place));
    place.map_or(Ok(()), |place| {
        Err(format!("result {place} of the frame\n  ours:  {:?}\n  plain: {:?}", ours.get(place), plain.get(place)))
    })
}
