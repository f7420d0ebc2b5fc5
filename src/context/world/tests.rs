use std::{
    collections::HashSet,
    sync::Mutex,
    thread::{self, ThreadId},
    time::Duration,
};

use super::*;
use crate::{
    pool::AffinityPool,
    settings::{SpareCores, WorkerCount},
    topology::{Core, CoreId},
};

/// A machine with `cores` cores, on which `available` threads can run at once. Its version counts
/// the changes of the cores.
fn machine(cores: usize, available: usize, version: u16) -> Arc<Topology> {
    let core = |id| Core { id: CoreId(id), sibling_rank: 0, physical: id, cache_domain: 0, efficiency: 0, package: 0 };
    Arc::new(Topology { cores: (0..cores).map(core).collect(), available, version })
}

fn auto() -> AffinitySettings {
    AffinitySettings { spare_cores: SpareCores::Exactly(0), ..Default::default() }
}

fn exactly(workers: usize) -> AffinitySettings {
    AffinitySettings { workers: WorkerCount::Exactly(workers), ..Default::default() }
}

/// The number of workers on each of `machines` in turn, and whether the context was made anew for
/// it.
fn followed(settings: &AffinitySettings, machines: &[Arc<Topology>]) -> Vec<(usize, bool)> {
    let world = WorldContext::new(settings, machines[0].clone());
    let follow = |machine| {
        let before = world.current();
        let context = world.for_cores(settings, machine);
        (context.pool.workers(), !Arc::ptr_eq(&before, &context))
    };
    machines.iter().map(follow).collect()
}

#[test]
fn auto_follows_a_quota_down_and_up() {
    let machines = [machine(4, 4, 0), machine(4, 2, 0), machine(4, 2, 0), machine(4, 1, 0), machine(4, 4, 0)];
    assert_eq!(followed(&auto(), &machines), [(4, false), (2, true), (2, false), (1, true), (4, true)]);
}

#[test]
fn auto_follows_a_mask_down_and_up() {
    let machines = [machine(4, 4, 0), machine(1, 1, 1), machine(3, 3, 2)];
    assert_eq!(followed(&auto(), &machines), [(4, false), (1, true), (3, true)]);
}

#[test]
fn a_quota_that_leaves_enough_changes_nothing() {
    let machines = [machine(4, 8, 0), machine(4, 4, 0), machine(4, 6, 0)];
    assert_eq!(followed(&auto(), &machines), [(4, false); 3]);
    let machines = [machine(4, 4, 0), machine(4, 3, 0)];
    assert_eq!(followed(&exactly(2), &machines), [(2, false); 2]);
}

#[test]
fn a_chosen_number_stays_and_crowded_workers_spin_less() {
    let machines = [machine(2, 2, 0), machine(2, 1, 0), machine(2, 2, 0)];
    assert_eq!(followed(&exactly(2), &machines), [(2, false), (2, true), (2, true)]);
}

#[test]
fn other_settings_keep_the_cores_that_were_followed() {
    let world = WorldContext::new(&auto(), machine(4, 4, 0));
    world.for_cores(&auto(), &machine(4, 2, 0));
    assert_eq!(world.for_settings(&AffinitySettings { chunk_rows: 1, ..auto() }).pool.workers(), 2);
}

/// The threads that the workers of `pool` run on, once each of them came in time.
fn threads_of(pool: &AffinityPool) -> HashSet<ThreadId> {
    let threads = Mutex::new(HashSet::new());
    for _ in 0..10_000 {
        pool.run(|_| {
            threads.lock().expect("noted").insert(thread::current().id());
            thread::sleep(Duration::from_micros(100));
        });
        if threads.lock().expect("noted").len() == pool.workers() {
            break;
        }
    }
    threads.into_inner().expect("noted")
}

#[test]
fn the_threads_of_the_gang_are_kept() {
    let (wide, narrow) = (machine(3, 3, 0), machine(3, 1, 0));
    // Other tests may leave workers of the process's gang out.
    let settings = AffinitySettings { avoid_busy_cores: false, ..auto() };
    let world = WorldContext::new(&settings, wide.clone());
    let threads_on = |machine| threads_of(&world.for_cores(&settings, machine).pool);
    let before = threads_on(&wide);
    assert_eq!(before.len(), 3);
    assert_eq!(threads_on(&narrow).len(), 1);
    assert_eq!(threads_on(&wide), before);
}
