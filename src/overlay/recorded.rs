//! A stretch of the recording as bars on lanes: a copy, so that it stays while the recording goes
//! on.

use std::{
    fmt::{self, Write as _},
    ops::Range,
    time::Duration,
};

use super::snapshot::SystemRow;
use crate::{
    diagnostics::{AffinityDiagnostics, AffinityTimeline},
    record::{FrameSpan, Span, SpanKind},
    settings::{AffinitySettings, Pinning},
    topology::{Core, CoreId, Topology},
};

/// Frames that are copied, on either side of the frame on show: what one may want to drag into
/// view.
const FRAMES_AROUND: usize = 8;
/// The most spans that are copied: with more the copy would take longer than drawing them. Frames
/// of fast-forwarded games have thousands.
const MOST_SPANS: usize = 8_192;

/// The bars. Times are nanoseconds from the begin of the first tagged system of the frame on show:
/// so bars stay where they are from frame to frame, whatever else the frame begins with.
#[derive(Debug, Default)]
pub(super) struct Recorded {
    /// The number of the frame on show.
    pub(super) frame: u64,
    /// A lane for each worker; behind them one for fork/join, if there was any.
    pub(super) lanes: Vec<Lane>,
    /// Where frames begin.
    pub(super) borders: Vec<f64>,
    /// From the first to the last tagged system of the frame on show.
    pub(super) tagged: Range<f64>,
    /// What was copied, in times of the recording.
    pub(super) window: Range<u64>,
}

/// What one worker did.
#[derive(Debug, Default)]
pub(super) struct Lane {
    /// `worker 1`
    pub(super) name: String,
    /// `core 3, SMT of 1, cache 0`
    pub(super) place: String,
    /// By begin.
    pub(super) bars: Vec<Bar>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bar {
    pub(super) kind: BarKind,
    pub(super) begin: f64,
    pub(super) end: f64,
    /// The system's index; `None` outside of systems.
    pub(super) system: Option<usize>,
    pub(super) core: Option<CoreId>,
    pub(super) rows: u64,
    /// How many of them were of other workers' shares; swept last.
    pub(super) stolen_rows: u64,
    /// The late worker whose share it was.
    pub(super) taken_from: Option<usize>,
    /// Time without a job, somewhere in it.
    pub(super) idle: f64,
    /// Of fork/join: jobs that went to another worker, joins that were laid out for others.
    pub(super) promotions: u64,
    pub(super) joins: u64,
    /// Workers that took jobs.
    pub(super) helpers: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BarKind {
    /// A whole run of a system, on the leader.
    System,
    /// A worker's share of a round, or its part in fork/join.
    Work,
    /// Waiting for others at the end of a round, or starting late.
    Wait,
    /// Asleep between rounds.
    Parked,
    /// A session of fork/join, all workers together.
    Session,
}

impl BarKind {
    pub(super) const FROM_BACK: [Self; 5] = [Self::System, Self::Parked, Self::Wait, Self::Work, Self::Session];
}

impl Bar {
    fn new(kind: BarKind, span: &Span, times: Range<u64>, origin: u64) -> Self {
        let since = |time: u64| time as f64 - origin as f64;
        let asleep = Self::parked(since(times.start)..since(times.end), span.core);
        Self { kind, system: span.system, ..asleep }
    }

    fn parked(times: Range<f64>, core: Option<CoreId>) -> Self {
        Self {
            kind: BarKind::Parked,
            begin: times.start,
            end: times.end,
            system: None,
            core,
            rows: 0,
            stolen_rows: 0,
            taken_from: None,
            idle: 0.0,
            promotions: 0,
            joins: 0,
            helpers: 0,
        }
    }

    /// When its worker began with rows of others, if it did: at once with a share that it took
    /// over, with stolen rows when its own were done. That moment is estimated: as if all rows took
    /// the same time.
    pub(super) fn help_begins(&self) -> Option<f64> {
        let stolen = self.stolen_rows as f64 / self.rows.max(1) as f64;
        let part = if self.taken_from.is_some() { 1.0 } else { stolen };
        (part > 0.0).then_some(self.end - (self.end - self.begin) * part)
    }

    /// What it is about. `systems` are those of the snapshot.
    pub(super) fn name<'a>(&self, systems: &'a [SystemRow]) -> &'a str {
        match self.kind {
            BarKind::Parked => "parked",
            BarKind::Wait => "waiting at the barrier",
            BarKind::System | BarKind::Work | BarKind::Session => {
                self.system.and_then(|index| systems.get(index)).map_or("outside of systems", |system| &system.name)
            }
        }
    }
}

impl Recorded {
    /// Copies the newest frame and those before it. Nothing changes if no frame was recorded.
    pub(super) fn load_newest(
        &mut self,
        timeline: &AffinityTimeline,
        diagnostics: &AffinityDiagnostics,
        settings: &AffinitySettings,
    ) {
        if let Some(frame) = timeline.frames().next_back() {
            self.load(timeline, diagnostics, settings, frame);
        }
    }

    /// Copies the frame with this number and those around it; returns whether it was still there.
    pub(super) fn load_frame(
        &mut self,
        timeline: &AffinityTimeline,
        diagnostics: &AffinityDiagnostics,
        settings: &AffinitySettings,
        number: u64,
    ) -> bool {
        let oldest = timeline.extent().map_or(u64::MAX, |extent| extent.start);
        let frame = timeline.frames().find(|frame| frame.number == number && frame.tagged_begin >= oldest);
        if let Some(frame) = frame {
            self.load(timeline, diagnostics, settings, frame);
        }
        frame.is_some()
    }

    fn load(
        &mut self,
        timeline: &AffinityTimeline,
        diagnostics: &AffinityDiagnostics,
        settings: &AffinitySettings,
        frame: &FrameSpan,
    ) {
        self.clear();
        let origin = frame.tagged_begin;
        let since = |time: u64| time as f64 - origin as f64;
        self.frame = frame.number;
        self.tagged = since(frame.tagged_begin)..since(frame.tagged_end);
        self.window = window_around(timeline, frame);
        self.name_lanes(diagnostics, settings.pinning);
        for span in timeline.spans_in(self.window.clone()).take(MOST_SPANS) {
            self.add(span, origin);
        }
        self.finish_lanes(diagnostics.workers.len(), settings.spin);
        let window = &self.window;
        let begins = timeline.frames().map(|frame| frame.begin).filter(|begin| window.contains(begin));
        self.borders.extend(begins.map(since));
    }

    fn clear(&mut self) {
        self.lanes.iter_mut().for_each(|lane| lane.bars.clear());
        self.borders.clear();
    }

    fn name_lanes(&mut self, diagnostics: &AffinityDiagnostics, pinning: Pinning) {
        self.lanes.resize_with(diagnostics.workers.len() + 1, Lane::default);
        for (worker, lane) in diagnostics.workers.iter().zip(&mut self.lanes) {
            lane.set_name(worker.index, worker.core, pinning);
        }
        let sessions = &mut self.lanes[diagnostics.workers.len()];
        sessions.name.replace_range(.., "fork/join");
        sessions.place.replace_range(.., "promotions, joins");
    }

    fn add(&mut self, span: &Span, origin: u64) {
        // Of a gang that has more workers than the one of today.
        if span.worker + 1 >= self.lanes.len() {
            return;
        }
        let bars = &mut self.lanes[span.worker].bars;
        for wait in [span.called..span.begin, span.end..span.released].into_iter().filter(|wait| wait.start < wait.end)
        {
            bars.push(Bar::new(BarKind::Wait, span, wait, origin));
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
        let sessions = &mut self.lanes.last_mut().expect("a lane for fork/join").bars;
        if sessions.last().is_none_or(|last| last.begin != bar.begin) {
            sessions.push(Bar { core: None, ..bar });
        }
        let session = sessions.last_mut().expect("it was pushed just now");
        session.promotions += span.jobs_taken;
        session.joins += span.joins_published;
        session.helpers += u32::from(span.jobs_taken > 0);
    }

    fn finish_lanes(&mut self, workers: usize, spin: Duration) {
        for (index, lane) in self.lanes.iter_mut().enumerate() {
            lane.bars.sort_by(|a, b| a.begin.total_cmp(&b.begin));
            if (1..workers).contains(&index) {
                lane.add_parked(spin.as_nanos() as f64);
            }
        }
        self.lanes.pop_if(|sessions| sessions.bars.is_empty());
    }
}

/// From some frames before `frame` to some after it, without those that have too many spans.
fn window_around(timeline: &AffinityTimeline, frame: &FrameSpan) -> Range<u64> {
    let index = timeline.frames().position(|other| other.number == frame.number).unwrap_or(0);
    let around = timeline.frames().skip(index.saturating_sub(FRAMES_AROUND)).take(2 * FRAMES_AROUND + 1);
    let mut window = frame.begin..frame.end;
    for other in around {
        window = window.start.min(other.begin)..window.end.max(other.end);
    }
    // The frame itself must be among the spans that are copied.
    if timeline.spans_in(window.start..frame.end).count() > MOST_SPANS { frame.begin..window.end } else { window }
}

impl Lane {
    fn set_name(&mut self, worker: usize, core: Option<CoreId>, pinning: Pinning) {
        self.name.clear();
        self.place.clear();
        let topology = Topology::get();
        let core = core.and_then(|core| topology.find(core));
        // Writing to a string does not fail.
        let _ = match worker {
            0 => write!(self.name, "worker 0, leader"),
            _ => write!(self.name, "worker {worker}"),
        };
        let _ = match (core, pinning) {
            (Some(core), Pinning::Core) => describe_core(core, &topology, &mut self.place),
            (Some(core), Pinning::CacheDomain) => write!(self.place, "any core of cache {}", core.cache_domain),
            _ if worker == 0 => write!(self.place, "main thread, not pinned"),
            _ => write!(self.place, "not pinned"),
        };
    }

    /// Puts a bar into each gap that is longer than a worker stays awake.
    fn add_parked(&mut self, spin: f64) {
        // Before its first bar that is unknown.
        let mut awake_until = f64::INFINITY;
        for index in 0..self.bars.len() {
            let bar = self.bars[index];
            if bar.begin > awake_until {
                self.bars.push(Bar::parked(awake_until..bar.begin, bar.core));
            }
            let awake = bar.end + spin;
            awake_until = if awake_until.is_finite() { awake_until.max(awake) } else { awake };
        }
        self.bars.sort_by(|a, b| a.begin.total_cmp(&b.begin));
    }
}

/// `core 3, SMT of 1, cache 0`
fn describe_core(core: &Core, topology: &Topology, to: &mut String) -> fmt::Result {
    write!(to, "core {}", core.id)?;
    let siblings = topology.cores.iter().filter(|other| other.physical == core.physical && other.id != core.id);
    for sibling in siblings {
        write!(to, ", SMT of {}", sibling.id)?;
    }
    write!(to, ", cache {}", core.cache_domain)
}

#[cfg(test)]
mod tests;
