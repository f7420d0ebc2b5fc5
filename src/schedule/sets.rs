//! Sets of systems: those that users tagged, and what the plugins do in every frame.

use bevy_ecs::prelude::SystemSet;

/// The set of all systems that were tagged with [`.affine()`](crate::IntoAffine::affine), in every
/// schedule; not of those made by [`affine_system`](crate::affine_system).
///
/// ```
/// use bevy::prelude::*;
/// use bevy_affinity::prelude::*;
///
/// fn simulate() {}
/// fn prepare() {}
///
/// App::new()
///     .add_plugins(AffinityParallelPlugin)
///     .add_systems(Update, (prepare.before(AffineSystems), simulate.affine()))
///     .update();
/// ```
#[derive(SystemSet, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AffineSystems;

/// What the plugins do in every frame, to order other systems against.
/// ([`AffineSystems`](crate::AffineSystems) are those that a user tagged.)
///
/// With [`ambiguity_detection`](bevy_ecs::schedule::ScheduleBuildSettings::ambiguity_detection)
/// on, none of it is reported beside systems of Bevy's.
///
/// ```
/// use bevy::prelude::*;
/// use bevy_affinity::{AffinitySystems, prelude::*};
///
/// fn report(diagnostics: Res<AffinityDiagnostics>) {
///     println!("{} frames", diagnostics.frames);
/// }
///
/// App::new()
///     .add_plugins(AffinityParallelPlugin)
///     .add_systems(Last, report.after(AffinitySystems::EndFrame))
///     .update();
/// ```
#[derive(SystemSet, Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AffinitySystems {
    /// In [`First`](bevy_app::First): takes over changed settings and cores, gives schedules the
    /// executors that suit them, and begins to time the frame. Nothing that other systems see
    /// depends on what of `First` comes before and what after, so no ambiguity with it is reported.
    BeginFrame,
    /// In [`Last`](bevy_app::Last): brings [`AffinityDiagnostics`](crate::AffinityDiagnostics),
    /// [`AffinityTimeline`](crate::AffinityTimeline) and Bevy's
    /// [`DiagnosticsStore`](bevy_diagnostic::DiagnosticsStore) up to date.
    EndFrame,
    /// In [`PreUpdate`](bevy_app::PreUpdate): shows and hides the overlay when its key is pressed,
    /// and keeps from the game what is meant for it.
    #[cfg(feature = "overlay")]
    OverlayInput,
    /// In [`EguiPrimaryContextPass`](bevy_egui::EguiPrimaryContextPass): draws the overlay. Windows
    /// of others may come before or after, so no ambiguity with it is reported.
    #[cfg(feature = "overlay")]
    Overlay,
}
