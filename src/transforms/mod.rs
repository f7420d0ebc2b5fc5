//! [`AffineTransformPlugin`]: Bevy's transform propagation, on the workers.
//!
//! `mark.rs` and `place.rs` do what Bevy's systems of the same names do, to the same components, with the same change ticks;
//! `replace.rs` puts them in Bevy's place.

mod mark;
mod place;
mod replace;

use bevy::{
    app::{App, Plugin, PostStartup, PostUpdate, PreStartup},
    prelude::{IntoScheduleConfigs, Res, TransformSystems},
    transform::systems::StaticTransformOptimizations,
};

use crate::{schedule::IntoAffine, settings::SchedulerMode};
use mark::mark_dirty_trees;
use place::{propagate_parent_transforms, sync_simple_transforms};

/// Computes every [`GlobalTransform`](bevy::prelude::GlobalTransform) on the workers, instead of Bevy's
/// [`TransformPlugin`](bevy::prelude::TransformPlugin).
///
/// The values are equal to Bevy's to the bit, and what counts as changed is the same:
/// [`StaticTransformOptimizations`] is obeyed, and [`TransformTreeChanged`](bevy::prelude::TransformTreeChanged) is kept. In mode
/// [`Bevy`](SchedulerMode::Bevy) Bevy's own systems run.
///
/// Needs [`AffinityParallelPlugin`](crate::AffinityParallelPlugin); their order, and that of `TransformPlugin` (which `DefaultPlugins` has), does
/// not matter. When the app starts, before `PostStartup` first runs, Bevy's three systems are taken out of `PostStartup` and `PostUpdate`. Ours are in
/// [`TransformSystems::Propagate`] of the same schedules.
///
/// ```
/// use bevy::prelude::*;
/// use bevy_affinity::prelude::*;
///
/// let mut app = App::new();
/// app.add_plugins((TransformPlugin, AffinityParallelPlugin, AffineTransformPlugin));
/// let parent = app.world_mut().spawn(Transform::from_xyz(1.0, 0.0, 0.0)).id();
/// let child = app.world_mut().spawn((Transform::from_xyz(0.0, 2.0, 0.0), ChildOf(parent))).id();
/// app.update();
/// assert_eq!(app.world().get::<GlobalTransform>(child).unwrap().translation(), Vec3::new(1.0, 2.0, 0.0));
/// ```
///
/// # Panics
/// While it propagates, as Bevy does, if a child's [`ChildOf`](bevy::prelude::ChildOf) names another parent.
#[derive(Clone, Copy, Debug, Default)]
pub struct AffineTransformPlugin;

impl Plugin for AffineTransformPlugin {
    fn build(&self, app: &mut App) {
        let systems = || {
            let systems = (mark_dirty_trees, propagate_parent_transforms, sync_simple_transforms);
            systems.affine().chain().in_set(TransformSystems::Propagate).run_if(is_ours)
        };
        app.init_resource::<StaticTransformOptimizations>()
            .add_systems(PreStartup, replace::take_bevys_place)
            .add_systems(PostStartup, systems())
            .add_systems(PostUpdate, systems());
    }
}

/// Whether this plugin's systems are to run, and not Bevy's.
fn is_ours(mode: Option<Res<SchedulerMode>>) -> bool {
    mode.is_none_or(|mode| *mode != SchedulerMode::Bevy)
}
