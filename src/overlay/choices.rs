//! What mode `Auto` chose at each place that starts parallel calls, and what it knows of the other ways.

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

/// The columns before those of [`WAYS`] and the one behind them, and what they mean.
const BEFORE_WAYS: [(&str, &str); 4] = [
    ("system", "the tagged system that the call is in"),
    ("call", "where par_iter or par_iter_mut is called"),
    ("    rows", "rows of the last call"),
    ("runs as", "how calls run now: as in this mode"),
];
const TRIALS: (&str, &str) = ("trials", "how often another way was tried, for three calls each time");

pub(super) fn show(ui: &mut Ui, snapshot: &Snapshot) {
    if snapshot.call_sites.is_empty() {
        ui.weak(NONE);
        return;
    }
    let columns = BEFORE_WAYS.len() + WAYS.len() + 1;
    egui::Grid::new("choices").num_columns(columns).striped(true).spacing([12.0, 3.0]).show(ui, |ui| {
        show_heads(ui);
        for site in &snapshot.call_sites {
            show_site(ui, site, &snapshot.systems);
        }
    });
}

fn show_heads(ui: &mut Ui) {
    let head = |ui: &mut Ui, title: &str, meaning: &str| {
        ui.weak(title).on_hover_text(meaning);
    };
    for (title, meaning) in BEFORE_WAYS {
        head(ui, title, meaning);
    }
    for way in WAYS {
        let meaning = "what a call is expected to take in this mode: measured before, for as many rows as now";
        head(ui, &format!("{way:?}"), meaning);
    }
    head(ui, TRIALS.0, TRIALS.1);
    ui.end_row();
}

fn show_site(ui: &mut Ui, site: &CallSiteDiagnostics, systems: &[SystemRow]) {
    show_system(ui, site.system.and_then(|index| systems.get(index)));
    let location = site.location;
    let file = Path::new(location.file()).file_name().unwrap_or_default().to_string_lossy();
    ui.label(format!("{file}:{}", location.line())).on_hover_text(location.to_string());
    // Padded, so that the digits stand below each other.
    ui.monospace(format!("{:>8}", site.rows));
    ui.label(RichText::new(format!("{:?}", site.choice)).color(colours::mode(site.choice)));
    for way in WAYS {
        show_expected(ui, site, way);
    }
    ui.monospace(format!("{:>6}", site.trials)).on_hover_text(format!("in {} calls", site.calls));
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

/// The time of a call by one way; brighter where it is the way that calls go.
fn show_expected(ui: &mut Ui, site: &CallSiteDiagnostics, way: SchedulerMode) {
    let Some(time) = site.expected(way) else {
        ui.weak(format!("{:>8}", "-"))
            .on_hover_text("never tried: it cannot be better, or trying would cost too much yet");
        return;
    };
    let text = RichText::new(format!("{:>8}", Nanoseconds(time.as_nanos() as f64).to_string())).monospace();
    ui.label(if way == site.choice { text.strong() } else { text.weak() });
}
