//! First in, first out; no car before its time; none on red; the right number on green.

use proptest::prelude::*;

use super::{Crossing, slot};
use crate::model::approach::Approach;
use crate::model::intersection::{Exit, Intersection, Message, Outcome};
use crate::model::signal::Programme;
use crate::routes::Routes;

const GREEN: u32 = 27;
const CYCLE: u32 = 60;

#[test]
fn a_full_queue_passes_the_saturation_flow_and_none_on_red() {
    for lanes in 1..=5 {
        let programme = Programme::two_phases(0);
        let mut crossing = Crossing::new(programme, lanes);
        (0..20_000).for_each(|car| crossing.enter(car, 0));
        for cycle in 0..40 {
            let mut passed = 0;
            for now in cycle * CYCLE..(cycle + 1) * CYCLE {
                let cars = crossing.step(now).len() as u32;
                assert!(cars == 0 || programme.is_green(0, now), "{cars} cars on red");
                passed += cars;
            }
            let least = GREEN * u32::from(lanes) / 2;
            assert!((least..=least + 1).contains(&passed), "{lanes} lanes passed {passed} cars in {GREEN} s");
        }
    }
}

#[test]
fn an_idle_stop_line_saves_up_no_more_than_a_car() {
    for lanes in 1..=5 {
        let mut crossing = Crossing::new(Programme::ALWAYS_GREEN, lanes);
        (0..1_000).for_each(|car| crossing.enter(car, 500));
        let passed: usize = (0..600).map(|now| crossing.step(now).len()).sum();
        let least = 100 * usize::from(lanes) / 2;
        assert!((least..=least + 1).contains(&passed), "{lanes} lanes passed {passed} cars in 100 s");
    }
}

proptest! {
    #[test]
    fn cars_leave_in_order_and_not_before_their_time(
        gaps in prop::collection::vec(0_u32..20, 1..200),
        lanes in 1_u8..=5,
        offset in 0_u16..60,
    ) {
        let mut crossing = Crossing::new(Programme::two_phases(offset), lanes);
        let mut exit_times = Vec::new();
        for (car, gap) in (0..).zip(&gaps) {
            let exit_time = exit_times.last().unwrap_or(&0) + gap;
            crossing.enter(car, exit_time);
            exit_times.push(exit_time);
        }
        let mut left = Vec::new();
        for now in 0..20_000 {
            for car in crossing.step(now) {
                prop_assert!(now >= exit_times[car as usize]);
                left.push(car);
            }
        }
        prop_assert_eq!(left, (0..gaps.len() as u32).collect::<Vec<_>>());
    }
}

/// One approach, one exit without room.
fn jam() -> (Intersection, Routes) {
    let programme = Programme::ALWAYS_GREEN;
    let mut approach = Approach::new(4, 2, 0, 1_800, &programme);
    approach.push(slot(7, 0), &programme);
    approach.push(slot(8, 0), &programme);
    let exit = Exit { free: 0, travel_time: 5, target: 9, approach: 3, closed: false };
    let routes = Routes::from_hops(vec![0, 0]);
    (Intersection::new(programme, [approach].into_iter().collect(), [exit].into_iter().collect()), routes)
}

#[test]
fn a_full_link_holds_cars_back_until_space_is_returned() {
    let (mut intersection, routes) = jam();
    for now in 0..100 {
        intersection.step(now, &routes, |_, _| panic!("there is no room"));
    }
    assert_eq!(intersection.receive(Message::Freed { exit: 0, count: 1 }), 0, "awake at once");
    let mut sent = Vec::new();
    intersection.step(100, &routes, |to, message| sent.push((to, message)));
    assert_eq!(
        sent,
        [
            (9, Message::Enter { approach: 3, exit: 0, car: 7, exit_time: 105, cursor: 1 }),
            (4, Message::Freed { exit: 2, count: 1 })
        ]
    );
    assert_eq!(intersection.on_road(), 1);
}

#[test]
fn a_car_in_front_of_a_full_link_loses_patience() {
    let (mut intersection, routes) = jam();
    let mut wake = 0;
    let mut stuck = Vec::new();
    for now in 0..1_000 {
        if wake <= now {
            wake = intersection.step(now, &routes, |_, _| ());
            stuck.extend(intersection.take_finished().map(|finish| (now, finish.car, finish.outcome)));
        }
    }
    // The second car starts to wait when the first has gone.
    let [(first, 7, Outcome::Stuck), (second, 8, Outcome::Stuck)] = stuck[..] else { panic!("{stuck:?}") };
    assert_eq!(second - first, 300);
}

#[test]
fn messages_stay_small() {
    assert_eq!(size_of::<Message>(), 16);
}
