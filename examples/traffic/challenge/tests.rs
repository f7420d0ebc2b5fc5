use std::path::Path;
use std::sync::Arc;

use clap::ValueEnum;
use indicatif::ProgressBar;

use super::given::signals;
use super::{Challenge, Contest, START, Standing, WARMUP};
use crate::city::{City, Travel};
use crate::measure::Simulation;
use crate::model::{Order, Timing};
use crate::plain::Plain;
use crate::routes::Routes;
use crate::scenario::Files;

fn city(challenge: Challenge) -> Arc<City> {
    let rules = challenge.rules();
    let network = crate::map::city::generate(rules.side, 1).unwrap();
    let travel = Travel { cars: rules.cars, start: START, ..Travel::default() };
    let city =
        City::new(network, travel, |network, incidence| Routes::search(network, incidence, &ProgressBar::hidden()));
    Arc::new(city.unwrap())
}

/// Plays a challenge to its end.
fn play(challenge: Challenge, city: &Arc<City>, orders: &[(u32, Order)]) -> Standing {
    let mut contest = Contest::new(challenge, city, WARMUP, orders).unwrap();
    let mut played = Plain::new(Arc::clone(city));
    played.plan(&challenge.given(city)).unwrap();
    played.plan(orders).unwrap();
    for _ in 0..WARMUP + challenge.rules().minutes * 60 {
        played.step();
        contest.follow(&mut played);
    }
    contest.standing().unwrap()
}

/// What a good player might do in the second minute: time all signals alike, in favour of the roads
/// that cross the main ones.
fn good(challenge: Challenge, city: &City) -> Vec<(u32, Order)> {
    let (cycle, main_green) = match challenge {
        Challenge::NightProgramme | Challenge::MarketDay | Challenge::FineTuning => (90, 15),
        Challenge::OneBridge => (40, 17),
    };
    let timing = Timing { cycle, main_green, offset: 0 };
    signals(city).map(|node| (WARMUP + 120, Order::Signals { node, timing })).collect()
}

#[test]
fn who_plays_well_wins_and_who_does_nothing_does_not() {
    for &challenge in Challenge::value_variants() {
        let city = city(challenge);
        let idle = play(challenge, &city, &[]);
        assert_eq!((idle.stars, idle.saved()), (0, 0.0), "{idle:?}");
        let played = play(challenge, &city, &good(challenge, &city));
        assert_eq!((played.stars, played.minutes), (3, 45), "{played:?}");
    }
}

#[test]
fn a_rush_hour_of_the_player_comes_to_both_cities() {
    let challenge = Challenge::MarketDay;
    let city = city(challenge);
    let rush = play(challenge, &city, &[(WARMUP + 30, Order::RushHour { node: 136 })]);
    assert_eq!(rush.saved(), 0.0, "{rush:?}");
    assert_ne!(rush.seconds_a_trip, play(challenge, &city, &[]).seconds_a_trip);
}

#[test]
fn trips_that_are_given_up_win_nothing() {
    let challenge = Challenge::OneBridge;
    let city = city(challenge);
    let closed = |road| (WARMUP + 60, Order::Road { road, closed: true });
    let played = play(challenge, &city, &[closed(415), closed(544)]);
    assert!(played.stars == 0 && played.saved() < 0.0, "{played:?}");
}

#[test]
fn an_order_file_wins_too() {
    let challenge = Challenge::NightProgramme;
    let city = city(challenge);
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/traffic/challenge/night-programme.csv");
    let files = Files { orders: Some(file), ..Files::default() };
    let scenario = files.read(1, || crate::map::city::generate(challenge.rules().side, 1)).unwrap();
    assert_eq!(play(challenge, &city, &scenario.orders.orders).stars, 3);
}

#[test]
fn nothing_is_said_in_the_first_minutes_and_nothing_changes_after_the_last() {
    use crate::tally::Tally;
    let minutes = |count: u32, under_way| -> Vec<Tally> {
        let minute =
            |index| Tally { second: index * 60, arrived: u64::from(index) * 30, under_way, ..Tally::default() };
        (1..=count).map(minute).collect()
    };
    let of = |count| Standing::of(Challenge::MarketDay, &minutes(count, 85), &minutes(count, 100));
    assert_eq!(of(4), None);
    let standing = of(45).unwrap();
    assert!((standing.saved() - 0.15).abs() < 1e-9 && standing.stars == 3, "{standing:?}");
    assert_eq!(of(90), Some(standing));
}
