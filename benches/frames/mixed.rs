//! Thirty systems of 1 to 50 us, of which some conflict and some are ordered.

use bevy::{
    ecs::{schedule::ScheduleConfigs, system::ScheduleSystem},
    prelude::*,
};

use crate::spin::spin;

const SYSTEMS: usize = 30;
const RESOURCES: usize = 6;
const MICROSECONDS: [u32; 9] = [1, 2, 3, 5, 8, 12, 20, 30, 50];

#[derive(Resource, Default)]
struct Shared<const N: usize>(u64);

#[derive(SystemSet, Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Numbered(usize);

/// A small generator of numbers, the same in every run.
pub struct Dice(u64);

impl Dice {
    pub fn new() -> Self {
        Self(4242)
    }

    pub fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }
}

fn writer<const N: usize>(microseconds: u32) -> ScheduleConfigs<ScheduleSystem> {
    (move |mut shared: ResMut<Shared<N>>| {
        shared.0 += 1;
        spin(microseconds);
    })
    .into_configs()
}

fn reader<const N: usize>(microseconds: u32) -> ScheduleConfigs<ScheduleSystem> {
    (move |_: Res<Shared<N>>| spin(microseconds)).into_configs()
}

type Make = fn(u32) -> ScheduleConfigs<ScheduleSystem>;
const WRITERS: [Make; RESOURCES] = [writer::<0>, writer::<1>, writer::<2>, writer::<3>, writer::<4>, writer::<5>];
const READERS: [Make; RESOURCES] = [reader::<0>, reader::<1>, reader::<2>, reader::<3>, reader::<4>, reader::<5>];

pub fn add_to(schedule: &mut Schedule, world: &mut World) {
    world.init_resource::<Shared<0>>();
    world.init_resource::<Shared<1>>();
    world.init_resource::<Shared<2>>();
    world.init_resource::<Shared<3>>();
    world.init_resource::<Shared<4>>();
    world.init_resource::<Shared<5>>();
    let mut dice = Dice::new();
    for number in 0..SYSTEMS {
        let microseconds = MICROSECONDS[dice.below(MICROSECONDS.len())];
        let resource = dice.below(RESOURCES);
        let mut system = match dice.below(3) {
            0 => WRITERS[resource](microseconds),
            1 => READERS[resource](microseconds),
            _ => (move || spin(microseconds)).into_configs(),
        };
        system = system.in_set(Numbered(number));
        if number > 3 && dice.below(4) == 0 {
            system = system.after(Numbered(dice.below(number)));
        }
        schedule.add_systems(system);
    }
}
