//! One system that is Bevy's or ours, whichever the mode says.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use bevy_ecs::{
    prelude::{ChildOf, ParamSet, RemovedComponents, Res},
    system::{SystemParamFunction, SystemParamItem},
};
use bevy_transform::systems::StaticTransformOptimizations;
use log::warn;

use crate::{context::with_system, once::Once, settings::SchedulerMode};

/// Who places this frame's transforms, for all three systems of an app.
///
/// Relaxed: the schedule has the three run one after the other.
#[derive(Clone)]
pub(super) struct Choice {
    bevy: Arc<AtomicBool>,
}

/// Bevy's systems until the mode is asked for: a step through the schedule may leave out the first
/// of the three.
impl Default for Choice {
    fn default() -> Self {
        Self { bevy: Arc::new(AtomicBool::new(true)) }
    }
}

impl Choice {
    /// Asks the mode. For the first of the systems, so that a mode that changes while they run
    /// applies to the next frame. Without a gang Bevy's systems are the faster ones.
    pub(super) fn is_bevy_now(&self) -> bool {
        let bevy = with_system(|entered| entered.mode == SchedulerMode::Bevy).unwrap_or_else(|| {
            warn_without_plugin();
            true
        });
        self.bevy.store(bevy, Ordering::Relaxed);
        bevy
    }

    /// What was chosen last.
    pub(super) fn is_bevy(&self) -> bool {
        self.bevy.load(Ordering::Relaxed)
    }
}

#[cold]
fn warn_without_plugin() {
    static WARNED: Once = Once::new();
    if WARNED.first() {
        warn!(
            "bevy_affinity: the world has no `AffinityParallelPlugin`, so `AffinityTransformPlugin` leaves transforms \
             to Bevy's systems: add that plugin to the app too"
        );
    }
}

/// Runs `bevys` or `ours`, each with parameters of its own, in one system: so both see the changes
/// since either ran, and the access is that of both.
pub(super) fn either<B, O, BMarker, OMarker>(
    mut bevys: B,
    mut ours: O,
    is_bevy: impl Fn() -> bool + Send + Sync + 'static,
) -> impl FnMut(ParamSet<(B::Param, O::Param)>) + Send + Sync + 'static
where
    B: SystemParamFunction<BMarker, In = (), Out = ()>,
    O: SystemParamFunction<OMarker, In = (), Out = ()>,
    for<'w, 's> SystemParamItem<'w, 's, B::Param>: SkipOrphans,
    for<'w, 's> SystemParamItem<'w, 's, O::Param>: SkipOrphans,
{
    move |mut params| {
        if is_bevy() {
            params.p1().skip_orphans();
            bevys.run((), params.p0());
        } else {
            params.p0().skip_orphans();
            ours.run((), params.p1());
        }
    }
}

/// The parameters of one of the systems. Each has a cursor of its own in the entities that have
/// lost their parent.
pub(super) trait SkipOrphans {
    /// Moves the cursor of the one that does not run over what the other one reads.
    fn skip_orphans(&mut self);
}

type Orphans<'w, 's> = RemovedComponents<'w, 's, ChildOf>;

/// `sync_simple_transforms`.
impl<A> SkipOrphans for (A, Orphans<'_, '_>) {
    fn skip_orphans(&mut self) {
        self.1.clear();
    }
}

/// `propagate_parent_transforms` reads none.
macro_rules! impl_without_orphans {
    ($($param:ident),*) => {
        impl<$($param),*> SkipOrphans for ($($param,)*) {
            fn skip_orphans(&mut self) {}
        }
    };
}

impl_without_orphans!(A, B, C);
impl_without_orphans!(A, B, C, D);

/// `mark_dirty_trees` reads them if it marks at all.
macro_rules! impl_for_marking {
    ($($local:ident),*) => {
        impl<A, B, C, $($local),*> SkipOrphans
            for (A, Orphans<'_, '_>, B, C, Res<'_, StaticTransformOptimizations>, $($local),*)
        {
            fn skip_orphans(&mut self) {
                if self.4.is_enabled() {
                    self.1.clear();
                }
            }
        }
    };
}

impl_for_marking!(D);
impl_for_marking!(D, E, F, G);
