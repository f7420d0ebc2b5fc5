//! What each mode achieves, kept when the mode changes.

use std::time::Duration;

use crate::{record::FrameSpan, settings::SchedulerMode};

/// How long frames take in one mode. Averages over about a second of its last frames; a frame in
/// which the mode changed is left out.
///
/// ```
/// use bevy::prelude::*;
/// use bevy_affinity::prelude::*;
///
/// fn report(diagnostics: Res<AffinityDiagnostics>) {
///     for mode in &diagnostics.modes {
///         println!("{:?}: {:?} a frame, tagged systems {:?} of it", mode.mode, mode.frame_time, mode.tagged_time);
///     }
/// }
/// # App::new().add_plugins(AffinityParallelPlugin).add_systems(Last, report).update();
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModeDiagnostics {
    /// The mode.
    pub mode: SchedulerMode,
    /// Frames that are in the averages, over all times that the mode was on.
    pub frames: u64,
    /// From one frame's begin to the next one's.
    pub frame_time: Duration,
    /// All tagged systems of a frame together.
    pub tagged_time: Duration,
    /// One call of a tagged system: comparable also when frames have different numbers of
    /// simulation steps.
    pub call_time: Duration,
    /// The last frame that ended in this mode: one that does not follow it may have begun in
    /// another.
    last_number: Option<u64>,
}

/// A new frame counts as one part in this many: about a second at 60 frames a second.
const SMOOTHING: u64 = 32;

/// Adds a frame to the averages of its mode, if it ran in that mode from begin to end.
pub(super) fn observe_mode(modes: &mut Vec<ModeDiagnostics>, frame: &FrameSpan) {
    let known = modes.iter().position(|known| known.mode == frame.mode);
    let index = known.unwrap_or_else(|| {
        modes.push(ModeDiagnostics::new(frame.mode));
        modes.len() - 1
    });
    modes[index].observe(frame);
}

impl ModeDiagnostics {
    fn new(mode: SchedulerMode) -> Self {
        let zero = Duration::ZERO;
        Self { mode, frames: 0, frame_time: zero, tagged_time: zero, call_time: zero, last_number: None }
    }

    fn observe(&mut self, frame: &FrameSpan) {
        let before = self.last_number.replace(frame.number);
        if before.is_none_or(|before| before + 1 != frame.number) {
            return;
        }
        self.frames += 1;
        let weight = self.frames.min(SMOOTHING) as f64;
        smooth(&mut self.frame_time, frame.delta as f64, weight);
        smooth(&mut self.tagged_time, frame.tagged as f64, weight);
        if frame.calls > 0 {
            smooth(&mut self.call_time, frame.tagged as f64 / frame.calls as f64, weight);
        }
    }
}

/// Moves `average` towards `nanoseconds` by one `weight`th of the way.
fn smooth(average: &mut Duration, nanoseconds: f64, weight: f64) {
    let before = average.as_nanos() as f64;
    *average = Duration::from_nanos((before + (nanoseconds - before) / weight) as u64);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(number: u64, mode: SchedulerMode, tagged: u64) -> FrameSpan {
        FrameSpan {
            number,
            begin: number * 1_000,
            end: number * 1_000 + tagged,
            delta: 1_000,
            tagged_begin: 0,
            tagged_end: 0,
            tagged,
            calls: 2,
            mode,
        }
    }

    #[test]
    fn a_mode_keeps_its_numbers_and_mixed_frames_are_left_out() {
        let mut modes = Vec::new();
        (1..=10).for_each(|number| observe_mode(&mut modes, &frame(number, SchedulerMode::Serial, 800)));
        let serial = modes[0];
        assert_eq!((serial.frames, serial.tagged_time.as_nanos()), (9, 800));
        // The first frame of the new mode is the one in which it changed.
        observe_mode(&mut modes, &frame(11, SchedulerMode::LockStep, 600));
        (12..=20).for_each(|number| observe_mode(&mut modes, &frame(number, SchedulerMode::LockStep, 400)));
        assert_eq!(modes[0], serial);
        assert_eq!((modes[1].frames, modes[1].call_time.as_nanos()), (9, 200));
    }

    #[test]
    fn averages_follow() {
        let mut modes = Vec::new();
        (1..=100).for_each(|number| observe_mode(&mut modes, &frame(number, SchedulerMode::Serial, 800)));
        (101..=400).for_each(|number| observe_mode(&mut modes, &frame(number, SchedulerMode::Serial, 400)));
        assert!(modes[0].tagged_time.as_nanos() < 440, "{:?}", modes[0]);
    }
}
