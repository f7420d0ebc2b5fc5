//! What the player may change at an intersection.

use super::Intersection;
use super::control::Rules;
use super::signal::{Programme, Timing};

impl Intersection {
    /// Whether its approaches take turns in two phases, which can be changed.
    pub fn has_signals(&self) -> bool {
        self.programme != Programme::ALWAYS_GREEN && !self.has_plan()
    }

    /// Whether the programme of its signals came with the map.
    pub fn has_plan(&self) -> bool {
        self.approaches.iter().any(|approach| approach.lanes().is_some())
    }

    #[cfg(feature = "game")]
    pub fn timing(&self) -> Timing {
        self.programme.timing()
    }

    /// Lets the signals follow another timing from second `now` on. Cars might move at once. Where
    /// there are none, or a programme came with the map, all stays as it is.
    pub fn set_timing(&mut self, timing: Timing, now: u32) {
        if !self.has_signals() {
            return;
        }
        let programme = Programme::timed(timing);
        for approach in self.approaches.iter_mut() {
            approach.change_programme(&self.programme, now);
        }
        self.programme = programme;
    }

    /// Has other rules hold from second `now` on. Cars might move at once. Where a programme came
    /// with the map, it stays.
    pub fn set_rules(&mut self, rules: Rules, now: u32) {
        if self.has_plan() {
            return;
        }
        let approaches = self.approaches.iter_mut().zip(rules.phases.into_iter().zip(rules.flows));
        for (approach, (phase, flow)) in approaches {
            approach.change_rules(&self.programme, phase, flow, now);
        }
        self.programme = rules.programme;
        self.right_of_way = rules.right_of_way.map(Box::new);
    }

    /// Closes or reopens the road that begins at an exit. Cars that wait for a full road decide
    /// anew, so they might move at once.
    pub fn set_closed(&mut self, exit: u8, closed: bool) {
        self.exits[usize::from(exit)].closed = closed;
        self.approaches.iter_mut().for_each(|approach| approach.unblock(0));
    }
}
