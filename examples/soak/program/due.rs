//! Rows that sleep until their time: a sweep with a condition in the plain world.

use bevy::{
    ecs::{entity::Entities, entity_disabling::Disabled, query::Allow},
    prelude::*,
};
use bevy_affinity::prelude::*;

use super::{Log, Script, Side, Step, mail};
use crate::{
    components::{A, At, Link, Mail, Mark, NEVER, Number, S, Seen, Tag},
    dice::{Trail, mix, mix_slowly},
    order::{by_archetype, by_table},
};

/// Letters on their way in the plain world, in the order in which they were sent: when each
/// arrives, and where.
#[derive(Resource, Default)]
pub struct Post(Vec<(u64, Entity, u64)>);

impl Post {
    /// Those that have arrived, in the order of time.
    fn take(&mut self, now: u64) -> Vec<(Entity, u64)> {
        let mut arrived: Vec<_> = self.0.extract_if(.., |&mut (time, ..)| time <= now).collect();
        arrived.sort_by_key(|&(time, ..)| time);
        arrived.into_iter().map(|(_, to, letter)| (to, letter)).collect()
    }
}

pub fn steps(side: Side) -> Vec<Step> {
    vec![visits(side), reduce(side), letters(side), orders(side), wakes(side)]
}

/// When a row is due next: some never, some at once, and some had been before.
fn next(salt: u64, now: u64, number: &Number) -> Option<u64> {
    let value = mix(salt ^ u64::from(number.0));
    match value % 8 {
        0 => None,
        1 => Some(now),
        2 => Some(now.saturating_sub(2)),
        _ => Some(now + 1 + value % 12),
    }
}

impl At {
    fn is_due(&self, now: u64) -> bool {
        self.0 <= now && self.0 < NEVER
    }

    fn set(&mut self, time: Option<u64>) {
        self.0 = time.unwrap_or(NEVER);
    }

    fn bring_forward(&mut self, time: u64) {
        self.0 = self.0.min(time);
    }
}

fn visits(side: Side) -> Step {
    fn visit(seen: &mut Seen, number: &Number, Script { salt, now, .. }: &Script) -> Option<u64> {
        seen.0 = seen.0.wrapping_add(mix_slowly(salt ^ u64::from(number.0)));
        next(*salt, *now, number)
    }
    side.step(
        "due",
        |mut rows: Query<(&Number, &mut Seen, &mut At)>, script: Res<Script>| {
            for (number, mut seen, mut at) in rows.iter_mut().filter(|(.., at)| at.is_due(script.now)) {
                at.set(visit(&mut seen, number, &script));
            }
        },
        |mut rows: AffineQuery<(&Number, &mut Seen)>, script: Res<Script>, mut agenda: Agenda| {
            let due = rows.par_iter_mut().due(&mut agenda, script.now);
            due.for_each(|(number, mut seen)| visit(&mut seen, number, &script));
        },
    )
}

/// The order in which rows are visited makes a difference.
fn reduce(side: Side) -> Step {
    type Rows<'a> = (&'a Number, &'a S, &'a mut At);
    fn visit(trail: &mut Trail, number: &Number, s: &S, Script { salt, now, .. }: &Script) -> Option<u64> {
        *trail = trail.then(Trail::of(mix_slowly(s.0) ^ u64::from(number.0)));
        next(*salt, *now, number)
    }
    side.step(
        "due fold_reduce",
        |mut rows: Query<(Entity, Rows), Without<Tag>>,
         entities: &Entities,
         script: Res<Script>,
         mut log: ResMut<Log>| {
            let mut trail = Trail::EMPTY;
            for (_, (number, s, mut at)) in by_archetype(entities, &mut rows) {
                if at.is_due(script.now) {
                    at.set(visit(&mut trail, number, s, &script));
                }
            }
            log.note("due", trail.hash());
        },
        |rows: AffineQuery<(&Number, &S), Without<Tag>>,
         script: Res<Script>,
         mut log: ResMut<Log>,
         mut agenda: Agenda| {
            let trail = rows.par_iter().due(&mut agenda, script.now).fold_reduce(
                || Trail::EMPTY,
                |trail, (number, s)| visit(trail, number, s, &script),
                Trail::then,
            );
            log.note("due", trail.hash());
        },
    )
}

/// Letters that take some time, and wake those who get them.
fn letters(side: Side) -> Step {
    type Rows<'a> = (&'a Number, &'a mut Mail, &'a Link);
    /// A letter, and when it arrives.
    fn letter(Script { salt, now, .. }: &Script, number: &Number) -> (u64, u64) {
        let letter = mix_slowly(salt ^ u64::from(number.0));
        (now + letter % 4, letter)
    }
    fn receive(mail: &mut Mail, letter: u64, now: u64) -> Option<u64> {
        mail::receive(mail, letter);
        (!letter.is_multiple_of(3)).then_some(now + letter % 5)
    }
    side.step(
        "due scatter_timed_within",
        |mut rows: Query<(Entity, (Rows, Option<&mut At>))>,
         entities: &Entities,
         script: Res<Script>,
         mut post: ResMut<Post>,
         mut log: ResMut<Log>| {
            for (_, ((number, _, link), at)) in by_table(entities, &mut rows) {
                if let Some(mut at) = at.filter(|at| at.is_due(script.now)) {
                    let (time, letter) = letter(&script, number);
                    post.0.push((time, link.0, letter));
                    at.set(next(script.salt, script.now, number));
                }
            }
            let report = mail::deliver(post.take(script.now), |to, letter| {
                let (_, ((_, mut mail, _), at)) = rows.get_mut(to)?;
                if let (Some(time), Some(mut at)) = (receive(&mut mail, letter, script.now), at) {
                    at.bring_forward(time);
                }
                Ok(())
            });
            mail::note(&mut log, report);
        },
        |mut rows: AffineQuery<Rows<'static>>,
         script: Res<Script>,
         mut calendar: ResMut<Calendar<u64>>,
         mut log: ResMut<Log>,
         mut agenda: Agenda| {
            let report = rows.par_iter_mut().due(&mut agenda, script.now).scatter_timed_within(
                &mut calendar,
                |outbox, (number, _, link)| {
                    let (time, letter) = letter(&script, number);
                    outbox.send_at(link.0, time, letter);
                    next(script.salt, script.now, number)
                },
                |(_, mut mail, _), letter| receive(&mut mail, letter, script.now),
            );
            mail::note(&mut log, report);
        },
    )
}

/// In the order of rows.
fn orders(side: Side) -> Step {
    fn order(
        commands: &mut Commands,
        entity: Entity,
        number: &Number,
        Script { salt, now, .. }: &Script,
    ) -> Option<u64> {
        let value = mix_slowly(salt ^ u64::from(number.0));
        match value % 16 {
            0 => _ = commands.entity(entity).try_insert(Mark::<1>),
            1 => _ = commands.entity(entity).try_remove::<Mark<1>>(),
            2 => commands.queue(move |world: &mut World| world.resource_mut::<Log>().note("ordered", value)),
            _ => {}
        }
        next(*salt, *now, number)
    }
    side.step(
        "due for_each_with_commands",
        |mut rows: Query<(Entity, (&Number, &mut At)), With<A>>,
         entities: &Entities,
         mut commands: Commands,
         script: Res<Script>| {
            for (entity, (number, mut at)) in by_table(entities, &mut rows) {
                if at.is_due(script.now) {
                    at.set(order(&mut commands, entity, number, &script));
                }
            }
        },
        |rows: AffineQuery<(Entity, &Number), With<A>>,
         mut commands: AffineCommands,
         script: Res<Script>,
         mut agenda: Agenda| {
            let due = rows.par_iter().due(&mut agenda, script.now);
            due.for_each_with_commands(&mut commands, |commands, (entity, number)| {
                order(commands, entity, number, &script)
            });
        },
    )
}

/// From all workers, of rows that exist and of others.
fn wakes(side: Side) -> Step {
    fn wake(Script { salt, now, .. }: &Script, number: &Number) -> Option<u64> {
        let value = mix_slowly(salt ^ u64::from(number.0));
        value.is_multiple_of(4).then_some(now + value / 4 % 6)
    }
    fn note(log: &mut Log, woken: u64, rows: usize, next: Option<u64>) {
        log.note("woken", woken);
        log.note("rows with times", rows as u64);
        log.note("next time", next.unwrap_or(NEVER));
    }
    side.step(
        "wake",
        |rows: Query<(&Number, &Link)>,
         mut times: Query<&mut At, Allow<Disabled>>,
         script: Res<Script>,
         mut log: ResMut<Log>| {
            let mut woken = 0;
            for (number, link) in &rows {
                if let (Some(time), Ok(mut at)) = (wake(&script, number), times.get_mut(link.0)) {
                    at.bring_forward(time);
                    woken += 1;
                }
            }
            let next = times.iter().map(|at| at.0).filter(|&time| time < NEVER).min();
            note(&mut log, woken, times.iter().count(), next);
        },
        |rows: AffineQuery<(&Number, &Link)>, script: Res<Script>, mut log: ResMut<Log>, mut agenda: Agenda| {
            let woken = rows.par_iter().map_reduce(
                || 0,
                |(number, link)| {
                    let is_woken = wake(&script, number).is_some_and(|time| agenda.wake(link.0, time));
                    u64::from(is_woken)
                },
                |one, other| one + other,
            );
            let next = agenda.next_time();
            note(&mut log, woken, agenda.len(), next);
        },
    )
}
