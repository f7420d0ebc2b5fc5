//! How a challenge goes: the time of a trip against the city that nobody touches.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Challenge;
use crate::tally::{self, Tally};

/// Stars of a challenge.
pub const MOST_STARS: usize = 3;

/// Minutes before anything is said: most trips that were under way at the beginning have ended.
pub const FIRST: usize = 5;

/// How a challenge went.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Standing {
    pub challenge: String,
    pub minutes: usize,
    /// Seconds under way for each trip that has ended; trips that do not end count too, and four
    /// hours for each that is stuck.
    pub seconds_a_trip: f64,
    /// The same in the city that nobody touches.
    pub untouched_seconds_a_trip: f64,
    pub stars: usize,
}

impl Standing {
    /// How it stands after the minutes that both cities have been through; nothing for the first
    /// few. What comes after the end of the challenge does not count.
    pub fn of(challenge: Challenge, played: &[Tally], untouched: &[Tally]) -> Option<Self> {
        let rules = challenge.rules();
        let minutes = played.len().min(untouched.len()).min(rules.minutes as usize);
        let seconds = |tallies: &[Tally]| tally::seconds_a_trip(&tallies[..minutes]);
        (minutes >= FIRST).then(|| {
            let mut standing = Self {
                challenge: challenge.name(),
                minutes,
                seconds_a_trip: seconds(played),
                untouched_seconds_a_trip: seconds(untouched),
                stars: 0,
            };
            standing.stars = rules.stars.iter().filter(|&&asked| standing.saved() >= asked).count();
            standing
        })
    }

    /// The part of the time that the player saves.
    pub fn saved(&self) -> f64 {
        1.0 - self.seconds_a_trip / self.untouched_seconds_a_trip.max(1.0)
    }
}

impl fmt::Display for Standing {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seconds_a_trip: yours, untouched_seconds_a_trip: untouched, stars, .. } = self;
        let (share, word) = match self.saved() * 100.0 {
            saved if saved < 0.0 => (-saved, "more"),
            saved => (saved, "less"),
        };
        write!(
            out,
            "a trip takes {yours:.1} s, {share:.1}% {word} than in the untouched city ({untouched:.1} s): {stars} of \
             {MOST_STARS} stars"
        )
    }
}
