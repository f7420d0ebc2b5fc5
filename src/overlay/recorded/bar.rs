//! Bars, and the lanes that they are on.

use std::{
    fmt::{self, Write as _},
    ops::Range,
    sync::Arc,
};

use crate::{
    overlay::snapshot::SystemRow,
    record::{Span, StageSpan},
    settings::Pinning,
    topology::{Core, CoreId, Topology},
};

/// What one worker did, or what went on in one place outside of the workers.
#[derive(Debug, Default)]
pub(in crate::overlay) struct Lane {
    /// `worker 1`
    pub(in crate::overlay) name: String,
    /// `core 3, SMT of 1, cache 0`
    pub(in crate::overlay) place: String,
    /// By begin.
    pub(in crate::overlay) bars: Vec<Bar>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::overlay) struct Bar {
    pub(in crate::overlay) kind: BarKind,
    pub(in crate::overlay) begin: f64,
    pub(in crate::overlay) end: f64,
    /// The system's index; `None` outside of systems.
    pub(in crate::overlay) system: Option<usize>,
    /// The name of a stage.
    pub(in crate::overlay) stage: Option<Arc<str>>,
    /// How the stage ran.
    pub(in crate::overlay) detail: &'static str,
    /// How many bars of its lane it lies inside of.
    pub(in crate::overlay) depth: usize,
    pub(in crate::overlay) core: Option<CoreId>,
    pub(in crate::overlay) rows: u64,
    /// How many of them were of other workers' shares; swept last.
    pub(in crate::overlay) stolen_rows: u64,
    /// The late worker whose share it was.
    pub(in crate::overlay) taken_from: Option<usize>,
    /// Time without a job, somewhere in it.
    pub(in crate::overlay) idle: f64,
    /// Of fork/join: jobs that went to another worker, joins that were laid out for others.
    pub(in crate::overlay) promotions: u64,
    pub(in crate::overlay) joins: u64,
    /// Workers that took jobs, or threads that had a core.
    pub(in crate::overlay) helpers: u32,
}

/// The part of rendering that waits for the display.
pub(in crate::overlay) const PRESENT: &str = "present";

/// What a bar is about that is of no system.
pub(in crate::overlay) const OUTSIDE: &str = "outside of systems";

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::overlay) enum BarKind {
    /// A whole run of a system, on the leader.
    System,
    /// A whole run of a small system, on the worker that it was dealt out to: inside of a round of
    /// such.
    DealtOut,
    /// A worker's share of a round, or its part in fork/join.
    #[default]
    Work,
    /// Waiting for others at the end of a round, or starting late.
    Wait,
    /// Asleep between rounds.
    Parked,
    /// A session of fork/join, all workers together.
    Session,
    /// A run of a schedule, or a part of rendering.
    Stage,
    /// From the end of the main schedule to the begin of the next frame.
    Between,
    /// For how long threads had a core in a frame, drawn from the frame's begin on.
    OnCore,
}

impl BarKind {
    pub(in crate::overlay) const FROM_BACK: [Self; 9] = [
        Self::Between,
        Self::OnCore,
        Self::Stage,
        Self::System,
        Self::Parked,
        Self::Wait,
        Self::Work,
        Self::DealtOut,
        Self::Session,
    ];
}

impl Bar {
    pub(super) fn new(kind: BarKind, span: &Span, times: Range<u64>, origin: u64) -> Self {
        let since = |time: u64| time as f64 - origin as f64;
        let (begin, end) = (since(times.start), since(times.end));
        Self { kind, begin, end, system: span.system, core: span.core, ..Self::default() }
    }

    pub(super) fn parked(times: Range<f64>, core: Option<CoreId>) -> Self {
        Self { kind: BarKind::Parked, begin: times.start, end: times.end, core, ..Self::default() }
    }

    pub(super) fn stage(stage: &StageSpan, origin: u64) -> Self {
        let [begin, end] = [stage.begin, stage.end].map(|time| time as f64 - origin as f64);
        let name = Some(stage.name.clone());
        Self { kind: BarKind::Stage, begin, end, stage: name, detail: stage.detail, ..Self::default() }
    }

    /// Whether nothing is done in it.
    pub(in crate::overlay) fn is_waiting(&self) -> bool {
        self.kind == BarKind::Wait || self.stage.as_deref() == Some(PRESENT)
    }

    pub(in crate::overlay) fn duration(&self) -> f64 {
        self.end - self.begin
    }

    /// When its worker began with rows of others, if it did: at once with a share that it took
    /// over, with stolen rows when its own were done. That moment is estimated: as if all rows took
    /// the same time.
    pub(in crate::overlay) fn help_begins(&self) -> Option<f64> {
        let stolen = self.stolen_rows as f64 / self.rows.max(1) as f64;
        let part = if self.taken_from.is_some() { 1.0 } else { stolen };
        (part > 0.0).then_some(self.end - self.duration() * part)
    }

    /// What it is about. `systems` are those of the snapshot.
    pub(in crate::overlay) fn name<'a>(&'a self, systems: &'a [SystemRow]) -> &'a str {
        match self.kind {
            BarKind::Parked => "parked",
            BarKind::Wait => "waiting at the barrier",
            BarKind::Between => "between frames",
            BarKind::OnCore => "on a core",
            BarKind::Stage => self.stage.as_deref().unwrap_or_default(),
            BarKind::System | BarKind::DealtOut | BarKind::Work | BarKind::Session => {
                self.system.and_then(|index| systems.get(index)).map_or(OUTSIDE, |system| &system.name)
            }
        }
    }
}

impl Lane {
    pub(super) fn named(name: &str, place: &str) -> Self {
        Self { name: name.to_string(), place: place.to_string(), bars: Vec::new() }
    }

    pub(super) fn set_name(&mut self, worker: usize, core: Option<CoreId>, pinning: Pinning) {
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
    pub(super) fn add_parked(&mut self, spin: f64) {
        // Before its first bar that is unknown.
        let mut awake_until = f64::INFINITY;
        for index in 0..self.bars.len() {
            let Bar { begin, end, core, .. } = self.bars[index];
            if begin > awake_until {
                self.bars.push(Bar::parked(awake_until..begin, core));
            }
            let awake = end + spin;
            awake_until = if awake_until.is_finite() { awake_until.max(awake) } else { awake };
        }
        self.sort();
    }

    /// By begin, what lies inside of another bar behind that.
    pub(super) fn sort(&mut self) {
        self.bars.sort_by(|a, b| a.begin.total_cmp(&b.begin).then(b.end.total_cmp(&a.end)));
    }

    /// Tells systems of a sorted lane that were dealt out from those that lead rounds: they lie
    /// inside of a bar of work.
    pub(super) fn find_dealt_out(&mut self) {
        let mut work_ends = f64::NEG_INFINITY;
        for bar in &mut self.bars {
            match bar.kind {
                BarKind::Work => work_ends = work_ends.max(bar.end),
                BarKind::System if bar.end <= work_ends => bar.kind = BarKind::DealtOut,
                _ => {}
            }
        }
    }

    /// Tells each bar of a sorted lane how many others it lies inside of.
    pub(super) fn nest(&mut self) {
        let mut open: Vec<f64> = Vec::new();
        for bar in &mut self.bars {
            open.retain(|&end| end > bar.begin);
            bar.depth = open.len();
            open.push(bar.end);
        }
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
