//! For how long workers rest or are left out, with times by hand.

use super::*;

const MS: u64 = 1_000_000;

#[test]
fn whoever_is_found_out_again_stays_out_longer() {
    let (eviction, records) = (Eviction::default(), [Record::default()]);
    let record = &records[0];
    let mut now = 1;
    let mut backoffs = Vec::new();
    for _ in 0..10 {
        eviction.leave_out(record, now, Evidence::Account);
        assert!(record.is_out());
        backoffs.push(record.out.length.get());
        now = record.out.until.get();
        eviction.call_back(records.iter(), now - 1);
        assert!(record.is_out());
        assert_eq!(
            [now - 1, now].map(|now| Eviction::absent_at(records.iter(), now)),
            [1, 0],
            "before it is called back"
        );
        eviction.call_back(records.iter(), now);
        assert!(!record.is_out());
        now += MS;
    }
    assert_eq!(backoffs[..3], [20 * MS, 40 * MS, 80 * MS]);
    assert_eq!(backoffs[9], LONGEST_BACKOFF);
    eviction.leave_out(record, now + PROBATION * LONGEST_BACKOFF, Evidence::Account);
    assert_eq!(record.out.length.get(), FIRST_BACKOFF);
}

#[test]
fn nobody_is_left_out_where_all_cores_are_taken() {
    let (eviction, record) = (Eviction::default(), Record::default());
    eviction.note_leader(None, true, MS);
    eviction.act_on(&record, 2 * MS, Evidence::Absence);
    assert!(!record.is_out() && !record.rests());
    eviction.act_on(&record, 2 * MS, Evidence::Account);
    assert!(!record.is_out() && record.rests(), "it rests until the leader's core is known for certain");
    eviction.note_leader_waits(2 * MS + RECENT);
    eviction.act_on(&record, 3 * MS + RECENT, Evidence::Account);
    assert!(!record.is_out() && !eviction.is_home_taken(3 * MS + RECENT), "it waits for threads of its own process");
    eviction.act_on(&record, 3 * MS + 2 * RECENT, Evidence::Account);
    assert!(record.is_out());
}

#[test]
fn the_leader_goes_home_and_leaves_nobody_out_where_both_cores_are_taken() {
    let (eviction, record) = (Eviction::default(), Record::default());
    eviction.note_leader(None, true, MS);
    assert!(eviction.is_better_off_than_home(&record, 2 * MS), "the worker's core is free");
    record.note_present(true, 2 * MS);
    assert!(!eviction.is_better_off_than_home(&record, 3 * MS), "no better off");
    eviction.note_leader_moved(None);
    for evidence in [Evidence::Account, Evidence::Absence] {
        eviction.act_on(&record, 4 * MS, evidence);
    }
    assert!(!record.is_out(), "home is taken as well");
    assert!(!eviction.is_better_off_than_home(&record, MS + RECENT), "home is free again");
}

#[test]
fn what_is_known_of_a_core_holds_for_the_leader_that_comes_there() {
    let (eviction, [free, taken]) = (Eviction::default(), [(); 2].map(|()| Record::default()));
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
    let (eviction, records) = (Eviction::default(), [Record::default()]);
    let record = &records[0];
    eviction.act_on(record, MS, Evidence::Sharing);
    assert!(record.rests() && !record.is_out() && Eviction::absent_at(records.iter(), MS) == 0);
    assert!(!record.note_missed(AWAY_AT_REST / 2 - 1, MS), "a turn of the other process");
    eviction.act_on(record, 11 * MS, Evidence::Sharing);
    eviction.call_back(records.iter(), 10 * MS + FIRST_REST);
    assert!(record.rests(), "it shared its core even so");
    eviction.call_back(records.iter(), 11 * MS + FIRST_REST);
    assert!(!record.rests() && !eviction.does_anybody_rest());
}

#[test]
fn who_shares_its_core_rests_unless_the_leader_surely_does_too() {
    let (eviction, second) = (Eviction::default(), CERTAIN_AFTER + 4 * MS);
    let rests = |now| {
        let record = Record::default();
        eviction.act_on(&record, now, Evidence::Sharing);
        record.rests()
    };
    eviction.note_leader_waits(MS);
    assert!(rests(2 * MS), "the leader waits for its own process");
    for now in [3 * MS, 4 * MS] {
        eviction.note_leader(None, true, now);
        assert!(rests(now + 1), "something passed by");
    }
    eviction.note_leader(None, true, second);
    assert!(!rests(second + 1), "all cores are taken");
    eviction.note_leader_moved(Some(&Record::default()));
    assert!(rests(second + 1), "the leader is on a core that is free");
    eviction.note_leader_moved(None);
    assert!(!rests(second + 1), "it is back");
    assert!(rests(second + RECENT), "no longer for certain");
    eviction.note_leader(None, true, second + RECENT);
    assert!(rests(second + RECENT + 1), "something passed by again");
}

#[test]
fn all_take_part_again_where_the_leader_is_no_better_off() {
    let (eviction, records) = (Eviction::default(), [Record::default(), Record::default()]);
    eviction.act_on(&records[0], MS, Evidence::Sharing);
    eviction.act_on(&records[1], MS, Evidence::Account);
    let call_back = |now| {
        eviction.note_leader(None, true, now);
        eviction.call_all_back(records.iter(), now);
        eviction.call_back(records.iter(), now);
        (records[0].rests(), records[1].is_out())
    };
    assert_eq!(call_back(2 * MS), (true, false), "to rest does no harm");
    assert_eq!(call_back(2 * MS + CERTAIN_AFTER), (false, false));
}

#[test]
fn what_the_leader_waited_for_elsewhere_does_not_count() {
    let (eviction, record) = (Eviction::default(), Record::default());
    eviction.note_leader_waits(MS);
    eviction.act_on(&record, 2 * MS, Evidence::Absence);
    assert!(!record.is_out());
    eviction.note_leader_moved(None);
    eviction.act_on(&record, 3 * MS, Evidence::Absence);
    assert!(record.is_out());
}

#[test]
fn who_only_stays_away_is_tried_again_soon() {
    let (eviction, records) = (Eviction::default(), [Record::default()]);
    let record = &records[0];
    let mut now = 1;
    let mut backoff_by = |evidence| {
        eviction.leave_out(record, now, evidence);
        now = record.out.until.get();
        eviction.call_back(records.iter(), now);
        record.out.length.get()
    };
    let backoffs = [Evidence::Absence, Evidence::Absence, Evidence::Account, Evidence::Absence].map(&mut backoff_by);
    assert_eq!(backoffs, [5 * MS, 10 * MS, 20 * MS, 40 * MS]);
}

#[test]
fn who_misses_rounds_one_after_another_is_away() {
    let record = Record::default();
    assert!((0..19).all(|_| !record.note_missed(AWAY / 20, 1)));
    record.note_present(false, 1);
    assert!(!record.note_missed(10 * AWAY, 1), "one long round");
    assert!(record.note_missed(AWAY, 1));
}

#[test]
fn who_comes_back_in_time_is_no_longer_suspected() {
    let record = Record::default();
    assert!(!record.suspect() && record.suspect());
    record.note_present(false, 1);
    assert!(!record.suspect());
    record.excuse(1);
    assert!(!record.suspect());
}

#[test]
fn who_is_excused_is_not_away_for_a_while() {
    let record = Record::default();
    assert!(!record.note_missed(AWAY, 1) && record.note_missed(AWAY, 1));
    record.excuse(MS);
    assert!((0..10).all(|_| !record.note_missed(AWAY, EXCUSE)));
    assert!(!record.note_missed(AWAY, EXCUSE + MS) && record.note_missed(AWAY, EXCUSE + MS));
}
