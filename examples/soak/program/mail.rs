//! Messages between rows.

use bevy::{
    ecs::{entity::Entities, query::QueryEntityError},
    prelude::*,
};
use bevy_affinity::prelude::*;

use super::{Log, Script, Side, Step};
use crate::{
    components::{A, Link, Mail, Number, Tag},
    dice::{mix, mix_slowly},
    order::by_table,
};

/// What is sent: some rows send nothing, others twice.
fn letters(salt: u64, number: &Number) -> impl Iterator<Item = u64> + use<> {
    let value = mix_slowly(salt ^ u64::from(number.0));
    (0..value % 3).map(move |letter| value ^ letter)
}

/// The order of letters makes a difference.
pub fn receive(mail: &mut Mail, letter: u64) {
    mail.0 = mix(mail.0 ^ letter);
}

pub fn note(log: &mut Log, report: ScatterReport) {
    log.note("delivered", report.delivered);
    log.note("to nobody", report.despawned);
    log.note("to no receiver", report.unmatched);
}

/// One letter after another.
pub fn deliver(
    letters: Vec<(Entity, u64)>,
    mut receive: impl FnMut(Entity, u64) -> Result<(), QueryEntityError>,
) -> ScatterReport {
    let mut report = ScatterReport::default();
    for (to, letter) in letters {
        match receive(to, letter) {
            Ok(()) => report.delivered += 1,
            Err(QueryEntityError::QueryDoesNotMatch(..)) => report.unmatched += 1,
            Err(_) => report.despawned += 1,
        }
    }
    report
}

pub fn steps(side: Side) -> Vec<Step> {
    vec![scatter(side), scatter_within(side)]
}

fn scatter(side: Side) -> Step {
    type Senders<'a> = (&'a Number, &'a Link);
    side.step(
        "scatter",
        |senders: Query<(Entity, Senders), With<A>>,
         entities: &Entities,
         mut receivers: Query<&mut Mail, Without<Tag>>,
         script: Res<Script>,
         mut log: ResMut<Log>| {
            let mut sent = Vec::new();
            for (_, (number, link)) in by_table(entities, senders) {
                sent.extend(letters(script.salt, number).map(|letter| (link.0, letter)));
            }
            note(
                &mut log,
                deliver(sent, |to, letter| receivers.get_mut(to).map(|mut mail| receive(&mut mail, letter))),
            );
        },
        |senders: AffineQuery<Senders<'static>, With<A>>,
         mut receivers: AffineQuery<&mut Mail, Without<Tag>>,
         script: Res<Script>,
         mut log: ResMut<Log>| {
            let salt = script.salt;
            let report = senders.par_iter().scatter(
                &mut receivers,
                |outbox, (number, link)| letters(salt, number).for_each(|letter| outbox.send(link.0, letter)),
                |mut mail, letter| receive(&mut mail, letter),
            );
            note(&mut log, report);
        },
    )
}

/// Rows that are senders and receivers.
fn scatter_within(side: Side) -> Step {
    type Rows<'a> = (&'a Number, &'a mut Mail, &'a Link);
    side.step(
        "scatter_within",
        |mut rows: Query<(Entity, Rows)>, entities: &Entities, script: Res<Script>, mut log: ResMut<Log>| {
            let mut sent = Vec::new();
            for (_, (number, mut mail, link)) in by_table(entities, &mut rows) {
                mail.0 = mail.0.wrapping_add(1);
                sent.extend(letters(script.salt, number).map(|letter| (link.0, letter)));
            }
            note(
                &mut log,
                deliver(sent, |to, letter| rows.get_mut(to).map(|(_, (_, mut mail, _))| receive(&mut mail, letter))),
            );
        },
        |mut rows: AffineQuery<Rows<'static>>, script: Res<Script>, mut log: ResMut<Log>| {
            let salt = script.salt;
            let report = rows.par_iter_mut().scatter_within(
                |outbox, (number, mut mail, link)| {
                    mail.0 = mail.0.wrapping_add(1);
                    letters(salt, number).for_each(|letter| outbox.send(link.0, letter));
                },
                |(_, mut mail, _), letter| receive(&mut mail, letter),
            );
            note(&mut log, report);
        },
    )
}
