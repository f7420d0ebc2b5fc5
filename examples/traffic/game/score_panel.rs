//! The score's window (F2): the verdict, what is behind it, and both cities' curves.

use bevy::prelude::*;
use bevy_egui::{EguiContexts, EguiPrimaryContextPass, egui};
use egui_plot::PlotPoints;

use super::challenge::Task;
use super::junctions::{self, Junctions};
use super::plot::{self, Curve};
use super::score::Score;
use super::shared::GameState;
use super::style::{self, PLAYED, UNTOUCHED};
use super::verdict::Verdict;
use crate::simulation::Now;
use crate::tally::{self, Tally};

/// Points that a rate is averaged over: ten minutes, several cycles of the signals and most trips.
const AVERAGED: usize = 10;

/// Points that are shown: four hours.
const SHOWN: usize = 240;

/// Pixels from the lower edge of the window, above the legend.
const ABOVE_LEGEND: f32 = 64.0;

pub(super) fn plugin(app: &mut App) {
    app.add_systems(Update, toggle.run_if(resource_equals(GameState::Playing)))
        .add_systems(EguiPrimaryContextPass, show.run_if(resource_equals(GameState::Playing)));
}

/// Points in time and value: each averaged over the minutes before it.
fn curve(tallies: &[Tally], value: fn(&[Tally]) -> f64) -> PlotPoints<'static> {
    let first = tallies.len().saturating_sub(SHOWN).max(1);
    let point =
        |index: usize| [style::hours(tallies[index].second), value(&tallies[index.saturating_sub(AVERAGED)..=index])];
    (first..tallies.len()).map(point).collect()
}

fn toggle(keys: Res<ButtonInput<KeyCode>>, mut score: ResMut<Score>) {
    if keys.just_pressed(KeyCode::F2) {
        score.is_open = !score.is_open;
    }
}

/// The window of the score: in the lower left corner or, where the junctions are open, beside them.
/// It may be moved, and each of the two stays where it was moved to.
fn frame(window: egui::Rect, junctions_are_open: bool) -> egui::Window<'static> {
    let (name, pivot, corner) = if junctions_are_open {
        ("score beside", egui::Align2::LEFT_TOP, egui::pos2(junctions::RIGHT_END, style::BELOW_BAR))
    } else {
        ("score", egui::Align2::LEFT_BOTTOM, egui::pos2(style::MARGIN, window.bottom() - ABOVE_LEGEND))
    };
    let window = egui::Window::new("Score").id(name.into()).pivot(pivot).default_pos(corner);
    window.frame(style::panel()).resizable(false)
}

fn show(
    mut contexts: EguiContexts,
    mut score: ResMut<Score>,
    (task, now, junctions): (Res<Task>, Res<Now>, Res<Junctions>),
) -> Result {
    let score = score.bypass_change_detection();
    let mut is_open = score.is_open;
    let context = contexts.ctx_mut()?;
    frame(context.content_rect(), junctions.is_open).open(&mut is_open).show(context, |ui| {
        ui.set_width(380.0);
        let line = task.line(now.0).unwrap_or_else(|| score.verdict().line());
        ui.label(egui::RichText::new(line).strong());
        spreads(ui, score);
        curves(ui, "trips an hour", score, tally::trips_per_hour);
        curves(ui, "seconds under way a trip", score, tally::seconds_a_trip);
    });
    score.is_open = is_open;
    Ok(())
}

/// The figures behind the verdict, against the untouched city.
fn spreads(ui: &mut egui::Ui, score: &Score) {
    let Verdict::Found { trips, seconds, .. } = score.verdict() else { return };
    egui::Grid::new("spreads").num_columns(2).spacing([12.0, 2.0]).show(ui, |ui| {
        style::row(ui, "trips that end", trips.to_string());
        style::row(ui, "time a trip, those under way too", seconds.to_string());
        if let Verdict::Found { nearby, .. } = score.nearby() {
            style::row(ui, "cars within 1 km of the last order", nearby.to_string());
        }
    });
    let meaning = "the median of five-minute slices of the last hour, the least and the most";
    ui.label(egui::RichText::new(meaning).color(style::QUIET).small());
}

fn curves(ui: &mut egui::Ui, title: &str, score: &Score, value: fn(&[Tally]) -> f64) {
    let mut curves = vec![Curve { name: "yours", colour: PLAYED, width: 2.0, points: curve(score.played(), value) }];
    if let Some(untouched) = score.untouched() {
        let points = curve(untouched, value);
        curves.push(Curve { name: "untouched", colour: UNTOUCHED, width: 1.5, points });
    }
    plot::show(ui, title, curves);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_has_a_point_for_each_minute_behind_the_first() {
        let played: Vec<_> = (1..=20).map(|minute| Tally { second: minute * 60, ..Tally::default() }).collect();
        assert_eq!(curve(&played, tally::trips_per_hour).points().len(), 19);
    }
}
