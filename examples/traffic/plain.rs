//! The model without an ECS: arrays, one thread, nothing that can be left out. It is what the ECS
//! versions are measured against, and the reference for what they compute.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use crate::city::City;
use crate::measure::{Simulation, Workload};
use crate::model::{
    DAY, Demand, Due, EndedTrip, Intersection, LinkState, Message, Order, ROUTING_TIME, Refusal, Road, SAMPLE_INTERVAL,
    Totals, TravelTimes, Trips, first_sampled,
};
use crate::routes::{Rerouter, Routes};
use crate::simulation::{Experience, start_rush};
use crate::state_hash::StateHash;

/// A simulation of a city on the calling thread.
pub struct Plain {
    city: Arc<City>,
    routes: Arc<Routes>,
    demand: Demand,
    now: u32,
    wake: Vec<u32>,
    intersections: Vec<Intersection>,
    roads: Vec<Road>,
    due: Vec<Due>,
    trips: Vec<Trips>,
    times: TravelTimes,
    /// The resting cars by the second in which they depart, modulo a day.
    calendar: Vec<Vec<u32>>,
    /// Messages of the intersection that is being swept.
    outbox: Vec<(u32, Message)>,
    /// Space that is given back at the end of the step, and by which intersection.
    freed: Vec<(u32, Message)>,
    /// Intersections at which trips have ended in this step.
    finishing: Vec<u32>,
    /// Trips that have ended since somebody asked, if anybody does.
    ended: Option<Vec<EndedTrip>>,
    experience: Experience,
    /// Finds other ways, from the first time on that somebody looks for them.
    rerouter: Option<Arc<Rerouter>>,
    /// When drivers take other ways, and the waits that they know of, in the order of time.
    replans: VecDeque<(u32, Vec<Option<u32>>)>,
    /// Orders, by the second in which they take effect.
    orders: VecDeque<(u32, Order)>,
}

/// A city at the start of a second.
pub struct State {
    pub now: u32,
    pub routes: Arc<Routes>,
    pub demand: Demand,
    pub intersections: Vec<Intersection>,
    pub roads: Vec<Road>,
    pub due: Vec<Due>,
    pub trips: Vec<Trips>,
    pub experience: Experience,
    /// What has found the routes, if anything has since the start.
    pub rerouter: Option<Arc<Rerouter>>,
    /// What drivers are looking for: see [`Plain`].
    pub replans: VecDeque<(u32, Vec<Option<u32>>)>,
}

impl Plain {
    pub fn new(city: Arc<City>) -> Self {
        let state = State {
            now: 0,
            routes: Arc::clone(&city.routes),
            demand: city.demand(),
            intersections: city.intersections(),
            roads: city.roads(),
            due: city.first_departures(),
            trips: city.first_trips(),
            experience: Experience::default(),
            rerouter: None,
            replans: VecDeque::new(),
        };
        Self::resume(city, state)
    }

    /// Goes on from any state. Every intersection is looked at once, which changes nothing.
    pub fn resume(city: Arc<City>, state: State) -> Self {
        let mut plain = Self {
            now: state.now,
            routes: state.routes,
            demand: state.demand,
            wake: vec![0; state.intersections.len()],
            intersections: state.intersections,
            roads: state.roads,
            due: state.due,
            trips: state.trips,
            times: TravelTimes::default(),
            calendar: vec![Vec::new(); DAY as usize],
            outbox: Vec::new(),
            freed: Vec::new(),
            finishing: Vec::new(),
            ended: None,
            experience: state.experience,
            rerouter: state.rerouter,
            replans: state.replans,
            orders: VecDeque::new(),
            city,
        };
        plain.fill_calendar();
        plain
    }

    /// The second that is simulated next.
    #[cfg(feature = "game")]
    pub fn now(&self) -> u32 {
        self.now
    }

    fn fill_calendar(&mut self) {
        self.calendar.iter_mut().for_each(Vec::clear);
        for (car, &due) in (0..).zip(&self.due).filter(|(_, due)| due.is_resting()) {
            rest(&mut self.calendar, car, due);
        }
    }

    fn obey_all(&mut self) {
        while let Some((_, order)) = self.orders.pop_front_if(|&mut (at, _)| at <= self.now) {
            self.obey(order);
        }
    }

    /// Lets an order take effect.
    pub fn obey(&mut self, order: Order) {
        let now = self.now;
        match order {
            Order::Signals { node, timing } => {
                self.intersections[node as usize].set_timing(timing, now);
                self.wake[node as usize] = now;
            }
            Order::Lights { node, up } => {
                self.intersections[node as usize].set_rules(self.city.rules(node, up), now);
                self.wake[node as usize] = now;
            }
            Order::Road { road, closed } => {
                let (node, exit) = self.city.road_start(road);
                self.change_ways(|city, rerouter| city.set_closed(rerouter, road, closed));
                self.intersections[node as usize].set_closed(exit, closed);
                self.wake[node as usize] = now;
            }
            Order::RushHour { node } => {
                start_rush(&mut self.demand, &self.city, node, now);
                self.due.iter_mut().for_each(|due| due.hurry(now, &self.demand));
                self.fill_calendar();
            }
        }
    }

    #[cfg(any(test, feature = "game"))]
    pub fn intersections(&self) -> &[Intersection] {
        &self.intersections
    }

    fn change_ways(&mut self, change: impl FnOnce(&City, &mut Rerouter)) {
        let Self { city, routes, rerouter, .. } = self;
        let rerouter = rerouter.get_or_insert_with(|| Arc::new(city.rerouter(Arc::clone(routes))));
        // Copied once where this city has parted from another.
        change(city, Arc::make_mut(rerouter));
        *routes = rerouter.routes();
    }

    /// Drivers take the ways that they have found, and look for others if it is time.
    fn replan(&mut self) {
        if let Some((_, waits)) = self.replans.pop_front_if(|(due, _)| *due <= self.now) {
            self.change_ways(|city, rerouter| city.replan(rerouter, &waits));
        }
        if Experience::is_due(&self.city, self.now) {
            let approaches = self.intersections.iter().flat_map(Intersection::approaches);
            let waits = self.experience.learn(approaches.map(|approach| approach.passed));
            self.replans.push_back((self.now + ROUTING_TIME, waits));
        }
    }

    /// Cars whose rest is over queue up at their intersections, in the order of their numbers.
    fn depart(&mut self) {
        let page = self.now as usize % self.calendar.len();
        let mut leaving = std::mem::take(&mut self.calendar[page]);
        // Cars that rest for more than a day stay on the page.
        let is_due = |&mut car: &mut u32| self.due[car as usize].0 > self.now;
        self.calendar[page] = leaving.extract_if(.., is_due).collect();
        leaving.sort_unstable();
        for car in leaving {
            self.due[car as usize] = Due::ON_THE_WAY;
            let (node, departure) = self.trips[car as usize].depart(car, self.now, &self.demand, &self.routes);
            self.intersections[node as usize].depart(departure, &self.routes);
            self.wake[node as usize] = self.now;
        }
    }

    /// Cars that enter a link are put there at once: nobody can see them before the next step,
    /// since every link takes a second at least. Space given back would be seen, so it waits until
    /// all intersections have had their turn.
    fn cross(&mut self) {
        for node in 0..self.intersections.len() {
            if self.wake[node] > self.now {
                continue;
            }
            let outbox = &mut self.outbox;
            let intersection = &mut self.intersections[node];
            self.wake[node] = intersection.step(self.now, &self.routes, |to, message| outbox.push((to, message)));
            if intersection.has_finished() {
                self.finishing.push(node as u32);
            }
            for (target, message) in self.outbox.drain(..) {
                match message {
                    Message::Enter { .. } => deliver(&mut self.intersections, &mut self.wake, target, message),
                    Message::Freed { .. } => self.freed.push((target, message)),
                }
            }
        }
        for (target, message) in self.freed.drain(..) {
            deliver(&mut self.intersections, &mut self.wake, target, message);
        }
    }

    fn arrive(&mut self) {
        let mut finishing = std::mem::take(&mut self.finishing);
        for node in finishing.drain(..) {
            for finish in self.intersections[node as usize].take_finished() {
                let trips = &mut self.trips[finish.car as usize];
                if let Some(ended) = &mut self.ended {
                    ended.push(trips.ended(finish.car, finish.outcome, self.now, &self.routes));
                }
                let due = trips.finish(finish.car, finish.outcome, self.now, &self.demand, &self.times);
                self.due[finish.car as usize] = due;
                rest(&mut self.calendar, finish.car, due);
            }
        }
        self.finishing = finishing;
    }

    fn sample(&mut self) {
        for node in (first_sampled(self.now) as usize..self.intersections.len()).step_by(SAMPLE_INTERVAL as usize) {
            let first_road = self.city.first_road(node as u32) as usize;
            let approaches = self.intersections[node].approaches();
            for (road, approach) in self.roads[first_road..].iter_mut().zip(approaches) {
                road.occupancy = approach.occupancy();
            }
        }
    }
}

/// Notes when a car departs.
fn rest(calendar: &mut [Vec<u32>], car: u32, due: Due) {
    if due == Due::NO_MORE {
        return;
    }
    let page = due.0 as usize % calendar.len();
    calendar[page].push(car);
}

fn deliver(intersections: &mut [Intersection], wake: &mut [u32], target: u32, message: Message) {
    let target = target as usize;
    wake[target] = wake[target].min(intersections[target].receive(message));
}

impl Simulation for Plain {
    fn plan(&mut self, orders: &[(u32, Order)]) -> Result<(), Refusal> {
        let has_signals = |node: u32| self.intersections[node as usize].has_signals();
        let planned = self.orders.iter().copied();
        Order::check_all(orders, planned, &self.city.network, has_signals).map_err(|(_, refusal)| refusal)?;
        self.orders.extend(orders.iter().map(|&(at, order)| (at + order.delay(), order)));
        self.orders.make_contiguous().sort_by_key(|&(at, _)| at);
        Ok(())
    }

    fn step(&mut self) {
        self.obey_all();
        self.replan();
        self.depart();
        self.cross();
        self.arrive();
        self.sample();
        self.now += 1;
    }

    fn totals(&mut self) -> Totals {
        let mut totals = Totals::default();
        self.intersections.iter().for_each(|intersection| totals.add_intersection(intersection, self.now));
        self.due.iter().zip(&self.trips).for_each(|(&due, trips)| totals.add_car(due, trips));
        self.roads.iter().for_each(|road| totals.add_road(road));
        totals
    }

    fn record(&mut self) {
        self.ended.get_or_insert_default();
    }

    fn take_ended(&mut self) -> Vec<EndedTrip> {
        self.ended.as_mut().map(std::mem::take).unwrap_or_default()
    }

    fn links(&mut self, visit: &mut dyn FnMut(u32, LinkState)) {
        for (node, intersection) in (0..).zip(&self.intersections) {
            self.city.visit_links(node, intersection, self.now, visit);
        }
    }

    fn travel_times(&mut self) -> Vec<u64> {
        self.times.counts()
    }

    fn state_hash(&mut self) -> u64 {
        let mut hash = StateHash::new(self.now);
        for (node, intersection) in self.intersections.iter().enumerate() {
            hash.add_intersection(node, intersection);
        }
        for (car, (&due, trips)) in self.due.iter().zip(&self.trips).enumerate() {
            hash.add_car(car, due, trips);
        }
        self.roads.iter().enumerate().for_each(|(number, road)| hash.add_road(number, road));
        hash.add_demand(&self.demand);
        hash.finish()
    }

    fn workload(&mut self, _measured: Duration) -> Workload {
        Workload { workers: 1, busy_share: vec![1.0], same_core_share: None }
    }
}
