//! What happened when: spans of systems and of workers, written by who leads a round or runs a
//! system, read once a frame. And which runs are timed (`sampling.rs`).
//!
//! Stands below the pool, which fills it in; the diagnostics empty it. While no reader asks for a
//! recording a round costs one relaxed load more, and nothing is allocated.

mod ring;
mod running;
mod sampling;
mod span;
mod stage;
mod system;
mod weak_list;

pub(crate) use ring::Ring;
#[cfg(feature = "trace")]
pub(crate) use running::named::running_name;
pub(crate) use running::{Running, running_number};
pub(crate) use sampling::{ALWAYS_TIMED, Countdown, Sample, Sampling, VERY_SHORT, distance};
#[cfg(feature = "trace-file")]
pub(crate) use span::RoundEnds;
pub use span::{FrameSpan, Span, SpanKind};
pub use stage::{StageLane, StageSpan};
pub(crate) use system::{Recent, SystemTiming, SystemTimings, Totals, known_name};
pub(crate) use weak_list::WeakList;

use std::sync::{
    Mutex,
    atomic::{AtomicU32, Ordering},
};

use crossbeam_utils::CachePadded;

use crate::sync::lock;

/// Spans that wait for the end of the frame; if there are more in one frame, the oldest are lost.
/// 1 MiB.
pub(crate) const STAGED_SPANS: usize = 1 << 13;
/// Stages that wait for the end of the frame, likewise: some hundred steps of a fast-forwarded game
/// have thousands. 224 KiB.
const STAGED_STAGES: usize = 1 << 12;

/// Where the pools and the tagged systems of one world leave their spans.
#[derive(Debug, Default)]
pub(crate) struct Recorder {
    /// The number of the [`Recording`]: looked at in every round, so on a line that is seldom
    /// written.
    recording: CachePadded<AtomicU32>,
    staged: Mutex<Staged>,
}

#[derive(Debug, Default)]
struct Staged {
    spans: Ring<Span>,
    stages: Ring<StageSpan>,
    recordings: u32,
}

/// Whether spans are recorded, and since when: counters that were read in another recording say
/// nothing in this one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Recording(u32);

impl Recording {
    const OFF: Self = Self(0);

    pub(crate) fn number(self) -> u32 {
        self.0
    }

    #[inline]
    pub(crate) fn is_on(self) -> bool {
        self != Self::OFF
    }
}

impl Recorder {
    /// Relaxed: a round more or less at either end of a recording makes no difference.
    #[inline]
    pub(crate) fn recording(&self) -> Recording {
        Recording(self.recording.load(Ordering::Relaxed))
    }

    /// Begins a recording, unless one is on.
    pub(crate) fn start(&self) {
        if !self.recording().is_on() {
            let mut staged = self.staged();
            staged.spans.reserve(STAGED_SPANS);
            staged.stages.reserve(STAGED_STAGES);
            staged.recordings = staged.recordings.wrapping_add(1).max(1);
            self.recording.store(staged.recordings, Ordering::Relaxed);
        }
    }

    pub(crate) fn stop(&self) {
        self.recording.store(Recording::OFF.0, Ordering::Relaxed);
    }

    /// Gives `write` the spans of this frame. The lock is mostly free, and taking it costs some
    /// 15 ns: workers that run systems of their own take it too, the frame's end holds it longest.
    pub(crate) fn write(&self, write: impl FnOnce(&mut Ring<Span>)) {
        write(&mut self.staged().spans);
    }

    /// Notes a stage that has ended.
    pub(crate) fn write_stage(&self, stage: StageSpan) {
        self.staged().stages.push(stage);
    }

    /// Calls `take` with each stage since the last call.
    pub(crate) fn drain_stages(&self, take: impl FnMut(StageSpan)) {
        self.staged().stages.drain().for_each(take);
    }

    /// Calls `take` with each span since the last call.
    pub(crate) fn drain(&self, take: impl FnMut(Span)) {
        self.staged().spans.drain().for_each(take);
    }

    fn staged(&self) -> std::sync::MutexGuard<'_, Staged> {
        // A ring is whole after each step, whatever panics.
        lock(&self.staged)
    }
}
