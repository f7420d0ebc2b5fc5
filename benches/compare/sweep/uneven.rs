//! Group `uneven`: rows of very different cost. One in a thousand takes a thousand times as long as
//! the others, so that half of the work is in a thousandth of the rows: spread over all of them, or
//! all among the first tenth.

use std::hint::black_box;

use bevy::ecs::schedule::ScheduleLabel;
use bevy::prelude::*;
use bevy_affinity::prelude::*;

use crate::race::{Race, Turn};
use crate::setup::Setup;
use crate::shared::stopwatch::Stopwatch;
use crate::{ours, report};

const ROWS: usize = 100_000;
const DEAR_ROWS: usize = ROWS / 1_000;
const DEAR: u32 = 1_000;

/// Where the dear rows are.
#[derive(Clone, Copy)]
enum Spread {
    Everywhere,
    FirstTenth,
}

pub fn run(setup: &Setup) -> Result<(), String> {
    for (spread, place) in [(Spread::Everywhere, "everywhere"), (Spread::FirstTenth, "among the first tenth")] {
        let standings = race(setup, spread).run(setup.rounds)?;
        let title = format!("{} rows, one in 1,000 costs 1,000 x as much, {place}", report::grouped(ROWS));
        report::print_list(&title, "`iter_mut`", &standings);
    }
    Ok(())
}

#[derive(Component)]
struct Row {
    /// In steps of about a nanosecond.
    cost: u32,
    visits: u64,
}

impl Row {
    fn new(number: usize, spread: Spread) -> Self {
        let distance = match spread {
            Spread::Everywhere => ROWS / DEAR_ROWS,
            Spread::FirstTenth => ROWS / DEAR_ROWS / 10,
        };
        let is_dear = number.is_multiple_of(distance) && number / distance < DEAR_ROWS;
        Self { cost: if is_dear { DEAR } else { 1 }, visits: 0 }
    }

    fn visit(&mut self) {
        let mix = |state: u64, step| (state ^ u64::from(step)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        black_box((0..self.cost).fold(self.visits, mix));
        self.visits += 1;
    }
}

fn race(setup: &Setup, spread: Spread) -> Race<'static, App> {
    let mut race = Race::new(app(setup.workers, spread), fault);
    race.enter_baseline("Bevy `iter_mut`", Contest::IterMut.play());
    race.enter("Bevy `par_iter_mut`", Contest::ParIterMut.play());
    race.enter("affine, lock-step", Contest::LockStep.play());
    race.enter("affine, heartbeat", Contest::Heartbeat.play());
    race
}

/// The schedules, one for each contender.
#[derive(ScheduleLabel, Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Contest {
    IterMut,
    ParIterMut,
    LockStep,
    Heartbeat,
}

fn app(workers: usize, spread: Spread) -> App {
    let mut app = ours::app(workers);
    app.init_resource::<Stopwatch>();
    app.add_systems(Contest::IterMut, iter_mut);
    app.add_systems(Contest::ParIterMut, par_iter_mut);
    // Each with a query of its own, which learns what its rows cost.
    app.add_systems(Contest::LockStep, affine.affine());
    app.add_systems(Contest::Heartbeat, affine.affine());
    for contest in [Contest::IterMut, Contest::ParIterMut] {
        ours::run_on_one_thread(&mut app, contest);
    }
    app.world_mut().spawn_batch((0..ROWS).map(move |number| Row::new(number, spread)));
    app
}

impl Contest {
    fn play(self) -> impl FnMut(&mut App, &mut Turn) {
        let mode = match self {
            Self::Heartbeat => SchedulerMode::Heartbeat,
            _ => SchedulerMode::LockStep,
        };
        move |app, turn| {
            app.insert_resource(mode);
            turn.repeat_timed(|| {
                app.world_mut().run_schedule(self);
                app.world().resource::<Stopwatch>().0
            });
        }
    }
}

fn iter_mut(mut rows: Query<&mut Row>, mut stopwatch: ResMut<Stopwatch>) {
    stopwatch.time(|| rows.iter_mut().for_each(|mut row| row.visit()));
}

fn par_iter_mut(mut rows: Query<&mut Row>, mut stopwatch: ResMut<Stopwatch>) {
    stopwatch.time(|| rows.par_iter_mut().for_each(|mut row| row.visit()));
}

fn affine(mut rows: AffineQuery<&'static mut Row>, mut stopwatch: ResMut<Stopwatch>) {
    stopwatch.time(|| rows.par_iter_mut().for_each(|mut row| row.visit()));
}

/// Every call visits every row.
fn fault(app: &mut App, calls: u64) -> Option<String> {
    let mut rows = app.world_mut().query::<&Row>();
    let wrong = rows.iter(app.world()).find(|row| row.visits != calls)?;
    Some(format!("a row was visited {} times in {calls} calls", wrong.visits))
}
