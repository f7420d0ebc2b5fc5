//! Cache-affine parallel systems for Bevy.
//!
//! Tagged systems run on a gang of pinned threads that stay awake for a while after each call; in
//! lock step each core sweeps the same rows every frame. Moving from Bevy costs one type name
//! ([`AffineQuery`] for `Query`) and one word ([`.affine()`](IntoAffine::affine)):
//!
//! ```
//! use bevy::prelude::*;
//! use bevy_affinity::prelude::*;
//!
//! #[derive(Component)]
//! struct Position(f32);
//! #[derive(Component)]
//! struct Velocity(f32);
//!
//! fn drive(mut cars: AffineQuery<(&mut Position, &Velocity)>) {
//!     cars.par_iter_mut().for_each(|(mut position, velocity)| position.0 += velocity.0);
//! }
//!
//! App::new()
//!     .add_plugins(AffinityParallelPlugin)
//!     .add_systems(Update, drive.affine())
//!     .update();
//! ```
//!
//! What holds, whatever the [`SchedulerMode`] and the number of workers: the same results, a panic
//! on any worker reaches the caller after all have finished, and safe code cannot cause a data
//! race.
//!
//! # What is where
//!
//! | to | use |
//! |---|---|
//! | add the plugin, choose workers and mode | [`AffinityParallelPlugin`], [`AffinitySettings`], [`SchedulerMode`] |
//! | choose how whole schedules run | [`AffinityExecutor`], [`AffinitySchedules`] |
//! | tag systems | [`.affine()`](IntoAffine::affine), [`affine_system`] |
//! | sweep rows | [`AffineQuery`], then [`for_each`](AffineParIter::for_each), [`for_each_chunk`](AffineParIter::for_each_chunk), [`map_reduce`](AffineParIter::map_reduce), [`fold_reduce`](AffineParIter::fold_reduce), [`contiguous_par_iter_mut`](AffineQuery::contiguous_par_iter_mut) |
//! | build a query at run time, for scripts and mods | [`AffineQueryParamBuilder`] |
//! | with scratch values for each worker | [`for_each_init`](AffineParIter::for_each_init) |
//! | run several short systems in one sweep | [`fused`], [`Row`] |
//! | visit only rows whose time has come | [`Due`], [`Agenda`], [`due`](AffineParIter::due) |
//! | write to other entities | [`scatter`](AffineParIter::scatter), [`scatter_within`](AffineParIter::scatter_within) |
//! | send messages that arrive later | [`Calendar`], [`scatter_timed`](AffineParIter::scatter_timed) |
//! | spawn, despawn, insert, remove | [`for_each_with_commands`](AffineParIter::for_each_with_commands), [`AffineCommands`] |
//! | walk trees, place transforms | [`AffineTree`], [`AffinityTransformPlugin`] |
//! | work without a query | [`AffinityPool`]: [`run`](AffinityPool::run), [`heartbeat`](AffinityPool::heartbeat), [`batched`](AffinityPool::batched); [`PerWorker`] |
//! | see where the time goes | [`AffinityDiagnostics`], [`AffinityTimeline`] |
//! | the same in a panel, a file, a profiler | features `overlay`, `trace-file`, `trace` |
//! | know the cores | [`topology`] |
//!
//! # How a call runs
//!
//! 1. The tag sets mode, settings and gang for the system that it runs (`schedule/tagged.rs`). A
//!    tagged system runs on the schedule's main thread, which leads the gang unless another app
//!    does. A small one may be dealt out as a whole to a worker; its calls then stay there.
//! 2. `par_iter_mut()` notes the place in the program that calls it (`query/par_iter.rs`). The verb
//!    behind it asks for a plan (`sweep/plan.rs`): the mode decides, and in
//!    [`Auto`](SchedulerMode::Auto) what calls from this place took by each way (`auto/`).
//! 3. On one thread, the rows are visited there. On Bevy's threads, Bevy's `par_iter` visits them
//!    for `for_each`, `for_each_init` and contiguous runs; other verbs run one part a thread.
//! 4. On the gang, each storage is cut into one run of rows for each worker, at the same rows as in
//!    the frame before (`sweep/lock_step.rs`, `placement/`). The leader publishes the call
//!    (`pool/round.rs`) and begins with its own rows. Workers that have rows, or chunks to help
//!    with, begin as soon as they see it: they spin for some 50 us after a round, then sleep.
//! 5. A worker that has finished its share steals chunks from the far end of another's
//!    (`sweep/share.rs`). By fork/join all rows are one range, and an idle worker takes the far
//!    half of what another has left (`sweep/fork_join.rs`).
//! 6. The leader waits for all, learns from what the call took, and goes on. At the frame's end
//!    cuts between shares move if some rows were found to cost more than others
//!    (`placement/balancer.rs`).
//!
//! The way of a call file by file, and where a change would go: `docs/architecture.md`. The
//! protocol, its memory orderings and every `unsafe`: `src/pool/README.md`.
#![deny(unsafe_code)]

mod ablation;
mod auto;
mod claims;
#[cfg(doctest)]
mod compile_fail;
mod context;
mod diagnostics;
#[expect(unsafe_code, reason = "the contract with the ECS: times are read and written where they stand")]
mod due;
#[expect(unsafe_code, reason = "the contract with the ECS: systems are run from several threads")]
mod executor;
#[expect(unsafe_code, reason = "the contract with the ECS: kernels take turns at the rows of one thread")]
mod fused;
mod once;
#[cfg(feature = "overlay")]
mod overlay;
mod placement;
mod plugin;
#[expect(unsafe_code, reason = "jobs are shared without their lifetime: see `pool/README.md`")]
mod pool;
#[expect(unsafe_code, reason = "system parameters that register their access, and calls that keep to it")]
mod query;
mod record;
#[expect(unsafe_code, reason = "the contract with the ECS: senders and receivers are visited by who owns them")]
mod scatter;
#[expect(unsafe_code, reason = "a system parameter that claims access and uses none")]
mod schedule;
mod settings;
#[expect(unsafe_code, reason = "the contract with the ECS: rows are visited from several threads")]
mod sweep;
mod sync;
mod task_pools;
pub mod topology;
mod transforms;
#[expect(unsafe_code, reason = "the contract with the ECS: nodes are visited by who claims them")]
mod tree;

pub use auto::ChoiceReason;
/// Of the version whose types [`affinity_overlay_ui`] takes.
#[cfg(feature = "overlay")]
pub use bevy_egui;
pub use diagnostics::{
    AffinityDiagnostics, AffinityTimeline, CallMeasurement, CallSiteDiagnostics, Forecast, ModeDiagnostics,
    ScheduleDiagnostics, SystemDiagnostics, WorkerDiagnostics, WorkerShares, paths,
};
pub use due::{Agenda, Due, DueParIter};
#[doc(hidden)]
pub use executor::Forced;
pub use executor::{AffinityExecutor, AffinitySchedules, ScheduleWay};
pub use fused::{Fused, Kernel, KernelParam, Kernels, Row, fused};
#[cfg(feature = "overlay")]
pub use overlay::{AffinityOverlayPlugin, OverlaySettings, affinity_overlay_ui};
pub use plugin::AffinityParallelPlugin;
#[expect(deprecated, reason = "the former name")]
pub use pool::WorkerTimes;
pub use pool::{AffinityPool, BatchedCalls, PerWorker, Scope, Worker, WorkerStats};
pub use query::{
    AffineCommands, AffineContiguousParIter, AffineParIter, AffineQuery, AffineQueryParamBuilder, ChunkData,
    ReborrowQuery, SAffineQuery,
};
pub use record::{FrameSpan, Span, SpanKind, StageLane, StageSpan};
pub use scatter::{Calendar, Outbox, ScatterReport, TimedOutbox};
pub use schedule::{AffineSystems, AffinitySystems, IntoAffine, affine_system};
pub use settings::{AffinitySettings, Pinning, SchedulerMode, SpareCores, WorkerCount};
#[expect(deprecated, reason = "the former name")]
pub use transforms::AffineTransformPlugin;
pub use transforms::AffinityTransformPlugin;
pub use tree::{AffineTree, TreeFold, TreeReport};

/// What the README shows compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(doctest)]
#[doc = include_str!("../docs/tuning.md")]
struct Tuning;

/// All that a game needs: `use bevy_affinity::prelude::*;`
///
/// What is tagged, or used in a tagged system, begins with `Affine`; the plugin, and what belongs
/// to it, with `Affinity`.
pub mod prelude {
    #[expect(deprecated, reason = "the former name")]
    pub use crate::AffineTransformPlugin;
    pub use crate::{
        AffineCommands, AffineQuery, AffineSystems, AffineTree, AffinityDiagnostics, AffinityExecutor,
        AffinityParallelPlugin, AffinityPool, AffinitySchedules, AffinitySettings, AffinitySystems, AffinityTimeline,
        AffinityTransformPlugin, Agenda, BatchedCalls, Calendar, Due, IntoAffine, Outbox, PerWorker, Pinning, Row,
        ScatterReport, SchedulerMode, Scope, SpareCores, TimedOutbox, TreeReport, Worker, WorkerCount, affine_system,
        fused,
    };
    #[cfg(feature = "overlay")]
    pub use crate::{AffinityOverlayPlugin, OverlaySettings};
}
