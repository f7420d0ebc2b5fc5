//! A copy of a running city goes on as that does.

use std::sync::Arc;

use bevy_affinity::prelude::*;

use super::crowded;
use crate::city::City;
use crate::measure::Simulation;
use crate::model::Order;
use crate::simulation::{self, CityApp};

/// Drivers look for other ways in second 120 and take them in second 130.
const END: u32 = 260;

fn app(city: &Arc<City>) -> CityApp {
    CityApp::on_gang(Arc::clone(city), SchedulerMode::Serial, AffinitySettings::default())
}

/// Every tenth road closes.
fn closures() -> Vec<(u32, Order)> {
    (0..96).map(|number| (20, Order::Road { road: number * 10, closed: true })).collect()
}

#[test]
fn a_copy_knows_the_closed_roads_and_what_drivers_look_for() {
    let city = Arc::new(crowded());
    let mut app = app(&city);
    app.plan(&closures()).unwrap();
    let mut copies = Vec::new();
    for now in 0..END {
        // While they look, and when they have found.
        if [125, 140].contains(&now) {
            copies.push(simulation::fork(app.world()));
        }
        app.step();
        copies.iter_mut().for_each(Simulation::step);
    }
    let copies: Vec<u64> = copies.iter_mut().map(Simulation::state_hash).collect();
    assert_eq!(copies, [app.state_hash(); 2]);
}

#[test]
fn a_copy_knows_nothing_of_what_has_not_taken_effect() {
    let city = Arc::new(crowded());
    let (mut app, mut untouched) = (app(&city), app(&city));
    (0..140).for_each(|_| app.step());
    (0..END).for_each(|_| untouched.step());
    simulation::give(app.world(), Order::Road { road: 7, closed: true }).unwrap();
    let mut copy = simulation::fork(app.world());
    (140..END).for_each(|_| copy.step());
    assert_eq!(copy.state_hash(), untouched.state_hash());
}
