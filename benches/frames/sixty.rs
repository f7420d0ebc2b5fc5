//! Sixty frames a second.

use std::{
    thread,
    time::{Duration, Instant},
};

const FRAME: Duration = Duration::from_nanos(16_666_667);

/// Frames at that pace before a race: workers sleep between frames, and what that costs is learned
/// anew.
pub const FIRST_FRAMES: usize = 200;

/// Timed frames of a turn: it takes long.
pub const TIMED_FRAMES: u32 = 8;

/// Sleeps through what is left of a frame that `began` then.
pub fn sleep_through(began: Instant) {
    thread::sleep(FRAME.saturating_sub(began.elapsed()));
}
