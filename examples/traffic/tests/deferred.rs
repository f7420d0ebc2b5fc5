//! The model as it is defined: every message waits until all rows have been swept, in whatever
//! order.

use std::sync::Arc;

use crate::city::City;
use crate::model::{Demand, Due, Intersection, Message, Road, SAMPLE_INTERVAL, TravelTimes, Trips};
use crate::state_hash::StateHash;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Order {
    Forward,
    Backward,
    /// Every intersection is called in every step.
    BackwardWithoutSleep,
}

pub struct Deferred {
    city: Arc<City>,
    demand: Demand,
    times: TravelTimes,
    order: Order,
    now: u32,
    rows: Vec<(u32, Intersection)>,
    cars: Vec<(Due, Trips)>,
    roads: Vec<Road>,
}

impl Deferred {
    pub fn new(city: &Arc<City>, order: Order) -> Self {
        let rows = city.intersections().into_iter().map(|intersection| (0, intersection)).collect();
        let cars = city.first_departures().into_iter().zip(city.first_trips()).collect();
        Self {
            city: Arc::clone(city),
            demand: city.demand(),
            times: TravelTimes::default(),
            order,
            now: 0,
            rows,
            cars,
            roads: city.roads(),
        }
    }

    pub fn step(&mut self) {
        self.depart();
        self.cross();
        self.arrive();
        self.sample();
        self.now += 1;
    }

    pub fn state_hash(&self) -> u64 {
        let mut hash = StateHash::new(self.now);
        self.rows.iter().enumerate().for_each(|(node, row)| hash.add_intersection(node, &row.1));
        self.cars.iter().enumerate().for_each(|(car, (due, trips))| hash.add_car(car, *due, trips));
        self.roads.iter().enumerate().for_each(|(number, road)| hash.add_road(number, road));
        hash.add_demand(&self.demand);
        hash.finish()
    }

    fn depart(&mut self) {
        for (car, (due, trips)) in (0..).zip(&mut self.cars) {
            if due.0 <= self.now {
                *due = Due::ON_THE_WAY;
                let (node, departure) = trips.depart(car, self.now, &self.demand, &self.city.routes);
                let (wake, intersection) = &mut self.rows[node as usize];
                intersection.depart(departure, &self.city.routes);
                *wake = self.now;
            }
        }
    }

    fn cross(&mut self) {
        let mut messages: Vec<(usize, u32, Message)> = Vec::new();
        for turn in 0..self.rows.len() {
            let node = if self.order == Order::Forward { turn } else { self.rows.len() - 1 - turn };
            let (wake, intersection) = &mut self.rows[node];
            if *wake <= self.now || self.order == Order::BackwardWithoutSleep {
                let send = |to, message| messages.push((node, to, message));
                *wake = intersection.step(self.now, &self.city.routes, send);
            }
        }
        messages.sort_by_key(|(sender, ..)| *sender);
        for (_, target, message) in messages {
            let (wake, intersection) = &mut self.rows[target as usize];
            *wake = intersection.receive(message).min(*wake);
        }
    }

    fn arrive(&mut self) {
        for (_, intersection) in self.rows.iter_mut().rev() {
            for finish in intersection.take_finished() {
                let (due, trips) = &mut self.cars[finish.car as usize];
                *due = trips.finish(finish.car, finish.outcome, self.now, &self.demand, &self.times);
            }
        }
    }

    fn sample(&mut self) {
        for node in (0..self.rows.len() as u32).filter(|node| (node + self.now).is_multiple_of(SAMPLE_INTERVAL)) {
            let first_road = self.city.first_road(node);
            for (road, approach) in (first_road..).zip(self.rows[node as usize].1.approaches()) {
                self.roads[road as usize].occupancy = approach.occupancy();
            }
        }
    }
}
