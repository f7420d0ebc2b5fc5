//! Changes to a world from outside its systems: drawn once, and applied to both worlds.

use bevy::prelude::*;

use crate::{
    components::{A, Kind, base},
    dice::{Dice, mix},
};

/// The number of the next entity.
#[derive(Resource, Default)]
pub struct NextNumber(pub u32);

/// So many entities, beginning with one of those that there are.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    first: usize,
    count: usize,
}

#[derive(Clone, Debug)]
pub enum Change {
    Spawn {
        kinds: Vec<Kind>,
        count: usize,
        parent: Option<usize>,
        value: u64,
    },
    Insert(Kind, Run, u64),
    Remove(Kind, Run),
    /// Marked as changed, to what it was.
    Touch(Run),
    Adopt {
        child: usize,
        parent: usize,
    },
    Orphan(Run),
    /// With all below.
    Despawn(Run),
}

impl Change {
    /// The changes of one frame to a world of `count` entities, which should not have more than
    /// `most`.
    pub fn draw(dice: &mut Dice, kinds: &[Kind], count: usize, most: usize) -> Vec<Self> {
        let mut changes: Vec<_> = (0..dice.below(8)).map(|_| Self::draw_one(dice, kinds, count, most)).collect();
        if count > most {
            changes.push(Self::Despawn(Run { first: dice.below(count), count: count / 3 }));
        }
        // Bevy tells changed transforms from orphans by index alone: one that becomes free is used
        // again in a later frame only.
        changes.sort_by_key(|change| matches!(change, Self::Despawn(_)));
        changes
    }

    fn draw_one(dice: &mut Dice, kinds: &[Kind], count: usize, most: usize) -> Self {
        let value = dice.number();
        match dice.below(16) {
            0..=3 => Self::draw_spawn(dice, kinds, count, most),
            4..=6 => Self::Insert(dice.pick(kinds), Run::draw(dice, count), value),
            7..=9 => Self::Remove(dice.pick(kinds), Run::draw(dice, count)),
            10 => Self::Touch(Run::draw(dice, count)),
            11 | 12 => Self::Adopt { child: dice.below(count), parent: dice.below(count) },
            13 => Self::Orphan(Run::draw(dice, count)),
            _ => Self::Despawn(Run::draw(dice, count)),
        }
    }

    fn draw_spawn(dice: &mut Dice, kinds: &[Kind], count: usize, most: usize) -> Self {
        let kinds = kinds.iter().copied().filter(|&kind| dice.once_in(if kind == Kind::Disabled { 16 } else { 2 }));
        let kinds = kinds.collect();
        let room = if count < most { most / 4 } else { 4 };
        let parent = dice.once_in(3).then(|| dice.below(count));
        Self::Spawn { kinds, count: 1 + dice.below(room), parent, value: dice.number() }
    }

    /// `rows` are the entities that there were before the changes of this frame, in the same order
    /// in both worlds.
    pub fn apply(&self, world: &mut World, rows: &[Entity]) {
        match self {
            Self::Spawn { kinds, count, parent, value } => {
                let parent = parent.and_then(|parent| live(world, rows, parent));
                (0..*count).for_each(|row| spawn(world, rows, kinds, parent, mix(value ^ row as u64)));
            }
            Self::Insert(kind, run, value) => run.for_each(world, rows, |entity, row| {
                let value = mix(value ^ row as u64);
                kind.insert(entity, value, target(rows, value).unwrap_or(entity.id()));
            }),
            Self::Remove(kind, run) => run.for_each(world, rows, |entity, _| kind.remove(entity)),
            Self::Touch(run) => run.for_each(world, rows, |entity, _| {
                if let Some(mut a) = entity.get_mut::<A>() {
                    a.set_changed();
                }
            }),
            Self::Adopt { child, parent } => adopt(world, rows, *child, *parent),
            Self::Orphan(run) => run.for_each(world, rows, |entity, _| _ = entity.remove::<ChildOf>()),
            Self::Despawn(run) => {
                for row in run.rows(rows.len()) {
                    live(world, rows, row).map(|entity| world.despawn(entity));
                }
            }
        }
    }
}

impl Run {
    /// Mostly short; now and then a large part of all.
    fn draw(dice: &mut Dice, count: usize) -> Self {
        let most = if dice.once_in(8) { count / 4 } else { 8 };
        Self { first: dice.below(count), count: 1 + dice.below(most) }
    }

    fn rows(self, count: usize) -> impl Iterator<Item = usize> {
        (self.first..self.first + self.count).take_while(move |&row| row < count)
    }

    fn for_each(self, world: &mut World, rows: &[Entity], mut change: impl FnMut(&mut EntityWorldMut, usize)) {
        for row in self.rows(rows.len()) {
            if let Some(entity) = live(world, rows, row) {
                change(&mut world.entity_mut(entity), row);
            }
        }
    }
}

/// The entity of a row, if it still exists.
fn live(world: &World, rows: &[Entity], row: usize) -> Option<Entity> {
    rows.get(row).copied().filter(|&entity| world.get_entity(entity).is_ok())
}

/// Any of the rows, dead or alive.
fn target(rows: &[Entity], value: u64) -> Option<Entity> {
    rows.get((value % rows.len().max(1) as u64) as usize).copied()
}

/// A new entity with a number of its own.
pub fn spawn_numbered(world: &mut World) -> EntityWorldMut<'_> {
    let mut next = world.resource_mut::<NextNumber>();
    let number = next.0;
    next.0 += 1;
    world.spawn(base(number))
}

fn spawn(world: &mut World, rows: &[Entity], kinds: &[Kind], parent: Option<Entity>, value: u64) {
    let mut entity = spawn_numbered(world);
    let target = target(rows, value).unwrap_or(entity.id());
    kinds.iter().for_each(|kind| kind.insert(&mut entity, value, target));
    if let Some(parent) = parent {
        entity.insert(ChildOf(parent));
    }
}

/// Unless that would close a circle.
fn adopt(world: &mut World, rows: &[Entity], child: usize, parent: usize) {
    let (Some(child), Some(parent)) = (live(world, rows, child), live(world, rows, parent)) else { return };
    let mut above = std::iter::successors(Some(parent), |&entity| Some(world.get::<ChildOf>(entity)?.parent()));
    if above.all(|entity| entity != child) {
        world.entity_mut(child).insert(ChildOf(parent));
    }
}
