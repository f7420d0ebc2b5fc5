//! A stretch of the recording as bars on lanes: a copy, so that it stays while the recording goes
//! on.

mod bar;
mod beside;

use std::{ops::Range, time::Duration};

#[cfg(test)]
pub(super) use bar::OUTSIDE;
pub(super) use bar::{Bar, BarKind, Lane, PRESENT};

use super::threads::Threads;
use crate::{
    diagnostics::{AffinityDiagnostics, AffinityTimeline},
    record::{FrameSpan, RoundEnds, Span, SpanKind},
    settings::{AffinitySettings, Pinning},
};

/// Frames that are copied, on either side of the frame on show: what one may want to drag into
/// view.
const FRAMES_AROUND: usize = 8;
/// The most spans that are copied: with more the copy would take longer than drawing them. Frames
/// of fast-forwarded games have thousands.
const MOST_SPANS: usize = 8_192;

/// Where bars come from.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub(super) timeline: &'a AffinityTimeline,
    pub(super) diagnostics: &'a AffinityDiagnostics,
    pub(super) settings: &'a AffinitySettings,
    pub(super) threads: &'a Threads,
}

/// The bars. Times are nanoseconds from the begin of the frame on show.
#[derive(Debug, Default)]
pub(super) struct Recorded {
    /// The number of the frame on show.
    pub(super) frame: u64,
    /// Schedules and rendering.
    stages: [Lane; 2],
    /// A lane for each worker; behind them one for fork/join, if there was any.
    workers: Vec<Lane>,
    /// The process's other threads.
    threads: Vec<Lane>,
    /// Where frames begin.
    pub(super) borders: Vec<f64>,
    /// How long the frame on show lasted: to the begin of the next one; if that is not known yet,
    /// as long as the frame before.
    pub(super) length: f64,
    /// From the first to the last tagged system of the frame on show.
    pub(super) tagged: Range<f64>,
    /// What was copied, in times of the recording.
    pub(super) window: Range<u64>,
    /// The same in those of the bars.
    pub(super) copied: Range<f64>,
}

impl Recorded {
    /// All lanes, from the top down.
    pub(super) fn lanes(&self) -> impl Iterator<Item = &Lane> {
        let stages = self.stages.iter().filter(|lane| !lane.bars.is_empty());
        stages.chain(&self.workers).chain(&self.threads)
    }

    pub(super) fn lane(&self, index: usize) -> Option<&Lane> {
        self.lanes().nth(index)
    }

    /// Copies the newest frame of which the end is known, which is that before the last, and those
    /// around it. Nothing changes if no frame was recorded.
    pub(super) fn load_newest(&mut self, source: Source) {
        let mut frames = source.timeline.frames().rev();
        let newest = frames.next();
        if let Some(frame) = frames.next().or(newest) {
            self.load(source, frame);
        }
    }

    /// Copies the frame with this number and those around it; returns whether it was still there.
    pub(super) fn load_frame(&mut self, source: Source, number: u64) -> bool {
        let oldest = source.timeline.whole_since();
        // The newest with this number: diagnostics that were reset begin to count anew.
        let mut frames = source.timeline.frames().rev();
        let frame = frames.find(|frame| frame.number == number && frame.begin >= oldest);
        if let Some(frame) = frame {
            self.load(source, frame);
        }
        frame.is_some()
    }

    fn load(&mut self, source: Source, frame: &FrameSpan) {
        self.clear();
        let Source { timeline, diagnostics, settings, .. } = source;
        let origin = frame.begin;
        let since = |time: u64| time as f64 - origin as f64;
        self.frame = frame.number;
        let next = timeline.frames().find(|next| next.follows(frame));
        self.length = next.map_or(frame.delta, |next| next.delta).max(frame.end - frame.begin) as f64;
        self.tagged = since(frame.tagged_begin)..since(frame.tagged_end);
        self.window = window_around(timeline, frame);
        self.copied = since(self.window.start)..since(self.window.end);
        self.name_lanes(diagnostics, settings.pinning);
        self.add(timeline.spans_in(self.window.clone()).take(MOST_SPANS), origin);
        self.finish_lanes(diagnostics.workers.len(), settings.spin);
        self.stages = beside::stages(&source, self.window.clone(), origin);
        self.threads = beside::threads(&source, self.window.clone(), origin);
        let window = &self.window;
        let begins = timeline.frames().map(|frame| frame.begin).filter(|begin| window.contains(begin));
        self.borders.extend(begins.map(since));
    }

    #[cfg(test)]
    pub(super) fn of_workers(workers: Vec<Lane>) -> Self {
        Self { workers, ..Self::default() }
    }

    fn clear(&mut self) {
        self.workers.iter_mut().for_each(|lane| lane.bars.clear());
        self.borders.clear();
    }

    fn name_lanes(&mut self, diagnostics: &AffinityDiagnostics, pinning: Pinning) {
        self.workers.resize_with(diagnostics.workers.len() + 1, Lane::default);
        for (worker, lane) in diagnostics.workers.iter().zip(&mut self.workers) {
            lane.set_name(worker.index, worker.core, pinning);
        }
        let sessions = &mut self.workers[diagnostics.workers.len()];
        sessions.name.replace_range(.., "fork/join");
        sessions.place.replace_range(.., "promotions, joins");
    }

    /// Adds what workers did, in the order in which it was recorded.
    fn add<'a>(&mut self, spans: impl IntoIterator<Item = &'a Span>, origin: u64) {
        let mut ends = RoundEnds::default();
        spans.into_iter().for_each(|span| self.add_span(span, ends.done(span), origin));
    }

    /// Adds what a worker did, and its waits before it and behind it, from when it was `done`.
    fn add_span(&mut self, span: &Span, done: Option<u64>, origin: u64) {
        // Of a gang that has more workers than the one of today.
        if span.worker + 1 >= self.workers.len() {
            return;
        }
        let bars = &mut self.workers[span.worker].bars;
        if let Some(done) = done {
            let waits = [span.called..span.begin, done..span.released];
            let waits = waits.into_iter().filter(|wait| wait.start < wait.end);
            bars.extend(waits.map(|wait| Bar::new(BarKind::Wait, span, wait, origin)));
        }
        let kind = if span.kind == SpanKind::System { BarKind::System } else { BarKind::Work };
        bars.push(Bar {
            rows: span.rows,
            stolen_rows: span.stolen_rows,
            taken_from: span.is_taken_over().then_some(span.share_of),
            idle: span.idle as f64,
            promotions: span.jobs_taken,
            joins: span.joins_published,
            ..Bar::new(kind, span, span.begin..span.end, origin)
        });
        if span.kind == SpanKind::Session {
            self.add_to_session(span, origin);
        }
    }

    /// Sums up what the workers did in a session.
    fn add_to_session(&mut self, span: &Span, origin: u64) {
        let bar = Bar::new(BarKind::Session, span, span.called..span.released, origin);
        let sessions = &mut self.workers.last_mut().expect("a lane for fork/join").bars;
        if sessions.last().is_none_or(|last| last.begin != bar.begin) {
            sessions.push(Bar { core: None, ..bar.clone() });
        }
        let session = sessions.last_mut().expect("it was pushed just now");
        session.promotions += span.jobs_taken;
        session.joins += span.joins_published;
        session.helpers += u32::from(span.jobs_taken > 0);
    }

    fn finish_lanes(&mut self, workers: usize, spin: Duration) {
        for (index, lane) in self.workers.iter_mut().enumerate() {
            lane.sort();
            lane.find_dealt_out();
            if (1..workers).contains(&index) {
                lane.add_parked(spin.as_nanos() as f64);
            }
        }
        self.workers.pop_if(|sessions| sessions.bars.is_empty());
    }
}

/// From some frames before `frame` to some after it, without those that have too many spans.
fn window_around(timeline: &AffinityTimeline, frame: &FrameSpan) -> Range<u64> {
    let index = timeline.frames().position(|other| other.begin == frame.begin).unwrap_or(0);
    let mut window = frame.begin..frame.end;
    // What was not recorded lies between frames that do not follow each other.
    let before = timeline.frames().rev().skip(timeline.frames().len() - index).take(FRAMES_AROUND);
    let mut first = frame;
    for other in before.take_while(|other| std::mem::replace(&mut first, other).follows(other)) {
        window.start = other.begin;
    }
    let mut last = frame;
    let after = timeline.frames().skip(index + 1).take(FRAMES_AROUND);
    for other in after.take_while(|other| other.follows(std::mem::replace(&mut last, other))) {
        window.end = other.end;
    }
    // The frame itself must be among the spans that are copied.
    if timeline.spans_in(window.start..frame.end).count() > MOST_SPANS { frame.begin..window.end } else { window }
}

#[cfg(test)]
mod tests;
