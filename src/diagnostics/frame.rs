//! One frame from its begin to its end.

use std::ops::Range;

use super::AffinityDiagnostics;
use crate::{pool::now, record::FrameSpan, settings::SchedulerMode};

impl AffinityDiagnostics {
    pub(super) fn begin_frame(&mut self, now: u64) {
        self.delta = if self.began == 0 { 0 } else { now - self.began };
        self.began = now;
    }

    /// Adds the frame to the history; `extent` is from the first tagged system's begin to the last one's end.
    pub(super) fn end_frame(&mut self, extent: Option<Range<u64>>, mode: SchedulerMode) -> FrameSpan {
        let extent = extent.unwrap_or(self.began..self.began);
        let tagged = self.systems.iter().map(|system| system.total.as_nanos() as u64).sum();
        let calls = self.systems.iter().map(|system| system.calls).sum();
        let frame = FrameSpan {
            number: self.frames,
            begin: self.began,
            end: now(),
            delta: self.delta,
            tagged_begin: extent.start,
            tagged_end: extent.end,
            tagged: tagged - self.tagged,
            calls: calls - self.calls,
            mode,
        };
        (self.tagged, self.calls) = (tagged, calls);
        self.history.push(frame);
        frame
    }
}
