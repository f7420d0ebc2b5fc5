//! The panel itself, and what it remembers from frame to frame.

use std::{
    mem,
    time::{Duration, Instant},
};

use bevy_ecs::prelude::{Mut, Res, ResMut, Resource, World};
use bevy_egui::egui::{Align, CollapsingHeader, Layout, Ui};

use super::{
    OverlaySettings,
    ab::Next,
    choices,
    controls::Controls,
    history,
    modes::Modes,
    recorded::Recorded,
    save::Saved,
    shares,
    snapshot::Snapshot,
    systems_table::SystemsTable,
    timeline::{Nanoseconds, Timeline},
};
use crate::{
    diagnostics::{AffinityDiagnostics, AffinityTimeline},
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
    /// The frame that was asked for and that the recording does not hold any more.
    gone: Option<u64>,
    refreshed: Option<Instant>,
    /// Drawn in this frame.
    seen: bool,
    cost: Cost,
}

/// How long drawing the panel takes.
#[derive(Debug, Default)]
struct Cost {
    frame: Duration,
    /// A mean over about 16 frames.
    smoothed: Duration,
}

impl Cost {
    fn end_frame(&mut self) {
        self.smoothed = (self.smoothed * 15 + mem::take(&mut self.frame)) / 16;
    }
}

/// Draws the overlay into `ui`: for a panel, a tab or a window of your own. While it is drawn the
/// app records its timeline.
///
/// Shows one line instead if `world` has no
/// [`AffinityParallelPlugin`](crate::AffinityParallelPlugin).
///
/// ```
/// use bevy::prelude::*;
/// use bevy_affinity::affinity_overlay_ui;
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
        ui.label("This app lacks .add_plugins(AffinityParallelPlugin).");
        return;
    }
    let begin = Instant::now();
    world.resource_scope(|world, mut state: Mut<OverlayState>| {
        state.seen = true;
        state.refresh(world);
        state.show(ui, world);
        state.cost.frame += begin.elapsed();
    });
}

/// Records while the panel is seen: from the first frame in which the panel is drawn to the first
/// in which it is not.
pub(super) fn record_while_seen(mut state: ResMut<OverlayState>, mut timeline: ResMut<AffinityTimeline>) {
    timeline.watch(state.end_frame());
}

/// Shows the last frame to the comparison of two modes, if one is on.
pub(super) fn compare_modes(
    mut state: ResMut<OverlayState>,
    mut mode: ResMut<SchedulerMode>,
    diagnostics: Res<AffinityDiagnostics>,
) {
    let modes = &mut state.modes;
    let (Some(comparison), Some(frame)) = (&mut modes.comparison, diagnostics.history().next_back()) else { return };
    match comparison.frame(frame.tagged_time(), frame.delta()) {
        Next::Keep => {}
        Next::Switch(next) => *mode = next,
        Next::Done(before, verdict) => {
            *mode = before;
            modes.comparison = None;
            modes.verdict = Some(verdict);
        }
    }
}

impl OverlayState {
    /// Returns whether the panel was drawn in the frame.
    fn end_frame(&mut self) -> bool {
        self.cost.end_frame();
        if !self.seen {
            self.timeline.leave();
        }
        mem::take(&mut self.seen)
    }

    /// Makes the next frame bring the numbers up to date.
    #[cfg(test)]
    pub(super) fn refresh_at_once(&mut self) {
        self.refreshed = None;
    }

    /// Brings the numbers up to date, if it is time, and the bars, unless they are frozen.
    fn refresh(&mut self, world: &World) {
        let now = Instant::now();
        let interval = world.resource::<OverlaySettings>().interval();
        if self.refreshed.is_some_and(|refreshed| now - refreshed < interval) {
            return;
        }
        self.refreshed = Some(now);
        let diagnostics = world.resource::<AffinityDiagnostics>();
        self.snapshot.refresh(diagnostics);
        if !self.timeline.is_frozen() {
            let spin = world.resource::<AffinitySettings>().spin;
            self.recorded.load_newest(world.resource::<AffinityTimeline>(), diagnostics, spin);
            self.timeline.follow(&self.recorded);
        }
    }

    fn show(&mut self, ui: &mut Ui, world: &mut World) {
        let mode = *world.resource::<SchedulerMode>();
        ui.with_layout(Layout::right_to_left(Align::TOP), |ui| {
            let cost = Nanoseconds(self.cost.smoothed.as_nanos() as f64);
            ui.weak(format!("overlay: {cost}")).on_hover_text("what drawing this panel takes of a frame");
            ui.with_layout(Layout::left_to_right(Align::TOP), |ui| ui.strong(format!("{mode:?} mode")));
        });
        if let Some(mode) = self.modes.show(ui, mode, &self.snapshot) {
            world.insert_resource(mode);
        }
        CollapsingHeader::new("Settings").show(ui, |ui| {
            if let Some(settings) = self.controls.show(ui, world.resource::<AffinitySettings>()) {
                world.insert_resource(settings);
            }
        });
        let section = |name: &str| CollapsingHeader::new(name).default_open(true);
        section("Timeline").show(ui, |ui| self.show_timeline(ui, world));
        section("Frames").show(ui, |ui| self.show_frames(ui, world));
        section("Workers, last second").show(ui, |ui| shares::show(ui, &self.snapshot));
        section("Choices of Auto").show(ui, |ui| choices::show(ui, &self.snapshot));
        section("Systems").show(ui, |ui| self.table.show(ui, &self.snapshot));
    }

    fn show_timeline(&mut self, ui: &mut Ui, world: &World) {
        ui.horizontal_wrapped(|ui| {
            let text = if self.timeline.is_frozen() { "resume" } else { "freeze" };
            if ui.button(text).on_hover_text("Space, or a click on a bar").clicked() {
                self.timeline.freeze(!self.timeline.is_frozen());
            }
            if ui.button("fit").on_hover_text("double-click").clicked() {
                self.timeline.fit(&self.recorded);
            }
            let folder = &world.resource::<OverlaySettings>().trace_folder;
            self.saved.show(ui, folder, world.resource(), world.resource());
            ui.weak(format!("frame {}", self.recorded.frame));
            if let Some(gone) = self.gone {
                ui.weak(format!("frame {gone} is not recorded any more"));
            }
        });
        self.timeline.show(ui, &self.recorded, &self.snapshot.systems);
    }

    fn show_frames(&mut self, ui: &mut Ui, world: &mut World) {
        let mut budget = world.resource::<OverlaySettings>().budget;
        let clicked = history::show(ui, &self.snapshot.frames, &mut budget);
        if budget != world.resource::<OverlaySettings>().budget {
            world.resource_mut::<OverlaySettings>().budget = budget;
        }
        if let Some(number) = clicked {
            self.jump_to(number, world);
        }
    }

    /// Shows the frame with this number in the timeline, and keeps it there.
    fn jump_to(&mut self, number: u64, world: &World) {
        let spin = world.resource::<AffinitySettings>().spin;
        let there = self.recorded.load_frame(world.resource(), world.resource(), spin, number);
        self.gone = (!there).then_some(number);
        if there {
            self.timeline.freeze(true);
            self.timeline.fit(&self.recorded);
        }
    }
}
