//! Group `sweep`: add one to everything, in slices and in components, small and large.

pub mod changed;
mod components;
mod slice;
pub mod uneven;

use crate::setup::Setup;

pub fn run(setup: &Setup) -> Result<(), String> {
    slice::run(setup)?;
    components::run(setup)
}
