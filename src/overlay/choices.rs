//! What mode `Auto` chose at each place that starts parallel calls, and what it knows of the other
//! ways.

use std::path::Path;

use bevy_egui::egui::{self, RichText, Ui};

use super::{
    colours,
    snapshot::{Snapshot, SystemRow},
    timeline::Nanoseconds,
};
use crate::{diagnostics::CallSiteDiagnostics, settings::SchedulerMode};

/// The ways that `Auto` chooses from.
const WAYS: [SchedulerMode; 3] = [SchedulerMode::Serial, SchedulerMode::LockStep, SchedulerMode::Heartbeat];

/// Said while there are no rows.
pub(super) const NONE: &str = "no parallel call has run in mode Auto yet";

/// Letters of a column of numbers: room for `Heartbeat`.
const DIGITS: usize = 9;

pub(super) fn show(ui: &mut Ui, snapshot: &Snapshot) {
    if snapshot.call_sites.is_empty() {
        ui.weak(NONE);
        return;
    }
    egui::Grid::new("choices").num_columns(5 + WAYS.len()).striped(true).spacing([10.0, 3.0]).show(ui, |ui| {
        show_heads(ui);
        for site in &snapshot.call_sites {
            show_site(ui, site, &snapshot.systems);
        }
    });
}

fn show_heads(ui: &mut Ui) {
    ui.weak("system").on_hover_text("the tagged system that the call is in");
    ui.weak("call").on_hover_text("where par_iter or par_iter_mut is called");
    let meaning = "how its calls run now: as in this mode. Serial as long as all other workers are left out";
    ui.weak("runs as").on_hover_text(meaning);
    ui.label(number("rows").weak()).on_hover_text("of one of the last calls");
    for way in WAYS {
        let meaning = "what a call is expected to take in this mode: measured before, for as many rows as now";
        ui.label(number(&format!("{way:?}")).weak()).on_hover_text(meaning);
    }
    let meaning = "how often another way was tried, for three calls each time";
    ui.label(number("trials").weak()).on_hover_text(meaning);
    ui.end_row();
}

/// A number, or what stands above it: padded, so that digits stand below each other.
fn number(text: &str) -> RichText {
    RichText::new(format!("{text:>DIGITS$}")).monospace()
}

fn show_site(ui: &mut Ui, site: &CallSiteDiagnostics, systems: &[SystemRow]) {
    show_system(ui, site.system.and_then(|index| systems.get(index)));
    let location = site.location;
    let file = Path::new(location.file()).file_name().unwrap_or_default().to_string_lossy();
    ui.label(format!("{file}:{}", location.line())).on_hover_text(location.to_string());
    ui.label(RichText::new(format!("{:?}", site.choice)).color(colours::mode(site.choice)));
    ui.label(number(&site.rows.to_string()));
    for way in WAYS {
        show_expected(ui, site, way);
    }
    ui.label(number(&site.trials.to_string())).on_hover_text(format!("in {} calls", site.calls));
    ui.end_row();
}

fn show_system(ui: &mut Ui, system: Option<&SystemRow>) {
    ui.horizontal(|ui| {
        let (spot, _) = ui.allocate_exact_size(egui::vec2(10.0, 10.0), egui::Sense::hover());
        if let Some(system) = system {
            ui.painter().rect_filled(spot, 2.0, colours::system(system.index));
            ui.label(&system.name).on_hover_text(&system.full_name);
        }
    });
}

/// What a call takes by one way; brighter if it is the way that calls go.
fn show_expected(ui: &mut Ui, site: &CallSiteDiagnostics, way: SchedulerMode) {
    let Some(time) = site.expected(way) else {
        let meaning = "never tried: it cannot be better, or a trial would cost more than is granted so far";
        ui.label(number("-").weak()).on_hover_text(meaning);
        return;
    };
    let text = number(&Nanoseconds(time.as_nanos() as f64).to_string());
    ui.label(if way == site.choice { text.strong() } else { text });
}
