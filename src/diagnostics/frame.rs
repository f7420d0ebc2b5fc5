//! One frame from its begin to its end.

use std::ops::Range;

use bevy_ecs::{
    prelude::{Local, Res, ResMut},
    system::SystemParam,
};

use super::{AffinityDiagnostics, AffinityTimeline, Places, modes::observe_mode, store::Mirror};
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
    places: Option<ResMut<'w, Places>>,
    /// What the tagged systems had done when the last frame ended.
    totals: Local<'s, Totals>,
    mirror: Mirror<'w, 's>,
}

impl Observers<'_, '_> {
    pub(crate) fn end_frame(self, context: &Context) {
        let Self { diagnostics, timeline, mode, looked_into, places, mut totals, mut mirror } = self;
        context.systems.end_frame();
        // Without diagnostics too: what ran meanwhile is not of the frame in which they are back.
        let before = std::mem::replace(&mut *totals, context.systems.totals());
        let (tagged, extent) = (totals.since(before), context.systems.take_extent());
        let (Some(mut diagnostics), Some(mut places)) = (diagnostics, places) else { return };
        places.update(&context.systems);
        diagnostics.frames += u64::from(diagnostics.began.is_some());
        diagnostics.pull(context, &places, looked_into.as_deref());
        // If not, they were reset in this frame: when it began is not known any more.
        let Some(began) = diagnostics.began else { return };
        let mode = mode.map(|mode| *mode).unwrap_or_default();
        let frame = diagnostics.end_frame(began, extent, tagged, mode);
        let is_mixed = context.systems.take_other_modes(mode);
        observe_mode(&mut diagnostics.modes, &frame, is_mixed);
        if let Some(mut timeline) = timeline {
            timeline.take(&context.recorder, frame, &places);
        }
        mirror.update(&diagnostics);
    }
}

impl AffinityDiagnostics {
    fn begin_frame(&mut self, now: u64) {
        self.delta = self.began.map_or(0, |before| now.saturating_sub(before));
        self.began = Some(now);
    }

    /// Adds a frame to the history, and when it `began`; `extent` is from the first tagged system's
    /// begin to the last one's end, `tagged` what they did together.
    fn end_frame(&mut self, began: u64, extent: Option<Range<u64>>, tagged: Totals, mode: SchedulerMode) -> FrameSpan {
        // Schedules may run between frames.
        let extent = extent.map_or(began..began, |ran| ran.start.max(began)..ran.end.max(began));
        let frame = FrameSpan {
            number: self.frames,
            begin: began,
            end: now(),
            delta: self.delta,
            tagged_begin: extent.start,
            tagged_end: extent.end,
            tagged: tagged.total,
            calls: tagged.calls,
            mode,
            workers: u16::try_from(self.workers.len()).unwrap_or(u16::MAX),
            cut: false,
        };
        self.history.push(frame);
        frame
    }
}
