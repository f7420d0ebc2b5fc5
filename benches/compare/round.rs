//! Group `round`: what it costs to start all workers on nothing and to wait for them, many times in
//! a row. Of pools that spin sixteen rounds lie between two readings of the clock.

use std::hint::black_box;
use std::thread;

use bevy::tasks::ComputeTaskPool;
use bevy_affinity::AffinityPool;
use rayon::ThreadPool;

use crate::race::Race;
use crate::setup::Setup;
use crate::spin_pool::SpinPool;
use crate::{ours, ping_pong, report, rivals};

/// Other pools of the process, whose workers wait on the same cores: first awake, then asleep.
const DOZEN: usize = 12;

pub fn run(setup: &Setup) -> Result<(), String> {
    let rayon = rivals::rayon(setup.workers)?;
    let standings = race(setup, &rayon).run(setup.rounds)?;
    report::print_list("Empty round", "spin pool", &standings);
    ping_pong::print(setup);
    Ok(())
}

fn race<'a>(setup: &'a Setup, rayon: &'a ThreadPool) -> Race<'a, ()> {
    let workers = setup.workers;
    let mut race = Race::new((), |(), _calls| None);
    race.enter_baseline("spin pool (the floor)", move |(), turn| {
        SpinPool::with(workers, &setup.cores, empty, |pool| turn.repeat_short(|| pool.round()));
    });
    let pool = ours::pool(workers);
    let beside = pool.clone();
    race.enter("`AffinityPool::run`", move |(), turn| {
        turn.repeat_short(|| pool.run(|worker| empty(worker.index())));
    });
    let others: Vec<_> = (0..DOZEN).map(|_| ours::pool(workers)).collect();
    race.enter("`AffinityPool::run`, a dozen pools beside it", move |(), turn| {
        others.iter().for_each(|other| other.run(|worker| empty(worker.index())));
        turn.repeat_short(|| beside.run(|worker| empty(worker.index())));
    });
    let recorded = ours::recorded_app(workers);
    race.enter("`AffinityPool::run`, recorded", move |(), turn| {
        let pool = recorded.world().resource::<AffinityPool>();
        turn.repeat_short(|| pool.run(|worker| empty(worker.index())));
    });
    #[cfg(feature = "rivals")]
    race.enter("fork_union `for_threads`", move |(), turn| {
        rivals::with_fork_union(workers, |pool| {
            turn.repeat_short(|| drop(pool.for_threads(|worker, _| empty(worker))));
        });
    });
    race.enter("Bevy `ComputeTaskPool::scope`", move |(), turn| {
        let pool = ComputeTaskPool::get();
        turn.repeat(|| {
            drop(pool.scope(|scope| (0..workers).for_each(|worker| scope.spawn(async move { empty(worker) }))))
        });
    });
    race.enter("rayon `broadcast`", move |(), turn| {
        turn.repeat(|| drop(rayon.broadcast(|context| empty(context.index()))));
    });
    race.enter("rayon `scope`", move |(), turn| {
        turn.repeat(|| rayon.scope(|scope| (0..workers).for_each(|worker| scope.spawn(move |_| empty(worker)))));
    });
    race.enter("`std::thread::scope`", move |(), turn| {
        turn.repeat(|| {
            thread::scope(|scope| {
                (1..workers).for_each(|worker| drop(scope.spawn(move || empty(worker))));
                empty(0);
            });
        });
    });
    race
}

/// A job of nothing that the compiler must still call.
fn empty(worker: usize) {
    black_box(worker);
}
