//! Group `same_core`: how many rows are swept on the core that swept them the frame before.

use std::cell::Cell;
use std::collections::HashMap;
use std::fs;

use bevy::ecs::schedule::ScheduleLabel;
use bevy::prelude::*;
use bevy_affinity::prelude::*;

use crate::setup::Setup;
use crate::{ours, report};

const ROWS: usize = 200_000;
const FRAMES: u32 = 300;

/// Frames from one count of the cores to the next: counting is slow, and the workers fall asleep
/// meanwhile.
const FRAMES_PER_COUNT: u32 = 10;

pub fn run(setup: &Setup) -> Result<(), String> {
    if core_of_this_thread().is_none() {
        println!(
            "Same core as the frame before: not measured, this system does not tell on which core a thread runs.\n"
        );
        return Ok(());
    }
    let mut app = app(setup.workers);
    let lines = [
        ["contender", "rows on the core of the frame before", "rows on the busiest core"].map(str::to_owned),
        line(&mut app, "Bevy `par_iter_mut`", Contest::ParIterMut),
        line(&mut app, "affine `par_iter_mut`", Contest::AffineRows),
    ];
    let title = format!("Same core, {} rows, {FRAMES} frames", report::grouped(ROWS));
    report::print_table(&title, &lines);
    Ok(())
}

/// Where a row was swept last, and how often that was the core of the frame before.
#[derive(Component, Clone, Copy, Default)]
struct Swept {
    core: u32,
    same: u32,
}

#[derive(Resource, Default)]
struct Frame(u32);

#[derive(ScheduleLabel, Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Contest {
    ParIterMut,
    AffineRows,
}

fn app(workers: usize) -> App {
    let mut app = ours::app(workers);
    app.init_resource::<Frame>();
    app.add_systems(Contest::ParIterMut, par_iter_mut);
    app.add_systems(Contest::AffineRows, affine_rows.affine());
    ours::run_on_one_thread(&mut app, Contest::ParIterMut);
    app.world_mut().spawn_batch((0..ROWS).map(|_| Swept::default()));
    app
}

fn line(app: &mut App, name: &str, contest: Contest) -> [String; 3] {
    let mut rows = app.world_mut().query::<&mut Swept>();
    next_frame(app, contest);
    // Only now does it stand in the rows where they come from.
    rows.iter_mut(app.world_mut()).for_each(|mut row| row.same = 0);
    let mut busiest = 0;
    for frame in 0..FRAMES {
        next_frame(app, contest);
        if frame.is_multiple_of(FRAMES_PER_COUNT) {
            busiest += rows_on_busiest_core(rows.iter(app.world()));
        }
    }
    let same: u32 = rows.iter(app.world()).map(|row| row.same).sum();
    let percent = |rows: f64, frames: u32| format!("{:.1}%", 100.0 * rows / (ROWS as f64 * f64::from(frames)));
    [name.to_owned(), percent(same.into(), FRAMES), percent(busiest.into(), FRAMES / FRAMES_PER_COUNT)]
}

fn next_frame(app: &mut App, contest: Contest) {
    app.world_mut().resource_mut::<Frame>().0 += 1;
    app.world_mut().run_schedule(contest);
}

/// All rows, if one core did everything: then it is no merit that a row stays where it was.
fn rows_on_busiest_core<'a>(rows: impl Iterator<Item = &'a Swept>) -> u32 {
    let mut counts = HashMap::new();
    for row in rows {
        *counts.entry(row.core).or_insert(0) += 1;
    }
    counts.into_values().max().unwrap_or(0)
}

fn par_iter_mut(mut rows: Query<&mut Swept>, frame: Res<Frame>) {
    let frame = frame.0;
    rows.par_iter_mut().for_each(|mut row| sweep(&mut row, frame));
}

fn affine_rows(mut rows: AffineQuery<&'static mut Swept>, frame: Res<Frame>) {
    let frame = frame.0;
    rows.par_iter_mut().for_each(|mut row| sweep(&mut row, frame));
}

fn sweep(row: &mut Swept, frame: u32) {
    let core = core_in_frame(frame);
    row.same += u32::from(core == row.core);
    row.core = core;
}

/// The core of this thread, asked for once a frame: asking takes microseconds, a row takes
/// nanoseconds.
fn core_in_frame(frame: u32) -> u32 {
    thread_local! {
        /// The frame last asked in, and the answer.
        static KNOWN: Cell<(u32, u32)> = const { Cell::new((0, 0)) };
    }
    let (asked, core) = KNOWN.get();
    if asked == frame {
        return core;
    }
    let core = core_of_this_thread().unwrap_or(u32::MAX);
    KNOWN.set((frame, core));
    core
}

/// The field `processor` of proc_pid_stat(5): the 39th, and the 37th after the command, which may
/// hold spaces.
fn core_of_this_thread() -> Option<u32> {
    let stat = fs::read_to_string("/proc/thread-self/stat").ok()?;
    let (_, fields) = stat.rsplit_once(") ")?;
    fields.split(' ').nth(36)?.parse().ok()
}
