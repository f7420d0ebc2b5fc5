//! Group `start`: an app up to the end of its first frame, and the frame after a system was added
//! to one that runs: what building schedules takes, with and without the plugin.

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

use bevy::{MinimalPlugins, prelude::*};
use bevy_affinity::prelude::*;

use crate::shared::{
    ours,
    report::{duration, grouped, print_table},
    statistics::median,
};

/// Systems in `Update`.
const SIZES: [usize; 3] = [20, 200, 1_000];

/// Systems that are in one set, where sets follow each other.
const SET: usize = 10;

/// One app in this many rounds of other groups: building a thousand systems takes a third of a
/// second.
const ROUNDS_OF_OTHERS: u32 = 3;

/// Frames before a system is added, in which executors learn.
const FRAMES: u32 = 60;

#[derive(SystemSet, Clone, Debug, PartialEq, Eq, Hash)]
struct Step(usize);

/// What one of four systems counts: those of one kind conflict.
#[derive(Resource, Default)]
struct Count<const KIND: usize>(u64);

fn count<const KIND: usize>(mut count: ResMut<Count<KIND>>) {
    count.0 = black_box(count.0 + 1);
}

/// What is built.
#[derive(Clone, Copy)]
struct Contents {
    systems: usize,
    in_steps: bool,
    with_plugin: bool,
}

/// What it took.
struct Took {
    first_frame: Duration,
    frame_after_change: Duration,
}

impl Contents {
    fn run(self, workers: usize) -> Took {
        let began = Instant::now();
        let mut app = App::new();
        app.add_plugins(MinimalPlugins).insert_resource(ours::settings(workers));
        app.init_resource::<Count<0>>().init_resource::<Count<1>>();
        app.init_resource::<Count<2>>().init_resource::<Count<3>>();
        if self.with_plugin {
            app.add_plugins(AffinityParallelPlugin);
        }
        self.add_systems(&mut app);
        app.finish();
        app.cleanup();
        app.update();
        let first_frame = began.elapsed();
        (0..FRAMES).for_each(|_| app.update());
        let began = Instant::now();
        app.add_systems(Update, count::<0>);
        app.update();
        Took { first_frame, frame_after_change: began.elapsed() }
    }

    /// Every fifth has a condition.
    fn add_systems(self, app: &mut App) {
        for number in 0..self.systems {
            let system = match number % 4 {
                0 => count::<0>.into_configs(),
                1 => count::<1>.into_configs(),
                2 => count::<2>.into_configs(),
                _ => count::<3>.into_configs(),
            };
            let system = if number.is_multiple_of(5) { system.run_if(|| true) } else { system };
            let system = if self.in_steps { system.in_set(Step(number / SET)) } else { system };
            app.add_systems(Update, system);
        }
        for step in 1..self.systems / SET {
            app.configure_sets(Update, Step(step).after(Step(step - 1)));
        }
    }
}

pub fn run(workers: usize, rounds: u32) -> Result<(), String> {
    let mut lines = vec![
        [
            "`Update`",
            "first frame without the plugin",
            "with it",
            "x",
            "frame after a change without it",
            "with it",
            "x",
        ]
        .map(String::from),
    ];
    let rounds = rounds.div_ceil(ROUNDS_OF_OTHERS);
    for systems in SIZES {
        for in_steps in [false, true] {
            let order = if in_steps { ", ten at a time" } else { "" };
            lines.push(line(format!("{} systems{order}", grouped(systems)), rounds, |with_plugin| {
                Contents { systems, in_steps, with_plugin }.run(workers)
            }));
        }
    }
    print_table("Until an app's first frame is over, and the frame after a system was added", &lines);
    Ok(())
}

/// Medians of apps that take turns.
fn line(name: String, rounds: u32, run: impl Fn(bool) -> Took) -> [String; 7] {
    // The first ones fetch the code.
    _ = [false, true].map(&run);
    let turns: Vec<_> = (0..rounds).map(|_| [false, true].map(&run)).collect();
    let medians = |of: fn(&Took) -> Duration| {
        [0, 1].map(|contest| median(turns.iter().map(|turn| of(&turn[contest]).as_secs_f64()).collect()))
    };
    let [first, after] = [medians(|took| took.first_frame), medians(|took| took.frame_after_change)];
    let shown = |[without, with]: [f64; 2]| {
        let [without_plugin, with_it] = [without, with].map(|time| duration(Duration::from_secs_f64(time)));
        [without_plugin, with_it, format!("{:.2}", with / without)]
    };
    let [[first, first_with, ratio], [after, after_with, after_ratio]] = [first, after].map(shown);
    [name, first, first_with, ratio, after, after_with, after_ratio]
}
