//! Started on one core, as by `taskset -c 1`: the ids of cores come from the affinity mask.

use std::{panic::resume_unwind, thread};

use bevy_affinity::{
    prelude::*,
    topology::{PinError, Topology, pin_current_thread},
};
use nix::{
    sched::{CpuSet, sched_getaffinity, sched_setaffinity},
    unistd::Pid,
};

use crate::{alone::alone, assert_frames, common::Scheduling, counting, gang, log, workers};

/// The cores that the calling thread may use.
pub fn allowed() -> Vec<usize> {
    let mask = sched_getaffinity(Pid::from_raw(0)).expect("the system tells");
    (0..CpuSet::count()).filter(|&core| mask.is_set(core) == Ok(true)).collect()
}

/// Keeps the calling thread, and all that it starts from then on, on one core.
pub fn stay_on(core: usize) {
    let mut mask = CpuSet::new();
    mask.set(core).expect("a number of a core");
    sched_setaffinity(Pid::from_raw(0), &mask).expect("a core of ours");
}

/// Whether the system lets threads be pinned: containers may forbid it.
pub fn may_pin() -> bool {
    let pin = || Topology::get().cores.first().map(|core| pin_current_thread(core.id));
    let pinned = thread::scope(|scope| scope.spawn(pin).join());
    !matches!(pinned, Ok(Some(Err(PinError::Refused(_)))))
}

/// Runs `start` on a thread that is kept to `core`: a process that it starts is kept there from its
/// first moment.
pub fn on_core<R: Send>(core: usize, start: impl FnOnce() -> R + Send) -> R {
    let started = thread::scope(|scope| {
        let starter = scope.spawn(|| {
            stay_on(core);
            start()
        });
        starter.join()
    });
    started.unwrap_or_else(|payload| resume_unwind(payload))
}

#[test]
fn a_process_on_one_core() {
    // The last one: not core 0, where there are several.
    let core = *allowed().last().expect("a process has cores");
    on_core(core, || {
        alone(|| {
            log::listen();
            let ours = allowed();
            let topology = Topology::get();
            assert_eq!(topology.cores.iter().map(|core| core.id.index()).collect::<Vec<_>>(), ours);
            assert_eq!(ours.len(), 1);
            let mut app = counting(Scheduling::lock_step(1).app());
            app.insert_resource(AffinitySettings::default());
            assert_frames(&mut app, 20);
            assert_eq!((workers(&app), gang::threads().len()), (1, 0));

            app.insert_resource(Scheduling::lock_step(3).settings());
            assert_frames(&mut app, 100);
            assert_eq!(workers(&app), 3);
            let elsewhere = |thread: &gang::Thread| thread.cores != ours[0].to_string();
            assert!(!gang::threads().iter().any(elsewhere), "{:?}", gang::threads());
            log::assert_one_warning("asks for 3 workers, more than the core that this process may keep busy");
        });
    });
}
