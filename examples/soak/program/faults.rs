//! Panics in the middle of parallel calls. How far the others come is no promise, so what they
//! write is compared by nobody; that the payload comes out, that no order of theirs is carried out,
//! and that all goes on is.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind, panic_any, resume_unwind},
};

use bevy::{
    ecs::{entity::Entities, system::ScheduleSystem},
    prelude::*,
};
use bevy_affinity::prelude::*;

use super::{Configs, Log, Script, Side, Step};
use crate::{
    components::{A, Link, Number, Scratch, Sum, Tag},
    dice::mix,
    order::by_table,
};

/// The payload: the number of the row that panicked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Planted(pub u32);

/// Whether a row panics. In most frames none does, in some a few, in some most.
fn is_faulty(salt: u64, number: u32) -> bool {
    let rarely = [2, 512, 512, 8_192, 1 << 40][(salt % 5) as usize];
    mix(salt ^ u64::from(number)).is_multiple_of(rarely)
}

fn stumble(salt: u64, number: u32) {
    if is_faulty(salt, number) {
        panic_any(Planted(number));
    }
}

/// Whether `call` panicked with the payload of a row that was to.
fn caught(salt: u64, call: impl FnOnce()) -> u64 {
    match catch_unwind(AssertUnwindSafe(call)).map_err(<Box<dyn Any + Send>>::downcast::<Planted>) {
        Ok(()) => 0,
        Err(Ok(planted)) => u64::from(is_faulty(salt, planted.0)),
        Err(Err(other)) => resume_unwind(other),
    }
}

/// Whether any of the rows is to panic.
fn expected<'a>(salt: u64, mut rows: impl Iterator<Item = &'a Number>) -> u64 {
    u64::from(rows.any(|number| is_faulty(salt, number.0)))
}

pub fn steps(side: Side) -> Vec<Step> {
    vec![
        sweeps(side),
        chunks(side),
        mail(side),
        orders(side),
        trees(side),
        pool(side),
        doomed(side),
        doomed_kernel(side),
    ]
}

fn sweeps(side: Side) -> Step {
    side.step(
        "panics in sweeps",
        |rows: Query<&Number>, script: Res<Script>, mut log: ResMut<Log>| {
            let expected = expected(script.salt, rows.iter());
            (0..3).for_each(|_| log.note("panicked", expected));
        },
        |mut rows: AffineQuery<(&Number, &mut Scratch)>, script: Res<Script>, mut log: ResMut<Log>| {
            let salt = script.salt;
            let swept = caught(salt, || {
                rows.par_iter_mut().for_each(|(number, mut scratch)| {
                    stumble(salt, number.0);
                    scratch.0 += 1;
                });
            });
            log.note("panicked", swept);
            let with_scratch = caught(salt, || {
                rows.par_iter_mut().for_each_init(Vec::new, |numbers, (number, _)| {
                    stumble(salt, number.0);
                    numbers.push(number.0);
                });
            });
            log.note("panicked", with_scratch);
            let reduced = caught(salt, || {
                let map = |(number, _): (&Number, &Scratch)| stumble(salt, number.0);
                rows.par_iter().map_reduce(|| (), map, |(), ()| ());
            });
            log.note("panicked", reduced);
        },
    )
}

fn chunks(side: Side) -> Step {
    side.step(
        "panics in chunks",
        |rows: Query<&Number, Without<A>>, script: Res<Script>, mut log: ResMut<Log>| {
            log.note("panicked", expected(script.salt, rows.iter()));
        },
        |rows: AffineQuery<&Number, Without<A>>, script: Res<Script>, mut log: ResMut<Log>| {
            let salt = script.salt;
            let visit = |numbers: &[Number]| numbers.iter().for_each(|number| stumble(salt, number.0));
            log.note("panicked", caught(salt, || rows.par_iter().for_each_chunk(visit)));
        },
    )
}

/// While letters are written, and while they are received.
fn mail(side: Side) -> Step {
    type Rows<'a> = (&'a Number, &'a Link, &'a mut Scratch);
    side.step(
        "panics in scatter",
        |rows: Query<(&Number, &Link)>, script: Res<Script>, mut log: ResMut<Log>| {
            log.note("sending panicked", expected(script.salt, rows.iter().map(|(number, _)| number)));
            let receivers = rows.iter().filter_map(|(_, link)| rows.get(link.0).ok());
            log.note("receiving panicked", expected(script.salt, receivers.map(|(number, _)| number)));
        },
        |mut rows: AffineQuery<Rows<'static>>, script: Res<Script>, mut log: ResMut<Log>| {
            let salt = script.salt;
            let sent = caught(salt, || {
                rows.par_iter_mut().scatter_within(
                    |outbox, (number, link, _)| {
                        outbox.send(link.0, vec![number.0]);
                        stumble(salt, number.0);
                    },
                    |(_, _, mut scratch), letter: Vec<u32>| scratch.0 += u64::from(letter[0]),
                );
            });
            log.note("sending panicked", sent);
            let received = caught(salt, || {
                rows.par_iter_mut().scatter_within(
                    |outbox, (number, link, _)| outbox.send(link.0, vec![number.0]),
                    |(number, _, mut scratch), letter: Vec<u32>| {
                        stumble(salt, number.0);
                        scratch.0 += u64::from(letter[0]);
                    },
                );
            });
            log.note("receiving panicked", received);
        },
    )
}

/// If one panics, the orders of none are carried out.
fn orders(side: Side) -> Step {
    type Rows<'a> = (Entity, &'a Number);
    fn order(commands: &mut Commands, entity: Entity, number: Number) {
        if number.0.is_multiple_of(64) {
            commands.entity(entity).try_insert(Tag);
            commands.queue(move |world: &mut World| world.resource_mut::<Log>().note("ordered", number.0.into()));
        }
    }
    side.step(
        "panics in commands",
        |rows: Query<Rows, With<A>>,
         entities: &Entities,
         mut commands: Commands,
         script: Res<Script>,
         mut log: ResMut<Log>| {
            let panics = expected(script.salt, rows.iter().map(|(_, number)| number));
            log.note("panicked", panics);
            if panics == 0 {
                let rows = by_table(entities, rows).into_iter();
                rows.for_each(|(entity, number)| order(&mut commands, entity, *number));
            }
        },
        |rows: AffineQuery<Rows<'static>, With<A>>,
         mut commands: AffineCommands,
         script: Res<Script>,
         mut log: ResMut<Log>| {
            let salt = script.salt;
            let panicked = caught(salt, || {
                rows.par_iter().for_each_with_commands(&mut commands, |commands, (entity, number)| {
                    order(commands, entity, *number);
                    stumble(salt, number.0);
                });
            });
            log.note("panicked", panicked);
        },
    )
}

fn trees(side: Side) -> Step {
    type Roots<'w, 's> = Query<'w, 's, Entity, (With<Sum>, Without<ChildOf>)>;
    side.step(
        "panics in trees",
        |nodes: Query<&Number, With<Sum>>,
         below: Query<&Children>,
         roots: Roots,
         script: Res<Script>,
         mut log: ResMut<Log>| {
            let mut open: Vec<_> = roots.iter().collect();
            let mut visited = Vec::new();
            while let Some(entity) = open.pop() {
                if let Ok(number) = nodes.get(entity) {
                    visited.push(number);
                    open.extend(below.get(entity).into_iter().flatten());
                }
            }
            let expected = expected(script.salt, visited.into_iter());
            (0..2).for_each(|_| log.note("panicked", expected));
        },
        |mut nodes: AffineTree<&Number, With<Sum>>, roots: Roots, script: Res<Script>, mut log: ResMut<Log>| {
            let salt = script.salt;
            let propagated = caught(salt, || {
                nodes.propagate(roots.iter().map(|root| (root, ())), |(), _, number| {
                    stumble(salt, number.0);
                    Some(())
                });
            });
            log.note("panicked", propagated);
            let folded = caught(salt, || {
                nodes.fold(roots, |_, number, children: &[Vec<u32>]| {
                    stumble(salt, number.0);
                    vec![children.len() as u32]
                });
            });
            log.note("panicked", folded);
        },
    )
}

/// In rounds, joins and batched calls.
fn pool(side: Side) -> Step {
    const COUNT: u32 = 300;
    /// The payload is that of the call that serial execution would have met first.
    fn first(salt: u64) -> u64 {
        (0..COUNT).find(|&index| is_faulty(salt, index)).map_or(u64::MAX, u64::from)
    }
    fn join(scope: &mut Scope, salt: u64, from: u32, to: u32) {
        match to - from {
            0 => {}
            1 => stumble(salt, from),
            _ => {
                let middle = from.midpoint(to);
                scope.join(|scope| join(scope, salt, from, middle), |scope| join(scope, salt, middle, to));
            }
        }
    }
    side.step(
        "panics in the pool",
        |script: Res<Script>, mut log: ResMut<Log>| {
            let first = first(script.salt);
            let panics = u64::from(first != u64::MAX);
            log.note("rounds panicked", panics);
            log.note("first join that panicked", first);
            log.note("calls panicked", panics);
        },
        |script: Res<Script>, mut log: ResMut<Log>, pool: Res<AffinityPool>| {
            let salt = script.salt;
            let rounds = caught(salt, || {
                let workers = pool.workers();
                pool.run(|worker| {
                    let share = (worker.index() as u32..COUNT).step_by(workers);
                    share.for_each(|index| stumble(salt, index));
                });
            });
            log.note("rounds panicked", rounds);
            let joins = catch_unwind(AssertUnwindSafe(|| pool.heartbeat(|scope| join(scope, salt, 0, COUNT))));
            let first = match joins.map_err(<Box<dyn Any + Send>>::downcast::<Planted>) {
                Ok(()) => u64::MAX,
                Err(Ok(planted)) => planted.0.into(),
                Err(Err(other)) => resume_unwind(other),
            };
            log.note("first join that panicked", first);
            let calls = caught(salt, || {
                let answer = |index| stumble(salt, index);
                pool.batched(answer, |calls| (0..COUNT).for_each(|index| _ = calls.call(index.into(), index)));
            });
            log.note("calls panicked", calls);
        },
    )
}

/// One row panics, and nobody catches it: the app ends.
fn doomed(side: Side) -> Step {
    side.step(
        "doomed",
        |rows: Query<&Number>, script: Res<Script>| {
            rows.iter().for_each(|number| fall(&script, *number));
        },
        |rows: AffineQuery<&Number>, script: Res<Script>| {
            let script = &*script;
            rows.par_iter().for_each(|number| fall(script, *number));
        },
    )
}

fn doomed_kernel(side: Side) -> Step {
    fn kernel(Row(number): Row<&Number>, script: &Script) {
        fall(script, *number);
    }
    fn plain(rows: Query<&Number>, script: Res<Script>) {
        rows.iter().for_each(|number| fall(&script, *number));
    }
    let systems: Configs = match side {
        Side::Plain => IntoScheduleConfigs::<ScheduleSystem, _>::into_configs(plain),
        Side::Ours => fused((kernel,)).affine(),
    };
    Step { name: "doomed kernel", systems }
}

fn fall(script: &Script, number: Number) {
    if script.doomed == Some(number.0) {
        panic_any(Planted(number.0));
    }
}
