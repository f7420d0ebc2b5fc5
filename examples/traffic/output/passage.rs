//! What happened on a link in a quarter hour.

use crate::model::{LinkState, PARTS};

/// The cars of a link in a quarter hour.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Passage {
    pub entered: u64,
    pub left: u64,
    /// Seconds that those who left have spent on the link.
    pub seconds: f64,
}

impl Passage {
    pub fn between(before: &LinkState, now: &LinkState) -> Self {
        Self {
            entered: now.entered.saturating_sub(before.entered),
            left: now.left.saturating_sub(before.left),
            seconds: now.parts_spent.saturating_sub(before.parts_spent) as f64 / f64::from(PARTS),
        }
    }
}
