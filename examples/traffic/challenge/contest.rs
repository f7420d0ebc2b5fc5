//! A challenge without a window: the played city and the untouched one, step by step.

use std::sync::Arc;

use super::{Challenge, Standing};
use crate::city::City;
use crate::measure::Simulation;
use crate::model::{Order, Refusal};
use crate::plain::Plain;
use crate::tally::{MINUTE, Tally};

/// The untouched city, and what has happened in both.
pub struct Contest {
    challenge: Challenge,
    city: Plain,
    /// Steps before it counts.
    warmup: u32,
    steps: u32,
    played: Vec<Tally>,
    untouched: Vec<Tally>,
}

impl Contest {
    /// Of the player's own orders rush hours come to both cities: both have to cope with them.
    pub fn new(challenge: Challenge, city: &Arc<City>, warmup: u32, own: &[(u32, Order)]) -> Result<Self, Refusal> {
        let mut untouched = Plain::new(Arc::clone(city));
        let mut shared = challenge.given(city);
        shared.extend(own.iter().filter(|(_, order)| order.is_for_all()));
        untouched.plan(&shared)?;
        Ok(Self { challenge, city: untouched, warmup, steps: 0, played: Vec::new(), untouched: Vec::new() })
    }

    /// The played city has made a step.
    pub fn follow(&mut self, played: &mut dyn Simulation) {
        self.city.step();
        self.steps += 1;
        if self.steps > self.warmup && self.steps.is_multiple_of(MINUTE) {
            let tally = |city: &mut dyn Simulation| Tally::new(self.steps, &city.totals(), [].into_iter());
            let tallies = (tally(played), tally(&mut self.city));
            self.played.push(tallies.0);
            self.untouched.push(tallies.1);
        }
    }

    pub fn standing(&self) -> Option<Standing> {
        Standing::of(self.challenge, &self.played, &self.untouched)
    }
}
