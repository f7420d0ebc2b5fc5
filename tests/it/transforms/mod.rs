//! `AffinityTransformPlugin` against Bevy's own systems.

mod differential;
mod hand_made;
mod order;
mod scenarios;
mod twins;
