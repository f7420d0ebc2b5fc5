//! The timeline as a file of trace events, which [Perfetto](https://ui.perfetto.dev) and
//! `chrome://tracing` open.

use std::{
    borrow::Cow,
    io::{self, BufWriter, Write},
    ops::Range,
};

use serde::{Serialize, Serializer};

use super::{AffinityDiagnostics, AffinityTimeline};
use crate::{
    record::{FrameSpan, RoundEnds, Span, SpanKind, StageLane, StageSpan},
    topology::Topology,
};

/// The lane of frames. Workers follow.
const FRAMES_LANE: usize = 0;

/// The lanes of stages, by number: behind those of all workers. They are shown before these.
const STAGE_LANES: [(usize, StageLane, &str); 2] =
    [(1 << 20, StageLane::Main, "main schedules"), ((1 << 20) + 1, StageLane::Rendering, "rendering")];

/// Perfetto's name for a program; there is one.
const PROCESS: u32 = 1;

impl AffinityTimeline {
    /// Writes what was recorded in `window` as a JSON array of trace events, which
    /// [Perfetto](https://ui.perfetto.dev) and `chrome://tracing` open: a lane of frames, one of
    /// the app's schedules, one of rendering where it is known, a lane for each worker with a slice
    /// for each span and each wait at the barrier, and the imbalance
    /// of each frame. Needs the feature `trace-file`.
    ///
    /// ```
    /// use bevy::prelude::*;
    /// use bevy_affinity::prelude::*;
    ///
    /// fn save(timeline: Res<AffinityTimeline>, diagnostics: Res<AffinityDiagnostics>) -> Result {
    ///     let Some(everything) = timeline.extent() else { return Ok(()) };
    ///     timeline.write_trace(everything, &diagnostics, std::fs::File::create("frames.json")?)?;
    ///     Ok(())
    /// }
    /// # App::new().add_plugins(AffinityParallelPlugin).add_systems(Update, save).update();
    /// ```
    ///
    /// # Errors
    /// If `to` cannot be written.
    pub fn write_trace(&self, window: Range<u64>, diagnostics: &AffinityDiagnostics, to: impl Write) -> io::Result<()> {
        let trace = Trace { timeline: self, diagnostics, window };
        let mut to = BufWriter::new(to);
        let events = trace.lanes().chain(trace.frames()).chain(trace.stages()).chain(trace.spans());
        serde_json::Serializer::new(&mut to).collect_seq(events)?;
        to.flush()
    }
}

/// A stretch of a timeline, and the names of what is on it.
struct Trace<'a> {
    timeline: &'a AffinityTimeline,
    diagnostics: &'a AffinityDiagnostics,
    window: Range<u64>,
}

/// A trace event:
/// [the format](https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU)
/// names its fields.
#[derive(Serialize)]
struct Event<'a> {
    name: Cow<'a, str>,
    cat: &'static str,
    ph: Phase,
    pid: u32,
    tid: usize,
    /// In microseconds, as is `dur`.
    ts: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<f64>,
    args: Args,
}

/// What kind of event it is.
#[derive(Serialize)]
enum Phase {
    #[serde(rename = "M")]
    Metadata,
    #[serde(rename = "X")]
    Slice,
    #[serde(rename = "C")]
    Counter,
}

/// What is shown when an event is clicked.
#[derive(Serialize)]
#[serde(untagged)]
enum Args {
    Name { name: String },
    Order { sort_index: usize },
    Span(SpanArgs),
    Frame { mode: String, delta_us: f64, tagged_us: f64, calls: u64 },
    Stage { ran: &'static str },
    Imbalance { percent: f64 },
    None {},
}

/// What is shown of a span.
#[derive(Serialize)]
struct SpanArgs {
    rows: u64,
    stolen_rows: u64,
    core: Option<usize>,
    share_of: usize,
    idle_us: f64,
    jobs_taken: u64,
    joins_published: u64,
}

impl<'a> Trace<'a> {
    /// The names of the lanes, and their order.
    fn lanes(&self) -> impl Iterator<Item = Event<'a>> {
        // There may have been more workers when the spans were recorded.
        let seen = self.spans_in().map(|span| span.worker + 1).max().unwrap_or(0);
        let workers = seen.max(self.diagnostics.workers.len());
        let names = (0..workers).map(|worker| self.lane_name(worker)).collect::<Vec<_>>();
        let stages = STAGE_LANES.into_iter().filter(|&(_, lane, _)| self.stages_on(lane).next().is_some());
        let stages = stages.map(|(number, _, name)| (number, name.to_owned()));
        let workers = names.into_iter().enumerate().map(|(worker, name)| (FRAMES_LANE + 1 + worker, name));
        let lanes = std::iter::once((FRAMES_LANE, "frames".to_owned())).chain(stages).chain(workers);
        lanes.enumerate().flat_map(|(place, (lane, name))| {
            let event = |kind: &'static str, args| Event::new(kind.into(), "", Phase::Metadata, lane, 0, args);
            [event("thread_name", Args::Name { name }), event("thread_sort_index", Args::Order { sort_index: place })]
        })
    }

    fn lane_name(&self, worker: usize) -> String {
        let role = if worker == 0 { "leader".to_owned() } else { format!("worker {worker}") };
        let ran_on = self.spans_in().filter(|span| span.worker == worker).find_map(|span| span.core);
        let core = ran_on.or_else(|| self.diagnostics.workers.get(worker)?.core);
        let topology = Topology::get();
        match core.and_then(|core| topology.find(core)) {
            Some(core) => format!("{role}, core {}, cache domain {}", core.id, core.cache_domain),
            None => role,
        }
    }

    fn frames(&self) -> impl Iterator<Item = Event<'a>> {
        let window = self.window.clone();
        let frames = self.timeline.frames().filter(move |frame| frame.end >= window.start && frame.begin < window.end);
        frames.flat_map(|frame| [self.frame(frame)].into_iter().chain(self.imbalance(frame)).collect::<Vec<_>>())
    }

    fn frame(&self, frame: &FrameSpan) -> Event<'a> {
        let args = Args::Frame {
            mode: format!("{:?}", frame.mode),
            delta_us: microseconds(frame.delta),
            tagged_us: microseconds(frame.tagged),
            calls: frame.calls,
        };
        let name = format!("frame {}", frame.number).into();
        Event::slice(name, "frame", FRAMES_LANE, frame.begin..frame.end, args)
    }

    fn imbalance(&self, frame: &FrameSpan) -> Option<Event<'a>> {
        let percent = self.timeline.imbalance_in(frame.begin..frame.end)? * 100.0;
        let args = Args::Imbalance { percent };
        Some(Event::new("imbalance of rounds".into(), "frame", Phase::Counter, FRAMES_LANE, frame.end, args))
    }

    fn stages(&self) -> impl Iterator<Item = Event<'a>> {
        STAGE_LANES.into_iter().flat_map(|(number, lane, _)| {
            self.stages_on(lane).map(move |stage| {
                let args = Args::Stage { ran: stage.detail };
                Event::slice((&*stage.name).into(), "stage", number, stage.begin..stage.end, args)
            })
        })
    }

    fn stages_on(&self, lane: StageLane) -> impl Iterator<Item = &'a StageSpan> + use<'a> {
        self.timeline.stages_in(self.window.clone()).filter(move |stage| stage.lane == lane)
    }

    /// Spans, each with its wait at the barrier.
    fn spans(&self) -> impl Iterator<Item = Event<'a>> {
        let mut ends = RoundEnds::default();
        self.spans_in().flat_map(move |span| {
            let done = ends.done(span).filter(|&done| span.released > done);
            let wait = done.map(|done| self.wait(span, done));
            [Some(self.span(span)), wait].into_iter().flatten()
        })
    }

    fn span(&self, span: &Span) -> Event<'a> {
        let args = Args::Span(SpanArgs {
            rows: span.rows,
            stolen_rows: span.stolen_rows,
            core: span.core.map(|core| core.index()),
            share_of: span.share_of,
            idle_us: microseconds(span.idle),
            jobs_taken: span.jobs_taken,
            joins_published: span.joins_published,
        });
        let kind = match span.kind {
            SpanKind::System => "system",
            SpanKind::Sweep => "sweep",
            SpanKind::Share if span.is_taken_over() => "taken over",
            SpanKind::Share => "share",
            SpanKind::Session => "session",
            SpanKind::Batches => "batches",
            SpanKind::Jobs => "systems",
        };
        Event::slice(self.system_name(span).into(), kind, lane(span), span.begin..span.end, args)
    }

    fn wait(&self, span: &Span, done: u64) -> Event<'a> {
        Event::slice("wait".into(), "wait", lane(span), done..span.released, Args::None {})
    }

    fn system_name(&self, span: &Span) -> &'a str {
        let system = span.system.and_then(|index| self.diagnostics.systems.get(index));
        system.map_or("outside of tagged systems", |system| &system.name)
    }

    fn spans_in(&self) -> impl Iterator<Item = &'a Span> + use<'a> {
        self.timeline.spans_in(self.window.clone())
    }
}

fn lane(span: &Span) -> usize {
    FRAMES_LANE + 1 + span.worker
}

fn microseconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e3
}

impl<'a> Event<'a> {
    fn new(name: Cow<'a, str>, cat: &'static str, ph: Phase, lane: usize, at: u64, args: Args) -> Self {
        Self { name, cat, ph, pid: PROCESS, tid: lane, ts: microseconds(at), dur: None, args }
    }

    fn slice(name: Cow<'a, str>, cat: &'static str, lane: usize, time: Range<u64>, args: Args) -> Self {
        let dur = Some(microseconds(time.end.saturating_sub(time.start)));
        Self { dur, ..Self::new(name, cat, Phase::Slice, lane, time.start, args) }
    }
}
