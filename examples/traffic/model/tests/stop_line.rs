//! First in, first out; no car before its time; none on red; the right number on green.

use proptest::prelude::*;

use super::{Crossing, slot};
use crate::model::approach::Approach;
use crate::model::exit::Exit;
use crate::model::intersection::{Intersection, PATIENCE};
use crate::model::message::Message;
use crate::model::road::PARTS;
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

/// One approach, one exit without room, whose holes move up in 3 s.
fn jam() -> (Intersection, Routes) {
    let programme = Programme::ALWAYS_GREEN;
    let mut approach = Approach::new(4, 2, 0, 1_800);
    approach.push(slot(7, 0), &programme);
    approach.push(slot(8, 0), &programme);
    let exit = Exit::new(9, 3, 0, 5 * PARTS, 3);
    let routes = Routes::from_hops(vec![0, 0]);
    let intersection = Intersection::new(0, programme, [approach].into_iter().collect(), [exit].into_iter().collect());
    (intersection, routes)
}

#[test]
fn a_full_link_holds_cars_back_until_space_is_returned() {
    let (mut intersection, routes) = jam();
    for now in 0..PATIENCE {
        intersection.step(now, &routes, |_, _| panic!("there is no room"));
    }
    let room_at = intersection.receive(Message::Freed { exit: 0, count: 1, at: 4 });
    assert_eq!(room_at, 7, "awake when the hole has come");
    let mut sent = Vec::new();
    intersection.step(7, &routes, |to, message| sent.push((to, message)));
    assert_eq!(
        sent,
        [
            (9, Message::Enter { approach: 3, exit: 0, early: 0, car: 7, exit_time: 12, cursor: 1 }),
            (4, Message::Freed { exit: 2, count: 1, at: 7 })
        ]
    );
    assert_eq!(intersection.on_road(), 1);
}

#[test]
fn a_car_in_front_of_a_full_link_pushes_in() {
    let (mut intersection, routes) = jam();
    let mut wake = 0;
    let mut entered = Vec::new();
    for now in 0..1_000 {
        if wake <= now {
            wake = intersection.step(now, &routes, |_, message| {
                if let Message::Enter { car, .. } = message {
                    entered.push((now, car));
                }
            });
        }
    }
    // The second car starts to wait when the stop line lets it go, 2 s behind the first.
    assert_eq!(entered, [(2 + PATIENCE - 1, 7), (2 + PATIENCE - 1 + 2 + PATIENCE, 8)]);
    assert_eq!(intersection.pushed(), 2);
}

#[test]
fn messages_stay_small() {
    assert_eq!(size_of::<Message>(), 16);
}
