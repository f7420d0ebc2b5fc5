//! For how long workers rest or are left out, with times by hand.

use super::*;

const MS: u64 = 1_000_000;

#[test]
fn whoever_is_found_out_again_stays_out_longer() {
    let (eviction, workers) = (Eviction::default(), [WorkerEviction::default()]);
    let worker = &workers[0];
    let mut now = 1;
    let mut backoffs = Vec::new();
    for _ in 0..10 {
        eviction.leave_out(worker, now, Evidence::Account);
        assert!(worker.is_out());
        backoffs.push(worker.out.length.get());
        now = worker.out.until.get();
        eviction.call_back(workers.iter(), now - 1);
        assert!(worker.is_out());
        assert_eq!(
            [now - 1, now].map(|now| Eviction::absent_at(workers.iter(), now)),
            [1, 0],
            "before it is called back"
        );
        eviction.call_back(workers.iter(), now);
        assert!(!worker.is_out());
        now += MS;
    }
    assert_eq!(backoffs[..3], [20 * MS, 40 * MS, 80 * MS]);
    assert_eq!(backoffs[9], LONGEST_BACKOFF);
    eviction.leave_out(worker, now + PROBATION * LONGEST_BACKOFF, Evidence::Account);
    assert_eq!(worker.out.length.get(), FIRST_BACKOFF);
}

#[test]
fn who_only_a_larger_pool_calls_is_out_for_that_one_alone() {
    let (eviction, workers) = (Eviction::default(), [WorkerEviction::default(), WorkerEviction::default()]);
    eviction.leave_out(&workers[1], MS, Evidence::Account);
    eviction.let_rest(&workers[1], MS);
    for (pool, matters) in [(&workers[..1], false), (&workers[..], true)] {
        assert_eq!(eviction.is_any_out(pool.iter()), matters);
        assert_eq!(eviction.does_any_rest(pool.iter()), matters);
    }
}

#[test]
fn nobody_is_left_out_where_all_cores_are_taken() {
    let (eviction, worker) = (Eviction::default(), WorkerEviction::default());
    eviction.note_leader(None, true, MS);
    eviction.act_on(&worker, 2 * MS, Evidence::Absence);
    assert!(!worker.is_out() && !worker.rests());
    eviction.act_on(&worker, 2 * MS, Evidence::Account);
    assert!(!worker.is_out() && worker.rests(), "it rests until the leader's core is known for certain");
    eviction.note_leader_waits(2 * MS + RECENT);
    eviction.act_on(&worker, 3 * MS + RECENT, Evidence::Account);
    assert!(!worker.is_out() && !eviction.is_home_taken(3 * MS + RECENT), "it waits for threads of its own process");
    eviction.act_on(&worker, 3 * MS + 2 * RECENT, Evidence::Account);
    assert!(worker.is_out());
}

#[test]
fn the_leader_goes_home_and_leaves_nobody_out_where_both_cores_are_taken() {
    let (eviction, worker) = (Eviction::default(), WorkerEviction::default());
    eviction.note_leader(None, true, MS);
    assert!(eviction.is_better_off_than_home(&worker, 2 * MS), "the worker's core is free");
    worker.note_present(true, 2 * MS);
    assert!(!eviction.is_better_off_than_home(&worker, 3 * MS), "no better off");
    eviction.note_leader_moved(None);
    for evidence in [Evidence::Account, Evidence::Absence] {
        eviction.act_on(&worker, 4 * MS, evidence);
    }
    assert!(!worker.is_out(), "home is taken as well");
    assert!(!eviction.is_better_off_than_home(&worker, MS + RECENT), "home is free again");
}

#[test]
fn what_is_known_of_a_core_holds_for_the_leader_that_comes_there() {
    let (eviction, [free, taken]) = (Eviction::default(), [(); 2].map(|()| WorkerEviction::default()));
    eviction.note_leader(Some(&taken), false, MS);
    eviction.note_leader_moved(Some(&free));
    eviction.act_on(&taken, 2 * MS, Evidence::Account);
    assert!(taken.is_out(), "the leader is better off");
    eviction.note_leader_moved(Some(&taken));
    eviction.act_on(&free, 2 * MS, Evidence::Account);
    assert!(!free.is_out(), "it is no better off");
}

#[test]
fn who_shares_its_core_rests_and_is_called() {
    let (eviction, workers) = (Eviction::default(), [WorkerEviction::default()]);
    let worker = &workers[0];
    eviction.act_on(worker, MS, Evidence::Sharing);
    assert!(worker.rests() && !worker.is_out() && Eviction::absent_at(workers.iter(), MS) == 0);
    assert!(!worker.note_missed(AWAY_AT_REST / 2 - 1, MS), "a turn of the other process");
    eviction.act_on(worker, 11 * MS, Evidence::Sharing);
    eviction.call_back(workers.iter(), 10 * MS + FIRST_REST);
    assert!(worker.rests(), "it shared its core even so");
    eviction.call_back(workers.iter(), 11 * MS + FIRST_REST);
    assert!(!worker.rests() && eviction.resting_count.load(Ordering::Relaxed) == 0);
}

#[test]
fn who_shares_its_core_rests_unless_the_leader_surely_does_too() {
    let (eviction, second) = (Eviction::default(), CERTAIN_AFTER + 4 * MS);
    let rests = |now| {
        let worker = WorkerEviction::default();
        eviction.act_on(&worker, now, Evidence::Sharing);
        worker.rests()
    };
    eviction.note_leader_waits(MS);
    assert!(rests(2 * MS), "the leader waits for its own process");
    for now in [3 * MS, 4 * MS] {
        eviction.note_leader(None, true, now);
        assert!(rests(now + 1), "something passed by");
    }
    eviction.note_leader(None, true, second);
    assert!(!rests(second + 1), "all cores are taken");
    eviction.note_leader_moved(Some(&WorkerEviction::default()));
    assert!(rests(second + 1), "the leader is on a core that is free");
    eviction.note_leader_moved(None);
    assert!(!rests(second + 1), "it is back");
    assert!(rests(second + RECENT), "no longer for certain");
    eviction.note_leader(None, true, second + RECENT);
    assert!(rests(second + RECENT + 1), "something passed by again");
}

#[test]
fn all_take_part_again_where_the_leader_is_no_better_off() {
    let (eviction, workers) = (Eviction::default(), [WorkerEviction::default(), WorkerEviction::default()]);
    eviction.act_on(&workers[0], MS, Evidence::Sharing);
    eviction.act_on(&workers[1], MS, Evidence::Account);
    let call_back = |now| {
        eviction.note_leader(None, true, now);
        eviction.call_all_back(workers.iter(), now);
        eviction.call_back(workers.iter(), now);
        (workers[0].rests(), workers[1].is_out())
    };
    assert_eq!(call_back(2 * MS), (true, false), "to rest does no harm");
    assert_eq!(call_back(2 * MS + CERTAIN_AFTER), (false, false));
}

#[test]
fn what_the_leader_waited_for_elsewhere_does_not_count() {
    let (eviction, worker) = (Eviction::default(), WorkerEviction::default());
    eviction.note_leader_waits(MS);
    eviction.act_on(&worker, 2 * MS, Evidence::Absence);
    assert!(!worker.is_out());
    eviction.note_leader_moved(None);
    eviction.act_on(&worker, 3 * MS, Evidence::Absence);
    assert!(worker.is_out());
}

#[test]
fn who_only_stays_away_is_tried_again_soon() {
    let (eviction, workers) = (Eviction::default(), [WorkerEviction::default()]);
    let worker = &workers[0];
    let mut now = 1;
    let mut backoff_by = |evidence| {
        eviction.leave_out(worker, now, evidence);
        now = worker.out.until.get();
        eviction.call_back(workers.iter(), now);
        worker.out.length.get()
    };
    let backoffs = [Evidence::Absence, Evidence::Absence, Evidence::Account, Evidence::Absence].map(&mut backoff_by);
    assert_eq!(backoffs, [5 * MS, 10 * MS, 20 * MS, 40 * MS]);
}

#[test]
fn who_misses_rounds_one_after_another_is_away() {
    let worker = WorkerEviction::default();
    assert!((0..19).all(|_| !worker.note_missed(AWAY / 20, 1)));
    worker.note_present(false, 1);
    assert!(!worker.note_missed(10 * AWAY, 1), "one long round");
    assert!(worker.note_missed(AWAY, 1));
}

#[test]
fn who_comes_back_in_time_is_no_longer_suspected() {
    let worker = WorkerEviction::default();
    assert!(!worker.suspect() && worker.suspect());
    worker.note_present(false, 1);
    assert!(!worker.suspect());
    worker.excuse(1);
    assert!(!worker.suspect());
}

#[test]
fn who_is_excused_is_not_away_for_a_while() {
    let worker = WorkerEviction::default();
    assert!(!worker.note_missed(AWAY, 1) && worker.note_missed(AWAY, 1));
    worker.excuse(MS);
    assert!((0..10).all(|_| !worker.note_missed(AWAY, EXCUSE)));
    assert!(!worker.note_missed(AWAY, EXCUSE + MS) && worker.note_missed(AWAY, EXCUSE + MS));
}
