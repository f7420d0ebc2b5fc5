//! Structural changes from inside a sweep: entities come and go, move between tables, and send
//! messages, in the order of rows.

use bevy::{ecs::entity::Entities, prelude::*};
use bevy_affinity::prelude::*;

use super::{Log, Script, Side, Step};
use crate::{
    changes::spawn_numbered,
    components::{A, B, Mark, Number, S, Seen, Z},
    dice::{Trail, mix, mix_slowly},
    order::{by_archetype, by_table},
};

/// Written by commands, read by a system later in the frame.
#[derive(Message, Clone, Copy)]
pub struct Note(u64);

/// Few rows have something to order, and as many of them spawn as despawn.
fn order(salt: u64, commands: &mut Commands, entity: Entity, number: &Number, mut seen: Mut<Seen>) {
    let choice = mix_slowly(salt ^ u64::from(number.0));
    let value = choice >> 8;
    match choice % 256 {
        0 => commands.entity(entity).try_despawn(),
        1 => commands.queue(move |world: &mut World| _ = spawn_numbered(world).insert((A(value), B(value)))),
        2 => commands.queue(move |world: &mut World| _ = spawn_numbered(world).insert((A(value), S(value), Z))),
        3 => _ = commands.entity(entity).try_insert((B(value), Mark::<0>)),
        4 => _ = commands.entity(entity).try_remove::<(B, Mark<0>)>(),
        5 => _ = commands.entity(entity).try_insert(S(value)),
        6 => _ = commands.entity(entity).try_remove::<(S, Z)>(),
        7..10 => _ = commands.write_message(Note(value)),
        10..13 => commands.queue(move |world: &mut World| world.resource_mut::<Log>().note("ordered", value)),
        _ => return,
    }
    seen.0 = seen.0.wrapping_add(mix(value));
}

type Rows<'a> = (Entity, &'a Number, &'a mut Seen);

pub fn steps(side: Side) -> Vec<Step> {
    let commands = side.step(
        "for_each_with_commands",
        |mut rows: Query<Rows>, entities: &Entities, mut commands: Commands, script: Res<Script>| {
            let rows = rows.iter_mut().map(|(entity, number, seen)| (entity, (number, seen)));
            for (entity, (number, seen)) in by_table(entities, rows) {
                order(script.salt, &mut commands, entity, number, seen);
            }
        },
        |mut rows: AffineQuery<Rows<'static>>, mut commands: AffineCommands, script: Res<Script>| {
            let salt = script.salt;
            rows.par_iter_mut().for_each_with_commands(&mut commands, |commands, (entity, number, seen)| {
                order(salt, commands, entity, number, seen);
            });
        },
    );
    let sparse = side.step(
        "commands by archetype",
        |rows: Query<(Entity, &S), With<A>>, entities: &Entities, mut commands: Commands, script: Res<Script>| {
            let rows = by_archetype(entities, rows);
            rows.into_iter().for_each(|(entity, s)| toggle(script.salt, &mut commands, entity, s));
        },
        |rows: AffineQuery<(Entity, &S), With<A>>, mut commands: AffineCommands, script: Res<Script>| {
            let salt = script.salt;
            rows.par_iter().for_each_with_commands(&mut commands, |commands, (entity, s)| {
                toggle(salt, commands, entity, s);
            });
        },
    );
    vec![commands, sparse, side.step("read messages", read, read)]
}

fn toggle(salt: u64, commands: &mut Commands, entity: Entity, s: &S) {
    match mix_slowly(salt ^ s.0) % 64 {
        0 => _ = commands.entity(entity).try_insert(Mark::<1>),
        1 => _ = commands.entity(entity).try_remove::<Mark<1>>(),
        _ => {}
    }
}

fn read(mut notes: MessageReader<Note>, mut log: ResMut<Log>) {
    log.note("messages", notes.read().map(|note| note.0).collect::<Trail>().hash());
}
