//! [`AffinityTransformPlugin`]: Bevy's transform propagation, on the workers.
//!
//! The systems in `mark.rs` and `place.rs` do what Bevy's of the same names do, to the same
//! components, with the same change ticks; `either.rs` makes one system of each pair, and
//! `replace.rs` puts that in Bevy's place.

mod either;
mod mark;
mod place;
mod replace;

use bevy_app::{App, Plugin, PostStartup, PostUpdate, PreStartup};
use bevy_ecs::prelude::{IntoScheduleConfigs, ResMut, Schedules};
use bevy_transform::systems::StaticTransformOptimizations;

use either::Choice;

/// Computes every [`GlobalTransform`](bevy_transform::components::GlobalTransform) on the workers,
/// instead of Bevy's [`TransformPlugin`](bevy_transform::TransformPlugin).
///
/// The values are equal to Bevy's to the bit, and what counts as changed is the same, in every
/// [`SchedulerMode`](crate::SchedulerMode) and when it changes: [`StaticTransformOptimizations`] is
/// obeyed, and [`TransformTreeChanged`](bevy_transform::components::TransformTreeChanged) is kept.
/// In mode [`Bevy`](crate::SchedulerMode::Bevy) Bevy's own functions run. The mode is read once a
/// frame, by the first of the three systems.
///
/// Needs [`AffinityParallelPlugin`](crate::AffinityParallelPlugin), and is meant to stand beside
/// `TransformPlugin` (which `DefaultPlugins` has). The order in which the three are added does not
/// matter. In a world without `AffinityParallelPlugin` Bevy's own functions run, and a warning says
/// so.
///
/// # In Bevy's place
/// Each of Bevy's three systems in
/// [`TransformSystems::Propagate`](bevy_transform::TransformSystems::Propagate) of `PostStartup`
/// and `PostUpdate` is exchanged for one that does the same, in the same place of the schedule. So
/// whatever is ordered before or after that set, or before or after one of the functions
/// (`.before(mark_dirty_trees)`, `.after(sync_simple_transforms)`), stays so; sets, conditions and
/// ambiguities are those of Bevy's systems, and nothing is built or initialized earlier than
/// without this plugin. Functions of Bevy's that are added elsewhere (in other sets, in other
/// schedules) stay what they are.
///
/// What differs:
/// - the three run on the schedule's main thread, as all systems that lead the workers do, also in
///   mode `Bevy`. They are not in [`AffineSystems`](crate::AffineSystems): conditions and orders of
///   that set are not meant for transforms;
/// - their names are `bevy_affinity::transforms::..`, so Bevy's stepping does not find them by
///   function;
/// - without `TransformPlugin` the systems are added when `PreStartup` runs, and nothing warns of
///   parents that lack a `GlobalTransform`;
/// - a schedule that was run before `PreStartup`, with `TransformPlugin` added later than this
///   plugin, keeps Bevy's systems. A warning says so.
///
/// ```
/// use bevy::prelude::*;
/// use bevy_affinity::prelude::*;
///
/// let mut app = App::new();
/// app.add_plugins((TransformPlugin, AffinityParallelPlugin, AffinityTransformPlugin));
/// let parent = app.world_mut().spawn(Transform::from_xyz(1.0, 0.0, 0.0)).id();
/// let child = app.world_mut().spawn((Transform::from_xyz(0.0, 2.0, 0.0), ChildOf(parent))).id();
/// app.update();
/// assert_eq!(app.world().get::<GlobalTransform>(child).unwrap().translation(), Vec3::new(1.0, 2.0, 0.0));
/// ```
///
/// # Panics
/// While it propagates, as Bevy does, if a child's [`ChildOf`](bevy_ecs::hierarchy::ChildOf) names
/// another parent than the one that named it, and either was to be placed. All workers are done by
/// then, and some entities are placed (Bevy's systems may wait for each other for ever).
#[derive(Clone, Copy, Debug, Default)]
pub struct AffinityTransformPlugin;

/// The former name of [`AffinityTransformPlugin`].
#[deprecated(note = "renamed to `AffinityTransformPlugin`")]
pub type AffineTransformPlugin = AffinityTransformPlugin;

/// The former name of [`AffinityTransformPlugin`], as a value.
#[deprecated(note = "renamed to `AffinityTransformPlugin`")]
#[expect(non_upper_case_globals, reason = "the name of a plugin, which is its only value")]
pub const AffineTransformPlugin: AffinityTransformPlugin = AffinityTransformPlugin;

impl Plugin for AffinityTransformPlugin {
    fn build(&self, app: &mut App) {
        let choice = Choice::default();
        app.init_resource::<StaticTransformOptimizations>().init_schedule(PostStartup).init_schedule(PostUpdate);
        replace::take_places(&mut app.world_mut().resource_mut::<Schedules>(), &choice);
        // Systems that are added to other schedules meanwhile are added all the same.
        let take_others = move |schedules: ResMut<Schedules>| replace::make_and_take_places(schedules, &choice);
        app.add_systems(PreStartup, take_others.ambiguous_with_all());
    }
}
