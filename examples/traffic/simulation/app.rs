//! A Bevy app without a window for each way to run the city.

use std::sync::Arc;
use std::time::Duration;

use bevy::app::{App, Last, TaskPoolOptions, TaskPoolPlugin};
use bevy::ecs::schedule::SingleThreadedExecutor;
use bevy_affinity::prelude::*;

use super::entities::{Directory, Number, Plan};
use super::gauge::Gauge;
use super::orders;
use super::record::{self, Record};
use super::threads::ThreadClocks;
use super::{Now, Step, TrafficPlugin, populate, step};
use crate::city::City;
use crate::districts::{Districts, Square, Traffic};
use crate::measure::{Simulation, Workload};
use crate::model::{Demand, Due, EndedTrip, Intersection, LinkState, Order, Refusal, Road, Totals, TravelTimes, Trips};
use crate::state_hash::StateHash;

/// A simulation of a city in Bevy.
pub struct CityApp {
    app: App,
    gauge: Gauge,
}

impl CityApp {
    /// On the plugin's gang.
    pub fn on_gang(city: Arc<City>, mode: SchedulerMode, settings: AffinitySettings) -> Self {
        let mut app = App::new();
        app.insert_resource(settings).insert_resource(mode).add_plugins(AffinityParallelPlugin);
        Self::start(app, city, true, Gauge::gang())
    }

    /// Without the plugin, on Bevy's compute threads: on this number of them, with the executor
    /// that suits systems in a chain, or as Bevy does it by itself.
    pub fn on_compute_threads(city: Arc<City>, threads: Option<usize>) -> Self {
        let clocks = ThreadClocks::default();
        let mut app = App::new();
        app.add_plugins(TaskPoolPlugin { task_pool_options: task_pools(threads, clocks.clone()) });
        if threads.is_some() {
            app.edit_schedule(Step, |schedule| _ = schedule.set_executor(SingleThreadedExecutor::new()));
        }
        Self::start(app, city, false, Gauge::compute_threads(clocks))
    }

    fn start(mut app: App, city: Arc<City>, affine: bool, gauge: Gauge) -> Self {
        app.add_plugins(TrafficPlugin { affine });
        populate(app.world_mut(), city);
        app.finish();
        app.cleanup();
        let mut city = Self { app, gauge };
        city.begin_measuring();
        city
    }

    #[cfg(test)]
    pub fn world(&mut self) -> &mut bevy::prelude::World {
        self.app.world_mut()
    }

    /// A frame without a step: lets the plugins look at schedules, and brings diagnostics and
    /// districts up to date.
    pub fn frame(&mut self) {
        self.app.update();
    }

    /// The districts as they are now.
    pub fn districts(&mut self) -> &Districts {
        let turns = self.app.world().resource::<Districts>().turns();
        (0..turns).for_each(|_| self.frame());
        self.app.world().resource::<Districts>()
    }
}

fn task_pools(threads: Option<usize>, clocks: ThreadClocks) -> TaskPoolOptions {
    let mut options = TaskPoolOptions::default();
    options.compute.on_thread_spawn = Some(Arc::new(move || clocks.enlist()));
    if let Some(threads) = threads {
        (options.compute.min_threads, options.compute.max_threads) = (threads, threads);
    }
    options
}

impl Simulation for CityApp {
    fn plan(&mut self, orders: &[(u32, Order)]) -> Result<(), Refusal> {
        orders::plan(self.app.world_mut(), orders)
    }

    fn step(&mut self) {
        step(self.app.world_mut());
        self.gauge.note_step();
    }

    fn begin_measuring(&mut self) {
        self.frame();
        self.gauge.restart(self.app.world());
    }

    fn totals(&mut self) -> Totals {
        let mut totals = Totals::default();
        let world = self.app.world_mut();
        let now = world.resource::<Now>().0;
        world.query::<&Intersection>().iter(world).for_each(|intersection| totals.add_intersection(intersection, now));
        world.query::<(&Due, &Trips)>().iter(world).for_each(|(&due, trips)| totals.add_car(due, trips));
        world.query::<&Road>().iter(world).for_each(|road| totals.add_road(road));
        totals
    }

    fn record(&mut self) {
        record::start(&mut self.app);
    }

    fn take_ended(&mut self) -> Vec<EndedTrip> {
        let record = self.app.world_mut().get_resource_mut::<Record>();
        record.map(|mut record| record.take()).unwrap_or_default()
    }

    fn links(&mut self, visit: &mut dyn FnMut(u32, LinkState)) {
        let world = self.app.world();
        let (city, directory, now) = (world.resource::<Plan>(), world.resource::<Directory>(), world.resource::<Now>());
        for node in 0..city.network.nodes.len() as u32 {
            if let Some(intersection) = world.get::<Intersection>(directory.intersection(node)) {
                city.visit_links(node, intersection, now.0, visit);
            }
        }
    }

    fn travel_times(&mut self) -> Vec<u64> {
        self.app.world().resource::<TravelTimes>().counts()
    }

    fn state_hash(&mut self) -> u64 {
        let world = self.app.world_mut();
        let mut hash = StateHash::new(world.resource::<Now>().0);
        for (number, intersection) in world.query::<(&Number, &Intersection)>().iter(world) {
            hash.add_intersection(number.0 as usize, intersection);
        }
        for (number, &due, trips) in world.query::<(&Number, &Due, &Trips)>().iter(world) {
            hash.add_car(number.0 as usize, due, trips);
        }
        for (number, road) in world.query::<(&Number, &Road)>().iter(world) {
            hash.add_road(number.0 as usize, road);
        }
        hash.add_demand(world.resource::<Demand>());
        hash.finish()
    }

    fn busiest_district(&mut self) -> Option<(Square, Traffic)> {
        self.districts().busiest()
    }

    fn workload(&mut self, measured: Duration) -> Workload {
        // The end of a frame brings diagnostics up to date; the rest of it would count as work of
        // the measured steps.
        self.app.world_mut().run_schedule(Last);
        self.gauge.read(self.app.world(), measured)
    }
}
