//! When drivers look for other ways, and by what.

use crate::city::City;
use crate::model::Passed;

/// Cars that must have passed for their mean wait to mean something.
const FEWEST: u32 = 3;

/// What drivers have lived through, link by link.
#[derive(Clone, Debug, Default)]
pub struct Experience {
    /// What had passed when somebody last asked.
    earlier: Vec<Passed>,
    /// Mean waits, in tenths of a second: half from the last interval, half from those before.
    waits: Vec<Option<u32>>,
}

impl Experience {
    /// Whether drivers look for other ways before second `now` is simulated.
    pub fn is_due(city: &City, now: u32) -> bool {
        city.replans_every().is_some_and(|interval| now > 0 && now.is_multiple_of(interval))
    }

    /// Learns what has passed since the last time. `passed` tells for every link what has passed
    /// since the start.
    pub fn learn(&mut self, passed: impl Iterator<Item = Passed>) -> Vec<Option<u32>> {
        for (link, passed) in passed.enumerate() {
            if link == self.waits.len() {
                self.waits.push(None);
                self.earlier.push(Passed::default());
            }
            let lately = passed.since(self.earlier[link]);
            self.earlier[link] = passed;
            if lately.cars >= FEWEST {
                let wait = (lately.waited * 10 / u64::from(lately.cars)).min(u32::MAX.into()) as u32;
                self.waits[link] = Some(self.waits[link].map_or(wait, |before| before / 2 + wait / 2));
            } else if let Some(before) = self.waits[link] {
                // Too few cars to tell: what was bad may have become good.
                self.waits[link] = (before > 10).then_some(before / 2);
            }
        }
        self.waits.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_means_that_fade() {
        let mut experience = Experience::default();
        let passed = |cars, waited| [Passed { cars, waited }].into_iter();
        assert_eq!(experience.learn(passed(2, 100)), [None], "too few");
        assert_eq!(experience.learn(passed(12, 300)), [Some(200)]);
        assert_eq!(experience.learn(passed(22, 700)), [Some(300)]);
        assert_eq!(experience.learn(passed(22, 700)), [Some(150)], "nobody passed");
    }
}
