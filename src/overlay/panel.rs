//! The panel itself, and what it remembers from frame to frame.

use std::{mem, time::Duration};

use bevy_ecs::prelude::{Mut, Res, ResMut, Resource, World};
use bevy_egui::egui::{Align, Button, CollapsingHeader, Layout, Ui};
use bevy_platform::time::Instant;

use super::{
    OverlaySettings,
    ab::{FrameTimes, Next},
    choices, colours,
    controls::Controls,
    forecasts, history,
    modes::Modes,
    recorded::{Recorded, Source},
    save::Saved,
    schedules, shares,
    snapshot::Snapshot,
    systems_table::SystemsTable,
    threads::Threads,
    timeline::{Nanoseconds, Timeline},
    warnings,
};
use crate::{
    diagnostics::{AffinityDiagnostics, AffinityTimeline, Forecast},
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
    pub(super) snapshot: Snapshot,
    pub(super) recorded: Recorded,
    threads: Threads,
    /// The frame that was asked for last, and when, if the recording does not hold it.
    gone: Option<(u64, Instant)>,
    pub(super) refreshed: Option<Instant>,
    pub(super) forecast: Option<Forecast>,
    forecasted: Option<Instant>,
    /// Drawn in this frame.
    seen: bool,
    cost: Cost,
}

/// A forecast reads all that is recorded, which takes milliseconds.
const FORECAST_INTERVAL: Duration = Duration::from_secs(1);

/// For how long it is said that a frame is not in the recording.
const GONE_FOR: Duration = Duration::from_secs(4);

/// How long the panel takes.
#[derive(Debug, Default)]
struct Cost {
    /// To lay it out.
    layout: Smoothed,
    /// To ask the system what other threads did.
    asking: Smoothed,
    /// For egui to make triangles of it, and of all else that egui draws.
    drawing: Smoothed,
    /// When egui began to draw this frame.
    begun: Option<Instant>,
}

/// A mean over about 16 frames.
#[derive(Debug, Default)]
struct Smoothed {
    frame: Duration,
    mean: Duration,
}

impl Smoothed {
    fn end_frame(&mut self) {
        self.mean = (self.mean * 15 + mem::take(&mut self.frame)) / 16;
    }
}

impl Cost {
    fn end_frame(&mut self) {
        self.layout.end_frame();
        self.asking.end_frame();
        self.drawing.end_frame();
    }

    fn show(&self, ui: &mut Ui) {
        let parts = [&self.layout, &self.drawing, &self.asking].map(|part| part.mean.as_nanos() as f64);
        let [layout, drawing, asking] = parts.map(Nanoseconds);
        ui.weak(format!("overlay: {}", Nanoseconds(parts.iter().sum()))).on_hover_text(format!(
            "of a frame's time on the CPU: {layout} to lay the panel out, {drawing} for egui to draw it and all \
             else of egui, {asking} to ask the system what other threads did",
        ));
    }
}

/// The frame's drawing by egui begins.
pub(super) fn drawing_begins(mut state: ResMut<OverlayState>) {
    state.cost.begun = Some(Instant::now());
}

/// The frame's drawing by egui has ended.
pub(super) fn drawing_ends(mut state: ResMut<OverlayState>) {
    let cost = &mut state.cost;
    cost.drawing.frame = cost.begun.take().map_or(Duration::ZERO, |begun| begun.elapsed());
}

/// Draws the overlay into `ui`: for a panel, a tab or a window of your own. While it is drawn the
/// app records its timeline.
///
/// Shows one line instead if `world` has no
/// [`AffinityParallelPlugin`](crate::AffinityParallelPlugin).
///
/// ```
/// use bevy::prelude::*;
/// use bevy_affinity::{affinity_overlay_ui, bevy_egui::egui};
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
    if !has_all_to_show(world) {
        ui.label("Resources of AffinityParallelPlugin were removed from this world: there is nothing to show.");
        return;
    }
    let begin = Instant::now();
    world.resource_scope(|world, mut state: Mut<OverlayState>| {
        state.seen = true;
        state.refresh(world);
        state.show(ui, world);
        state.cost.layout.frame += begin.elapsed();
    });
}

/// Whether all is there that a user may have removed.
fn has_all_to_show(world: &World) -> bool {
    world.contains_resource::<AffinityDiagnostics>()
        && world.contains_resource::<AffinityTimeline>()
        && world.contains_resource::<AffinitySettings>()
        && world.contains_resource::<SchedulerMode>()
        && world.contains_resource::<OverlaySettings>()
}

/// Where the bars of this world come from.
fn source<'a>(world: &'a World, threads: &'a Threads) -> Source<'a> {
    Source { timeline: world.resource(), diagnostics: world.resource(), settings: world.resource(), threads }
}

/// Records while the panel is seen: from the first frame in which the panel is drawn to the first
/// in which it is not.
pub(super) fn record_while_seen(mut state: ResMut<OverlayState>, timeline: Option<ResMut<AffinityTimeline>>) {
    let seen = state.end_frame();
    if let Some(mut timeline) = timeline {
        timeline.watch(seen);
    }
}

/// Shows the last frame to the comparison of two modes, if one is on.
pub(super) fn compare_modes(
    mut state: ResMut<OverlayState>,
    mode: Option<ResMut<SchedulerMode>>,
    diagnostics: Option<Res<AffinityDiagnostics>>,
) {
    // A user may have removed them.
    let (Some(mut mode), Some(diagnostics)) = (mode, diagnostics) else { return };
    let modes = &mut state.modes;
    let (Some(comparison), Some(frame)) = (&mut modes.comparison, diagnostics.history().next_back()) else { return };
    let times = FrameTimes { mode: frame.mode, tagged: frame.tagged_time(), calls: frame.calls, whole: frame.delta() };
    match comparison.frame(times) {
        Next::Keep => {}
        Next::Lost => modes.lose(),
        Next::Switch(next) => *mode = next,
        Next::Done(before, verdict) => {
            *mode = before;
            modes.conclude(frame.number, verdict);
        }
    }
}

impl OverlayState {
    /// Returns whether the panel was drawn in the frame.
    fn end_frame(&mut self) -> bool {
        if self.seen {
            let begin = Instant::now();
            self.threads.end_frame();
            self.cost.asking.frame = begin.elapsed();
        } else {
            self.timeline.leave();
            self.threads.forget();
            self.controls.forget();
        }
        self.cost.end_frame();
        mem::take(&mut self.seen)
    }

    /// Brings bars and numbers up to date if it is time, unless they are frozen: what stands beside
    /// each other is of the same time.
    fn refresh(&mut self, world: &World) {
        let now = Instant::now();
        self.timeline.set_budget(world.resource::<OverlaySettings>().budget);
        self.gone.take_if(|(_, since)| now - *since > GONE_FOR);
        let interval = world.resource::<OverlaySettings>().interval();
        let is_early = self.refreshed.is_some_and(|refreshed| now - refreshed < interval);
        if is_early || self.timeline.is_frozen() {
            return;
        }
        self.refreshed = Some(now);
        let diagnostics = world.resource::<AffinityDiagnostics>();
        self.snapshot.refresh(diagnostics);
        self.recorded.load_newest(source(world, &self.threads));
        self.timeline.follow(&self.recorded);
    }

    fn show(&mut self, ui: &mut Ui, world: &mut World) {
        // egui's own are below the contrast that small text needs.
        ui.visuals_mut().weak_text_color = Some(colours::LABEL);
        ui.visuals_mut().widgets.noninteractive.fg_stroke.color = colours::TEXT;
        let mode = *world.resource::<SchedulerMode>();
        ui.with_layout(Layout::right_to_left(Align::TOP), |ui| {
            self.cost.show(ui);
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
        for warning in warnings::of(world.resource()) {
            ui.colored_label(colours::BUDGET, warning);
        }
        section("Timeline").show(ui, |ui| self.show_timeline(ui, world));
        section("Frames").show(ui, |ui| self.show_frames(ui, world));
        section("Workers").show(ui, |ui| shares::show(ui, &self.snapshot));
        section("Choices of Auto").show(ui, |ui| choices::show(ui, mode, &self.snapshot));
        section("Systems").show(ui, |ui| self.table.show(ui, &self.snapshot));
        section("Schedules").show(ui, |ui| schedules::show(ui, &self.snapshot));
        CollapsingHeader::new("What would help").show(ui, |ui| {
            self.forecast(world.resource());
            forecasts::show(ui, self.forecast.as_ref(), &self.snapshot.systems);
        });
    }

    /// Brings the forecast up to date once a second, unless there is one and the panel is frozen.
    fn forecast(&mut self, timeline: &AffinityTimeline) {
        let is_old = self.forecasted.is_none_or(|forecasted| forecasted.elapsed() >= FORECAST_INTERVAL);
        if is_old && (self.forecast.is_none() || !self.timeline.is_frozen()) {
            self.forecast = timeline.forecast();
            self.forecasted = Some(Instant::now());
        }
    }

    fn show_timeline(&mut self, ui: &mut Ui, world: &World) {
        ui.horizontal_wrapped(|ui| {
            let text = if self.timeline.is_frozen() { "resume" } else { "freeze" };
            if ui.button(text).on_hover_text("Space with the pointer on the timeline, or a click on a bar").clicked() {
                self.timeline.freeze(!self.timeline.is_frozen());
            }
            if ui.button("whole frame").on_hover_text("double-click").clicked() {
                self.timeline.fit(&self.recorded);
            }
            let tagged = ui.add_enabled(!self.recorded.tagged.is_empty(), Button::new("tagged systems"));
            let tagged = tagged.on_hover_text("from the first one to the last");
            if tagged.on_disabled_hover_text("no tagged system ran in this frame").clicked() {
                self.timeline.fit_tagged(&self.recorded);
            }
            let folder = &world.resource::<OverlaySettings>().trace_folder;
            self.saved.show(ui, folder, world.resource(), world.resource());
            let frozen = if self.timeline.is_frozen() { "frozen at " } else { "" };
            ui.weak(format!("{frozen}frame {}", self.recorded.frame));
            if let Some((gone, _)) = self.gone {
                ui.weak(format!("frame {gone} is not in the recording"));
            }
        });
        if let Some(step) = self.timeline.show(ui, &self.recorded, &self.snapshot.systems) {
            self.jump_to(self.recorded.frame.saturating_add_signed(step), world);
        }
    }

    fn show_frames(&mut self, ui: &mut Ui, world: &mut World) {
        let mut budget = world.resource::<OverlaySettings>().budget;
        let on_show = self.timeline.is_frozen().then_some(self.recorded.frame);
        let clicked = history::show(ui, &self.snapshot.frames, &mut budget, on_show);
        if budget != world.resource::<OverlaySettings>().budget {
            world.resource_mut::<OverlaySettings>().budget = budget;
        }
        if let Some(number) = clicked {
            self.jump_to(number, world);
        }
    }

    /// Shows the frame with this number in the timeline, and keeps it there.
    fn jump_to(&mut self, number: u64, world: &World) {
        let there = self.recorded.load_frame(source(world, &self.threads), number);
        self.gone = (!there).then(|| (number, Instant::now()));
        if there {
            let was_frozen = self.timeline.is_frozen();
            self.timeline.freeze(true);
            // Steps from frame to frame keep the view: what moves is what differs.
            if was_frozen { self.timeline.follow(&self.recorded) } else { self.timeline.fit(&self.recorded) }
        }
    }
}
