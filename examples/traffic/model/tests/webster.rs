//! Webster's formula for the mean delay at a fixed-time signal, the yardstick of traffic
//! engineering since 1958.

use super::Crossing;
use crate::hash::{hash, mix};
use crate::model::signal::Programme;

const CYCLE: f64 = 60.0;
const GREEN: f64 = 27.0;

/// Cars a second that one lane passes while green.
const SATURATION: f64 = 0.5;

/// Long enough for the mean to settle even where the queue hardly ever empties.
const SECONDS: u32 = 8_000_000;

fn webster(load: f64) -> f64 {
    let split = GREEN / CYCLE;
    let flow = load * SATURATION * split;
    let uniform = CYCLE * (1.0 - split).powi(2) / (2.0 * (1.0 - split * load));
    let random = load * load / (2.0 * flow * (1.0 - load));
    let correction = 0.65 * (CYCLE / (flow * flow)).cbrt() * load.powf(2.0 + 5.0 * split);
    uniform + random - correction
}

/// Poisson arrivals in one second: how often a product of uniform numbers stays above e to the
/// minus mean.
fn arrivals(mean: f64, second: u32) -> u32 {
    let mut random = hash(&[7, u64::from(second)]);
    let mut product = 1.0;
    for count in 0.. {
        random = mix(random.wrapping_add(1));
        product *= random as f64 / 2.0_f64.powi(64);
        if product < (-mean).exp() {
            return count;
        }
    }
    unreachable!("the product falls below any bound")
}

fn mean_delay(load: f64) -> f64 {
    let mut crossing = Crossing::new(Programme::two_phases(0), 1);
    let (mut arrived, mut delay) = (0_u32, 0_u64);
    let mean = load * SATURATION * GREEN / CYCLE;
    for now in 0..SECONDS {
        for _ in 0..arrivals(mean, now) {
            // A car is its own arrival time.
            crossing.enter(now, now);
        }
        for arrival in crossing.step(now) {
            arrived += 1;
            delay += u64::from(now - arrival);
        }
    }
    delay as f64 / f64::from(arrived)
}

#[test]
fn delays_follow_websters_curve() {
    for load in [0.3, 0.5, 0.7, 0.85, 0.95] {
        let (model, formula) = (mean_delay(load), webster(load));
        println!("load {load}: {model:.1} s, Webster {formula:.1} s");
        assert!((model / formula - 1.0).abs() < 0.08, "load {load}: {model:.1} s, Webster {formula:.1} s");
    }
}
