//! Orders change the city, yet no rule of the model; and the same orders lead to the same city,
//! whatever runs it.

use std::sync::Arc;

use bevy_affinity::prelude::*;
use indicatif::ProgressBar;
use proptest::prelude::*;

use super::{city, crowded, grid, hectic};
use crate::city::{City, Travel};
use crate::map::Control;
use crate::measure::Simulation;
use crate::model::{Intersection, Order, Timing, TripRequest};
use crate::plain::Plain;
use crate::simulation::{self, CityApp};

const STEPS: u32 = 240;

/// The second in which each order is given.
type Script = Vec<(u32, Order)>;

fn order() -> impl Strategy<Value = Order> {
    let timing = (20_u16..=180).prop_flat_map(|cycle| {
        (Timing::greens(cycle), 0..cycle).prop_map(move |(main_green, offset)| Timing { cycle, main_green, offset })
    });
    prop_oneof![
        2 => (0_u32..256, timing).prop_map(|(node, timing)| Order::Signals { node, timing }),
        2 => (0_u32..256, any::<bool>()).prop_map(|(node, up)| Order::Lights { node, up }),
        4 => (0_u32..960, any::<bool>()).prop_map(|(road, keep_open)| Order::Road { road, closed: !keep_open }),
        1 => (0_u32..256).prop_map(|node| Order::RushHour { node }),
    ]
}

fn script() -> impl Strategy<Value = Script> {
    prop::collection::vec((0..STEPS, order()), 1..24).prop_map(|mut script| {
        script.sort_by_key(|&(second, _)| second);
        script
    })
}

/// Without what the city refuses because signals are gone by then.
fn possible(city: &City, mut script: Script) -> Script {
    while let Err((place, _)) = city.check(&script) {
        script.remove(place);
    }
    script
}

/// Runs a script on arrays and one thread; `look` sees the city after every second.
fn follow_plainly(city: &Arc<City>, script: &Script, mut look: impl FnMut(&mut Plain)) -> Plain {
    let mut plain = Plain::new(Arc::clone(city));
    plain.plan(script).unwrap();
    for _ in 0..STEPS {
        plain.step();
        look(&mut plain);
    }
    plain
}

/// Runs a script in Bevy, with a frame after so many steps.
fn follow(mut app: CityApp, script: &Script, steps_per_frame: u32) -> u64 {
    for now in 0..STEPS {
        for &(_, order) in script.iter().filter(|&&(second, _)| second == now) {
            // What the plan of a script leaves out is refused when it is given.
            if let Err(refusal) = simulation::give(app.world(), order) {
                let is_gone = matches!(order, Order::Signals { .. }) && refusal.to_string().ends_with("has no signals");
                assert!(is_gone, "{order:?}: {refusal}");
            }
        }
        simulation::step(app.world());
        if now % steps_per_frame == 0 {
            app.frame();
        }
    }
    app.state_hash()
}

fn gang(city: &Arc<City>, mode: SchedulerMode, workers: usize) -> CityApp {
    let settings =
        AffinitySettings { workers: WorkerCount::Exactly(workers), chunk_rows: 16, ..AffinitySettings::default() };
    CityApp::on_gang(Arc::clone(city), mode, settings)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    #[test]
    fn the_same_orders_lead_to_the_same_city(script in script()) {
        let city = Arc::new(crowded());
        let possible = possible(&city, script.clone());
        let expected = follow_plainly(&city, &possible, |_| ()).state_hash();
        for (mode, workers, steps_per_frame) in [
            (SchedulerMode::Auto, 2, 1),
            (SchedulerMode::Auto, 4, 256),
            (SchedulerMode::LockStep, 1, 1),
            (SchedulerMode::LockStep, 3, 256),
            (SchedulerMode::Bevy, 2, 7),
            (SchedulerMode::Serial, 1, 60),
        ] {
            let hash = follow(gang(&city, mode, workers), &script, steps_per_frame);
            prop_assert_eq!(hash, expected, "{:?}, {} workers", mode, workers);
        }
        let mut planned = gang(&city, SchedulerMode::Auto, 2);
        planned.plan(&possible).unwrap();
        (0..STEPS).for_each(|_| planned.step());
        prop_assert_eq!(planned.state_hash(), expected, "planned");
    }

    /// Drivers look for other ways again before they have found any.
    #[test]
    fn orders_mean_the_same_where_drivers_are_restless(script in script()) {
        let city = Arc::new(city(grid(8), Travel { replans: Some(3), ..hectic(1_500) }));
        let on_it = |&(_, order): &(u32, Order)| match order {
            Order::Signals { node, .. } | Order::Lights { node, .. } | Order::RushHour { node } => node < 64,
            Order::Road { road, .. } => road < city.roads().len() as u32,
        };
        let script = possible(&city, script.into_iter().filter(on_it).collect());
        let expected = follow_plainly(&city, &script, |_| ()).state_hash();
        let hash = follow(gang(&city, SchedulerMode::LockStep, 2), &script, 7);
        prop_assert_eq!(hash, expected);
    }

    #[test]
    fn no_order_breaks_a_rule(script in script()) {
        let city = Arc::new(crowded());
        let script = possible(&city, script);
        let storage: Vec<u32> = city.roads().iter().map(|road| road.storage).collect();
        let mut before: Vec<Vec<u32>> = Vec::new();
        follow_plainly(&city, &script, |plain| {
            assert_eq!(plain.totals().cars(), u64::from(city.cars), "no car is lost");
            let queues = queues(plain);
            let too_many: u64 =
                queues.iter().zip(&storage).map(|(queue, &storage)| (queue.len() as u64).saturating_sub(storage.into())).sum();
            assert!(too_many <= plain.totals().pushed, "{too_many} cars more than fit");
            for (road, queue) in queues.iter().enumerate() {
                assert!(before.get(road).is_none_or(|before| in_order(before, queue)), "first in, first out");
            }
            before = queues;
        });
    }
}

/// The cars on every road, in the order of the queue.
fn queues(plain: &Plain) -> Vec<Vec<u32>> {
    let approaches = plain.intersections().iter().flat_map(|intersection| intersection.approaches());
    approaches.map(|approach| approach.cars().map(|slot| slot.car).collect()).collect()
}

/// Whether cars have left at the front only, and entered at the back.
fn in_order(before: &[u32], after: &[u32]) -> bool {
    (0..=before.len()).any(|left| after.starts_with(&before[left..]))
}

fn occupancy(plain: &Plain, road: u32) -> usize {
    queues(plain)[road as usize].len()
}

/// The road with the most cars after as many steps as a script has.
fn busiest(city: &Arc<City>) -> u32 {
    let plain = follow_plainly(city, &Vec::new(), |_| ());
    let queues = queues(&plain);
    (0..queues.len() as u32).max_by_key(|&road| queues[road as usize].len()).unwrap()
}

#[test]
fn a_closed_road_empties_and_a_reopened_one_fills() {
    let city = Arc::new(crowded());
    let road = busiest(&city);
    let script = vec![(60, Order::Road { road, closed: true }), (150, Order::Road { road, closed: false })];
    let mut now = 0;
    let mut last = usize::MAX;
    let mut reopened = 0;
    let mut plain = follow_plainly(&city, &script, |plain| {
        let count = occupancy(plain, road);
        if (70..160).contains(&now) {
            assert!(count <= last, "a car entered in second {now}");
        }
        if now == 159 {
            assert_eq!(count, 0, "all have left");
        }
        reopened = if now >= 160 { reopened.max(count) } else { 0 };
        (last, now) = (count, now + 1);
    });
    assert!(reopened > 0, "cars use it again");
    assert_eq!(plain.totals().trips_stuck, 0, "there was a way around");
}

#[test]
fn trips_without_a_way_end_stuck() {
    let city = Arc::new(crowded());
    let place = 0;
    let node = city.routes.node(place);
    let first = city.first_road(node);
    let roads = first..city.first_road(node + 1);
    let script = roads.map(|road| (0, Order::Road { road, closed: true })).collect();
    let mut plain = follow_plainly(&city, &script, |_| ());
    let totals = plain.totals();
    assert!(totals.trips_stuck > 0 && totals.trips_arrived > 0, "{totals:?}");
    let approaches = plain.intersections()[node as usize].approaches();
    assert!(approaches.iter().all(|approach| approach.occupancy() == 0), "nobody gets there");
}

/// A round, and a way that passes its end: from there to there the shortest way has no road.
#[test]
fn a_round_over_a_closed_road_ends_stuck() {
    let network = grid(4);
    let links = &network.links;
    let there = 0;
    let back = (0..links.len() as u32).find(|&link| {
        let link = links[link as usize];
        (link.from, link.to) == (links[there as usize].to, links[there as usize].from)
    });
    let (from, to, back) = (links[there as usize].from, links[there as usize].to, back.unwrap());
    let round = TripRequest { traveller: 0, depart: 50, from, to: from, via: Some(vec![there, back]) };
    let passing = TripRequest { traveller: 1, depart: 9, from, to, via: Some(vec![there, back, there]) };
    for closed in [there, back] {
        let trips = [round.clone(), passing.clone()];
        let city = City::with_trips(grid(4), Travel::default(), &trips, &ProgressBar::hidden()).unwrap();
        let script = vec![(2, Order::Road { road: closed, closed: true })];
        let totals = follow_plainly(&Arc::new(city), &script, |_| ()).totals();
        // One of them meets the closed road where a way leads around it.
        assert_eq!((totals.trips_arrived, totals.trips_stuck), (1, 1), "{closed}");
    }
}

#[test]
fn the_rush_hour_brings_more_trips() {
    let city = Arc::new(crowded());
    let trips = |script: Script| {
        let mut plain = follow_plainly(&city, &script, |_| ());
        let totals = plain.totals();
        totals.trips_arrived + totals.on_road + totals.waiting
    };
    let (quiet, rush) = (trips(Vec::new()), trips(vec![(30, Order::RushHour { node: 100 })]));
    assert!(rush > quiet, "{rush} trips begun instead of {quiet}");
}

#[test]
fn signals_can_be_taken_away_and_put_up_again() {
    let city = Arc::new(crowded());
    let node = (0..256).find(|&node| city.intersections()[node as usize].has_signals()).unwrap();
    let timing = Timing { cycle: 90, main_green: 60, offset: 4 };
    let again = [(0, Order::Lights { node, up: false }), (120, Order::Lights { node, up: true })];
    let script: Script = again.into_iter().chain([(120, Order::Signals { node, timing })]).collect();
    let mut now = 0;
    let app = gang(&city, SchedulerMode::LockStep, 2);
    let mut before = Vec::new();
    let mut plain = follow_plainly(&city, &script, |plain| {
        let intersection = &plain.intersections()[node as usize];
        assert_eq!(intersection.has_signals(), now >= 120, "in second {now}");
        before.push(passed(intersection));
        now += 1;
    });
    // The crossing road is half as wide, yet served while the main road is not.
    assert!(before[100] > before[0] && before[STEPS as usize - 1] > before[120], "cars pass either way");
    assert_eq!(follow(app, &script, 256), plain.state_hash());
}

#[test]
fn a_timing_for_signals_that_have_gone_changes_nothing() {
    let city = Arc::new(crowded());
    let node = (0..256).find(|&node| city.intersections()[node as usize].has_signals()).unwrap();
    let timing = Timing { cycle: 90, main_green: 60, offset: 4 };
    let gone = (20, Order::Lights { node, up: false });
    let script = vec![gone, (20, Order::Signals { node, timing }), (90, Order::Signals { node, timing })];
    let expected = follow_plainly(&city, &vec![gone], |_| ()).state_hash();
    assert_eq!(follow(gang(&city, SchedulerMode::Serial, 1), &script, 7), expected, "refused");
    let mut planned = gang(&city, SchedulerMode::Serial, 1);
    planned.plan(&script[2..]).unwrap();
    planned.plan(&[gone]).unwrap();
    (0..STEPS).for_each(|_| planned.step());
    assert_eq!(planned.state_hash(), expected, "planned before they went");
}

#[test]
fn plans_are_checked_in_the_order_of_time() {
    let mut city = crowded();
    city.network.nodes[7].control = Control::Priority;
    let city = Arc::new(city);
    let signals = |at, node| (at, Order::Signals { node, timing: Timing { cycle: 60, main_green: 27, offset: 0 } });
    let lights = |at, node, up| (at, Order::Lights { node, up });
    for (script, refused) in [
        (vec![signals(20, 17), lights(10, 17, true)], None),
        (vec![signals(20, 7), lights(10, 7, true)], None),
        (vec![lights(10, 7, true), signals(10, 7)], None),
        (vec![signals(10, 7), lights(10, 7, true)], Some(0)),
        (vec![lights(20, 7, true), signals(10, 7)], Some(1)),
        (vec![lights(10, 17, false), signals(20, 17)], Some(1)),
        (vec![signals(20, 17), lights(15, 17, true), lights(10, 17, false)], None),
        (vec![signals(20, 17), lights(15, 17, false), lights(10, 17, true)], Some(0)),
    ] {
        let checked = city.check(&script).map_err(|(place, refusal)| (place, refusal.to_string()));
        let expected = refused.map(|place| {
            let (Order::Signals { node, .. }, at) = (script[place].1, script[place].0) else { unreachable!() };
            (place, format!("intersection {node} has no signals in second {at}"))
        });
        assert_eq!(checked.err(), expected, "{script:?}");
    }
}

#[test]
fn later_plans_know_of_earlier_ones() {
    let city = Arc::new(crowded());
    let signals = |at| (at, Order::Signals { node: 17, timing: Timing { cycle: 60, main_green: 27, offset: 0 } });
    let lights = |at, up| (at, Order::Lights { node: 17, up });
    let check = |simulation: &mut dyn Simulation| {
        simulation.plan(&[lights(20, false), lights(60, true)]).unwrap();
        (0..10).for_each(|_| simulation.step());
        simulation.plan(&[signals(15), signals(70)]).unwrap();
        simulation.plan(&[signals(40)]).unwrap_err();
        (0..20).for_each(|_| simulation.step());
        simulation.plan(&[signals(40)]).unwrap_err();
        simulation.plan(&[signals(60)]).unwrap();
    };
    check(&mut Plain::new(Arc::clone(&city)));
    check(&mut gang(&city, SchedulerMode::Serial, 1));
}

fn passed(intersection: &Intersection) -> u64 {
    intersection.approaches().iter().map(|approach| u64::from(approach.passed.cars)).sum()
}

#[test]
fn impossible_orders_are_refused_with_a_reason() {
    let mut city = crowded();
    city.network.nodes[7].control = Control::Priority;
    city.network.nodes[20].control = Control::Roundabout;
    let mut app = gang(&Arc::new(city), SchedulerMode::Serial, 1);
    let timing = Timing { cycle: 60, main_green: 27, offset: 0 };
    for (order, reason) in [
        (Order::Road { road: 960, closed: true }, "there is no road 960: the last is 959"),
        (Order::RushHour { node: 256 }, "there is no intersection 256: the last is 255"),
        (Order::Signals { node: 7, timing }, "intersection 7 has no signals"),
        (Order::Lights { node: 300, up: true }, "there is no intersection 300"),
        (Order::Lights { node: 20, up: true }, "intersection 20 has a roundabout"),
        (Order::Signals { node: 8, timing: Timing { cycle: 300, ..timing } }, "20 to 180 s"),
    ] {
        let refusal = simulation::give(app.world(), order).unwrap_err().to_string();
        assert!(refusal.contains(reason), "{refusal}");
    }
}
