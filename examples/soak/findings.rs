//! What a soak found.

use std::time::Duration;

use crate::{memory::Samples, tally::Tally};

/// What a soak found.
pub struct Findings {
    pub tally: Tally,
    pub samples: Samples,
    pub took: Duration,
    pub difference: Option<Difference>,
}

/// Why a soak ended early.
#[derive(Clone, Debug)]
pub struct Difference {
    pub seed: u64,
    pub frame: u64,
    pub what: String,
}
