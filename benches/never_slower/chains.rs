//! Group `chains`: ten systems one after another that sweep the same rows for some microseconds
//! each. A mode that decides for each by itself may send rows back and forth between cores.

use bevy::ecs::schedule::ScheduleConfigs;
use bevy::ecs::system::ScheduleSystem;
use bevy::prelude::*;
use bevy_affinity::prelude::*;

use crate::contest::{Contest, Tally, Verdict};
use crate::journal::Journal;
use crate::setup::Setup;
use crate::shared::ours;
use crate::shared::race::Race;
use crate::shared::report::{duration, grouped, print_table};

/// From 1 us a system to 50.
const ROWS: [usize; 7] = [1_000, 3_000, 5_000, 10_000, 20_000, 40_000, 80_000];

const SYSTEMS: u32 = 10;

/// A row of 16 bytes.
#[derive(Component)]
struct Counts([u32; 4]);

pub fn run(setup: &Setup, journal: &mut Journal) -> Result<(), String> {
    let contests = Contest::of_schedules();
    let progress = setup.progress("chains", ROWS.len());
    let names = Contest::names(&contests).collect::<Vec<_>>();
    let mut lines = vec![[vec!["rows".to_owned()], names, Verdict::heads().to_vec()].concat()];
    let mut tally = Tally::default();
    for rows in ROWS {
        let cell = format!("{SYSTEMS} systems, {} rows", grouped(rows));
        progress.set_message(cell.clone());
        let standings = race(setup, rows).run(setup.rounds)?;
        journal.note("chains", &cell, &standings);
        if let Some(verdict) = Verdict::of(&contests, &standings) {
            tally.add(&cell, &verdict);
            let medians = standings.iter().map(|standing| duration(standing.median)).collect();
            lines.push([vec![grouped(rows)], medians, verdict.cells().to_vec()].concat());
        }
        progress.inc(1);
    }
    progress.finish_and_clear();
    print_table(&format!("Chains of {SYSTEMS} systems that sweep the same rows, whole schedules, medians"), &lines);
    tally.print();
    Ok(())
}

fn race(setup: &Setup, rows: usize) -> Race<'static, App> {
    let mut app = ours::app_with(setup.settings());
    app.world_mut().spawn_batch((0..rows).map(|_| Counts([0; 4])));
    for contest in Contest::of_schedules() {
        app.add_systems(contest, chain(contest));
        contest.give_executor(&mut app);
    }
    // The plugin looks at the schedules.
    app.update();
    let mut race = Race::new(app, fault);
    race.enter_baseline(Contest::Serial.name(), |app, turn| turn.repeat(|| Contest::Serial.run_schedule(app)));
    for contest in Contest::of_schedules().into_iter().skip(1) {
        race.enter(contest.name(), move |app, turn| turn.repeat(|| contest.run_schedule(app)));
    }
    race
}

/// The ten systems, each with a place of its own that starts its call.
fn chain(contest: Contest) -> ScheduleConfigs<ScheduleSystem> {
    macro_rules! ten {
        ($system:ident) => {
            (
                $system::<0>,
                $system::<1>,
                $system::<2>,
                $system::<3>,
                $system::<4>,
                $system::<5>,
                $system::<6>,
                $system::<7>,
                $system::<8>,
                $system::<9>,
            )
        };
    }
    match contest {
        Contest::Serial | Contest::SerialAlone => ten!(iter_mut).chain(),
        Contest::ParIter => ten!(par_iter_mut).chain(),
        Contest::Affine(_) => ten!(affine).affine().chain(),
    }
}

fn iter_mut<const N: u32>(mut rows: Query<&mut Counts>) {
    rows.iter_mut().for_each(count::<N>);
}

fn par_iter_mut<const N: u32>(mut rows: Query<&mut Counts>) {
    rows.par_iter_mut().for_each(count::<N>);
}

fn affine<const N: u32>(mut rows: AffineQuery<&'static mut Counts>) {
    rows.par_iter_mut().for_each(count::<N>);
}

/// What depends on the order of systems, so that none can be left out.
fn count<const N: u32>(mut row: Mut<Counts>) {
    for value in &mut row.0 {
        *value = value.wrapping_mul(3).wrapping_add(N);
    }
}

/// A value that differs from what this many calls of the chain make of it.
fn fault(app: &mut App, calls: u64) -> Option<String> {
    let chain = |value| (0..SYSTEMS).fold(value, |value: u32, n| value.wrapping_mul(3).wrapping_add(n));
    let expected = (0..calls).fold(0, |value, _| chain(value));
    let world = app.world_mut();
    let mut rows = world.query::<&Counts>();
    let wrong = rows.iter(world).flat_map(|row| row.0).find(|&value| value != expected)?;
    Some(format!("a value is {wrong} instead of {expected} after {calls} calls"))
}
