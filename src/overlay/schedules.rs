//! How each schedule runs, and what it would take in the other ways.

use bevy_egui::egui::{self, RichText, Ui};

use super::{snapshot::Snapshot, timeline::Nanoseconds};
use crate::{diagnostics::ScheduleDiagnostics, executor::ScheduleWay};

/// Letters of a column of numbers.
const DIGITS: usize = 9;

pub(super) fn show(ui: &mut Ui, snapshot: &Snapshot) {
    if snapshot.schedules.is_empty() {
        ui.weak("no schedule has the plugin's executor");
        return;
    }
    egui::Grid::new("schedules").num_columns(4 + ScheduleWay::ALL.len()).striped(true).spacing([12.0, 3.0]).show(
        ui,
        |ui| {
            show_heads(ui);
            for schedule in &snapshot.schedules {
                show_schedule(ui, schedule);
            }
        },
    );
}

fn show_heads(ui: &mut Ui) {
    ui.weak("schedule");
    ui.weak("runs").on_hover_text("in whichever way was measured to take least");
    for &way in ScheduleWay::ALL {
        ui.weak(way.name())
            .on_hover_text("what a run is expected to take; - where it was not tried since the schedule changed");
    }
    ui.weak("runs so far").on_hover_text("since the schedule changed");
    ui.weak("trials").on_hover_text("how often another way was tried, for some runs each time");
    ui.end_row();
}

fn show_schedule(ui: &mut Ui, schedule: &ScheduleDiagnostics) {
    ui.label(&schedule.label);
    ui.label(schedule.choice.name());
    for &way in ScheduleWay::ALL {
        let time = schedule.expected(way).map(|time| Nanoseconds(time.as_nanos() as f64).to_string());
        let text = RichText::new(format!("{:>DIGITS$}", time.as_deref().unwrap_or("-"))).monospace();
        ui.label(if way == schedule.choice { text.strong() } else { text });
    }
    ui.monospace(schedule.runs.to_string());
    ui.monospace(schedule.trials.to_string());
    ui.end_row();
}
