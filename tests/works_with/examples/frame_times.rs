//! Median frame times with plugins of others, without our plugin and with tagged systems in mode `Auto`, in turns.
//!
//! `cargo run --release --ignore-rust-version --example frame_times`

use std::time::{Duration, Instant};

use bevy_affinity::SchedulerMode;
use bevy_affinity_works_with::{Scenario, Way, physics::Physics, replication::Replication, space::Space};

/// Both take turns of so many frames, so that what else the machine does hits both.
const TURN: usize = 20;
const TURNS: usize = 40;
const WARM_UP: usize = 100;

fn main() {
    println!("{:<16}{:>12}{:>12}{:>12}", "milliseconds", "plain", "tagged", "tagged wins");
    compare::<Physics>();
    compare::<Replication>();
    compare::<Space>();
}

fn compare<S: Scenario>() {
    let mut rivals = [Way::Plain, Way::Tagged(SchedulerMode::Auto)].map(|way| (S::new(way), Vec::new()));
    for (scenario, _) in &mut rivals {
        frames(scenario, WARM_UP).for_each(drop);
    }
    for _ in 0..TURNS {
        for (scenario, times) in &mut rivals {
            times.extend(frames(scenario, TURN));
        }
    }
    let [plain, tagged] = rivals.map(|(_, times)| median(times).as_secs_f64() * 1e3);
    println!("{:<16}{plain:>12.3}{tagged:>12.3}{:>11.2}x", S::NAME, plain / tagged);
}

fn frames<S: Scenario>(scenario: &mut S, count: usize) -> impl Iterator<Item = Duration> {
    (0..count).map(|_| {
        let start = Instant::now();
        scenario.frame();
        start.elapsed()
    })
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}
