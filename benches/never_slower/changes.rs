//! Group `changes`: what was learned in many calls is true no longer. How long does it take to
//! learn what is true now?

use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

use bevy::prelude::*;
use bevy_affinity::prelude::*;

use crate::contest::{Contest, Tally, Verdict};
use crate::journal::Journal;
use crate::setup::Setup;
use crate::shared::ours;
use crate::shared::report::{duration, print_table};
use crate::shared::statistics::Samples;
use crate::shared::stopwatch::Stopwatch;

/// Calls before the change, and those after it that are looked at together.
const BEFORE: usize = 1_000;
const AFTER: [Range<usize>; 3] = [0..100, 100..1_000, 1_000..3_000];

const ROWS: usize = 10_000;

/// Additions of each visit.
const ADDITIONS: u32 = 4;

/// Whether rows add to one counter, whose cache line goes from core to core then, or each to its
/// own. One thread takes as long for either, so it cannot tell.
#[derive(Resource, Clone, Copy, PartialEq, Eq)]
enum Counters {
    Shared,
    Own,
}

impl fmt::Display for Counters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Shared => "in each other's way",
            Self::Own => "each by itself",
        })
    }
}

#[derive(Component, Default)]
struct Tallied(AtomicU32);

#[derive(Resource, Default)]
struct Shared(AtomicU32);

impl Counters {
    #[inline]
    fn count(self, row: &Tallied, shared: &Shared) {
        let counter = if self == Self::Shared { &shared.0 } else { &row.0 };
        (0..ADDITIONS).for_each(|_| _ = counter.fetch_add(1, Ordering::Relaxed));
    }
}

pub fn run(setup: &Setup, journal: &mut Journal) -> Result<(), String> {
    let contests = Contest::all();
    let heads = ["rows are", "calls"].map(String::from).into_iter().chain(Contest::names(&contests));
    let mut lines: Vec<Vec<_>> = vec![heads.chain(Verdict::heads()).collect()];
    let mut tally = Tally::default();
    let progress = setup.progress("changes", 2);
    for (before, after) in [(Counters::Shared, Counters::Own), (Counters::Own, Counters::Shared)] {
        progress.set_message(after.to_string());
        for (calls, samples) in AFTER.into_iter().zip(watch(setup, &contests, before, after)?) {
            let cell = format!("{before}, then {after}");
            let with_baseline = contests.iter().zip(&samples);
            let standings: Vec<_> = with_baseline.map(|(c, own)| own.standing(&c.name(), &samples[0])).collect();
            journal.note("changes", format!("{cell}, calls {calls:?}"), &standings);
            let Some(verdict) = Verdict::of(&contests, &standings) else { continue };
            tally.add(format!("{cell}, calls {calls:?}"), &verdict);
            let means = standings.iter().map(|standing| duration(standing.median));
            let line = [cell, format!("{calls:?}")].into_iter().chain(means).chain(verdict.cells());
            lines.push(line.collect());
        }
        progress.inc(1);
    }
    progress.finish_and_clear();
    print_table(&format!("After {BEFORE} calls, of {ROWS} rows: the mean of a call"), &lines);
    tally.print();
    Ok(())
}

/// By window of calls, and by contender: the mean of a call after the change, in each round.
fn watch(
    setup: &Setup,
    contests: &[Contest],
    before: Counters,
    after: Counters,
) -> Result<[Vec<Samples>; AFTER.len()], String> {
    let mut windows = AFTER.map(|_| contests.iter().map(|_| Samples::default()).collect::<Vec<_>>());
    for round in 0..setup.rounds_over(6) as usize {
        for turn in 0..contests.len() {
            let index = (round + turn) % contests.len();
            let mut app = app(setup, contests[index]);
            call(&mut app, contests[index], before, BEFORE);
            for (calls, window) in AFTER.into_iter().zip(&mut windows) {
                window[index].push_round(vec![call(&mut app, contests[index], after, calls.len())]);
            }
            check(&mut app)?;
        }
    }
    Ok(windows)
}

fn app(setup: &Setup, contest: Contest) -> App {
    let mut app = ours::app_with(setup.settings());
    app.init_resource::<Stopwatch>().init_resource::<Shared>();
    app.world_mut().spawn_batch((0..ROWS).map(|_| Tallied::default()));
    match contest {
        Contest::Serial | Contest::SerialAlone => app.add_systems(contest, iter),
        Contest::ParIter => app.add_systems(contest, par_iter),
        Contest::Affine(_) => app.add_systems(contest, affine.affine()),
    };
    if !matches!(contest, Contest::Affine(_)) {
        ours::run_on_one_thread(&mut app, contest);
    }
    app
}

/// The mean of `calls` calls, in nanoseconds.
fn call(app: &mut App, contest: Contest, counters: Counters, calls: usize) -> u64 {
    app.insert_resource(counters);
    let mut total = 0;
    for _ in 0..calls {
        contest.run_schedule(app);
        total += app.world().resource::<Stopwatch>().0.as_nanos();
    }
    total as u64 / calls as u64
}

/// Every call visits every row.
fn check(app: &mut App) -> Result<(), String> {
    let mut rows = app.world_mut().query::<&Tallied>();
    let own: u64 = rows.iter(app.world()).map(|row| u64::from(row.0.load(Ordering::Relaxed))).sum();
    let counted = own + u64::from(app.world().resource::<Shared>().0.load(Ordering::Relaxed));
    let calls = BEFORE + AFTER.iter().map(|calls| calls.len()).sum::<usize>();
    let expected = calls as u64 * ROWS as u64 * u64::from(ADDITIONS);
    (counted == expected).then_some(()).ok_or(format!("{counted} additions instead of {expected}"))
}

fn iter(rows: Query<&Tallied>, counters: Res<Counters>, shared: Res<Shared>, mut stopwatch: ResMut<Stopwatch>) {
    let (counters, shared) = (*counters, shared.into_inner());
    stopwatch.time(|| rows.iter().for_each(|row| counters.count(row, shared)));
}

fn par_iter(rows: Query<&Tallied>, counters: Res<Counters>, shared: Res<Shared>, mut stopwatch: ResMut<Stopwatch>) {
    let (counters, shared) = (*counters, shared.into_inner());
    stopwatch.time(|| rows.par_iter().for_each(|row| counters.count(row, shared)));
}

fn affine(
    rows: AffineQuery<&'static Tallied>,
    counters: Res<Counters>,
    shared: Res<Shared>,
    mut stopwatch: ResMut<Stopwatch>,
) {
    let (counters, shared) = (*counters, shared.into_inner());
    stopwatch.time(|| rows.par_iter().for_each(|row| counters.count(row, shared)));
}
