//! A car on a link, in the queue of its downstream end.

use super::road::PARTS;

/// A car on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    pub car: u32,
    /// The first second in which the car can leave.
    pub exit_time: u32,
    /// Where the car stands in the hops of all routes.
    pub cursor: u32,
    /// The exit it wants at this intersection, or [`ARRIVE`](crate::routes::ARRIVE).
    pub exit: u8,
    /// How long before `exit_time` it reaches the stop line, in [`PARTS`] of a second.
    pub early: u8,
    /// Where signals tell movements apart: the lane in which it waits, once it has come to it.
    pub lane: u8,
}

impl Slot {
    /// The first second in which a car can leave that enters now, and how long before it reaches
    /// the stop line. The part of a second by which it came `early` here is not lost on the way.
    pub fn reach(now: u32, early: u8, drive_time: u32) -> (u32, u8) {
        let seconds = drive_time.saturating_sub(early.into()).div_ceil(PARTS).max(1);
        let early = (seconds * PARTS + u32::from(early)).saturating_sub(drive_time);
        (now.saturating_add(seconds), early.min(u8::MAX.into()) as u8)
    }

    /// How early the car is for what comes next, if it leaves in second `now`.
    pub fn lead(&self, now: u32) -> u8 {
        if now == self.exit_time { self.early } else { 0 }
    }
}
