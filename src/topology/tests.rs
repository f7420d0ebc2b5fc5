use std::collections::BTreeSet;

use super::*;

#[cfg(target_os = "linux")]
#[test]
fn a_moved_thread_may_run_where_it_could_before() {
    let mask = || rustix::thread::sched_getaffinity(None).expect("the system tells");
    let before = mask();
    for core in &Topology::get().cores {
        move_current_thread_to(core.id).expect("the core is in the mask");
        assert_eq!(mask(), before);
    }
    assert_eq!(move_current_thread_to(CoreId(1_000)), Err(PinError::NotOurs(CoreId(1_000))));
}

fn core(index: usize, cache_domain: usize) -> Core {
    Core { id: CoreId(index), sibling_rank: 0, physical: index, cache_domain, efficiency: 0, package: 0 }
}

#[test]
fn this_machine_has_exactly_the_cores_of_the_mask() {
    let detected: Vec<_> = Topology::get().cores.iter().map(|c| c.id.0).collect();
    let mask: BTreeSet<_> = core_affinity::get_core_ids().into_iter().flatten().map(|core| core.id).collect();
    assert_eq!(detected.len(), mask.len(), "each core once");
    assert_eq!(BTreeSet::from_iter(detected), mask);
}

#[test]
fn this_machine_can_run_at_least_one_worker() {
    let topology = Topology::get();
    assert!(topology.available >= 1);
    assert!(topology.parallelism() >= 1);
    assert!(topology.parallelism() <= topology.available);
}

#[test]
fn parallelism_is_bounded_by_cores_and_by_quota() {
    let cores = vec![core(4, 0), core(6, 0), core(8, 0)];
    let parallelism = |cores: &[Core], available| {
        let cores = cores.to_vec();
        Topology { cores, available, version: 0 }.parallelism()
    };
    assert_eq!(parallelism(&cores, 2), 2);
    assert_eq!(parallelism(&cores, 8), 3);
    assert_eq!(parallelism(&[], 4), 4, "cores unknown");
}

#[test]
fn a_cache_domain_is_found_by_any_of_its_cores() {
    let topology = Topology { cores: vec![core(4, 0), core(6, 1), core(8, 0)], available: 3, version: 0 };
    assert_eq!(topology.sharing_cache(CoreId(8)), [CoreId(4), CoreId(8)]);
    assert_eq!(topology.sharing_cache(CoreId(6)), [CoreId(6)]);
    assert_eq!(topology.sharing_cache(CoreId(5)), []);
}
