//! Trips and cars of a city at the end of each minute.

use crate::model::{Intersection, Totals};

/// Seconds between two points of the curves.
pub const MINUTE: u32 = 60;

/// Seconds that a trip counts which ends stuck: four hours, longer than trips take in any jam, so
/// that nobody gains by roads that leave others without a way.
const STUCK: u64 = 14_400;

/// A city at the end of a minute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub second: u32,
    /// All trips so far.
    pub arrived: u64,
    /// All that ended where no way went on.
    pub stuck: u64,
    /// Cars on their way: on the road, or waiting to set out.
    pub under_way: u64,
    /// Those of them in the district of the last order.
    pub nearby: u64,
}

impl Tally {
    pub fn new<'a>(second: u32, totals: &Totals, district: impl Iterator<Item = &'a Intersection>) -> Self {
        Self {
            second,
            arrived: totals.trips_arrived,
            stuck: totals.trips_stuck,
            under_way: totals.on_road + totals.waiting,
            nearby: district.map(|node| u64::from(node.on_road() + node.waiting())).sum(),
        }
    }
}

#[cfg(any(test, feature = "game"))]
/// Trips an hour from the first of some minutes to the last.
pub fn trips_per_hour(minutes: &[Tally]) -> f64 {
    let (Some(first), Some(last)) = (minutes.first(), minutes.last()) else { return 0.0 };
    (last.arrived - first.arrived) as f64 * 3_600.0 / f64::from((last.second - first.second).max(1))
}

/// Seconds that cars were under way for each trip that has ended, after the first minute.
/// So trips that do not end count too: a city in a jam has many cars under way and few arrivals.
/// Trips that are stuck are under way no more, and count [`STUCK`] each.
pub fn seconds_a_trip(minutes: &[Tally]) -> f64 {
    let (Some(first), Some(last)) = (minutes.first(), minutes.last()) else { return 0.0 };
    let car_minutes: u64 = minutes[1..].iter().map(|minute| minute.under_way).sum();
    let seconds = car_minutes * u64::from(MINUTE) + (last.stuck - first.stuck) * STUCK;
    let ended = (last.arrived - first.arrived) + (last.stuck - first.stuck);
    seconds as f64 / ended.max(1) as f64
}

#[cfg(any(test, feature = "game"))]
/// Cars under way in the district, on average after the first of some minutes.
pub fn cars_nearby(minutes: &[Tally]) -> f64 {
    let Some((_, after)) = minutes.split_first() else { return 0.0 };
    after.iter().map(|minute| minute.nearby).sum::<u64>() as f64 / after.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn minutes(arrived: u64, under_way: u64) -> Vec<Tally> {
        let minute = |index| Tally {
            second: index * MINUTE,
            arrived: u64::from(index) * arrived,
            stuck: 0,
            under_way,
            nearby: 5,
        };
        (1..=20).map(minute).collect()
    }

    #[test]
    fn rates_are_per_hour_and_per_trip() {
        let minutes = minutes(30, 100);
        assert_eq!(trips_per_hour(&minutes), 1_800.0);
        // Little's law: 100 cars under way and one arrival in two seconds.
        assert_eq!(seconds_a_trip(&minutes), 200.0);
        assert_eq!(cars_nearby(&minutes), 5.0);
        assert_eq!((trips_per_hour(&minutes[..1]), seconds_a_trip(&minutes[..1])), (0.0, 0.0));
    }

    #[test]
    fn who_gives_trips_up_gains_nothing() {
        let (free, mut given_up) = (minutes(30, 100), minutes(15, 50));
        // Half of the trips end at once, and leave the roads to the others.
        (0..).zip(&mut given_up).for_each(|(index, minute)| minute.stuck = 15 * index);
        assert!(seconds_a_trip(&given_up) > 10.0 * seconds_a_trip(&free));
    }

    #[test]
    fn a_trip_takes_four_hours_where_all_are_stuck() {
        let mut all_closed = minutes(0, 0);
        (0..).zip(&mut all_closed).for_each(|(index, minute)| minute.stuck = 40 * index);
        assert_eq!(seconds_a_trip(&all_closed), STUCK as f64);
    }

    #[test]
    fn a_jam_costs_time_though_nobody_arrives() {
        let (mut free, mut jam) = (minutes(30, 100), minutes(30, 100));
        for (index, minute) in jam.iter_mut().enumerate() {
            (minute.arrived, minute.under_way) = (30, 100 + 30 * index as u64);
        }
        free.iter_mut().for_each(|minute| minute.nearby = 0);
        assert!(seconds_a_trip(&jam) > 20.0 * seconds_a_trip(&free));
    }
}
