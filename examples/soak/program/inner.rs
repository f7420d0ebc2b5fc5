//! An app that lives and ends inside a system of another one.

use bevy::{ecs::schedule::SingleThreadedExecutor, prelude::*};
use bevy_affinity::prelude::*;

use super::{Log, Script, Side, Step};
use crate::{
    components::{A, B},
    dice::{Dice, Trail, mix_slowly},
    machine,
};

pub fn steps(side: Side) -> Vec<Step> {
    let live = |side: Side| {
        move |script: Res<Script>, mut log: ResMut<Log>| {
            // Building an app takes as long as many frames.
            if script.salt.is_multiple_of(16) {
                log.note("inner app", live(side, script.salt));
            }
        }
    };
    vec![side.step("an app in a system", live(Side::Plain), live(Side::Ours))]
}

/// A few frames of an app; the hash of its rows at the end.
fn live(side: Side, salt: u64) -> u64 {
    let mut dice = Dice::new(salt);
    let (rows, frames) = (dice.below(1_000), dice.below(3));
    let mut app = App::new();
    match side {
        Side::Plain => app.edit_schedule(Update, |schedule| _ = schedule.set_executor(SingleThreadedExecutor::new())),
        Side::Ours => {
            let (settings, mode) = (machine::draw_settings(&mut dice), machine::draw_mode(&mut dice));
            app.insert_resource(settings).insert_resource(mode).add_plugins(AffinityParallelPlugin)
        }
    };
    let step = side.step(
        "inner",
        |mut rows: Query<(&mut A, &B)>| rows.iter_mut().for_each(|(mut a, b)| a.0 = mix_slowly(a.0 ^ b.0)),
        |mut rows: AffineQuery<(&mut A, &B)>| {
            rows.par_iter_mut().for_each(|(mut a, b)| a.0 = mix_slowly(a.0 ^ b.0));
        },
    );
    app.add_systems(Update, step.systems);
    app.world_mut().spawn_batch((0..rows as u64).map(move |row| (A(row), B(salt ^ row))));
    (0..frames).for_each(|_| app.update());
    let mut rows = app.world_mut().query::<&A>();
    rows.iter(app.world()).map(|a| a.0).collect::<Trail>().hash()
}
