//! What it may cost to try other ways than the current one.

/// The most that is saved up, in nanoseconds, however long nothing was tried: what changes all the
/// time would be tried all the time.
const LARGEST: f32 = 1_000_000_000.0;

/// Time that may be spent on trials, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Budget(f32);

impl Budget {
    pub(crate) const fn new(nanoseconds: f32) -> Self {
        Self(nanoseconds)
    }

    /// Adds what is put aside of the time that calls, or runs, took.
    pub(crate) fn save(&mut self, nanoseconds: f32) {
        self.0 = (self.0 + nanoseconds).min(LARGEST);
    }

    /// Whether it is enough for what costs this many nanoseconds.
    pub(crate) fn pays_for(&self, nanoseconds: f32) -> bool {
        nanoseconds.min(LARGEST) <= self.0
    }

    pub(crate) fn spend(&mut self, nanoseconds: f32) {
        self.0 -= nanoseconds;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_saved_up_pays_for_whatever_costs_more() {
        let mut budget = Budget::new(5.0);
        assert!(budget.pays_for(5.0) && !budget.pays_for(6.0));
        (0..2_000).for_each(|_| budget.save(1e6));
        assert_eq!(budget, Budget::new(LARGEST));
        assert!(budget.pays_for(1e12));
        budget.spend(1.0e8);
        assert!(budget.pays_for(8e8) && !budget.pays_for(1e12));
    }
}
