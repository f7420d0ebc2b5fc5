use std::cell::Cell;

use super::*;

/// A system whose cores and quota a test changes.
struct System {
    now: Cell<Instant>,
    reading: Cell<(&'static [usize], usize)>,
    readings: Cell<usize>,
}

impl System {
    fn new(cores: &'static [usize], available: usize) -> Self {
        Self { now: Cell::new(Instant::now()), reading: Cell::new((cores, available)), readings: Cell::new(0) }
    }

    fn read(&self) -> Reading {
        self.readings.set(self.readings.get() + 1);
        let (cores, available) = self.reading.get();
        Reading { cores: cores.iter().copied().map(CoreId).collect(), available }
    }

    fn latest(&self) -> Latest {
        Latest::new(self.read(), self.now.get(), describe)
    }

    /// Lets so much time pass and looks again.
    fn after(&self, time: Duration, latest: &mut Latest) -> Arc<Topology> {
        self.now.set(self.now.get() + time);
        latest.follow(self.now.get(), || self.read(), describe);
        latest.topology.clone()
    }
}

fn describe(cores: &[CoreId]) -> Vec<Core> {
    let core = |id: CoreId| Core { id, sibling_rank: 0, physical: id.0, cache_domain: 0, efficiency: 0, package: 0 };
    cores.iter().copied().map(core).collect()
}

fn ids(topology: &Topology) -> Vec<usize> {
    topology.cores.iter().map(|core| core.id.0).collect()
}

#[test]
fn a_mask_is_followed_there_and_back() {
    let system = System::new(&[0, 1, 2], 3);
    let mut latest = system.latest();
    let first = latest.topology.clone();
    system.reading.set((&[2], 1));
    let narrow = system.after(LIFETIME, &mut latest);
    assert_eq!((ids(&narrow), narrow.parallelism()), (vec![2], 1));
    system.reading.set((&[0, 1, 2], 3));
    let back = system.after(LIFETIME, &mut latest);
    assert_eq!((ids(&back), back.parallelism()), (vec![0, 1, 2], 3));
    // Who changed the mask of the process may have changed its workers' too: the same cores again
    // are no reason to leave them.
    assert_ne!(back.version, first.version);
}

#[test]
fn cores_may_come_that_were_not_there_at_first() {
    let system = System::new(&[1], 1);
    let mut latest = system.latest();
    system.reading.set((&[0, 1, 5], 3));
    assert_eq!(ids(&system.after(LIFETIME, &mut latest)), [0, 1, 5]);
}

#[test]
fn a_quota_leaves_workers_where_they_are() {
    let system = System::new(&[0, 1, 2, 3], 4);
    let mut latest = system.latest();
    let before = latest.topology.clone();
    system.reading.set((&[0, 1, 2, 3], 2));
    let limited = system.after(LIFETIME, &mut latest);
    assert_eq!((limited.parallelism(), limited.version), (2, before.version));
    assert_eq!(limited.cores, before.cores);
}

#[test]
fn the_system_is_asked_once_a_second() {
    let system = System::new(&[0, 1], 2);
    let mut latest = system.latest();
    system.reading.set((&[0], 1));
    for _ in 0..59 {
        assert_eq!(system.after(LIFETIME / 60, &mut latest).parallelism(), 2);
    }
    assert_eq!(system.readings.get(), 1);
    assert_eq!(system.after(LIFETIME / 30, &mut latest).parallelism(), 1);
    assert_eq!(system.readings.get(), 2);
}

#[test]
fn nothing_new_changes_nothing() {
    let system = System::new(&[0, 1], 2);
    let mut latest = system.latest();
    let before = latest.topology.clone();
    assert!(Arc::ptr_eq(&before, &system.after(10 * LIFETIME, &mut latest)));
}

#[test]
fn the_log_says_what_may_be_used() {
    let said = |cores: &[usize], available| {
        let ids: Vec<_> = cores.iter().copied().map(CoreId).collect();
        Topology { cores: describe(&ids), available, version: 0 }.to_string()
    };
    assert_eq!(said(&[0, 2], 1), "cores 0, 2 (1 thread at a time)");
    assert_eq!(said(&[7], 4), "core 7 (4 threads at a time)");
    assert_eq!(said(&[], 4), "cores that the system does not tell (4 threads at a time)");
}
