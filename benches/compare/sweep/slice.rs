//! `+= 1` over a slice of `i64`, with nothing of an ECS around it: one contiguous run per worker.

use rayon::ThreadPool;
use rayon::prelude::*;

use crate::race::Race;
use crate::report::SizeTable;
use crate::runs::Runs;
use crate::setup::Setup;
use crate::spin_pool::SpinPool;
use crate::{ours, ping_pong, rivals};

pub fn run(setup: &Setup) -> Result<(), String> {
    let rayon = rivals::rayon(setup.workers)?;
    let mut table = SizeTable::new("`i64 += 1` in a slice, x serial");
    for &size in &setup.sizes {
        let standings = race(setup, &rayon, size).run(setup.rounds)?;
        table.push(size, &standings);
    }
    table.print();
    ping_pong::print(setup);
    Ok(())
}

fn race<'a>(setup: &'a Setup, rayon: &'a ThreadPool, size: usize) -> Race<'a, Vec<i64>> {
    let workers = setup.workers;
    let mut race = Race::new(vec![0; size], |rows, calls| fault(rows, calls));
    race.enter_baseline("serial", |rows, turn| turn.repeat(|| increment(rows)));
    let pool = ours::pool(workers);
    race.enter("`AffinityPool::run`", move |rows, turn| {
        let runs = Runs::cut(rows, workers);
        turn.repeat(|| pool.run(|worker| runs.sweep(worker.index(), increment)));
    });
    #[cfg(feature = "rivals")]
    race.enter("fork_union", move |rows, turn| {
        let runs = Runs::cut(rows, workers);
        rivals::with_fork_union(workers, |pool| {
            turn.repeat(|| drop(pool.for_threads(|worker, _| runs.sweep(worker, increment))));
        });
    });
    race.enter("rayon `par_iter_mut`", move |rows, turn| {
        turn.repeat(|| rayon.install(|| rows.par_iter_mut().for_each(|row| *row += 1)));
    });
    race.enter("spin pool (the floor)", move |rows, turn| {
        let runs = Runs::cut(rows, workers);
        let job = |worker| runs.sweep(worker, increment);
        SpinPool::with(workers, &setup.cores, job, |pool| turn.repeat(|| pool.round()));
    });
    race
}

fn increment(rows: &mut [i64]) {
    rows.iter_mut().for_each(|row| *row += 1);
}

/// Every call adds one to every row.
fn fault(rows: &[i64], calls: u64) -> Option<String> {
    let position = rows.iter().position(|&row| row != calls as i64)?;
    Some(format!("row {position} is {} after {calls} calls", rows[position]))
}
