//! The system refuses threads, or places for them: fewer workers or unpinned ones, one warning,
//! right results.

use std::{
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::{AtomicUsize, Ordering},
};

use bevy::{ecs::system::SystemState, prelude::*};
use bevy_affinity::{AffinityExecutor, Forced, ScheduleWay, prelude::*};
use nix::{
    errno::Errno,
    sched::{CpuSet, sched_setaffinity},
    sys::resource::{Resource, setrlimit},
    unistd::Pid,
};

use crate::{
    Count, ROWS,
    alone::{alone, skip},
    assert_frames,
    common::{Scheduling, start_compute_threads},
    counting,
    filter::{refuse_affinity, refuse_threads, refuse_to_tell_cores},
    gang, log, workers,
};

/// The address space of a worker's stack, most of which is never used.
const STACK: u64 = 64 << 20;

/// The address space that this process has now.
fn address_space() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("Linux tells");
    let size = status.lines().find_map(|line| line.strip_prefix("VmSize:")?.trim().strip_suffix(" kB"));
    size.and_then(|size| size.parse::<u64>().ok()).expect("a number of kilobytes") << 10
}

/// All that a pool does, with the workers that it has.
fn assert_works(pool: &AffinityPool) {
    let calls = AtomicUsize::new(0);
    pool.run(|_| _ = calls.fetch_add(1, Ordering::Relaxed));
    assert_eq!(calls.into_inner(), pool.workers());
    assert_eq!(pool.heartbeat(|scope| scope.join(|_| 3, |_| 4)), (3, 4));
    let ((), answers) = pool.batched(|number: u64| number + 1, |calls| (0..5).for_each(|key| _ = calls.call(key, key)));
    assert_eq!(answers, [1, 2, 3, 4, 5]);
}

#[test]
fn no_thread_can_be_started() {
    alone(|| {
        log::listen();
        start_compute_threads();
        if !refuse_threads() {
            return skip("needs seccomp filters");
        }
        let mut app = counting(Scheduling::lock_step(4).app());
        log::assert_one_warning_of("cannot start worker 1 of 4");
        assert_frames(&mut app, 100);
        log::assert_one_warning_of("cannot start worker");
        assert_eq!((workers(&app), gang::threads().len()), (1, 0));
        assert_works(app.world().resource::<AffinityPool>());
    });
}

#[test]
fn some_threads_can_be_started() {
    alone(|| {
        log::listen();
        start_compute_threads();
        // For the stacks of three workers and what they need beside them.
        let limit = address_space() + 3 * STACK + STACK / 2;
        if setrlimit(Resource::RLIMIT_AS, limit, limit).is_err() {
            return skip("needs limits of the address space");
        }
        let mut app = counting(Scheduling::lock_step(16).app());
        assert_frames(&mut app, 100);
        log::assert_one_warning_of("cannot start worker");
        let workers = workers(&app);
        assert!((2..=4).contains(&workers), "{workers} workers, for three stacks");
        gang::wait_for(workers - 1);
        assert_works(app.world().resource::<AffinityPool>());
        drop(app);
        gang::assert_ended();
    });
}

/// Refuses all places with `errno`; workers run where the system puts them.
fn assert_unpinned(errno: Errno) {
    log::listen();
    if !refuse_affinity(errno) {
        return skip("needs seccomp filters");
    }
    assert_eq!(sched_setaffinity(Pid::from_raw(0), &CpuSet::new()), Err(errno), "the fault is not there");
    for pinning in [Pinning::Core, Pinning::CacheDomain, Pinning::Off] {
        let scheduling = Scheduling::lock_step(3);
        let mut app = counting(scheduling.app());
        app.insert_resource(AffinitySettings { pinning, ..scheduling.settings() });
        assert_frames(&mut app, 50);
        assert_eq!(workers(&app), 3);
        let pool = app.world().resource::<AffinityPool>();
        pool.run(|worker| assert_eq!(worker.core(), None));
        assert_works(pool);
    }
    log::assert_one_warning_of("workers run unpinned");
}

#[test]
fn the_system_does_not_tell_which_cores_there_are() {
    alone(|| {
        log::listen();
        if !refuse_to_tell_cores() {
            return skip("needs seccomp filters");
        }
        let mut app = counting(Scheduling::lock_step(3).app());
        assert_frames(&mut app, 50);
        assert_eq!(workers(&app), 3);
        assert_works(app.world().resource::<AffinityPool>());
        log::assert_one_warning_of("workers run unpinned: the system does not tell");
    });
}

#[test]
fn a_logger_that_panics_before_a_round_of_systems() {
    #[derive(Resource, Default)]
    struct Runs<const SYSTEM: usize>(u64);

    fn busy<const SYSTEM: usize>(mut runs: ResMut<Runs<SYSTEM>>) {
        runs.0 = (0..3_000).fold(runs.0, |runs, _| std::hint::black_box(runs)) + 1;
    }

    alone(|| {
        log::listen_and_act_on("workers run unpinned", || panic!("the logger panics"));
        if !refuse_affinity(Errno::EPERM) {
            return skip("needs seccomp filters");
        }
        let (mut schedule, mut world) = (Schedule::default(), World::new());
        world.insert_resource(AffinityPool::new(&Scheduling::lock_step(2).settings()));
        world.init_resource::<Runs<0>>();
        world.init_resource::<Runs<1>>();
        AffinityExecutor::install_forced(&mut schedule, Forced::Always(ScheduleWay::OnTheGang));
        schedule.add_systems((busy::<0>, busy::<1>));
        let run = |schedule: &mut Schedule, world: &mut World| catch_unwind(AssertUnwindSafe(|| schedule.run(world)));
        // How soon the systems are found to be worth a round depends on how busy the machine is.
        const MOST: u64 = 10_000;
        let before = (0..MOST).take_while(|_| run(&mut schedule, &mut world).is_ok()).count() as u64;
        assert!(before < MOST, "no round was begun");
        const AFTER: u64 = 20;
        (0..AFTER).for_each(|_| assert!(run(&mut schedule, &mut world).is_ok()));
        assert_eq!((world.resource::<Runs<0>>().0, world.resource::<Runs<1>>().0), (before + AFTER, before + AFTER));
    });
}

/// In the context of the system whose call the warning is said in.
#[test]
fn a_logger_that_sweeps_before_a_sweep() {
    fn sweep_elsewhere() {
        let mut world = World::new();
        world.spawn_batch((0..ROWS).map(|_| Count(0)));
        let mut rows = SystemState::<AffineQuery<&mut Count>>::new(&mut world);
        rows.get_mut(&mut world).expect("it needs no more").par_iter_mut().for_each(|mut count| count.0 += 1);
        assert!(world.query::<&Count>().iter(&world).all(|count| count.0 == 1));
    }

    alone(|| {
        log::listen_and_act_on("workers run unpinned", sweep_elsewhere);
        if !refuse_affinity(Errno::EPERM) {
            return skip("needs seccomp filters");
        }
        let mut app = counting(Scheduling::lock_step(2).app());
        // How soon the first worker has found that out depends on how busy the machine is.
        const MOST: u32 = 10_000;
        assert!((0..MOST).any(|_| {
            assert_frames(&mut app, 1);
            log::warns_of("workers run unpinned")
        }));
        assert_frames(&mut app, 20);
    });
}

#[test]
fn pinning_is_not_permitted() {
    alone(|| assert_unpinned(Errno::EPERM));
}

#[test]
fn pinning_is_not_valid() {
    alone(|| assert_unpinned(Errno::EINVAL));
}
