//! The process is stopped and goes on later, as when a machine sleeps; or one worker thread alone,
//! as when its core is gone.

use std::{
    fs,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};

use bevy_affinity::prelude::*;
use nix::{
    sys::{
        ptrace,
        signal::{Signal, kill},
        wait::{WaitPidFlag, WaitStatus, waitpid},
    },
    unistd::Pid,
};

use crate::{
    alone::{Alone, PATIENCE, say, skip, wait_for_word},
    assert_frames,
    common::Scheduling,
    counting, gang,
};

/// How long the process is stopped.
const STOPPED: Duration = Duration::from_millis(1500);

/// A pause that nothing but the stop explains, or a machine so busy that it is as good as one.
const A_STOP: Duration = Duration::from_millis(1000);

/// Stops the process for a while once it has said that it is ready.
fn stop_for_a_while(alone: &Alone) {
    if alone.hear("ready").is_none() {
        return;
    }
    kill(alone.pid(), Signal::SIGSTOP).expect("a child of ours");
    // Or it has ended, which its end will tell.
    let is_stopped = |stat: String| stat.contains(") T ") || stat.contains(") Z ");
    let began = Instant::now();
    while !fs::read_to_string(format!("/proc/{}/stat", alone.pid())).is_ok_and(is_stopped) {
        assert!(began.elapsed() < PATIENCE, "a process was not stopped");
        thread::sleep(Duration::from_millis(1));
    }
    thread::sleep(STOPPED);
    kill(alone.pid(), Signal::SIGCONT).expect("a child of ours");
}

/// Says that it is ready, calls `work` until the process was stopped, and for as long as `after`
/// since. Returns how long the stop was.
fn work_through_a_stop(after: Duration, mut work: impl FnMut()) -> Duration {
    let (began, mut stop) = (Instant::now(), None);
    let (mut last, mut resumed) = (began, began);
    say("ready");
    while stop.is_none() || resumed.elapsed() < after {
        // From one look at the clock to the next: it may be stopped anywhere between them.
        let now = Instant::now();
        if stop.is_none() && now - last >= A_STOP {
            (stop, resumed) = (Some(now - last), now);
        }
        last = now;
        work();
        assert!(began.elapsed() < PATIENCE, "nobody stopped this process");
    }
    stop.unwrap_or_default()
}

#[test]
fn an_app_that_is_suspended_has_one_long_frame() {
    let schedulings = [Scheduling::lock_step(2), Scheduling::heartbeat(2), Scheduling::auto(2)];
    let alone = Alone::start(|| {
        for scheduling in schedulings {
            let mut app = counting(scheduling.app());
            assert_frames(&mut app, 10);
            // Each frame counts all rows up once: there are none to be made up for.
            work_through_a_stop(Duration::ZERO, || assert_frames(&mut app, 1));
            assert_frames(&mut app, 100);
        }
    });
    schedulings.iter().for_each(|_| stop_for_a_while(&alone));
    alone.end().assert_done();
}

/// Least time between two jobs that one worker gives away.
const BEAT: Duration = Duration::from_millis(20);

/// Many short joins.
fn tree(scope: &mut Scope, depth: u32) -> u64 {
    match depth.checked_sub(1) {
        None => (0..1000_u64).fold(depth.into(), |sum, step| std::hint::black_box(sum ^ step)),
        Some(depth) => {
            let (a, b) = scope.join(|scope| tree(scope, depth), |scope| tree(scope, depth));
            a ^ b
        }
    }
}

#[test]
fn beats_that_were_missed_are_not_made_up_for() {
    let alone = Alone::start(|| {
        let settings = AffinitySettings { heartbeat: BEAT, ..Scheduling::heartbeat(2).settings() };
        let pool = AffinityPool::new(&settings);
        let jobs = || pool.worker_stats().map(|worker| worker.jobs_taken).collect::<Vec<_>>();
        let began = Instant::now();
        let stop = pool.heartbeat(|scope| {
            while jobs()[1] == 0 {
                tree(scope, 8);
            }
            work_through_a_stop(20 * BEAT, || _ = tree(scope, 8))
        });
        let beats = (began.elapsed() - stop).as_nanos() / BEAT.as_nanos();
        // One at the beginning, one that was due when the process was stopped; a burst would be of
        // dozens.
        assert!(jobs().iter().all(|&jobs| u128::from(jobs) <= beats + 2), "{:?} jobs in {beats} beats", jobs());
    });
    stop_for_a_while(&alone);
    alone.end().assert_done();
}

/// A thread of another process that does not run until this is dropped, by this thread.
struct Frozen(Pid);

impl Frozen {
    fn freeze(thread: Pid) -> nix::Result<Self> {
        ptrace::seize(thread, ptrace::Options::empty())?;
        let frozen = Self(thread);
        ptrace::interrupt(thread)?;
        match waitpid(thread, Some(WaitPidFlag::__WALL))? {
            WaitStatus::PtraceEvent(..) | WaitStatus::Stopped(..) => Ok(frozen),
            other => panic!("a thread that was to be stopped: {other:?}"),
        }
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        // It fails if the process has ended, which its end will tell.
        _ = ptrace::detach(self.0, None);
    }
}

/// Freezes the worker thread that the process names, and says so.
fn freeze_worker(alone: &mut Alone) -> Option<Frozen> {
    let thread = Pid::from_raw(alone.hear("worker ")?.parse().expect("a thread's number"));
    let frozen = Frozen::freeze(thread).map_err(|error| skip(&format!("needs to trace a child ({error})"))).ok();
    alone.tell("frozen");
    frozen
}

#[test]
fn a_worker_that_is_frozen_holds_up_no_round() {
    let mut alone = Alone::start(|| {
        let settings = AffinitySettings { workers: WorkerCount::Exactly(3), ..Default::default() };
        let pool = AffinityPool::new(&settings);
        pool.run(|_| ());
        gang::wait_for(2);
        gang::wait_until_parked();
        let frozen = gang::threads()[0].id;
        say(&format!("worker {frozen}"));
        wait_for_word();
        let calls = [const { AtomicUsize::new(0) }; 3];
        for _ in 0..200 {
            pool.run(|worker| _ = calls[worker.index()].fetch_add(1, Ordering::Relaxed));
        }
        assert_eq!(calls.map(AtomicUsize::into_inner), [200; 3]);
        say("rounds over");
        wait_for_word();
        // It may have been left out for having been away, but not for ever.
        let seen = AtomicUsize::new(0);
        let began = Instant::now();
        while seen.load(Ordering::Relaxed) == 0 {
            pool.run(|_| {
                thread::sleep(Duration::from_micros(100));
                seen.fetch_add(usize::from(nix::unistd::gettid() == frozen), Ordering::Relaxed);
            });
            assert!(began.elapsed() < PATIENCE / 2, "the worker never came back");
        }
    });
    let frozen = freeze_worker(&mut alone);
    assert_eq!(alone.hear("rounds over").as_deref(), Some(""), "rounds waited for a frozen worker");
    drop(frozen);
    alone.tell("thawed");
    alone.end().assert_done();
}

#[test]
fn a_round_waits_for_a_worker_that_is_frozen_in_it() {
    let mut alone = Alone::start(|| {
        let pool = AffinityPool::new(&Scheduling::lock_step(2).settings());
        let (on_stack, go) = (AtomicUsize::new(0), AtomicUsize::new(0));
        pool.run(|worker| match worker.index() {
            0 => {
                wait_for_word();
                go.store(1, Ordering::Release);
            }
            _ => {
                say(&format!("worker {}", nix::unistd::gettid()));
                while go.load(Ordering::Acquire) == 0 {
                    thread::yield_now();
                }
                on_stack.fetch_add(1, Ordering::Relaxed);
            }
        });
        assert_eq!(on_stack.into_inner(), 1);
        say("round over");
    });
    let frozen = freeze_worker(&mut alone);
    if frozen.is_some() {
        // The leader has nothing left to do.
        thread::sleep(Duration::from_millis(300));
        assert!(!alone.has_said("round over"), "the leader left a worker in the round");
    }
    drop(frozen);
    assert_eq!(alone.hear("round over").as_deref(), Some(""));
    alone.end().assert_done();
}
