//! Every verb that calls closures of users, each as a system with places where something can be
//! done to it.

use std::hint::black_box;

use bevy::{
    ecs::{
        schedule::{ScheduleConfigs, SingleThreadedExecutor},
        system::ScheduleSystem,
    },
    prelude::*,
};
use bevy_affinity::prelude::*;

use crate::{Count, MANY, Number, common::Scheduling};

/// Called at the places of a verb, with the number of the row, if there is one.
pub trait Visitor: Resource + Clone {
    /// What passes through a call: the scratch value, the message, what is reduced, passed down or
    /// folded.
    type Value: Clone + Send + Sync + 'static;

    fn visit(&self, place: Place, number: u64);
    fn value(&self) -> Self::Value;
}

/// Where a closure of a user is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    ForEach,
    Chunk,
    Init,
    InitRow,
    Identity,
    Map,
    Fold,
    Combine,
    Send,
    Receive,
    Commands,
    Roots,
    Down,
    Up,
    Kernel,
}

pub const PLACES: [Place; 15] = [
    Place::ForEach,
    Place::Chunk,
    Place::Init,
    Place::InitRow,
    Place::Identity,
    Place::Map,
    Place::Fold,
    Place::Combine,
    Place::Send,
    Place::Receive,
    Place::Commands,
    Place::Roots,
    Place::Down,
    Place::Up,
    Place::Kernel,
];

fn for_each<V: Visitor>(mut rows: AffineQuery<(&Number, &mut Count)>, visitor: Res<V>) {
    rows.par_iter_mut().for_each(|(number, mut count)| {
        visitor.visit(Place::ForEach, number.0);
        count.0 += 1;
    });
}

fn for_each_chunk<V: Visitor>(mut rows: AffineQuery<(&Number, &mut Count)>, visitor: Res<V>) {
    rows.par_iter_mut().for_each_chunk(|(numbers, counts): (&[Number], &mut [Count])| {
        for (number, count) in numbers.iter().zip(counts) {
            visitor.visit(Place::Chunk, number.0);
            count.0 += 1;
        }
    });
}

fn for_each_init<V: Visitor>(mut rows: AffineQuery<(&Number, &mut Count)>, visitor: Res<V>) {
    let init = || {
        visitor.visit(Place::Init, 0);
        visitor.value()
    };
    rows.par_iter_mut().for_each_init(init, |value, (number, mut count)| {
        visitor.visit(Place::InitRow, number.0);
        *value = visitor.value();
        count.0 += 1;
    });
}

fn map_reduce<V: Visitor>(mut rows: AffineQuery<(&Number, &mut Count)>, visitor: Res<V>) {
    let identity = || {
        visitor.visit(Place::Identity, 0);
        visitor.value()
    };
    let map = |(number, mut count): (&Number, Mut<Count>)| {
        visitor.visit(Place::Map, number.0);
        count.0 += 1;
        visitor.value()
    };
    let combine = |left, right| {
        visitor.visit(Place::Combine, 0);
        // What a function is about to return leaks if one of its arguments panics in its drop.
        drop(right);
        left
    };
    black_box(rows.par_iter_mut().map_reduce(identity, map, combine));
}

fn fold_reduce<V: Visitor>(mut rows: AffineQuery<(&Number, &mut Count)>, visitor: Res<V>) {
    let fold = |values: &mut Vec<V::Value>, (number, mut count): (&Number, Mut<Count>)| {
        visitor.visit(Place::Fold, number.0);
        count.0 += 1;
        values.push(visitor.value());
    };
    let combine = |mut first: Vec<_>, mut second| {
        first.append(&mut second);
        first
    };
    assert_eq!(rows.par_iter_mut().fold_reduce(Vec::new, fold, combine).len() as u64, MANY);
}

fn scatter<V: Visitor>(mut rows: AffineQuery<(Entity, &Number, &mut Count)>, visitor: Res<V>) {
    let report = rows.par_iter_mut().scatter_within(
        |outbox, (entity, number, _)| {
            outbox.send(entity, visitor.value());
            outbox.send(Entity::PLACEHOLDER, visitor.value());
            visitor.visit(Place::Send, number.0);
        },
        |(_, number, mut count), _value| {
            visitor.visit(Place::Receive, number.0);
            count.0 += 1;
        },
    );
    assert_eq!((report.delivered, report.despawned), (MANY, MANY));
}

fn with_commands<V: Visitor>(
    rows: AffineQuery<(Entity, &Number), With<Count>>,
    mut commands: AffineCommands,
    visitor: Res<V>,
) {
    rows.par_iter().for_each_with_commands(&mut commands, |commands, (entity, number)| {
        let value = visitor.value();
        commands.queue(move |world: &mut World| {
            let _value = value;
            world.get_mut::<Count>(entity).unwrap().0 += 1;
        });
        visitor.visit(Place::Commands, number.0);
    });
}

fn propagate<V: Visitor>(
    mut nodes: AffineTree<(&Number, &mut Count)>,
    roots: Query<Entity, Without<ChildOf>>,
    visitor: Res<V>,
) {
    let roots = roots.iter().map(|root| {
        visitor.visit(Place::Roots, 0);
        (root, visitor.value())
    });
    nodes.propagate(roots, |_, _, (number, mut count)| {
        visitor.visit(Place::Down, number.0);
        count.0 += 1;
        Some(visitor.value())
    });
}

fn fold<V: Visitor>(
    mut nodes: AffineTree<(&Number, &mut Count)>,
    roots: Query<Entity, Without<ChildOf>>,
    visitor: Res<V>,
) {
    nodes.fold(roots, |_, (number, mut count), _: &[V::Value]| {
        visitor.visit(Place::Up, number.0);
        count.0 += 1;
        visitor.value()
    });
}

fn kernels<V: Visitor>(visitor: V) -> ScheduleConfigs<ScheduleSystem> {
    let visit = move |Row((number, mut count)): Row<(&Number, &mut Count)>| {
        visitor.visit(Place::Kernel, number.0);
        count.0 += 1;
    };
    fn look(Row(count): Row<&Count>) {
        black_box(count.0);
    }
    fused((visit, look)).affine()
}

/// An app, and one system beside it.
pub struct Attack {
    app: App,
    schedule: Schedule,
}

impl Attack {
    /// The system whose verb has `place`, over rows that are a forest too. A run counts each row up
    /// once.
    pub fn new<V: Visitor>(scheduling: Scheduling, place: Place, visitor: V) -> Self {
        let mut app = scheduling.app();
        app.insert_resource(visitor.clone());
        spawn_forest(app.world_mut());
        let mut schedule = Schedule::default();
        schedule.add_systems(match place {
            Place::ForEach => for_each::<V>.affine(),
            Place::Chunk => for_each_chunk::<V>.affine(),
            Place::Init | Place::InitRow => for_each_init::<V>.affine(),
            Place::Identity | Place::Map | Place::Combine => map_reduce::<V>.affine(),
            Place::Fold => fold_reduce::<V>.affine(),
            Place::Send | Place::Receive => scatter::<V>.affine(),
            Place::Commands => with_commands::<V>.affine(),
            Place::Roots | Place::Down => propagate::<V>.affine(),
            Place::Up => fold::<V>.affine(),
            Place::Kernel => kernels::<V>(visitor),
        });
        Self { app, schedule }
    }

    pub fn run(&mut self) {
        // Bevy's executors skip systems in the run after one that panicked.
        self.schedule.set_executor(SingleThreadedExecutor::new());
        self.schedule.run(self.app.world_mut());
        self.app.update();
    }

    pub fn world_mut(&mut self) -> &mut World {
        self.app.world_mut()
    }
}

/// Each row is the child of a row before it, but for some roots.
fn spawn_forest(world: &mut World) {
    let mut entities = Vec::<Entity>::new();
    for number in 0..MANY {
        let mut entity = world.spawn((Number(number), Count(0)));
        if number % 50 != 0 {
            entity.insert(ChildOf(entities[number as usize / 2 / 50 * 50]));
        }
        entities.push(entity.id());
    }
}
