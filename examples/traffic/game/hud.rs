//! The bar at the top: time, speed, cars, score, and where the frame's time goes.

use bevy::ecs::system::SystemParam;
use bevy::prelude::*;
use bevy_affinity::prelude::*;
use bevy_egui::{EguiContexts, EguiPrimaryContextPass, egui};

use super::census::Census;
use super::challenge::{ChallengeList, Task};
use super::clock::{self, Pace, SPEEDS};
use super::help::Help;
use super::junctions::Junctions;
use super::orders::Wishes;
use super::score::Score;
use super::select::Places;
use super::shared::{CameraView, Clock, FrameParts, GameState};
use super::style::{self, QUIET, grouped};
use crate::model::{Demand, Order};
use crate::simulation::Now;

/// Where the overlay opens: right below the bar, in logical pixels.
const BELOW_BAR: Vec2 = Vec2::new(12.0, style::BELOW_BAR);

pub(super) fn plugin(app: &mut App) {
    app.insert_resource(OverlaySettings { position: BELOW_BAR, ..default() });
    app.add_systems(EguiPrimaryContextPass, show.run_if(resource_equals(GameState::Playing)));
}

#[derive(SystemParam)]
struct Shown<'w> {
    now: Res<'w, Now>,
    pace: Res<'w, Pace>,
    census: Res<'w, Census>,
    demand: Res<'w, Demand>,
    parts: Res<'w, FrameParts>,
    mode: Res<'w, SchedulerMode>,
    view: Res<'w, CameraView>,
    places: Res<'w, Places>,
    task: Res<'w, Task>,
}

#[derive(SystemParam)]
struct Controls<'w> {
    clock: ResMut<'w, Clock>,
    wishes: ResMut<'w, Wishes>,
    score: ResMut<'w, Score>,
    help: ResMut<'w, Help>,
    junctions: ResMut<'w, Junctions>,
    challenges: ResMut<'w, ChallengeList>,
}

fn show(mut contexts: EguiContexts, shown: Shown, mut controls: Controls) -> Result {
    let context = contexts.ctx_mut()?;
    egui::Area::new("hud".into()).anchor(egui::Align2::LEFT_TOP, egui::vec2(10.0, 10.0)).show(context, |ui| {
        style::panel().show(ui, |ui| {
            ui.horizontal(|ui| {
                time(ui, &shown, &mut controls);
                ui.separator();
                buttons(ui, &shown, &mut controls);
            });
            ui.horizontal(|ui| numbers(ui, &shown, &controls.score));
        });
    });
    Ok(())
}

fn time(ui: &mut egui::Ui, shown: &Shown, controls: &mut Controls) {
    ui.label(egui::RichText::new(style::clock(shown.now.0)).monospace().size(18.0).strong());
    let clock = &mut controls.clock;
    if ui.selectable_label(clock.paused, "⏸").on_hover_text("pause (Space)").clicked() {
        clock.paused = !clock.paused;
    }
    for speed in SPEEDS {
        if ui.selectable_label(!clock.paused && clock.speed == speed, clock::name(speed)).clicked() {
            (clock.speed, clock.paused) = (speed, false);
        }
    }
    let achieved = if shown.pace.is_held {
        "searching ways".to_owned()
    } else {
        format!("achieved ×{:.*}", usize::from(shown.pace.achieved < 10.0), shown.pace.achieved)
    };
    ui.label(egui::RichText::new(achieved).color(QUIET));
}

fn buttons(ui: &mut egui::Ui, shown: &Shown, controls: &mut Controls) {
    let left = shown.demand.rush_end().saturating_sub(shown.now.0);
    let text = if left > 0 { format!("rush hour: {} min left", left.div_ceil(60)) } else { "rush hour".to_owned() };
    let is_given = shown.demand.is_given();
    let button = ui.add_enabled(left == 0 && !is_given, egui::Button::new(text));
    let button = button.on_disabled_hover_text(if is_given { "all trips are given" } else { "one is under way" });
    if button.on_hover_text("half an hour of trips toward the middle of the view (R)").clicked()
        && let Some(node) = shown.places.nearest_intersection(shown.view.centre)
    {
        controls.wishes.one(Order::RushHour { node });
    }
    if ui.selectable_label(controls.score.is_open, "score").on_hover_text("F2").clicked() {
        controls.score.is_open = !controls.score.is_open;
    }
    if ui.selectable_label(controls.junctions.is_open, "junctions").on_hover_text("F4").clicked() {
        controls.junctions.is_open = !controls.junctions.is_open;
    }
    if ui.selectable_label(controls.challenges.0, "challenges").on_hover_text("F5").clicked() {
        controls.challenges.0 = !controls.challenges.0;
    }
    if ui.selectable_label(controls.help.0, "help").on_hover_text("F1").clicked() {
        controls.help.0 = !controls.help.0;
    }
}

fn numbers(ui: &mut egui::Ui, shown: &Shown, score: &Score) {
    let count = |number, what| format!("{} {what}", grouped(number));
    ui.label(count(shown.census.on_road, "on the road"));
    ui.label(count(shown.census.waiting, "waiting"));
    ui.label(count(shown.census.trips_arrived, "arrived"));
    ui.label(count(shown.census.trips_stuck, "stuck"));
    ui.separator();
    let verdict = shown.task.line(shown.now.0).unwrap_or_else(|| score.verdict().line());
    ui.label(egui::RichText::new(verdict).color(style::PLAYED));
    ui.separator();
    let FrameParts { simulate, pack, draw, .. } = *shown.parts;
    let [simulate, pack, draw] = [simulate, pack, draw].map(|part| part.as_secs_f64() * 1e3);
    let parts = format!("{:?} (F3): simulate {simulate:.1} ms, pack {pack:.1}, draw {draw:.1}", *shown.mode);
    ui.label(egui::RichText::new(parts).color(QUIET));
}
