//! What a player may set at an intersection with signals.

use std::fmt;
use std::ops::RangeInclusive;

use super::Timing;

/// A timing that no signals can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimingError(Timing);

impl Timing {
    /// A shorter cycle is mostly clearance, a longer one tries every driver's patience.
    pub const CYCLES: RangeInclusive<u16> = 20..=180;

    /// Green that each of the two phases must have, so that a few cars can pass.
    pub const SHORTEST_GREEN: u16 = 5;

    /// How long the main road may have green in a cycle.
    pub fn greens(cycle: u16) -> RangeInclusive<u16> {
        Self::SHORTEST_GREEN..=cycle.saturating_sub(Self::SHORTEST_GREEN + 2 * Self::CLEARANCE)
    }

    pub fn check(self) -> Result<(), TimingError> {
        let possible = Self::CYCLES.contains(&self.cycle)
            && Self::greens(self.cycle).contains(&self.main_green)
            && self.offset < self.cycle;
        if possible { Ok(()) } else { Err(TimingError(self)) }
    }
}

impl fmt::Display for TimingError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Timing { cycle, main_green, offset } = self.0;
        let (cycles, least) = (Timing::CYCLES, Timing::SHORTEST_GREEN);
        write!(
            out,
            "a cycle of {cycle} s with {main_green} s of main green at offset {offset} s: the cycle may be {} to {} s, each \
             green at least {least} s, and the offset less than the cycle",
            cycles.start(),
            cycles.end(),
        )
    }
}

impl std::error::Error for TimingError {}
