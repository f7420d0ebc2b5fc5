//! Cache-affine parallel systems for Bevy.
//!
//! Tagged systems run on a gang of pinned threads that are already awake, and each core sweeps the same rows every frame. Moving from Bevy costs
//! one type name ([`AffineQuery`] for `Query`) and one word ([`.affine()`](IntoAffine::affine)):
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
//! What holds, whatever the [`SchedulerMode`] and the number of workers: the same results, a panic on any worker reaches the caller after all have
//! finished, and safe code cannot cause a data race.
#![deny(unsafe_code)]

mod auto;
#[cfg(doctest)]
mod compile_fail;
mod context;
mod diagnostics;
#[cfg(feature = "overlay")]
mod overlay;
mod placement;
mod plugin;
#[expect(unsafe_code, reason = "jobs are shared without their lifetime: see `pool/README.md`")]
mod pool;
#[expect(unsafe_code, reason = "the contract with the ECS: rows are visited from several threads")]
mod query;
mod record;
#[expect(unsafe_code, reason = "a system parameter that claims access and uses none")]
mod schedule;
mod settings;
mod sync;
mod task_pools;
pub mod topology;
mod transforms;
#[expect(unsafe_code, reason = "the contract with the ECS: nodes are visited by who claims them")]
mod tree;

pub use diagnostics::{
    AffinityDiagnostics, AffinityTimeline, CallSiteDiagnostics, ModeDiagnostics, SystemDiagnostics, WorkerDiagnostics,
    WorkerShares, paths,
};
#[cfg(feature = "overlay")]
pub use overlay::{AffinityOverlayPlugin, OverlaySettings, affinity_overlay_ui};
pub use plugin::{AffinityParallelPlugin, AffinitySystems};
pub use pool::{AffinityPool, BatchedCalls, PerWorker, Scope, Worker, WorkerTimes};
pub use query::{
    AffineCommands, AffineContiguousParIter, AffineParIter, AffineQuery, ChunkData, Fused, Kernel, KernelParam,
    Kernels, Outbox, ReborrowQuery, Row, ScatterReport, fused,
};
pub use record::{FrameSpan, Span, SpanKind};
pub use schedule::{AffineSystems, IntoAffine, affine_system};
pub use settings::{AffinitySettings, Pinning, SchedulerMode, SpareCores, WorkerCount};
pub use transforms::AffineTransformPlugin;
pub use tree::{AffineTree, TreeFold, TreeReport};

/// All that a game needs: `use bevy_affinity::prelude::*;`
pub mod prelude {
    pub use crate::{
        AffineCommands, AffineQuery, AffineSystems, AffineTransformPlugin, AffineTree, AffinityDiagnostics,
        AffinityParallelPlugin, AffinityPool, AffinitySettings, AffinitySystems, AffinityTimeline, BatchedCalls,
        IntoAffine, Outbox, PerWorker, Pinning, Row, ScatterReport, SchedulerMode, Scope, SpareCores, TreeReport,
        Worker, WorkerCount, fused,
    };
    #[cfg(feature = "overlay")]
    pub use crate::{AffinityOverlayPlugin, OverlaySettings};
}
