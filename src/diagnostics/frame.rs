//! One frame from its begin to its end.

use std::ops::Range;

use bevy_ecs::{
    prelude::{Res, ResMut},
    system::SystemParam,
};

use super::{AffinityDiagnostics, AffinityTimeline, modes::observe_mode, store::Mirror};
use crate::{
    context::Context,
    pool::now,
    record::{FrameSpan, Totals},
    schedule::LookedInto,
    settings::SchedulerMode,
};

/// To run at a frame's begin.
pub(crate) fn begin_frame(diagnostics: Option<ResMut<AffinityDiagnostics>>) {
    if let Some(mut diagnostics) = diagnostics {
        diagnostics.begin_frame(now());
    }
}

/// Those that are brought up to date at a frame's end: diagnostics, timeline and Bevy's
/// diagnostics. Does without whatever a user has removed.
#[derive(SystemParam)]
pub(crate) struct Observers<'w, 's> {
    diagnostics: Option<ResMut<'w, AffinityDiagnostics>>,
    timeline: Option<ResMut<'w, AffinityTimeline>>,
    mode: Option<Res<'w, SchedulerMode>>,
    looked_into: Option<Res<'w, LookedInto>>,
    mirror: Mirror<'w, 's>,
}

impl Observers<'_, '_> {
    pub(crate) fn end_frame(self, context: &Context) {
        let Self { diagnostics, timeline, mode, looked_into, mut mirror } = self;
        let Some(mut diagnostics) = diagnostics else { return };
        diagnostics.frames += 1;
        diagnostics.pull(context, looked_into.as_deref());
        let mode = mode.map(|mode| *mode).unwrap_or_default();
        let frame = diagnostics.end_frame(context.systems.take_extent(), context.systems.totals(), mode);
        observe_mode(&mut diagnostics.modes, &frame);
        if let Some(mut timeline) = timeline {
            timeline.take(&context.recorder, frame, &diagnostics.places);
        }
        mirror.update(&diagnostics);
    }
}

impl AffinityDiagnostics {
    fn begin_frame(&mut self, now: u64) {
        self.delta = if self.began == 0 { 0 } else { now.saturating_sub(self.began) };
        self.began = now;
    }

    /// Adds the frame to the history; `extent` is from the first tagged system's begin to the last
    /// one's end, `totals` are those so far.
    fn end_frame(&mut self, extent: Option<Range<u64>>, totals: Totals, mode: SchedulerMode) -> FrameSpan {
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
