//! Traffic that flows: hour after hour as many trips end as begin, and jams dissolve at night.

use std::sync::Arc;

use super::city;
use crate::city::{City, Travel};
use crate::map;
use crate::measure::Simulation;
use crate::model::Totals;
use crate::plain::Plain;

const HOUR: u32 = 3_600;

/// What has happened by the end of every hour.
fn hours(city: City, count: u32) -> Vec<Totals> {
    let mut plain = Plain::new(Arc::new(city));
    let mut totals = vec![plain.totals()];
    for _ in 0..count {
        (0..HOUR).for_each(|_| plain.step());
        totals.push(plain.totals());
    }
    totals
}

/// Trips that arrived in an hour, counted from 1, and how much longer than on empty roads they
/// took.
fn hour(totals: &[Totals], number: usize) -> (f64, f64) {
    let (before, after) = (&totals[number - 1], &totals[number]);
    let seconds = (after.seconds - before.seconds) as f64;
    let delay = (after.delay - before.delay) as f64;
    ((after.trips_arrived - before.trips_arrived) as f64, seconds / (seconds - delay))
}

#[test]
fn as_many_trips_arrive_in_the_tenth_hour_as_in_the_second() {
    let maps = [map::city::generate(12, 1).unwrap(), map::isle_of_man().unwrap()];
    for network in maps {
        let name = network.name.clone();
        let totals = hours(city(network, Travel::default()), 10);
        let ((second, _), (tenth, _)) = (hour(&totals, 2), hour(&totals, 10));
        assert!(tenth >= 0.9 * second, "{name}: {second} trips in hour 2, {tenth} in hour 10");
        assert_eq!(totals[10].trips_stuck, 0, "{name}");
        // Between the peaks, which last from 7 to 9 and from 15 to 18.
        for number in 5..=8 {
            let (_, longer) = hour(&totals, number);
            assert!(longer < 1.5, "{name}: hour {number} takes {longer:.2} times as long as empty roads");
        }
    }
}

#[test]
fn half_as_many_cars_again_jam_by_day_and_flow_at_night() {
    let carries = city(map::city::generate(16, 1).unwrap(), Travel::default()).cars;
    let travel = Travel { cars: Some(carries * 3 / 2), replans: None, ..Travel::default() };
    let totals = hours(city(map::city::generate(16, 1).unwrap(), travel), 21);
    let (_, morning) = hour(&totals, 3);
    let (_, night) = hour(&totals, 20);
    assert!(morning > 1.3 * night && totals[12].pushed > 100, "{morning:.2} in the morning, {night:.2} at night");
    assert!(night < 1.4, "{night:.2} times as long as on empty roads at two in the morning");
    let standing = |totals: &Totals| totals.on_road - totals.moving;
    assert!(standing(&totals[20]) < totals[20].on_road / 2, "hardly anybody waits at night");
    assert_eq!(totals[21].trips_stuck, 0);
}
