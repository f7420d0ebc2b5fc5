//! A trial: runs by another way in turns with runs by the present one.

use super::way::ScheduleWay;

/// Which runs of a trial go by the other way. Both ways have as many early runs as late ones, and
/// where a schedule runs twice a frame, as many first ones as second ones.
const OTHERS: [bool; 2 * RUNS] = [false, true, true, false, true, false, false, true];

/// Runs by each way.
pub(super) const RUNS: usize = 4;

/// The first run by another way that takes this many times as long as the present way is its last.
pub(super) const HOPELESS: f32 = 2.0;

#[derive(Clone, Debug)]
pub(super) struct Trial {
    present_way: ScheduleWay,
    pub(super) other: ScheduleWay,
    /// What a run by it takes at most, as far as is known: a first one that takes longer was
    /// interrupted.
    most: f32,
    /// Runs so far, of both ways.
    step: usize,
    present: Times,
    tried: Times,
}

/// What a trial found, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub(super) present: f32,
    pub(super) other: f32,
}

impl Trial {
    pub(super) fn of(present: ScheduleWay, other: ScheduleWay, most: f32) -> Self {
        Self { present_way: present, other, most, step: 0, present: Times::default(), tried: Times::default() }
    }

    /// The way of the next run.
    pub(super) fn next(&self) -> ScheduleWay {
        if OTHERS[self.step] { self.other } else { self.present_way }
    }

    /// Notes the run that was next. Returns what was found if it was the last.
    pub(super) fn observe(&mut self, nanoseconds: f32) -> Option<Found> {
        let by_other = OTHERS[self.step];
        if by_other { &mut self.tried } else { &mut self.present }.push(nanoseconds);
        self.step += 1;
        let present = self.present.typical();
        if by_other && self.tried.count == 1 && nanoseconds > HOPELESS * present {
            return Some(Found { present, other: nanoseconds.min(self.most) });
        }
        (self.step == OTHERS.len()).then(|| Found { present, other: self.tried.typical() })
    }
}

/// What the runs by one way took.
#[derive(Clone, Debug, Default)]
struct Times {
    times: [f32; RUNS],
    count: usize,
}

impl Times {
    fn push(&mut self, nanoseconds: f32) {
        self.times[self.count] = nanoseconds;
        self.count += 1;
    }

    /// The mean without the longest and, of more than two, the shortest: a run that was interrupted
    /// says little. Infinite if there are none.
    fn typical(&self) -> f32 {
        let mut sorted = self.times;
        let sorted = &mut sorted[..self.count];
        sorted.sort_unstable_by(f32::total_cmp);
        let middle = match self.count {
            0 => return f32::INFINITY,
            1 | 2 => &sorted[..1],
            all => &sorted[1..all - 1],
        };
        middle.iter().sum::<f32>() / middle.len() as f32
    }
}
