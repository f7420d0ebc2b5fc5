//! Due rows against a sweep with a condition in plain Bevy: the same rows in the same calls, the
//! same times, the same changes, in every mode.

mod commands;
mod differential;
mod edges;
mod large;
mod panics;
mod reduce;
mod required;
mod saves;
mod scatter;
mod sparse;
mod visitors;
mod wakes;

use bevy::prelude::*;

/// What the clock shows.
#[derive(Resource, Clone, Copy, Debug, Default)]
struct Now(u64);

/// Folds a visit or a message into a row's state, so that the state tells their order.
fn chain(state: u64, message: u64) -> u64 {
    (state ^ message).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17)
}
