//! Median times of frames with plugins of others, in turns: without our plugin, and with tagged
//! systems, through Bevy's `par_iter` and in mode `Auto`. Then what the wide systems of the
//! scenario take of that, the plugin's own left out.
//!
//! `cargo run --release --ignore-rust-version --example frame_times`

use std::time::{Duration, Instant};

use bevy_affinity::SchedulerMode;
use bevy_affinity_works_with::{
    Scenario, Way, physics::Physics, replication::Replication, space::Space, time_of_tagged,
};

const WAYS: [Way; 3] = [Way::Plain, Way::Tagged(SchedulerMode::Bevy), Way::Tagged(SchedulerMode::Auto)];

/// Each way takes turns of so many frames, so that what else the machine does hits all of them.
const TURN: usize = 20;
const TURNS: usize = 40;
const WARM_UP: usize = 100;

/// A scenario, its frames, and its wide systems at the end of each turn.
struct Rival<S> {
    scenario: S,
    frames: Vec<Duration>,
    systems: Vec<Duration>,
}

fn main() {
    println!("{:<16}{:^36}{:^24}", "milliseconds", "frame", "its wide systems");
    println!("{:<16}{:>12}{:>12}{:>12}{:>12}{:>12}", "", "plain", "mode Bevy", "mode Auto", "mode Bevy", "mode Auto");
    compare::<Physics>();
    compare::<Replication>();
    compare::<Space>();
}

fn compare<S: Scenario>() {
    let mut rivals = WAYS.map(|way| Rival { scenario: S::new(way), frames: Vec::new(), systems: Vec::new() });
    rivals.iter_mut().for_each(|rival| (0..WARM_UP).for_each(|_| rival.scenario.frame()));
    for _ in 0..TURNS {
        rivals.iter_mut().for_each(Rival::turn);
    }
    let [plain, bevy, auto] = rivals.map(|rival| (median(rival.frames), median(rival.systems)));
    print!("{:<16}", S::NAME);
    for time in [plain.0, bevy.0, auto.0, bevy.1, auto.1] {
        print!("{:>12.3}", time.as_secs_f64() * 1e3);
    }
    println!();
}

impl<S: Scenario> Rival<S> {
    fn turn(&mut self) {
        for _ in 0..TURN {
            let start = Instant::now();
            self.scenario.frame();
            self.frames.push(start.elapsed());
        }
        self.systems.push(time_of_tagged(&self.scenario.apps()));
    }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}
