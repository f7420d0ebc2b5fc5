//! What mode `Auto` chose at each place that starts parallel calls, and what it knows of the other
//! ways.

use std::{path::Path, time::Duration};

use bevy_egui::egui::{self, RichText, TextWrapMode, Ui};

use super::{
    colours,
    snapshot::{Snapshot, SystemRow},
    timeline::Nanoseconds,
};
use crate::{
    auto::Strategy,
    diagnostics::{CallMeasurement, CallSiteDiagnostics},
    settings::SchedulerMode,
};

/// The ways that `Auto` chooses from.
fn ways() -> [SchedulerMode; Strategy::MEASURED_COUNT] {
    Strategy::MEASURED.map(Strategy::mode)
}

/// Said while there are no rows.
pub(super) const NONE: &str = "no parallel call has run in mode Auto yet";

const ALONE: &str = "one worker: nothing to choose";

/// Letters of a column of numbers: room for `Heartbeat`.
const DIGITS: usize = 9;

/// A figure that is older has a mark: the scene may have changed since.
const OLD: Duration = Duration::from_secs(10);

pub(super) fn show(ui: &mut Ui, mode: SchedulerMode, snapshot: &Snapshot) {
    if snapshot.call_sites.is_empty() {
        ui.weak(if snapshot.workers.len() == 1 { ALONE } else { NONE });
        return;
    }
    if mode != SchedulerMode::Auto {
        ui.weak(format!("{mode:?} mode is on: calls run as that says, and this is of the last ones in Auto"));
    }
    egui::Grid::new("choices").num_columns(5 + Strategy::MEASURED_COUNT).striped(true).spacing([10.0, 3.0]).show(
        ui,
        |ui| {
            show_heads(ui);
            for site in &snapshot.call_sites {
                show_site(ui, site, &snapshot.systems);
            }
        },
    );
}

fn show_heads(ui: &mut Ui) {
    ui.weak("system").on_hover_text("the tagged system that the call is in");
    ui.weak("call").on_hover_text("where par_iter, par_iter_mut, due or fused is called");
    let meaning = "how its calls run now: as in this mode. Serial as long as all other workers are left out. Without a choice a call runs on one thread while its system is dealt out to a worker, as where the schedule runs on the gang. Calls that find workers asleep are judged apart: this is of the last call's kind";
    ui.weak("runs as").on_hover_text(meaning);
    ui.label(number("rows").weak()).on_hover_text("of one of the last calls");
    for way in ways() {
        let meaning = "what a call is expected to take in this mode: measured before, for as many rows as now. ~ marks what was measured more than 10 s ago, or before the scene changed";
        ui.label(number(&format!("{way:?}")).weak()).on_hover_text(meaning);
    }
    let meaning = "how often another way was tried, mostly for three calls each time";
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
    ui.label(format!("{}:{}", short_path(location.file()), location.line())).on_hover_text(location.to_string());
    ui.vertical(|ui| {
        ui.style_mut().wrap_mode = Some(TextWrapMode::Extend);
        ui.label(RichText::new(format!("{:?}", site.choice)).color(colours::mode(site.choice)));
        ui.label(RichText::new(site.reason.to_string()).weak().small());
    });
    ui.label(number(&site.rows.to_string()));
    for way in ways() {
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

/// A source file with the folder that it is in: most games have several `systems.rs`.
fn short_path(file: &str) -> String {
    let names: Vec<_> = Path::new(file).iter().map(|name| name.to_string_lossy()).collect();
    names[names.len().saturating_sub(2)..].join("/")
}

/// What a call takes by one way; brighter if it is the way that calls go, marked if it is old.
fn show_expected(ui: &mut Ui, site: &CallSiteDiagnostics, way: SchedulerMode) {
    let Some(known) = site.measurement(way) else {
        let meaning = "never tried: it cannot be better, or a trial would cost more than is granted so far";
        ui.label(number("-").weak()).on_hover_text(meaning);
        return;
    };
    let mark = if is_old(known) { "~" } else { "" };
    let text = number(&format!("{mark}{}", Nanoseconds(known.time.as_nanos() as f64)));
    let text = match (way == site.choice, is_old(known)) {
        (true, _) => text.strong(),
        (false, true) => text.weak(),
        (false, false) => text,
    };
    let CallMeasurement { samples, age, .. } = known;
    let samples = if samples == 0 { "none since the scene changed".to_string() } else { samples.to_string() };
    let age = Nanoseconds(age.as_nanos() as f64);
    ui.label(text).on_hover_text(format!("measurements: {samples}; the last one {age} ago"));
}

fn is_old(known: CallMeasurement) -> bool {
    known.samples == 0 || known.age > OLD
}

#[cfg(test)]
mod tests {
    use super::short_path;

    #[test]
    fn a_file_is_named_with_its_folder() {
        assert_eq!(short_path("examples/traffic/simulation/systems.rs"), "simulation/systems.rs");
        assert_eq!(short_path("main.rs"), "main.rs");
    }
}
