//! What a measured run reports.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::challenge::Standing;
use crate::city::City;
use crate::districts::{Square, Traffic};
use crate::measure::{Simulation, Timings};
use crate::model::{PARTS, Road, Totals, drive_time, quantile};

/// The figures of one mode, as `--json` prints them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Figures {
    pub mode: String,
    pub workers: usize,
    pub intersections: usize,
    pub roads: usize,
    pub cars: u32,
    pub steps: u64,
    pub seconds: f64,
    pub steps_per_second: f64,
    pub state_hash: String,
    pub on_road: u64,
    /// Cars that have arrived and rest until their next trip: with `on_road` and `waiting` they are
    /// all cars.
    pub arrived: u64,
    pub waiting: u64,
    pub busy_share: Vec<f64>,
    pub same_core_share: Option<f64>,
    #[serde(flatten)]
    pub trips: TripFigures,
    /// How the challenge went that was run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub challenge: Option<Standing>,
}

/// The trips of the measured steps.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TripFigures {
    /// Those that arrived and those that are stuck.
    pub trips_ended: u64,
    pub trips_stuck: u64,
    /// How often a car pushed into a full road.
    pub trips_pushed: u64,
    /// Of the trips that arrived; none if there are none.
    pub mean_travel_seconds: Option<f64>,
    /// None also if it is more than [`LONGEST`](crate::model::LONGEST).
    pub p95_travel_seconds: Option<u32>,
    /// What they lost against empty roads and green lights.
    pub mean_delay_seconds: Option<f64>,
    pub mean_speed_kmh: Option<f64>,
}

impl TripFigures {
    fn new(before: &Start, totals: &Totals, times: &[u64]) -> Self {
        let earlier = &before.totals;
        let arrived = totals.trips_arrived - earlier.trips_arrived;
        let stuck = totals.trips_stuck - earlier.trips_stuck;
        let mean = |now: u64, earlier: u64| (arrived > 0).then(|| now.wrapping_sub(earlier) as f64 / arrived as f64);
        let metres = mean(totals.metres, earlier.metres);
        let seconds = mean(totals.seconds, earlier.seconds);
        Self {
            trips_ended: arrived + stuck,
            trips_stuck: stuck,
            trips_pushed: totals.pushed - earlier.pushed,
            mean_travel_seconds: seconds,
            p95_travel_seconds: quantile(0.95, &before.times, times),
            mean_delay_seconds: mean(totals.delay, earlier.delay),
            mean_speed_kmh: metres.zip(seconds).map(|(metres, seconds)| 3.6 * metres / seconds.max(1.0)),
        }
    }
}

/// What had happened before the measured steps.
pub struct Start {
    totals: Totals,
    times: Vec<u64>,
    roads: Roads,
}

impl Start {
    pub fn of(simulation: &mut dyn Simulation, city: &City) -> Self {
        Self { totals: simulation.totals(), times: simulation.travel_times(), roads: Roads::of(simulation, city) }
    }
}

/// All roads as they are now.
struct Roads {
    /// Seconds that cars have driven, without queues, on roads that they have left.
    driven: u64,
    congested: u64,
    /// Number and cars of the road with the most, if there are any.
    busiest: Option<(u64, u32)>,
}

impl Roads {
    fn of(simulation: &mut dyn Simulation, city: &City) -> Self {
        let mut roads = Self { driven: 0, congested: 0, busiest: None };
        simulation.links(&mut |link, state| {
            let road = &city.network.links[link as usize];
            roads.driven += state.left * u64::from(drive_time(road)) / u64::from(PARTS);
            let now = Road { occupancy: state.occupancy, ..Road::new(road) };
            roads.congested += u64::from(now.is_congested());
            if state.occupancy > roads.busiest.map_or(0, |(_, cars)| cars) {
                roads.busiest = Some((link.into(), state.occupancy));
            }
        });
        roads
    }
}

/// What the table shows besides.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Detail {
    pub slow_step: Duration,
    /// Seconds of each slice of the measured steps, in order.
    pub slices: Vec<f64>,
    /// Steps in which cars drove, of all cars together, on roads that they have left.
    pub vehicle_steps: u64,
    pub congested_roads: u64,
    /// Number and occupancy of the road with the most cars, if there are any.
    pub busiest_road: Option<(u64, u32)>,
    pub busiest_district: Option<District>,
}

/// A part of the city and the cars on its roads.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct District {
    /// Metres east and north of the map's centre.
    pub centre: (f32, f32),
    /// In metres.
    pub side: f32,
    pub cars: u64,
    pub queued: u64,
    /// Mean of all cars in km/h.
    pub speed: f64,
    /// From 0 for empty roads to 1 for full ones.
    pub density: f64,
}

impl District {
    fn new(square: Square, traffic: &Traffic) -> Self {
        let half = square.side / 2.0;
        Self {
            centre: (square.x + half, square.y + half),
            side: square.side,
            cars: traffic.cars,
            queued: traffic.queued,
            speed: traffic.mean_speed().unwrap_or(0.0),
            density: traffic.density(),
        }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Outcome {
    pub figures: Figures,
    pub detail: Detail,
}

impl Outcome {
    /// Takes stock at the end of a run. A car too many or too few is an error: no figure would mean
    /// anything.
    pub fn new(
        simulation: &mut dyn Simulation,
        city: &City,
        mode: &str,
        timings: &Timings,
        before: &Start,
    ) -> Result<Self, String> {
        let totals = simulation.totals();
        if totals.cars() != u64::from(city.cars) {
            return Err(format!("{mode}: {} cars set out, but {} are left", city.cars, totals.cars()));
        }
        let workload = simulation.workload(Duration::from_secs_f64(timings.seconds()));
        let figures = Figures {
            mode: mode.to_owned(),
            workers: workload.workers,
            intersections: city.network.nodes.len(),
            roads: city.network.links.len(),
            cars: city.cars,
            steps: timings.steps(),
            seconds: timings.seconds(),
            steps_per_second: timings.steps() as f64 / timings.seconds(),
            state_hash: format!("{:016x}", simulation.state_hash()),
            on_road: totals.on_road,
            arrived: totals.resting,
            waiting: totals.waiting,
            busy_share: workload.busy_share,
            same_core_share: workload.same_core_share,
            trips: TripFigures::new(before, &totals, &simulation.travel_times()),
            challenge: None,
        };
        let district = simulation.busiest_district().map(|(square, traffic)| District::new(square, &traffic));
        let roads = Roads::of(simulation, city);
        Ok(Self { figures, detail: Detail::new(before, roads, district, timings) })
    }
}

impl Detail {
    fn new(before: &Start, roads: Roads, busiest_district: Option<District>, timings: &Timings) -> Self {
        Self {
            slow_step: timings.slow_step(),
            slices: timings.slices().to_vec(),
            vehicle_steps: roads.driven.saturating_sub(before.roads.driven),
            congested_roads: roads.congested,
            busiest_road: roads.busiest,
            busiest_district,
        }
    }
}
