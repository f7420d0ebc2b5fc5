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
    /// From one frame's begin to the next one's; of each frame that of the one before, since how
    /// long a frame takes is known in the next.
    pub frame_time: Duration,
    /// All tagged systems of a frame together.
    pub tagged_time: Duration,
    /// One call of a tagged system, whichever it is: not to be compared between modes where frames
    /// call different systems. [`speed_up`](super::AffinityDiagnostics::speed_up) compares like
    /// with like.
    pub call_time: Duration,
    /// The last frame that ended in this mode: one that does not follow it may have begun in
    /// another.
    last_number: Option<u64>,
    kinds: [Kind; KINDS],
}

/// Frames of one mode in which tagged systems ran equally often: as many steps of the simulation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Kind {
    calls: u64,
    /// How many there were, of late.
    frames: u64,
    tagged: Duration,
    /// The number of the last one.
    last: u64,
}

/// Kinds of frames that are kept of each mode: fast-forwarded games have frames with some more or
/// fewer steps than usual.
const KINDS: usize = 4;

/// More frames than that of one kind, and the counts of all kinds are halved: those that come no
/// more are no figure after some seconds.
const MOST_FRAMES: u64 = 128;

/// Frames of a kind that make a figure.
const LEAST_FRAMES: u64 = 4;

/// A new frame counts as one part in this many: about a second at 60 frames a second.
const SMOOTHING: u64 = 32;

/// Adds a frame to the averages of its mode, unless it `is_mixed`: tagged systems ran in others
/// too.
pub(super) fn observe_mode(modes: &mut Vec<ModeDiagnostics>, frame: &FrameSpan, is_mixed: bool) {
    let known = modes.iter().position(|known| known.mode == frame.mode);
    let index = known.unwrap_or_else(|| {
        modes.push(ModeDiagnostics::new(frame.mode));
        modes.len() - 1
    });
    modes[index].observe(frame, is_mixed);
}

impl ModeDiagnostics {
    fn new(mode: SchedulerMode) -> Self {
        let zero = Duration::ZERO;
        let kinds = [Kind::default(); KINDS];
        Self { mode, frames: 0, frame_time: zero, tagged_time: zero, call_time: zero, last_number: None, kinds }
    }

    /// The number of the last frame that ended in this mode: how old its figures are.
    pub fn last_frame(&self) -> Option<u64> {
        self.last_number
    }

    /// How many times as long frames of this mode take as those of `other` in which tagged systems
    /// ran as often; of several such kinds the most frequent. `None` if there is none.
    pub(super) fn ratio_to(&self, other: &Self) -> Option<f64> {
        let known = |kind: &&Kind| kind.frames >= LEAST_FRAMES && kind.tagged > Duration::ZERO;
        let pairs = self.kinds.iter().filter(known).filter_map(|kind| {
            let like = other.kinds.iter().filter(known).find(|like| like.calls == kind.calls)?;
            Some((kind, like))
        });
        let (own, others) = pairs.max_by_key(|(kind, like)| kind.frames.min(like.frames))?;
        Some(own.tagged.div_duration_f64(others.tagged))
    }

    fn observe(&mut self, frame: &FrameSpan, is_mixed: bool) {
        let before = self.last_number.replace(frame.number);
        if is_mixed || before.is_none_or(|before| before + 1 != frame.number) {
            return;
        }
        self.frames += 1;
        let weight = self.frames.min(SMOOTHING) as f64;
        smooth(&mut self.frame_time, frame.delta as f64, weight);
        smooth(&mut self.tagged_time, frame.tagged as f64, weight);
        if frame.calls > 0 {
            smooth(&mut self.call_time, frame.tagged as f64 / frame.calls as f64, weight);
            self.observe_kind(frame);
        }
    }

    fn observe_kind(&mut self, frame: &FrameSpan) {
        let known = self.kinds.iter().position(|kind| kind.calls == frame.calls);
        let oldest = || (0..KINDS).min_by_key(|&index| self.kinds[index].last).unwrap_or(0);
        let index = known.unwrap_or_else(oldest);
        let kind = &mut self.kinds[index];
        if known.is_none() {
            *kind = Kind { calls: frame.calls, ..Kind::default() };
        }
        (kind.frames, kind.last) = (kind.frames + 1, frame.number);
        smooth(&mut kind.tagged, frame.tagged as f64, kind.frames.min(SMOOTHING) as f64);
        if kind.frames > MOST_FRAMES {
            self.kinds.iter_mut().for_each(|kind| kind.frames /= 2);
        }
    }
}

/// Moves `average` towards `nanoseconds` by one `weight`th of the way.
fn smooth(average: &mut Duration, nanoseconds: f64, weight: f64) {
    let before = average.as_nanos() as f64;
    let step = (nanoseconds - before) / weight;
    // Of whole nanoseconds, away from zero: it would stop some before it is there.
    let step = if step > 0.0 { step.ceil() } else { step.floor() };
    *average = Duration::from_nanos((before + step) as u64);
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
            workers: 1,
            cut: false,
        }
    }

    #[test]
    fn a_mode_keeps_its_numbers_and_mixed_frames_are_left_out() {
        let mut modes = Vec::new();
        (1..=10).for_each(|number| observe_mode(&mut modes, &frame(number, SchedulerMode::Serial, 800), false));
        let serial = modes[0];
        assert_eq!((serial.frames, serial.tagged_time.as_nanos()), (9, 800));
        // The first frame of the new mode is the one in which it changed.
        observe_mode(&mut modes, &frame(11, SchedulerMode::LockStep, 600), false);
        (12..=20).for_each(|number| observe_mode(&mut modes, &frame(number, SchedulerMode::LockStep, 400), false));
        assert_eq!(modes[0], serial);
        assert_eq!((modes[1].frames, modes[1].call_time.as_nanos()), (9, 200));
        // It changed and changed back.
        let before = modes[1];
        observe_mode(&mut modes, &frame(21, SchedulerMode::LockStep, 9_000), true);
        assert_eq!((modes[1].frames, modes[1].tagged_time), (before.frames, before.tagged_time));
    }

    #[test]
    fn only_frames_with_as_many_calls_are_compared() {
        let mut modes = Vec::new();
        let mut run = |mode, numbers: std::ops::Range<u64>, calls, tagged| {
            for number in numbers {
                observe_mode(&mut modes, &FrameSpan { calls, ..frame(number, mode, tagged) }, false);
            }
            modes.clone()
        };
        run(SchedulerMode::Serial, 1..20, 2, 800);
        let apart = run(SchedulerMode::LockStep, 20..40, 6, 900);
        assert_eq!(apart[0].ratio_to(&apart[1]), None, "a frame of six calls is other work than one of two");
        let like = run(SchedulerMode::LockStep, 40..60, 2, 400);
        assert_eq!(like[0].ratio_to(&like[1]), Some(2.0));
    }

    #[test]
    fn kinds_of_frames_that_come_no_more_give_way() {
        let mut modes = Vec::new();
        let mut run = |mode, numbers: std::ops::Range<u64>, calls: &[u64], tagged| {
            for number in numbers {
                let calls = calls[number as usize % calls.len()];
                observe_mode(&mut modes, &FrameSpan { calls, ..frame(number, mode, tagged) }, false);
            }
            modes.clone()
        };
        // Four kinds for an hour, in which one mode takes twice as long as the other.
        run(SchedulerMode::Serial, 1..100_000, &[10, 11, 12, 13], 800);
        run(SchedulerMode::LockStep, 100_000..200_000, &[10, 11, 12, 13], 400);
        // Two others for ten seconds, in which it takes four times as long.
        run(SchedulerMode::Serial, 200_000..200_600, &[20, 21], 1_600);
        let known = run(SchedulerMode::LockStep, 200_600..201_200, &[20, 21], 400);
        assert_eq!(known[0].ratio_to(&known[1]), Some(4.0));
    }

    #[test]
    fn averages_follow() {
        let mut modes = Vec::new();
        (1..=100).for_each(|number| observe_mode(&mut modes, &frame(number, SchedulerMode::Serial, 800), false));
        (101..=400).for_each(|number| observe_mode(&mut modes, &frame(number, SchedulerMode::Serial, 400), false));
        assert!(modes[0].tagged_time.as_nanos() < 440, "{:?}", modes[0]);
    }
}
