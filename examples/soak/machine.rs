//! How the gang is set: modes and settings that have no part in any result.

use std::time::Duration;

use bevy_affinity::prelude::*;

use crate::dice::Dice;

const PINNINGS: [Pinning; 3] = [Pinning::Core, Pinning::CacheDomain, Pinning::Off];
const CHUNK_ROWS: [usize; 8] = [0, 1, 7, 64, 512, 4096, 100_000, usize::MAX];
const SPINS: [Duration; 6] = [
    Duration::ZERO,
    Duration::from_nanos(1),
    Duration::from_micros(50),
    Duration::from_millis(2),
    Duration::from_secs(3600),
    Duration::MAX,
];
const HEARTBEATS: [Duration; 6] = [
    Duration::ZERO,
    Duration::from_nanos(1),
    Duration::from_micros(20),
    Duration::from_micros(100),
    Duration::from_secs(1),
    Duration::MAX,
];

/// Any settings at all.
pub fn draw_settings(dice: &mut Dice) -> AffinitySettings {
    let workers = match dice.below(8) {
        0 => WorkerCount::Auto,
        workers => WorkerCount::Exactly(workers - 1),
    };
    let spare_cores = match dice.below(4) {
        0 => SpareCores::Exactly(dice.below(3)),
        1 => SpareCores::Exactly(usize::MAX),
        _ => SpareCores::Auto,
    };
    AffinitySettings {
        workers,
        spare_cores,
        pinning: dice.pick(&PINNINGS),
        chunk_rows: dice.pick(&CHUNK_ROWS),
        spin: dice.pick(&SPINS),
        heartbeat: dice.pick(&HEARTBEATS),
        avoid_busy_cores: dice.once_in(2),
        exclusive: dice.once_in(4),
    }
}

pub fn draw_mode(dice: &mut Dice) -> SchedulerMode {
    dice.pick(SchedulerMode::ALL)
}
