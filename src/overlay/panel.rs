//! The panel itself, and what it remembers from frame to frame.

use std::time::{Duration, Instant};

use bevy::prelude::{Mut, Res, ResMut, Resource, World};
use bevy_egui::egui::{self, Ui};

use super::{
    OverlaySettings,
    ab::Next,
    controls::Controls,
    history,
    modes::Modes,
    save::Saved,
    shares,
    snapshot::{Recorded, Snapshot},
    systems_table::SystemsTable,
    timeline::{Nanoseconds, Timeline},
};
use crate::{
    diagnostics::AffinityDiagnostics,
    settings::{AffinitySettings, SchedulerMode},
};

/// What the panel remembers.
#[derive(Resource, Debug, Default)]
pub(super) struct OverlayState {
    pub(super) timeline: Timeline,
    modes: Modes,
    controls: Controls,
    table: SystemsTable,
    saved: Saved,
    snapshot: Snapshot,
    recorded: Recorded,
    refreshed: Option<Instant>,
    /// Drawn since the end of the last frame.
    seen: bool,
    cost: Cost,
}

/// What drawing the panel takes: a mean over about the last 16 frames.
#[derive(Debug, Default)]
struct Cost {
    frame: Duration,
    smoothed: Duration,
}

impl Cost {
    fn end_frame(&mut self) {
        self.smoothed = (self.smoothed * 15 + std::mem::take(&mut self.frame)) / 16;
    }
}

/// Draws the overlay into `ui`: for a panel, a tab or a window of your own. While it is drawn the app records its timeline.
///
/// Shows one line instead if `world` has no [`AffinityParallelPlugin`](crate::AffinityParallelPlugin).
///
/// ```
/// use bevy::prelude::*;
/// use bevy_affinity::{affinity_overlay_ui, prelude::*};
/// use bevy_egui::egui;
///
/// fn inspector(world: &mut World, context: &egui::Context) {
///     egui::Window::new("Inspector").show(context, |ui| {
///         ui.collapsing("Workers", |ui| affinity_overlay_ui(ui, world));
///     });
/// }
/// ```
pub fn affinity_overlay_ui(ui: &mut Ui, world: &mut World) {
    if !world.contains_resource::<OverlayState>() {
        ui.label("No AffinityParallelPlugin in this app: app.add_plugins(AffinityParallelPlugin)");
        return;
    }
    let begin = Instant::now();
    world.resource_scope(|world, mut state: Mut<OverlayState>| {
        let state = &mut *state;
        state.seen = true;
        state.refresh(world);
        state.show(ui, world);
        state.cost.frame += begin.elapsed();
    });
}

impl OverlayState {
    /// Brings the numbers up to date, if it is time, and the bars, unless they are frozen.
    fn refresh(&mut self, world: &World) {
        let now = Instant::now();
        let interval = world.resource::<OverlaySettings>().interval();
        if self.refreshed.is_some_and(|refreshed| now - refreshed < interval) {
            return;
        }
        self.refreshed = Some(now);
        self.snapshot.refresh(world);
    }

    fn show(&mut self, ui: &mut Ui, world: &mut World) {
        self.show_modes(ui, world);
        ui.separator();
        egui::CollapsingHeader::new("Settings").show(ui, |ui| {
            let settings = world.resource::<AffinitySettings>();
            if let Some(settings) = self.controls.show(ui, settings) {
                world.insert_resource(settings);
            }
        });
        let section = |name: &str| egui::CollapsingHeader::new(name).default_open(true);
        section("Timeline").show(ui, |ui| self.show_timeline(ui, world));
        section("Frames").show(ui, |ui| self.show_frames(ui, world));
        section("Workers").show(ui, |ui| shares::show(ui, &self.snapshot));
        section("Systems").show(ui, |ui| self.table.show(ui, &self.snapshot));
    }
}

/// Lets the comparison of two modes, if one is on, see the frame that ends.
pub(super) fn compare_modes() {}

/// Stops recording when nobody looks.
pub(super) fn stop_unseen_recording(mut state: ResMut<OverlayState>) {
    state.cost.end_frame();
    if !std::mem::take(&mut state.seen) {
        state.timeline.hide();
    }
}

impl OverlayState {
    fn show_modes(&mut self, ui: &mut Ui, world: &mut World) {
        let mode = *world.resource::<SchedulerMode>();
        if let Some(mode) = self.modes.show(ui, mode, &self.snapshot) {
            world.insert_resource(mode);
        }
    }
    fn show_timeline(&mut self, ui: &mut Ui, _world: &mut World) {
        self.timeline.show(ui, &self.recorded);
    }
    fn show_frames(&mut self, ui: &mut Ui, world: &mut World) {
        let budget = world.resource::<OverlaySettings>().budget;
        history::show(ui, &self.snapshot, budget);
    }
}
