//! On the machine at hand, in threads of their own. Where pinning is forbidden the refusal itself
//! is checked.

use std::thread;

use super::*;

/// The cores the calling thread may use now.
fn current_mask() -> Vec<usize> {
    let ids = core_affinity::get_core_ids().unwrap_or_default();
    ids.into_iter().map(|core| core.id).collect()
}

fn on_new_thread<T: Send + 'static>(body: impl FnOnce() -> T + Send + 'static) -> T {
    thread::spawn(body).join().unwrap()
}

#[test]
fn a_pinned_thread_is_where_it_should_be() {
    for core in &Topology::get().cores {
        let id = core.id;
        let before = current_mask();
        let (result, core_then, mask) = on_new_thread(move || (pin_current_thread(id), current_core(), current_mask()));
        match result {
            Ok(()) if cfg!(target_os = "linux") => {
                assert_eq!((core_then, mask), (Some(id), vec![id.index()]));
            }
            Ok(()) => {}
            Err(error) => {
                assert_eq!(error, PinError::Refused(vec![id]));
                assert_eq!(mask, before);
            }
        }
    }
}

#[test]
fn the_topology_does_not_shrink_with_a_pinned_thread() {
    let all = Topology::get();
    let Some(last) = all.cores.last() else { return };
    let id = last.id;
    let pinned = on_new_thread(move || (pin_current_thread(id), core_affinity::get_core_ids()));
    if cfg!(target_os = "linux") && pinned.0.is_ok() {
        assert_eq!(pinned.1.map(|cores| cores.len()), Some(1), "the trap that `get` is there for");
    }
    assert_eq!(Topology::get(), all);
}

#[cfg(target_os = "linux")]
#[test]
fn unpinning_gives_back_all_cores() {
    let core = Topology::get().cores[0].id;
    let before = current_mask();
    let after = on_new_thread(move || {
        // If that is refused the mask never changes.
        _ = pin_current_thread(core);
        assert_eq!(unpin_current_thread(), Ok(()));
        current_mask()
    });
    assert_eq!(after, before);
}

#[cfg(target_os = "linux")]
#[test]
fn a_thread_can_be_kept_to_a_cache_domain() {
    let topology = Topology::get();
    let mut domain = topology.sharing_cache(topology.cores[0].id);
    domain.sort();
    let cores = domain.clone();
    let (result, mask) = on_new_thread(move || (pin_current_thread_to(&cores), current_mask()));
    match result {
        Ok(()) => assert!(mask.into_iter().eq(domain.iter().map(|core| core.index()))),
        Err(error) => assert_eq!(error, PinError::Refused(domain)),
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_thread_that_was_moved_is_let_go_again() {
    use rustix::thread::CpuSet;
    let mut allowed = CpuSet::new();
    [1, 3].into_iter().for_each(|core| allowed.set(core));
    // How many of the cores that the system is asked to keep the thread to it takes, and how many
    // it keeps it to in the end.
    let moved = |takes: &[u32]| {
        let mut kept = allowed.count();
        let mut set_mask = |mask: &CpuSet| {
            let taken = takes.contains(&mask.count());
            kept = if taken { mask.count() } else { kept };
            taken
        };
        (move_among(&allowed, CoreId(3), &mut set_mask), kept)
    };
    let all = CpuSet::MAX_CPU as u32;
    let refused = Err(PinError::Refused(vec![CoreId(3)]));
    assert_eq!(moved(&[1, 2, all]), (Ok(()), 2));
    assert_eq!(moved(&[1, all]), (Ok(()), all), "the cores that were allowed are gone");
    assert_eq!(moved(&[2, all]), (refused, 2));
    assert_eq!(move_among(&allowed, CoreId(2), |_| unreachable!()), Err(PinError::NotOurs(CoreId(2))));
    assert_eq!(move_among(&allowed, CoreId(5_000), |_| unreachable!()), Err(PinError::NotOurs(CoreId(5_000))));
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
#[test]
fn sets_of_cores_are_unsupported() {
    assert_eq!(unpin_current_thread(), Err(PinError::Unsupported));
}

#[test]
fn cores_outside_the_mask_are_an_error() {
    // None of these fits the fixed-size masks of the system calls.
    for index in [1_024, 5_000, usize::MAX] {
        let foreign = CoreId(index);
        assert_eq!(Topology::get().find(foreign), None);
        let expected = Err(PinError::NotOurs(foreign));
        assert_eq!(pin_current_thread(foreign), expected);
        assert_eq!(pin_current_thread_to(&[foreign]), expected);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn an_empty_set_is_refused() {
    assert_eq!(pin_current_thread_to(&[]), Err(PinError::Refused(vec![])));
}

#[test]
fn errors_name_the_cores() {
    assert_eq!(
        PinError::Refused(vec![CoreId(2), CoreId(5)]).to_string(),
        "the system refused to keep a thread on core 2, 5"
    );
    assert_eq!(PinError::NotOurs(CoreId(7)).to_string(), "this process may not use core 7");
}
