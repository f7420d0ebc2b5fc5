//! When and where cars want to go: on any day, and in the rush hour.

use std::ops::Range;
use std::sync::Arc;

use bevy::prelude::Resource;

use super::day::Day;
use super::planned::PlannedTrips;
use crate::hash::{SequenceHash, below};
use crate::routes::{Route, Routes};

/// Of so many trips that start in the rush hour, all but one lead toward its centre.
const RUSH_SHARE: u32 = 4;

/// Rests are so many times shorter in the rush hour.
const RUSH_HASTE: u32 = 4;

/// What decides about trips besides the car itself.
#[derive(Resource, Clone, Debug)]
pub struct Demand {
    pub seed: u64,
    day: Day,
    rests: Range<u32>,
    /// All trips, where they were asked for.
    pub planned: Option<Arc<PlannedTrips>>,
    rush: Rush,
}

/// A time of many trips toward one place.
#[derive(Clone, Debug, Default)]
struct Rush {
    /// The first second that is ordinary again.
    end: u32,
    /// For each place, which of its routes leads nearest to the centre.
    toward: Vec<u8>,
}

impl Demand {
    /// Cars rest for as many seconds of the busiest hour as lie in `rests` between two trips.
    pub fn endless(seed: u64, day: Day, rests: Range<u32>) -> Self {
        Self { seed, day, rests, planned: None, rush: Rush::default() }
    }

    /// Just these trips.
    pub fn planned(seed: u64, day: Day, planned: Arc<PlannedTrips>) -> Self {
        Self { planned: Some(planned), ..Self::endless(seed, day, 0..1) }
    }

    /// Whether all trips were asked for.
    pub fn is_given(&self) -> bool {
        self.planned.is_some()
    }

    pub fn rests(&self) -> Range<u32> {
        self.rests.clone()
    }

    /// When the last rush hour ended, or this one will.
    #[cfg(feature = "game")]
    pub fn rush_end(&self) -> u32 {
        self.rush.end
    }

    /// From now until second `end` most trips lead toward a point, in metres.
    pub fn rush(&mut self, end: u32, centre: (f32, f32), position: impl Fn(u32) -> (f32, f32), routes: &Routes) {
        let distance = |route: &Route| {
            let (x, y) = position(routes.node(route.destination));
            (x - centre.0).powi(2) + (y - centre.1).powi(2)
        };
        let nearest = |place| {
            let ranked = (0..).zip(routes.from(place).iter().map(distance));
            ranked.min_by(|a: &(u8, f32), b| a.1.total_cmp(&b.1)).map_or(0, |(number, _)| number)
        };
        self.rush = Rush { end, toward: (0..routes.places()).map(nearest).collect() };
    }

    /// The route of a trip that starts at a place in second `now`.
    pub fn choose(&self, place: u32, choice: u64, now: u32, routes: &Routes) -> Route {
        if now < self.rush.end && below(choice.rotate_left(32), RUSH_SHARE) > 0 {
            return routes.from(place)[usize::from(self.rush.toward[place as usize])];
        }
        routes.choose(place, choice)
    }

    /// When a rest ends that begins in second `now` and would last `rest` seconds in the busiest
    /// hour of an ordinary day.
    pub fn after(&self, rest: u32, now: u32) -> u32 {
        self.day.after(self.hurried(rest, now), now)
    }

    /// How long a rest of `rest` seconds lasts now.
    pub fn hurried(&self, rest: u32, now: u32) -> u32 {
        if now < self.rush.end { rest / RUSH_HASTE } else { rest }
    }

    pub fn write_state(&self, state: &mut SequenceHash) {
        state.write(u64::from(self.rush.end));
        self.rush.toward.iter().for_each(|&number| state.write(u64::from(number)));
    }
}
