//! Group `matrix`: schedules by the number of systems, what each takes, how they depend on each
//! other and how many are tagged, by each executor.

use std::time::Duration;

use bevy::{
    ecs::{schedule::ScheduleConfigs, system::ScheduleSystem},
    prelude::*,
};
use bevy_affinity::prelude::*;

use crate::mixed::Dice;
use crate::schedules::{Repetition, race};
use crate::shared::report::{print_table, with_p99};
use crate::spin::spin;

/// What one race may take.
const BUDGET: Duration = Duration::from_millis(500);

const SYSTEMS: [usize; 5] = [1, 10, 30, 100, 300];
const MICROSECONDS: [u32; 5] = [0, 1, 5, 50, 1000];

/// What a schedule may take on one thread: no frame is longer.
const LONGEST: Duration = Duration::from_millis(16);

/// Shares of tagged systems, in percent, and the schedules in which they are varied.
const TAGGED: [usize; 3] = [0, 50, 100];
const VARIED: [(usize, u32); 2] = [(30, 5), (30, 50)];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Independent,
    Chained,
    /// A third after some system before it.
    Mixed,
}

/// One schedule.
#[derive(Clone, Copy)]
struct Cell {
    systems: usize,
    microseconds: u32,
    order: Order,
    tagged: usize,
}

#[derive(SystemSet, Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Numbered(usize);

impl Cell {
    fn all() -> impl Iterator<Item = Self> {
        let sizes = SYSTEMS.into_iter().flat_map(|systems| MICROSECONDS.map(|microseconds| (systems, microseconds)));
        let sizes = sizes.filter(|&(systems, microseconds)| {
            Duration::from_micros(u64::from(microseconds)) * systems as u32 <= LONGEST
        });
        sizes.flat_map(|(systems, microseconds)| {
            let orders = if systems == 1 { &[Order::Independent][..] } else { &Order::ALL };
            let shares = if VARIED.contains(&(systems, microseconds)) { &TAGGED[..] } else { &TAGGED[..1] };
            orders
                .iter()
                .flat_map(move |&order| shares.iter().map(move |&tagged| Self { systems, microseconds, order, tagged }))
        })
    }

    /// Without tags for Bevy's executors: they would bind systems to the main thread there.
    fn fill(self, schedule: &mut Schedule, world: &mut World) {
        let tagged = if world.contains_resource::<AffinityPool>() { self.tagged * self.systems } else { 0 };
        let mut dice = Dice::new();
        for number in 0..self.systems {
            let mut system = self.system(number * 100 < tagged).in_set(Numbered(number));
            match self.order {
                Order::Chained if number > 0 => system = system.after(Numbered(number - 1)),
                Order::Mixed if number > 0 && dice.below(3) == 0 => {
                    system = system.after(Numbered(dice.below(number)));
                }
                _ => {}
            }
            schedule.add_systems(system);
        }
    }

    fn system(self, is_tagged: bool) -> ScheduleConfigs<ScheduleSystem> {
        let microseconds = self.microseconds;
        let system = move |mut runs: Local<u32>| {
            *runs += 1;
            spin(microseconds);
        };
        if is_tagged { system.affine() } else { system.into_configs() }
    }

    fn name(self) -> String {
        let Self { systems, microseconds, order, tagged } = self;
        let order = format!("{order:?}").to_lowercase();
        let tagged = if tagged == 0 { String::new() } else { format!(", {tagged}% tagged") };
        format!("{systems} of {microseconds} us, {order}{tagged}")
    }
}

impl Order {
    const ALL: [Self; 3] = [Self::Independent, Self::Chained, Self::Mixed];
}

pub fn run(workers: usize, rounds: u32) -> Result<(), String> {
    let head = ["schedule", "Bevy, multi", "Bevy, single", "AffinityExecutor", "always on the gang", "x", "+"];
    let mut lines = vec![head.map(str::to_owned).to_vec()];
    for cell in Cell::all() {
        let standings =
            race(&|schedule, world| cell.fill(schedule, world), Repetition::ONE_RUN, workers, BUDGET).run(rounds)?;
        let best = if standings[0].median < standings[1].median { 0 } else { 1 };
        let ratio = standings[2].ratio_to(&standings[best]);
        let more = standings[2].excess_over(1.0, &standings[best]);
        let medians = standings.iter().map(with_p99).collect();
        let against = vec![format!("{ratio:.2}"), format!("{:.1} us", more / 1e3)];
        lines.push([vec![cell.name()], medians, against].concat());
    }
    print_table("Schedules by size, order and tags: medians (p99); against the faster of Bevy's executors", &lines);
    Ok(())
}
