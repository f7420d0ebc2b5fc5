//! [`AffinityTimeline`]: what every worker did when.

use std::{ops::Range, sync::Arc};

use bevy_ecs::prelude::Resource;

use super::places::Places;
use crate::{
    pool::now,
    record::{FrameSpan, Recorder, Ring, STAGED_SPANS, Span, SpanKind, StageSpan},
};

/// What every worker and every tagged system did in the last frames: bars to draw, or to write to a
/// trace file.
///
/// Nothing is recorded until [`record`](Self::record) asks for it; then each round costs some
/// dozens of nanoseconds for each worker more. The last 65,536 spans and the last 1,024 frames are
/// kept, in memory (9 MiB) that is allocated when recording is first asked for. Spans are added at
/// the end of each frame: its last 8,192.
///
/// ```
/// use bevy::prelude::*;
/// use bevy_affinity::prelude::*;
///
/// #[derive(Component)]
/// struct Position(f32);
///
/// fn drive(mut cars: AffineQuery<&mut Position>) {
///     cars.par_iter_mut().for_each(|mut position| position.0 += 1.0);
/// }
///
/// let mut app = App::new();
/// app.add_plugins(AffinityParallelPlugin).add_systems(Update, drive.affine());
/// app.world_mut().resource_mut::<AffinityTimeline>().record(true);
/// app.update();
/// let timeline = app.world().resource::<AffinityTimeline>();
/// let frame = timeline.frames().next_back().expect("a frame was recorded");
/// for span in timeline.spans_in(frame.begin..frame.end) {
///     println!("worker {}: {:?} of system {:?} for {:?}", span.worker, span.kind, span.system, span.duration());
/// }
/// ```
#[derive(Resource)]
pub struct AffinityTimeline {
    recorder: Arc<Recorder>,
    spans: Ring<Span>,
    frames: Ring<FrameSpan>,
    stages: Ring<StageSpan>,
    /// Spans of before this moment were lost: of a frame that had more than are kept of one, or by
    /// [`clear`](Self::clear).
    lost_until: u64,
    /// When recording was turned on or off since the last frame ended: in the middle of one, mostly.
    turned: Option<u64>,
    /// Whether [`record`](Self::record) asked for a recording, and whether the overlay shows one.
    asked: bool,
    watched: bool,
}

/// Spans that are kept: three seconds of eight workers and twenty systems at 60 frames a second. 7
/// MiB.
const SPANS: usize = 1 << 16;

/// Frames that are kept. 72 KiB.
const FRAMES: usize = 1 << 10;

/// So long after its end a span may be recorded, in nanoseconds: a worker that runs systems of its
/// own may lose its core in between.
const RECORDED_LATE: u64 = 100_000_000;

/// Stages that are kept: those of a thousand frames. 0.9 MiB.
const STAGES: usize = 1 << 14;

impl AffinityTimeline {
    pub(crate) fn new(recorder: Arc<Recorder>) -> Self {
        let (spans, frames, stages) = (Ring::default(), Ring::default(), Ring::default());
        Self { recorder, spans, frames, stages, lost_until: 0, turned: None, asked: false, watched: false }
    }

    /// Nanoseconds of the clock that all times of the timeline are in: since some moment after the
    /// process started.
    pub fn now() -> u64 {
        now()
    }

    /// Starts or stops recording. What was recorded is kept. While the overlay is open it records
    /// in any case.
    ///
    /// ```
    /// # use bevy::prelude::*;
    /// # use bevy_affinity::prelude::*;
    /// # let mut app = App::new();
    /// # app.add_plugins(AffinityParallelPlugin);
    /// app.world_mut().resource_mut::<AffinityTimeline>().record(true);
    /// app.update();
    /// let mut timeline = app.world_mut().resource_mut::<AffinityTimeline>();
    /// timeline.record(false);
    /// assert_eq!((timeline.is_recording(), timeline.frames().len()), (false, 1));
    /// ```
    pub fn record(&mut self, on: bool) {
        self.asked = on;
        self.start_or_stop();
    }

    /// Records for as long as the overlay is open, also if no other asked for it.
    #[cfg(feature = "overlay")]
    pub(crate) fn watch(&mut self, on: bool) {
        if self.watched != on {
            self.watched = on;
            self.start_or_stop();
        }
    }

    fn start_or_stop(&mut self) {
        let is_on = self.asked || self.watched;
        if is_on != self.is_recording() {
            self.turned = Some(now());
        }
        if is_on {
            self.spans.reserve(SPANS);
            self.frames.reserve(FRAMES);
            self.stages.reserve(STAGES);
            self.recorder.start();
        } else {
            self.recorder.stop();
        }
    }

    /// Whether spans are recorded.
    pub fn is_recording(&self) -> bool {
        self.recorder.recording().is_on()
    }

    /// All spans, in the order in which they were recorded: a round's when it ended, a system's
    /// after its rounds.
    pub fn spans(&self) -> impl DoubleEndedIterator<Item = &Span> + ExactSizeIterator {
        self.spans.values().iter()
    }

    /// The spans of which a part lies in `window`, waiting at the barrier included, in the order in
    /// which they were recorded. Fast if the window is among the last things recorded.
    pub fn spans_in(&self, window: Range<u64>) -> impl Iterator<Item = &Span> {
        let spans = self.spans.values();
        // A span is recorded when it is over, so they are nearly in the order of their ends.
        let first = spans.partition_point(|span| span.released < window.start.saturating_sub(RECORDED_LATE));
        spans.range(first..).filter(move |span| span.released >= window.start && span.called < window.end)
    }

    /// The frames that were recorded, the oldest first. Spans of the oldest ones may be gone.
    pub fn frames(&self) -> impl DoubleEndedIterator<Item = &FrameSpan> + ExactSizeIterator {
        self.frames.values().iter()
    }

    /// The last 16,384 stages of frames, 4,096 of each at most, in the order in which they ended:
    /// runs of the schedules that the plugin gave an executor, and parts of rendering.
    pub fn stages(&self) -> impl DoubleEndedIterator<Item = &StageSpan> + ExactSizeIterator {
        self.stages.values().iter()
    }

    /// The stages of which a part lies in `window`, in the order in which they ended.
    pub fn stages_in(&self, window: Range<u64>) -> impl Iterator<Item = &StageSpan> {
        self.stages().filter(move |stage| stage.end >= window.start && stage.begin < window.end)
    }

    /// From the begin of the oldest span, stage or frame to the end of the newest. `None` if there
    /// is none.
    pub fn extent(&self) -> Option<Range<u64>> {
        let (spans, stages, frames) = (self.spans.values(), self.stages.values(), self.frames.values());
        let begins = [
            spans.front().map(|first| first.called),
            stages.front().map(|first| first.begin),
            frames.front().map(|first| first.begin),
        ];
        let ends = [
            spans.back().map(|last| last.released),
            stages.back().map(|last| last.end),
            frames.back().map(|last| last.end),
        ];
        Some(begins.into_iter().flatten().min()?..ends.into_iter().flatten().max()?)
    }

    /// From when on no span was dropped to make room for newer ones.
    pub(crate) fn whole_since(&self) -> u64 {
        let oldest = self.spans.values().front().filter(|_| self.spans.is_full());
        oldest.map_or(0, |oldest| oldest.called).max(self.lost_until)
    }

    /// How much busier than the mean the busiest worker was in `window`: 0 if all were as busy, 1
    /// if it was twice as busy. Workers that were not busy at all count too. `None` if no round was
    /// recorded there.
    pub fn imbalance_in(&self, window: Range<u64>) -> Option<f64> {
        let mut busy = vec![0; self.workers_before(window.end)];
        for span in self.spans_in(window).filter(|span| !matches!(span.kind, SpanKind::System | SpanKind::Sweep)) {
            busy.resize(busy.len().max(span.worker + 1), 0);
            busy[span.worker] += span.end.saturating_sub(span.begin).saturating_sub(span.idle);
        }
        let mean = busy.iter().sum::<u64>() as f64 / busy.len().max(1) as f64;
        (mean > 0.0).then(|| busy.into_iter().max().unwrap_or(0) as f64 / mean - 1.0)
    }

    /// How many workers the gang had in the last frame that began before then; 0 if none is known.
    fn workers_before(&self, end: u64) -> usize {
        self.frames().rev().find(|frame| frame.begin < end).map_or(0, |frame| usize::from(frame.workers))
    }

    /// Forgets everything that was recorded.
    pub fn clear(&mut self) {
        // What waits for the frame's end too.
        self.recorder.drain(drop);
        self.recorder.drain_stages(drop);
        self.spans.clear();
        self.frames.clear();
        self.stages.clear();
        self.lost_until = now();
    }

    /// Takes what was recorded in `frame`, with the numbers of systems, and says by their places
    /// whose it was.
    pub(super) fn take(&mut self, recorder: &Recorder, frame: FrameSpan, places: &Places) {
        let cut = self.turned.take().is_some_and(|turned| turned >= frame.begin || !self.is_recording());
        let vacated = places.vacated();
        if !vacated.is_empty() {
            let whose_systems_are_gone = |span: &&mut Span| span.system.is_some_and(|place| vacated.contains(&place));
            self.spans.newest_mut().filter(whose_systems_are_gone).for_each(|span| span.system = None);
        }
        recorder.drain_stages(|stage| self.stages.push(stage));
        let mut drained = 0;
        recorder.drain(|span| {
            drained += 1;
            self.spans.push(Span { system: span.system.and_then(|number| places.find(number)), ..span });
        });
        if drained == STAGED_SPANS {
            self.lost_until = frame.end;
        }
        if self.is_recording() || drained > 0 {
            self.frames.push(FrameSpan { cut, ..frame });
        }
    }
}

impl std::fmt::Debug for AffinityTimeline {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AffinityTimeline")
            .field("recording", &self.is_recording())
            .field("spans", &self.spans.values().len())
            .field("frames", &self.frames.values().len())
            .field("stages", &self.stages.values().len())
            .finish()
    }
}

/// Without it there is no way to stop the recording.
impl Drop for AffinityTimeline {
    fn drop(&mut self) {
        self.recorder.stop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::SchedulerMode;

    /// From its begin to its end, 1,000 ns later.
    fn frame(begin: u64, workers: u16) -> FrameSpan {
        FrameSpan {
            number: 1,
            begin,
            end: begin + 1_000,
            delta: 1_000,
            tagged_begin: begin,
            tagged_end: begin,
            tagged: 0,
            calls: 0,
            mode: SchedulerMode::LockStep,
            workers,
            cut: false,
        }
    }

    #[test]
    fn workers_that_were_not_busy_count() {
        let mut timeline = AffinityTimeline::new(Arc::default());
        timeline.record(true);
        for (begin, workers) in [(1_000, 2), (2_000, 4)] {
            timeline.spans.push(Span::of_caller(SpanKind::Share, None, begin + 100..begin + 200));
            timeline.frames.push(frame(begin, workers));
        }
        let imbalance = |begin| timeline.imbalance_in(begin..begin + 1_000);
        assert_eq!([1_000, 2_000, 5_000].map(imbalance), [Some(1.0), Some(3.0), None]);
    }

    #[cfg(feature = "overlay")]
    #[test]
    fn who_asked_and_who_watches_do_not_end_each_others_recording() {
        let mut timeline = AffinityTimeline::new(Arc::default());
        timeline.record(true);
        timeline.watch(false);
        assert!(timeline.is_recording());
        timeline.watch(true);
        timeline.record(false);
        assert!(timeline.is_recording());
        timeline.watch(false);
        assert!(!timeline.is_recording());
    }
}
