//! Invariants that hold in every step of a crowded city.

use std::sync::Arc;

use super::{Deferred, Order, city, crowded, grid, hectic};
use crate::city::Travel;
use crate::measure::Simulation;
use crate::model::Totals;
use crate::plain::Plain;

/// Long enough for the roads to fill, jam, and for cars to push in.
const STEPS: u32 = 1_500;

#[test]
fn cars_are_conserved_and_roads_hold_what_they_can() {
    let city = Arc::new(crowded());
    let storage: Vec<u32> = city.roads().iter().map(|road| road.storage).collect();
    let mut plain = Plain::new(Arc::clone(&city));
    for now in 0..STEPS {
        plain.step();
        assert_eq!(plain.totals().cars(), u64::from(city.cars), "after second {now}");
        for intersection in plain.intersections() {
            for exit in intersection.exits() {
                let occupancy =
                    plain.intersections()[exit.target as usize].approaches()[usize::from(exit.approach)].occupancy();
                let road = city.first_road(exit.target) as usize + usize::from(exit.approach);
                assert_eq!(
                    occupancy as i32 + exit.places_left(),
                    storage[road] as i32,
                    "road {road} after second {now}"
                );
            }
        }
    }
    let Totals { trips_arrived, pushed, congested_roads, .. } = plain.totals();
    assert!(trips_arrived > 0 && pushed > 0 && congested_roads > 0, "the test must see all that can happen");
}

#[test]
fn neither_the_order_of_the_sweep_nor_sleeping_changes_anything() {
    let city = Arc::new(city(grid(16), Travel { replans: None, ..hectic(3_000) }));
    let mut plain = Plain::new(Arc::clone(&city));
    let mut orders =
        [Order::Forward, Order::Backward, Order::BackwardWithoutSleep].map(|order| Deferred::new(&city, order));
    for now in 0..STEPS {
        plain.step();
        orders.iter_mut().for_each(Deferred::step);
        if now % 100 == 99 {
            let hashes = orders.each_ref().map(Deferred::state_hash);
            assert_eq!(hashes, [plain.state_hash(); 3], "after second {now}");
        }
    }
}

#[test]
fn the_seed_decides_everything() {
    let run = |seed| {
        let mut city = crowded();
        city.seed = seed;
        let mut plain = Plain::new(Arc::new(city));
        (0..300).for_each(|_| plain.step());
        plain.state_hash()
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}
