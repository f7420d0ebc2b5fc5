//! What is recorded.

use std::{ops::Range, time::Duration};

use crate::{
    settings::SchedulerMode,
    topology::{CoreId, current_core},
};

/// What a worker was doing.
///
/// ```
/// use bevy::prelude::*;
/// use bevy_affinity::prelude::*;
/// use bevy_affinity::SpanKind;
///
/// fn rounds(timeline: Res<AffinityTimeline>) {
///     let shares = timeline.spans().filter(|span| span.kind == SpanKind::Share).count();
///     println!("{shares} shares of rounds");
/// }
/// # App::new().add_plugins(AffinityParallelPlugin).add_systems(Last, rounds).update();
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SpanKind {
    /// A tagged system from its start to its end, on the leader. Sweeps and rounds of the system
    /// lie inside; what they leave is serial. A small one of a schedule that runs
    /// [on the gang](crate::ScheduleWay::OnTheGang) may be on any worker, and has none inside.
    System,
    /// A sweep that stayed on the leader, or that Bevy's own threads ran for it; inside the span of
    /// its system.
    Sweep,
    /// One worker's share of a lock-step round.
    Share,
    /// One worker's part in a session of fork/join.
    Session,
    /// One worker's part in batched calls.
    Batches,
    /// One worker's part in a round of small systems of a schedule that runs
    /// [on the gang](crate::ScheduleWay::OnTheGang): small tagged systems lie inside.
    Jobs,
}

impl SpanKind {
    /// All kinds, each at its own number.
    pub(crate) const ALL: [Self; 6] =
        [Self::System, Self::Sweep, Self::Share, Self::Session, Self::Batches, Self::Jobs];
}

/// A stretch of time in which one worker did one thing. All times are in nanoseconds of
/// [`AffinityTimeline::now`](crate::AffinityTimeline::now).
///
/// ```
/// use bevy::prelude::*;
/// use bevy_affinity::prelude::*;
///
/// fn latest(timeline: Res<AffinityTimeline>) {
///     if let Some(span) = timeline.spans().next_back() {
///         println!("worker {}: {} rows in {} ns", span.worker, span.rows, span.end - span.begin);
///     }
/// }
/// # App::new().add_plugins(AffinityParallelPlugin).add_systems(Last, latest).update();
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Span {
    /// What the worker was doing.
    pub kind: SpanKind,
    /// Who did it; 0 is the leader.
    pub worker: usize,
    /// Whose share it was: another worker's if that one did not start in time. The worker itself
    /// otherwise.
    pub share_of: usize,
    /// The core it ran on: where the worker is pinned, else where it was at the end. `None` where
    /// the system does not tell.
    pub core: Option<CoreId>,
    /// The tagged system that it was done for, as an index into
    /// [`AffinityDiagnostics::systems`](crate::AffinityDiagnostics::systems). `None` for rounds
    /// that were called outside of tagged systems, and for systems that are gone.
    pub system: Option<usize>,
    /// When it began.
    pub begin: u64,
    /// When it ended.
    pub end: u64,
    /// When the round began, on the leader: from here to [`begin`](Self::begin) the worker was on
    /// its way. The span's own begin for a system.
    pub called: u64,
    /// When the last worker was done: from [`end`](Self::end) to here this one waited at the
    /// barrier, unless it took over the share of another, which is a span of its own. The span's
    /// own end for a system.
    pub released: u64,
    /// Rows swept.
    pub rows: u64,
    /// How many of these belong to other workers' shares of the round, which were late with them:
    /// swept at the end, when the own ones were done.
    pub stolen_rows: u64,
    /// For how long in fork/join or batched calls the worker had nothing to do, in nanoseconds; it
    /// is not known when.
    pub idle: u64,
    /// Jobs, or ranges of a sweep, that it took from others in this session.
    pub jobs_taken: u64,
    /// Joins that it published in this session.
    pub joins_published: u64,
}

impl Span {
    /// What the calling thread did for `system`, as the leader unless its worker is set.
    pub(crate) fn of_caller(kind: SpanKind, system: Option<usize>, time: Range<u64>) -> Self {
        Self {
            kind,
            worker: 0,
            share_of: 0,
            core: current_core(),
            system,
            begin: time.start,
            end: time.end,
            called: time.start,
            released: time.end,
            rows: 0,
            stolen_rows: 0,
            idle: 0,
            jobs_taken: 0,
            joins_published: 0,
        }
    }

    /// How long it took.
    pub fn duration(&self) -> Duration {
        Duration::from_nanos(self.end.saturating_sub(self.begin))
    }

    /// Whether the leader ran the share of a worker that did not start in time.
    pub fn is_taken_over(&self) -> bool {
        self.share_of != self.worker
    }

    /// How long the worker waited at the barrier afterwards.
    pub fn waited(&self) -> Duration {
        Duration::from_nanos(self.released.saturating_sub(self.end))
    }
}

/// Tells when each worker was done with its part of a round, from span to span: the shares that the
/// leader took over are recorded before its own.
#[cfg(feature = "trace-file")]
#[derive(Default)]
pub(crate) struct RoundEnds {
    /// From the begin of the round to where the leader was done with others' shares.
    taken_over: Range<u64>,
}

#[cfg(feature = "trace-file")]
impl RoundEnds {
    /// When the worker of the next span began to wait at the barrier; `None` for a share that was
    /// taken over, behind which the leader goes on.
    pub(crate) fn done(&mut self, span: &Span) -> Option<u64> {
        if span.is_taken_over() {
            self.taken_over = span.called..span.end;
            return None;
        }
        let went_on = span.worker == 0 && self.taken_over.start == span.called;
        Some(if went_on { span.end.max(self.taken_over.end) } else { span.end })
    }
}

/// One frame. All times are in nanoseconds of
/// [`AffinityTimeline::now`](crate::AffinityTimeline::now).
///
/// ```
/// use bevy::prelude::*;
/// use bevy_affinity::prelude::*;
///
/// fn slowest(diagnostics: Res<AffinityDiagnostics>) {
///     if let Some(frame) = diagnostics.history().max_by_key(|frame| frame.end - frame.begin) {
///         println!("frame {} took {} ns, tagged systems {} of it", frame.number, frame.end - frame.begin, frame.tagged);
///     }
/// }
/// # App::new().add_plugins(AffinityParallelPlugin).add_systems(Last, slowest).update();
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FrameSpan {
    /// Counts from 1, as [`AffinityDiagnostics::frames`](crate::AffinityDiagnostics::frames).
    pub number: u64,
    /// When the main schedule began.
    pub begin: u64,
    /// When it ended. What is left until the next frame's begin is drawing, waiting for the
    /// display, and the like.
    pub end: u64,
    /// How many nanoseconds before [`begin`](Self::begin) the last frame began, as Bevy's
    /// `Time::delta`; 0 in the first frame.
    pub delta: u64,
    /// When the first tagged system of the frame began, of those runs that were timed: all while
    /// the timeline records, and of runs of less than 4 us samples while it does not.
    /// [`begin`](Self::begin) if none was, or if it ran between frames.
    pub tagged_begin: u64,
    /// When the last of these ended; [`begin`](Self::begin) if there was none.
    pub tagged_end: u64,
    /// The durations of the frame's tagged systems together, in nanoseconds: of those that ran on
    /// several workers at a time, those of the worker that was longest at it. One that runs inside
    /// of another (in a schedule that a tagged exclusive system runs) is a part of that. What ran
    /// between frames is in it too.
    pub tagged: u64,
    /// How often tagged systems ran.
    pub calls: u64,
    /// The mode in which the frame ended.
    pub mode: SchedulerMode,
    /// How many workers the gang had then.
    pub(crate) workers: u16,
    /// Whether recording was turned on or off in the middle of it; known of the timeline's frames
    /// only.
    pub(crate) cut: bool,
}

impl FrameSpan {
    /// Whether it is the one behind `other`.
    #[cfg(feature = "overlay")]
    pub(crate) fn follows(&self, other: &Self) -> bool {
        self.number == other.number + 1 && self.begin >= other.end
    }

    /// How long before it the last frame began, as Bevy's `Time::delta`.
    pub fn delta(&self) -> Duration {
        Duration::from_nanos(self.delta)
    }

    /// How long the main schedule took.
    pub fn duration(&self) -> Duration {
        Duration::from_nanos(self.end.saturating_sub(self.begin))
    }

    /// The durations of the frame's tagged systems together.
    pub fn tagged_time(&self) -> Duration {
        Duration::from_nanos(self.tagged)
    }
}
