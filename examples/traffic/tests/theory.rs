//! The model against the formulas of traffic engineering.

use std::sync::Arc;

use indicatif::ProgressBar;

use crate::city::{City, Travel};
use crate::map::{Class, Control, Link, Network, Node};
use crate::measure::Simulation;
use crate::model::{LinkState, TripRequest};
use crate::plain::Plain;

/// Kilometres an hour.
const SPEED: f64 = 50.0;
/// Vehicles an hour and lane.
const FLOW: f64 = 1_800.0;
/// Vehicles a kilometre and lane, standing.
const JAM: f64 = 1_000.0 / 7.5;

/// Kilometres an hour at which jams move back: the third side of the triangle that speed, capacity
/// and jam density span.
fn wave() -> f64 {
    1.0 / (JAM / FLOW - 1.0 / SPEED)
}

/// Vehicles an hour at so many a kilometre.
fn fundamental_diagram(density: f64) -> f64 {
    (SPEED * density).min(FLOW).min(wave() * (JAM - density))
}

fn simulate(network: Network, trips: &[TripRequest]) -> Plain {
    // The formulas know of nobody who pushes in.
    let travel = Travel { patience: 100_000, ..Travel::default() };
    let city = City::with_trips(network, travel, trips, &ProgressBar::hidden()).unwrap();
    Plain::new(Arc::new(city))
}

fn links(plain: &mut Plain) -> Vec<LinkState> {
    let mut links = Vec::new();
    plain.links(&mut |_, link| links.push(link));
    links
}

fn run(plain: &mut Plain, seconds: u32) {
    (0..seconds).for_each(|_| plain.step());
}

/// Nodes in a row or, if closed, in a ring.
fn road(count: u32, closed: bool, link: impl Fn(u32, u32) -> Link) -> Network {
    let nodes = (0..count).map(|index| Node::new(index as f32 * 200.0, 0.0, Control::Priority)).collect();
    let mut links: Vec<Link> = (1..count).map(|to| link(to - 1, to)).collect();
    links.extend(closed.then(|| link(count - 1, 0)));
    links.sort_by_key(|link| (link.to, link.from));
    Network::new("road", nodes, links)
}

fn trip(traveller: u32, depart: u32, from: u32, to: u32) -> TripRequest {
    TripRequest { traveller, depart, from, to, via: None }
}

#[test]
fn every_lane_passes_its_saturation_flow() {
    for lanes in 1..=5_u8 {
        for length_dm in [100, 400, 1_500] {
            let network = road(5, false, |from, to| Link::new(from, to, length_dm, lanes, 50));
            let trips: Vec<_> = (0..20_000).map(|car| trip(car, 0, 0, 4)).collect();
            let mut plain = simulate(network, &trips);
            run(&mut plain, 600);
            let before = plain.totals().trips_arrived;
            run(&mut plain, 3_600);
            let flow = (plain.totals().trips_arrived - before) as f64;
            let expected = FLOW * f64::from(lanes);
            assert!((flow / expected - 1.0).abs() < 0.03, "{lanes} lanes, {length_dm} dm: {flow} of {expected}");
        }
    }
}

#[test]
fn a_ring_follows_the_fundamental_diagram() {
    let (count, length_dm) = (20, 3_000);
    for density in [5, 10, 20, 30, 50, 70, 90, 110, 125] {
        let network = road(count, true, |from, to| Link::new(from, to, length_dm, 1, 50));
        let kilometres = f64::from(count * length_dm) / 10_000.0;
        let cars = (f64::from(density) * kilometres) as u32;
        // Round and round. Links are sorted by the node that they lead to.
        let around = |from: u32| (0..count * 40).map(|step| (from + 1 + step) % count).collect();
        let trip = |car| TripRequest { via: Some(around(car % count)), ..trip(car, 0, car % count, car % count) };
        let mut plain = simulate(network, &(0..cars).map(trip).collect::<Vec<_>>());
        run(&mut plain, 1_800);
        let left = |plain: &mut Plain| links(plain).iter().map(|link| link.left).sum::<u64>() as f64;
        let before = left(&mut plain);
        run(&mut plain, 1_800);
        assert_eq!(plain.totals().trips_arrived, 0, "all are still on their way");
        let flow = (left(&mut plain) - before) * 2.0 / f64::from(count);
        let expected = fundamental_diagram(f64::from(cars) / kilometres);
        println!("{density} cars a km: {flow:.0} an hour, by the formula {expected:.0}");
        assert!((flow / expected - 1.0).abs() < 0.05, "{density} a km: {flow:.0} an hour, not {expected:.0}");
    }
}

#[test]
fn a_jam_grows_backwards_at_the_speed_of_its_shock_wave() {
    // 1,500 an hour arrive where 900 pass.
    let (count, length_dm, arriving, passing) = (40, 1_000, 1_500.0, 900.0);
    let network = road(count, false, |from, to| {
        let lane_flow = if to == count - 1 { passing as u16 } else { FLOW as u16 };
        Link { lane_flow, ..Link::new(from, to, length_dm, 1, 50) }
    });
    let trips: Vec<_> = (0..3_000).map(|car| trip(car, (f64::from(car) * 2.4) as u32, 0, count - 1)).collect();
    let mut plain = simulate(network, &trips);
    let queued_density = JAM - passing / wave();
    let expected = (arriving - passing) / (queued_density - arriving / SPEED);
    let jammed = |plain: &mut Plain| {
        let full = queued_density * f64::from(length_dm) / 10_000.0 * 0.8;
        links(plain).iter().filter(|link| f64::from(link.occupancy) > full).count() as f64
    };
    run(&mut plain, 600);
    let before = jammed(&mut plain);
    run(&mut plain, 600);
    let speed = (jammed(&mut plain) - before) * f64::from(length_dm) / 10_000.0 * 6.0;
    println!("the jam grows at {speed:.1} km/h, by the formula {expected:.1}");
    assert!((speed / expected - 1.0).abs() < 0.1, "{speed:.1} km/h, not {expected:.1}");
}

#[test]
fn a_jam_dissolves_from_its_head_at_15_to_20_kilometres_an_hour() {
    assert!((15.0..20.0).contains(&wave()), "{}", wave());
}

/// A roundabout with four arms of 2 km: arm `a` has the outer node `a`; the ring is node 4.
fn roundabout() -> Network {
    let outer = [(2_000.0, 0.0), (0.0, 2_000.0), (-2_000.0, 0.0), (0.0, -2_000.0)];
    let mut nodes: Vec<Node> = outer.iter().map(|&(x, y)| Node::new(x, y, Control::Priority)).collect();
    nodes.push(Node::new(0.0, 0.0, Control::Roundabout));
    let arm = |outer| [(outer, 4), (4, outer)];
    let link = |(from, to)| Link { class: Class::Primary, ..Link::new(from, to, 20_000, 1, 50) };
    let mut links: Vec<Link> = (0..4).flat_map(arm).map(link).collect();
    links.sort_by_key(|link| (link.to, link.from));
    Network::new("roundabout", nodes, links)
}

/// Cars an hour that enter from arm 1 while so many from arm 0 circulate past it to arm 2.
fn entering(circulating: f64, wanting: f64) -> f64 {
    let mut trips = Vec::new();
    for (from, to, flow) in [(0, 2, circulating), (1, 3, wanting)] {
        // Gaps as in a Poisson stream: the formula is for those.
        let mut random = 1_u64;
        let mut time = 0.0;
        while time < 40_000.0 && flow > 0.0 {
            random = crate::hash::mix(random + from as u64);
            time -= (random as f64 / 2.0_f64.powi(64)).ln() * 3_600.0 / flow;
            trips.push(trip(trips.len() as u32, time as u32, from, to));
        }
    }
    let mut plain = simulate(roundabout(), &trips);
    let passed = |plain: &mut Plain| links(plain)[4 + 1].left;
    run(&mut plain, 1_200);
    let before = passed(&mut plain);
    run(&mut plain, 36_000);
    (passed(&mut plain) - before) as f64 / 10.0
}

#[test]
fn a_roundabout_passes_what_the_highway_capacity_manual_says() {
    for circulating in [0.0, 200.0, 400.0, 600.0, 800.0] {
        let capacity = 1_130.0 * f64::exp(-0.001 * circulating);
        let below = entering(circulating, 0.7 * capacity);
        assert!((below / (0.7 * capacity) - 1.0).abs() < 0.1, "below capacity all pass: {below:.0}");
        let above = entering(circulating, 1.5 * capacity);
        println!("{circulating} in the ring: {above:.0} an hour enter, by the formula {capacity:.0}");
        assert!((above / capacity - 1.0).abs() < 0.12, "{circulating} in the ring: {above:.0}, not {capacity:.0}");
    }
}
