//! One cell of the matrix: so many rows of such a cost in so many tables, as a world in which every
//! contender has a system.

use std::fmt;
use std::thread;
use std::time::Duration;

use bevy::prelude::*;
use bevy_affinity::prelude::*;

use crate::contest::Contest;
use crate::setup::Setup;
use crate::shared::ours;
use crate::shared::race::{Pace, Race, Turn};
use crate::shared::report::counted;
use crate::shared::stopwatch::Stopwatch;
use crate::shared::tables::mark;
use crate::work::{Row, Steps};

/// Calls that take one thread longer than this are left out.
const LONGEST_CALL: Duration = Duration::from_millis(50);

/// What the rows of a cell cost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cost {
    OneNs,
    TenNs,
    OneUs,
    /// One row in a thousand costs a thousand times as much as the others.
    Scattered,
    /// The last tenth of the rows costs 20 times as much as the others.
    Clustered,
}

impl Cost {
    pub const ALL: [Self; 5] = [Self::OneNs, Self::TenNs, Self::OneUs, Self::Scattered, Self::Clustered];

    /// Steps of the row `number` of `rows`.
    pub fn steps(self, steps: &Steps, number: usize, rows: usize) -> u32 {
        match self {
            Self::OneNs => steps.one_ns,
            Self::TenNs => steps.ten_ns,
            Self::OneUs => steps.one_us,
            Self::Scattered if number.is_multiple_of(1_000) => steps.one_us,
            Self::Clustered if number >= rows - rows.div_ceil(10) => steps.twenty_ns,
            Self::Scattered | Self::Clustered => steps.one_ns,
        }
    }

    /// Of a row, on average over many.
    fn mean(self) -> Duration {
        Duration::from_nanos(match self {
            Self::OneNs => 1,
            Self::TenNs => 10,
            Self::OneUs => 1_000,
            Self::Scattered => 2,
            Self::Clustered => 3,
        })
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::OneNs => "1 ns",
            Self::TenNs => "10 ns",
            Self::OneUs => "1 us",
            Self::Scattered => "1 in 1,000: 1 us",
            Self::Clustered => "last tenth: 20 ns",
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cell {
    pub rows: usize,
    pub tables: usize,
    pub cost: Cost,
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}, {}", counted(self.rows, "row"), counted(self.tables, "table"), self.cost.name())
    }
}

impl Cell {
    pub fn is_short(&self) -> bool {
        self.cost.mean() * self.rows as u32 <= LONGEST_CALL
    }

    /// Fills a world with the rows of the cell.
    pub fn app(self, setup: &Setup, settings: AffinitySettings) -> App {
        let mut app = ours::app_with(settings);
        app.init_resource::<Stopwatch>();
        for contest in Contest::all() {
            add_system(&mut app, contest);
        }
        self.spawn(app.world_mut(), &setup.steps);
        app.update();
        app
    }

    pub fn spawn(self, world: &mut World, steps: &Steps) {
        let Self { rows, tables, cost } = self;
        let row = |number| Row::new(cost.steps(steps, number, rows));
        if tables == 1 {
            world.spawn_batch((0..rows).map(row));
            return;
        }
        // Tables that stay empty are there too: a world has had other entities before.
        for table in 0..tables {
            let mut entity = world.spawn(row(0));
            mark(&mut entity, table);
            entity.despawn();
        }
        for number in 0..rows {
            mark(&mut world.spawn(row(number)), number * tables / rows);
        }
    }
}

fn add_system(app: &mut App, contest: Contest) {
    match contest {
        Contest::Serial | Contest::SerialAlone => app.add_systems(contest, iter_mut),
        Contest::ParIter => app.add_systems(contest, par_iter_mut),
        // Each with a query of its own, which learns for its mode.
        Contest::Affine(_) => app.add_systems(contest, affine.affine()),
    };
    // All run on the calling thread; the plugin sees to it for tagged systems.
    if !matches!(contest, Contest::Affine(_)) {
        ours::run_on_one_thread(app, contest);
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

/// All contenders in the world of one cell. Each call sleeps for `asleep` first.
pub fn race(app: App, pace: Pace, asleep: Option<Duration>) -> Race<'static, App> {
    let mut race = Race::new(app, fault).at_pace(pace);
    race.enter_baseline(Contest::Serial.name(), move |app, turn| play(Contest::Serial, app, turn, asleep));
    for contest in Contest::all().into_iter().skip(1) {
        race.enter(contest.name(), move |app, turn| play(contest, app, turn, asleep));
    }
    race
}

fn play(contest: Contest, app: &mut App, turn: &mut Turn, asleep: Option<Duration>) {
    if let Contest::Affine(mode) = contest {
        app.insert_resource(mode);
    }
    // A frame, in which the plugin looks after its gang.
    app.update();
    turn.repeat_timed(|| {
        if let Some(asleep) = asleep {
            thread::sleep(asleep);
        }
        app.world_mut().run_schedule(contest);
        app.world().resource::<Stopwatch>().0
    });
}

/// Every call visits every row.
fn fault(app: &mut App, calls: u64) -> Option<String> {
    let mut rows = app.world_mut().query::<&Row>();
    let wrong = rows.iter(app.world()).find(|row| u64::from(row.visits) != calls)?;
    Some(format!("a row was visited {} times in {calls} calls", wrong.visits))
}
