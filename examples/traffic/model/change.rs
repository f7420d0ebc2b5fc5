//! What the player may change at an intersection.

use super::Intersection;
use super::signal::{Programme, Timing};

impl Intersection {
    /// Whether its approaches take turns.
    pub fn has_signals(&self) -> bool {
        self.programme != Programme::ALWAYS_GREEN
    }

    #[cfg(feature = "game")]
    pub fn timing(&self) -> Timing {
        self.programme.timing()
    }

    /// Lets the signals follow another timing from second `now` on. Cars might move at once.
    pub fn set_timing(&mut self, timing: Timing, now: u32) {
        let programme = Programme::timed(timing);
        for approach in self.approaches.iter_mut() {
            approach.change_programme(&self.programme, &programme, now);
        }
        self.programme = programme;
    }

    /// Closes or reopens the road that begins at an exit. Cars that wait for a full road decide
    /// anew, so they might move at once.
    pub fn set_closed(&mut self, exit: u8, closed: bool) {
        self.exits[usize::from(exit)].closed = closed;
        self.approaches.iter_mut().for_each(|approach| approach.unblock(0));
    }
}
