//! One frame from its begin to its end.

use std::ops::Range;

use super::AffinityDiagnostics;
use crate::{
    pool::now,
    record::{FrameSpan, Totals},
    settings::SchedulerMode,
};

impl AffinityDiagnostics {
    pub(super) fn begin_frame(&mut self, now: u64) {
        self.delta = if self.began == 0 { 0 } else { now.saturating_sub(self.began) };
        self.began = now;
    }

    /// Adds the frame to the history; `extent` is from the first tagged system's begin to the last
    /// one's end, `totals` are those so far.
    pub(super) fn end_frame(&mut self, extent: Option<Range<u64>>, totals: Totals, mode: SchedulerMode) -> FrameSpan {
        let extent = extent.unwrap_or(self.began..self.began);
        // They begin anew if the world comes into another app.
        let before = std::mem::replace(&mut self.totals, totals);
        let frame = FrameSpan {
            number: self.frames,
            begin: self.began,
            end: now(),
            delta: self.delta,
            tagged_begin: extent.start,
            tagged_end: extent.end,
            tagged: totals.total.saturating_sub(before.total),
            calls: totals.calls.saturating_sub(before.calls),
            mode,
        };
        self.history.push(frame);
        frame
    }
}
