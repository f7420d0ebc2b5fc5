//! The ways to go in a test or a bench, instead of those that take least.

use super::way::{ScheduleWay, WAYS};

/// Which way each run goes, where it can be gone.
#[derive(Clone, Copy, Debug)]
pub enum Forced {
    /// All go this one.
    Always(ScheduleWay),
    /// Each goes any, in an order that this number stands for.
    Any(u64),
}

impl Forced {
    /// Of the run with this number.
    pub(super) fn way(self, run: u64) -> ScheduleWay {
        match self {
            Self::Always(way) => way,
            Self::Any(order) => {
                let odd = order.wrapping_mul(2).wrapping_add(1);
                let mixed = (run + 1).wrapping_mul(odd).wrapping_mul(0x9E37_79B9_7F4A_7C15);
                ScheduleWay::ALL[(mixed >> 32) as usize % WAYS]
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_way_is_gone_and_each_follows_each() {
        let ways = (0..200).map(|run| Forced::Any(7).way(run)).collect::<Vec<_>>();
        for one in ScheduleWay::ALL {
            assert!(
                ScheduleWay::ALL.iter().all(|other| ways.windows(2).any(|pair| pair == [*one, *other])),
                "{ways:?}"
            );
        }
    }
}
