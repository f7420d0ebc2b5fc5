//! Threads that wait for their cores, for strangers and for their own kind.

use std::{thread, time::Duration};

use super::*;
use crate::{
    pool::{AffinityPool, Measured, Participants, Worker, now},
    settings::{AffinitySettings, Pinning, WorkerCount},
};

const MS: u64 = 1_000_000;

/// A machine on which a thread runs, waits for strangers, and waits for other threads of its
/// process.
struct Machine {
    judge: Judge,
    total: Waited,
    now: u64,
    own: Own,
}

/// How long other threads of the process ran on the core, when it was looked at first, and how
/// often that was.
#[derive(Default)]
struct Own {
    ran: u64,
    then: u64,
    last: u64,
    looks: u32,
    untold: bool,
    /// What a look takes.
    cost: u64,
}

impl Witness for Own {
    fn begin(&mut self) -> Option<()> {
        self.looks += 1;
        self.then = self.ran;
        (!self.untold).then_some(())
    }

    fn ran_here(&mut self) -> Option<u64> {
        self.looks += 1;
        self.last = self.ran;
        (!self.untold).then_some(self.ran - self.then)
    }

    fn renew(&mut self) {
        self.then = self.last;
    }

    fn cost(&self) -> u64 {
        self.cost
    }
}

impl Machine {
    fn new() -> Self {
        let last = Waited { ran: MS, waited: 0 };
        let now = 1_000 * MS;
        let judge = Judge { last, asked: now, ..Judge::default() };
        Self { judge, total: last, now, own: Own::default() }
    }

    fn pass(&mut self, ran: u64, waited: u64) -> bool {
        self.verdict(ran, waited).is_some()
    }

    fn verdict(&mut self, ran: u64, waited: u64) -> Option<Taken> {
        self.total.ran += ran * MS;
        self.total.waited += waited * MS;
        self.now += (ran + waited) * MS;
        self.judge.judge(self.total, self.now, &mut self.own)
    }

    fn runs(&mut self, milliseconds: u64) -> bool {
        self.pass(milliseconds, 0)
    }

    fn waits_for_strangers(&mut self, milliseconds: u64) -> bool {
        self.pass(0, milliseconds)
    }

    fn waits_for_own(&mut self, milliseconds: u64) -> bool {
        self.own.ran += milliseconds * MS;
        self.pass(0, milliseconds)
    }

    fn sleeps(&mut self, milliseconds: u64) {
        self.now += milliseconds * MS;
    }

    /// Does something else between two rounds.
    fn pauses(&mut self, ran: u64, waited: u64) {
        self.total.ran += ran * MS;
        self.total.waited += waited * MS;
        self.now += (ran + waited + 10) * MS;
        self.judge.skip(self.total, self.now, 0);
    }

    /// Takes turns of 4 ms with strangers until it is found out; after how many turns of theirs.
    fn turns_of_strangers(&mut self) -> Option<u32> {
        (1..100).find(|_| self.waits_for_strangers(4) || self.runs(4))
    }
}

#[test]
fn a_core_that_strangers_use_is_noticed_within_three_of_their_turns() {
    let mut machine = Machine::new();
    assert!(machine.turns_of_strangers().is_some_and(|turns| (2..=3).contains(&turns)));
}

#[test]
fn one_process_has_a_part_of_a_core_and_three_have_most_of_it() {
    for (processes, taken) in [(1, Taken::Partly), (3, Taken::Mostly)] {
        let mut machine = Machine::new();
        let verdict = (0..50).find_map(|_| machine.verdict(0, 4 * processes).or_else(|| machine.verdict(4, 0)));
        assert_eq!(verdict, Some(taken), "{processes} processes");
    }
}

#[test]
fn one_turn_confirms_a_verdict_and_makes_it_no_worse() {
    for (processes, taken) in [(1, Taken::Partly), (3, Taken::Mostly)] {
        let mut machine = Machine::new();
        (0..50).find_map(|_| machine.verdict(0, 4 * processes).or_else(|| machine.verdict(4, 0)));
        machine.sleeps(20);
        assert_eq!(machine.verdict(0, 4), Some(taken), "{processes} processes");
    }
}

#[test]
fn neither_a_late_wake_up_nor_one_turn_of_another_process_is_noticed() {
    let mut machine = Machine::new();
    machine.judge = Judge::default();
    assert!(!machine.pass(50, 50), "what was before counts for nothing");
    for _ in 0..10 {
        assert!((0..40).all(|_| !machine.runs(1)));
        assert!(!machine.waits_for_strangers(4));
    }
    assert_eq!(machine.own.looks, 10, "each was looked into, none led to a verdict");
}

#[test]
fn a_core_that_was_taken_needs_one_turn_to_be_found_taken_again_and_a_quiet_one_to_be_free() {
    let mut machine = Machine::new();
    machine.turns_of_strangers();
    machine.sleeps(20);
    assert!(machine.waits_for_strangers(4));
    machine.sleeps(40);
    assert!(!machine.runs(4) && !machine.waits_for_strangers(4), "one turn is none again");
}

#[test]
fn a_core_that_the_process_itself_uses_is_not_taken() {
    let mut machine = Machine::new();
    for _ in 0..1_000 {
        assert!(!machine.waits_for_own(4) && !machine.runs(1));
    }
    let seconds = 5;
    assert!(machine.own.looks < 2 * 10 * seconds, "{} looks", machine.own.looks);
}

#[test]
fn looks_at_very_many_threads_take_a_hundredth_of_the_time() {
    let mut machine = Machine::new();
    machine.own.cost = 10 * MS;
    assert!((0..2_000).all(|_| !machine.waits_for_own(4) && !machine.runs(1)));
    let seconds = 10;
    assert!((2..=seconds).contains(&machine.own.looks), "{} looks", machine.own.looks);
    assert!((0..1_000).any(|_| machine.waits_for_strangers(4) || machine.runs(4)), "found, if late");
}

#[test]
fn looks_that_come_to_no_verdict_take_a_hundredth_of_the_time_too() {
    let mut machine = Machine::new();
    machine.own.cost = MS / 3;
    // In each window the thread waits for long enough to look, and not for long enough to judge.
    assert!((0..1_000).all(|_| !machine.waits_for_own(3) && !machine.runs(14)));
    let looked = u64::from(machine.own.looks) * machine.own.cost;
    assert!(looked > 0 && looked <= 17_000 * MS / 100, "{} looks", machine.own.looks);
}

#[test]
fn strangers_beside_busy_threads_of_the_process_are_noticed_by_what_they_take() {
    let mut machine = Machine::new();
    assert!((0..100).any(|_| machine.waits_for_own(1) || machine.waits_for_strangers(6) || machine.runs(4)));
    let mut machine = Machine::new();
    assert!(!(0..100).any(|_| machine.waits_for_own(6) || machine.waits_for_strangers(1) || machine.runs(4)));
}

#[test]
fn strangers_that_come_after_the_process_used_the_core_are_noticed() {
    let mut machine = Machine::new();
    assert!(!(0..10).any(|_| machine.waits_for_own(4) || machine.runs(1)));
    assert!(machine.turns_of_strangers().is_some());
}

/// While the worker is left out the process may use its core: that says nothing of the trial.
#[test]
fn what_the_process_did_during_the_backoff_does_not_hide_strangers() {
    let mut machine = Machine::new();
    machine.turns_of_strangers();
    machine.own.ran += 500 * MS;
    machine.sleeps(500);
    assert!(!machine.waits_for_strangers(4), "it may have been the process itself");
    assert!(machine.waits_for_strangers(4));
}

/// As in an app whose frames are now the gang's, now Bevy's, beside another process: each turn of
/// Bevy's threads here is a time in which the worker slept.
#[test]
fn turns_of_the_process_itself_do_not_hide_strangers_for_long() {
    let mut machine = Machine::new();
    let turn = |machine: &mut Machine| {
        machine.own.ran += 20 * MS;
        machine.sleeps(60);
        (0..4).any(|_| machine.waits_for_strangers(4) || machine.runs(4))
    };
    assert!((0..3).any(|_| turn(&mut machine)));
}

#[test]
fn a_process_that_uses_the_core_beside_the_thread_and_while_it_sleeps_is_acquitted() {
    let mut machine = Machine::new();
    for _ in 0..500 {
        machine.own.ran += 2 * MS;
        machine.sleeps(6);
        assert!(!machine.waits_for_own(4) && !machine.runs(4));
    }
    let seconds = 7;
    assert!(machine.own.looks < 8 * 10 * seconds, "{} looks", machine.own.looks);
}

#[test]
fn where_the_system_does_not_tell_of_threads_whoever_has_the_core_is_a_stranger() {
    let mut machine = Machine::new();
    machine.own.untold = true;
    assert!((0..4).any(|_| machine.waits_for_own(4) || machine.runs(4)));
}

/// As for Bevy's threads, on whichever core those run.
#[test]
fn what_is_waited_for_between_rounds_does_not_count() {
    for own_threads_here in [0, 6] {
        let mut machine = Machine::new();
        for _ in 0..100 {
            machine.own.ran += own_threads_here * MS;
            machine.pauses(1, 6);
            assert!(!machine.runs(1));
        }
        assert_eq!(machine.own.looks, 0);
    }
}

#[test]
fn strangers_are_noticed_in_rounds_between_which_something_else_is_done() {
    let mut machine = Machine::new();
    let turns = (1..100).find(|_| {
        machine.pauses(1, 6);
        machine.waits_for_strangers(4) || machine.runs(4)
    });
    assert!(turns.is_some_and(|turns| (2..=3).contains(&turns)), "{turns:?}");
}

/// The witness looks at times on both sides of a pause: what was waited in that is no evidence.
#[test]
fn own_threads_that_are_waited_for_in_rounds_and_others_between_them_are_no_strangers() {
    let mut machine = Machine::new();
    for _ in 0..100 {
        machine.pauses(1, 12);
        assert!(!machine.waits_for_own(4) && !machine.runs(4));
    }
    assert!(machine.own.looks > 0);
}

/// Bevy's parallel phase of one frame.
#[test]
fn what_the_process_did_in_a_pause_does_not_hide_strangers_for_long() {
    let mut machine = Machine::new();
    let mut turn = |own_threads_here: u64| {
        machine.own.ran += own_threads_here * MS;
        machine.pauses(1, 0);
        machine.waits_for_strangers(4) || machine.runs(4)
    };
    assert!(!turn(0) && !turn(20));
    let turns = (3..100).find(|_| turn(0));
    assert!(turns.is_some_and(|turns| turns <= 4), "{turns:?}");
}

/// Rounds that are too short to be asked about, with a pause behind each.
#[test]
fn one_turn_of_strangers_among_many_short_rounds_is_not_noticed() {
    let mut machine = Machine::new();
    for round in 0..200 {
        machine.total.ran += MS;
        machine.now += 10 * MS;
        machine.judge.skip(machine.total, machine.now, MS);
        assert!(round % 20 > 0 || !machine.waits_for_strangers(4));
    }
}

#[test]
fn a_pause_between_rounds_is_skipped_once() {
    let watched = || WATCH.with(|watch| (watch.borrow().asked, watch.borrow().last_round));
    let now = 1_000_000 * MS;
    skip_pause(now);
    assert_eq!(watched(), (now, now));
    assert_eq!(finds_core_taken(now + 7), None);
    skip_pause(now + PAUSE);
    assert_eq!(watched(), (now, now + 7), "they are near to each other");
    skip_pause(now + 7 + PAUSE);
    assert_eq!(watched(), (now + 7 + PAUSE, now + 7 + PAUSE));
    if SchedulerAccount::open().read().is_some() {
        let counted = WATCH.with(|watch| watch.borrow().judge.window);
        assert_eq!(counted, Waited { ran: 7, waited: 0 }, "as far as the round went");
    }
}

#[test]
fn a_leader_skips_the_pause_before_its_round_and_is_there_until_all_are_done() {
    // It leaves cores as they are: what other tests found out of them would move this thread.
    let pinning = Pinning::Off;
    let two = AffinitySettings { workers: WorkerCount::Exactly(2), pinning, ..Default::default() };
    let pool = AffinityPool::new(&two);
    if !pool.watchful || SchedulerAccount::open().read().is_none() {
        return;
    }
    let begun = now();
    let play = |worker: Worker| thread::sleep(Duration::from_micros(200) * worker.index() as u32);
    // Other tests may lead meanwhile, or keep the worker awake.
    let skips = || {
        thread::sleep(Duration::from_millis(2));
        let before = now();
        drop(pool.run_some(Participants::ALL, Measured::ForCaller, play));
        let (asked, last_round) = WATCH.with(|watch| (watch.borrow().asked, watch.borrow().last_round));
        let own = pool.counters.leader.last_own_call();
        (before..=own.began).contains(&asked) && last_round >= own.ended + MS / 10
    };
    while !skips() {
        assert!(now() - begun < 60_000 * MS, "it asks at the end, or too early");
    }
}
