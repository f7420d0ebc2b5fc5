//! `scatter` against a serial model: every message arrives once, and those to one entity in the
//! order of the senders' rows.

mod drops;
mod edges;
mod later;
mod order;
mod timed_drops;

use bevy::prelude::*;

/// Folds a message into a receiver's state, so that the state tells the order of the messages.
fn chain(state: u64, message: u64) -> u64 {
    (state ^ message).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17)
}

/// What an entity has to say, and to whom.
#[derive(Component, Clone, Default)]
struct Sender {
    targets: Vec<Entity>,
    message: u64,
}

/// The chained messages of one entity.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
struct Received(u64);

/// The same, in a sparse set.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
#[component(storage = "SparseSet")]
struct ReceivedSparsely(u64);
