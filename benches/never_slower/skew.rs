//! Group `skew`: the last tenth of a table costs 20 times as much as the rest. How soon do the
//! workers have even shares, and do the rows stay where they are afterwards?

use std::time::Duration;

use bevy::prelude::*;
use bevy_affinity::prelude::*;
use serde_json::json;

use crate::cell::{Cell, Cost};
use crate::journal::Journal;
use crate::setup::Setup;
use crate::shared::ours;
use crate::shared::report::{grouped, print_table};
use crate::shared::statistics::median;
use crate::work::Row;

const CELL: Cell = Cell { rows: 200_000, tables: 1, cost: Cost::Clustered };

/// Frames in which shares become even, and frames in which they should stay so.
const FIRST_FRAMES: usize = 100;
const LATER_FRAMES: usize = 400;

/// Shares are even when the busiest worker is busy for no longer than so many times the mean.
const EVEN: f64 = 1.10;

/// Frames of which the median tells whether shares are even: a single one may have been
/// interrupted.
const WINDOW: usize = 10;

/// The frames that are printed, counted from 1.
const SHOWN: [usize; 8] = [1, 2, 3, 5, 10, 20, 50, 100];

pub fn run(setup: &Setup, journal: &mut Journal) -> Result<(), String> {
    let shown = SHOWN.map(|frame| format!("frame {frame}"));
    let heads = [
        "frames until even",
        "rows moved in them",
        "rows moved per 100 frames later",
        "stolen later",
        "on the same core later",
    ];
    let header = ["max / mean busy (-: not shared)".to_owned()].into_iter().chain(shown).chain(heads.map(String::from));
    let mut lines: Vec<Vec<String>> = vec![header.collect()];
    let on_gang = |mode: &&SchedulerMode| !matches!(mode, SchedulerMode::Bevy | SchedulerMode::Serial);
    for &mode in SchedulerMode::ALL.iter().filter(on_gang) {
        let seen = Seen::watch(setup, mode);
        journal.push(
            "skew",
            format!("{mode:?}"),
            json!({ "imbalances": seen.imbalances, "until_even": seen.until_even() }),
        );
        lines.push(seen.line(mode));
    }
    print_table(&format!("Shares of work, {CELL}"), &lines);
    Ok(())
}

/// What was seen of one mode.
struct Seen {
    /// By frame: how long the busiest worker was busy over the mean. `None` where nothing was
    /// shared: that is not even, but serial.
    imbalances: Vec<Option<f64>>,
    moved_first: u64,
    moved_later: u64,
    /// Shares of all rows swept later.
    stolen: Option<f64>,
    same_core: Option<f64>,
}

impl Seen {
    fn watch(setup: &Setup, mode: SchedulerMode) -> Self {
        let mut app = ours::app_with(setup.settings());
        app.insert_resource(mode).add_systems(Update, sweep.affine());
        CELL.spawn(app.world_mut(), &setup.steps);
        let imbalances = (0..FIRST_FRAMES).map(|_| imbalance_of_frame(&mut app)).collect();
        let first = Counts::of(&app);
        (0..LATER_FRAMES).for_each(|_| app.update());
        let later = Counts::of(&app);
        let swept = later.swept - first.swept;
        let share = |rows: u64| (swept > 0).then(|| rows as f64 / swept as f64);
        Self {
            imbalances,
            moved_first: first.migrated,
            moved_later: later.migrated - first.migrated,
            stolen: share(later.stolen - first.stolen),
            same_core: share(later.same_core - first.same_core),
        }
    }

    /// Frames before those that are even, to the end. `None` if the last ones are not.
    fn until_even(&self) -> Option<usize> {
        // Without any shared frame the median is no number, which is not even.
        let is_even = |frames: &[Option<f64>]| median(frames.iter().copied().flatten().collect()) <= EVEN;
        let uneven = self.imbalances.windows(WINDOW).rposition(|frames| !is_even(frames));
        let frames = uneven.map_or(0, |last| last + 1);
        (frames + WINDOW <= self.imbalances.len()).then_some(frames)
    }

    fn line(&self, mode: SchedulerMode) -> Vec<String> {
        let shown = SHOWN.map(|frame| self.imbalances[frame - 1].map_or("-".into(), |value| format!("{value:.2}")));
        let until_even = self.until_even().map_or(format!("not in {FIRST_FRAMES}"), |frames| frames.to_string());
        let per_hundred = self.moved_later * 100 / LATER_FRAMES as u64;
        let [stolen, same_core] = [self.stolen, self.same_core]
            .map(|share| share.map_or("-".into(), |share| format!("{:.1}%", 100.0 * share)));
        let figures =
            [until_even, grouped(self.moved_first as usize), grouped(per_hundred as usize), stolen, same_core];
        [format!("{mode:?}")].into_iter().chain(shown).chain(figures).collect()
    }
}

fn sweep(mut rows: AffineQuery<&'static mut Row>) {
    rows.par_iter_mut().for_each(|mut row| row.visit());
}

/// How long the busiest worker was busy in the next frame over how long they were on average;
/// `None` if nothing was shared.
fn imbalance_of_frame(app: &mut App) -> Option<f64> {
    let before = busy(app);
    app.update();
    let spent: Vec<f64> =
        busy(app).iter().zip(before).map(|(after, before)| after.saturating_sub(before).as_secs_f64()).collect();
    let mean = spent.iter().sum::<f64>() / spent.len() as f64;
    (mean > 0.0).then(|| spent.into_iter().fold(0.0, f64::max) / mean)
}

fn busy(app: &App) -> Vec<Duration> {
    app.world().resource::<AffinityPool>().worker_stats().map(|worker| worker.busy).collect()
}

/// What the diagnostics have counted so far.
struct Counts {
    migrated: u64,
    swept: u64,
    stolen: u64,
    same_core: u64,
}

impl Counts {
    fn of(app: &App) -> Self {
        let diagnostics = app.world().resource::<AffinityDiagnostics>();
        let workers = || diagnostics.workers.iter();
        Self {
            migrated: diagnostics.migrated_rows,
            swept: workers().map(|worker| worker.swept_rows).sum(),
            stolen: workers().map(|worker| worker.stolen_rows).sum(),
            same_core: workers().map(|worker| worker.same_core_rows).sum(),
        }
    }
}
