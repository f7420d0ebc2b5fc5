//! `AffinityTransformPlugin` against Bevy's own systems.

#[path = "../common/mod.rs"]
#[expect(dead_code, reason = "these tests do not ask who swept which rows")]
mod common;
mod differential;
mod hand_made;
mod order;
mod scenarios;
mod twins;
