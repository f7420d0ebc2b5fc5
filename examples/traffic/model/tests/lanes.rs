//! Signals that tell movements apart: who waits for whom, and in which lane.

use super::slot;
use crate::map::Green;
use crate::model::approach::Approach;
use crate::model::exit::Exit;
use crate::model::intersection::Intersection;
use crate::model::lanes::{Lanes, Turn};
use crate::model::message::Message;
use crate::model::planned_signal::PlannedSignal;
use crate::model::signal::Programme;
use crate::routes::{ARRIVE, Routes};

const CYCLE: u32 = 60;

fn signal(start: u32, length: u32, is_protected: bool) -> PlannedSignal {
    PlannedSignal::new(CYCLE, 0, Some([Green { start, length, is_protected }].into()))
}

/// Cars that come to a junction and leave by its exits, which have room for all.
struct Junction {
    intersection: Intersection,
    routes: Routes,
}

impl Junction {
    /// An approach for each of these lanes and turns.
    fn new(approaches: Vec<(u8, Vec<Turn>)>) -> Self {
        let programme = Programme::ALWAYS_GREEN;
        let exits = approaches.iter().map(|(_, turns)| turns.len()).max().unwrap_or(0);
        let approach = |(lanes, turns): (u8, Vec<Turn>)| {
            let lanes = Lanes::new(lanes, 1_800, turns.into_iter().map(Some).collect());
            Approach::new(0, 0, 0, 1_800).with_lanes(Some(lanes))
        };
        let approaches = approaches.into_iter().map(approach).collect();
        let exits = (0..exits).map(|exit| Exit::new(exit as u32, 0, 10_000, 256, 1)).collect();
        let intersection = Intersection::new(0, programme, approaches, exits);
        Self { intersection, routes: Routes::from_hops(vec![0, ARRIVE]) }
    }

    fn enter(&mut self, approach: u8, car: u32, exit: u8) {
        let slot = slot(car, exit);
        let message = Message::Enter { approach, exit, early: 0, car, exit_time: slot.exit_time, cursor: 0 };
        self.intersection.receive(message);
    }

    /// The cars that leave in these seconds, each with the second, woken as the simulation does.
    fn run(&mut self, seconds: u32) -> Vec<(u32, u32)> {
        let (mut left, mut wake) = (Vec::new(), 0);
        for now in 0..seconds {
            if wake <= now {
                wake = self.intersection.step(now, &self.routes, |_, message| {
                    if let Message::Enter { car, .. } = message {
                        left.push((now, car));
                    }
                });
            }
        }
        left
    }
}

#[test]
fn cars_of_another_lane_pass_those_that_have_red() {
    let ahead = Turn::new(signal(0, 30, true), 0b01, [].into());
    let left = Turn::new(signal(40, 10, true), 0b10, [].into());
    let mut junction = Junction::new(vec![(2, vec![ahead, left])]);
    for car in 0..20 {
        junction.enter(0, car, u8::from(car % 2 == 0));
    }
    let cars = junction.run(CYCLE);
    assert!(cars.iter().all(|&(now, car)| if car % 2 == 0 { (40..50).contains(&now) } else { now < 30 }), "{cars:?}");
    assert_eq!(cars.iter().filter(|(_, car)| car % 2 == 1).count(), 10);
    assert_eq!(cars.iter().filter(|(_, car)| car % 2 == 0).count(), 5, "10 s of green pass five");
}

#[test]
fn a_shared_lane_waits_for_its_first_car() {
    let ahead = Turn::new(signal(0, 30, true), 1, [].into());
    let left = Turn::new(signal(40, 10, true), 1, [].into());
    let mut junction = Junction::new(vec![(1, vec![ahead, left])]);
    (0..2).for_each(|car| junction.enter(0, car, 1 - car as u8));
    let cars = junction.run(2 * CYCLE);
    assert!((40..50).contains(&cars[0].0) && cars[0].1 == 0, "{cars:?}");
    assert!(cars[1].0 >= CYCLE, "behind the one that turns off: {cars:?}");
}

#[test]
fn the_shorter_of_two_lanes_is_chosen() {
    let ahead = Turn::new(signal(0, 20, true), 0b11, [].into());
    let mut junction = Junction::new(vec![(2, vec![ahead])]);
    (0..40).for_each(|car| junction.enter(0, car, 0));
    let passed = junction.run(CYCLE).len();
    assert!((20..=22).contains(&passed), "two lanes of 20 s: {passed}");
}

/// A left turn without protection against a stream of cars, and how many turn left in a cycle.
fn left_turns(against: u32) -> usize {
    let ahead = Turn::new(signal(0, 30, true), 1, [(1, 0)].into());
    let left = Turn::new(signal(0, 30, false), 1, [].into());
    let mut junction = Junction::new(vec![(1, vec![ahead]), (1, vec![left])]);
    (0..against).for_each(|car| junction.enter(0, car, 0));
    (100..140).for_each(|car| junction.enter(1, car, 0));
    junction.run(CYCLE).iter().filter(|(_, car)| *car >= 100).count()
}

#[test]
fn a_green_without_protection_gives_way() {
    assert!((15..=16).contains(&left_turns(0)), "nobody comes");
    let few = left_turns(6);
    assert!((7..=11).contains(&few), "6 cars take 10 s, and a gap: {few}");
    assert!(left_turns(40) <= 1, "a full stream leaves no gap");
}

#[test]
fn calls_at_other_times_change_nothing() {
    let make = || {
        let ahead = Turn::new(signal(0, 30, true), 0b11, [(1, 0)].into());
        let left = Turn::new(signal(10, 25, false), 1, [].into());
        let mut junction = Junction::new(vec![(2, vec![ahead]), (1, vec![left])]);
        (0..30).for_each(|car| junction.enter((car % 2) as u8, car, 0));
        junction
    };
    let hash = |junction: &Junction, now| {
        let mut state = crate::hash::SequenceHash::default();
        junction.intersection.write_state(now, &mut state);
        state.finish()
    };
    let (mut rarely, mut often, mut wake) = (make(), make(), 0);
    for now in 0..3 * CYCLE {
        if wake <= now {
            wake = rarely.intersection.step(now, &rarely.routes, |_, _| ());
        }
        often.intersection.step(now, &often.routes, |_, _| ());
        assert_eq!(hash(&rarely, now + 1), hash(&often, now + 1), "after second {now}");
    }
    assert_eq!(rarely.intersection.on_road(), 0);
}
