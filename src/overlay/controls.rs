//! The settings, to be changed while the app runs.

use std::time::Duration;

use bevy_egui::egui::{self, Response, Slider, Ui};

use crate::{
    settings::{AffinitySettings, Pinning, WorkerCount},
    topology::Topology,
};

/// Settings as they stand in the panel.
#[derive(Debug, Default)]
pub(super) struct Controls {
    /// Differs from the app's while a slider is dragged: each change makes a new gang, so they change when it is let go.
    draft: Option<AffinitySettings>,
}

impl Controls {
    /// Shows `settings`; returns them changed, if they were.
    pub(super) fn show(&mut self, ui: &mut Ui, settings: &AffinitySettings) -> Option<AffinitySettings> {
        let mut draft = self.draft.take().unwrap_or_else(|| settings.clone());
        let dragged = egui::Grid::new("settings")
            .num_columns(2)
            .spacing([12.0, 4.0])
            .show(ui, |ui| show_grid(ui, &mut draft))
            .inner;
        if dragged {
            self.draft = Some(draft);
            return None;
        }
        (draft != *settings).then_some(draft)
    }
}

/// Returns whether a slider is being dragged.
fn show_grid(ui: &mut Ui, settings: &mut AffinitySettings) -> bool {
    let mut dragged = false;
    ui.label("workers");
    ui.horizontal(|ui| dragged |= show_workers(ui, &mut settings.workers));
    ui.end_row();
    ui.label("pinning");
    show_pinning(ui, &mut settings.pinning);
    ui.end_row();
    let mut slider = |name: &str, meaning: &str, slider: Slider| {
        ui.label(name).on_hover_text(meaning);
        dragged |= ui.add(slider).on_hover_text(meaning).dragged();
        ui.end_row();
    };
    let rows = Slider::new(&mut settings.chunk_rows, 64..=65_536).logarithmic(true).suffix(" rows");
    slider("chunk", "the most rows that are swept in one piece", rows);
    let mut spin = micros(settings.spin);
    slider("spin", "how long workers stay awake after a round", Slider::new(&mut spin, 0..=1_000).suffix(" us"));
    let mut beat = micros(settings.heartbeat);
    slider(
        "heartbeat",
        "how often work is given away at most",
        Slider::new(&mut beat, 10..=2_000).logarithmic(true).suffix(" us"),
    );
    for (setting, shown) in [(&mut settings.spin, spin), (&mut settings.heartbeat, beat)] {
        if micros(*setting) != shown {
            *setting = Duration::from_micros(shown);
        }
    }
    dragged
}

fn micros(duration: Duration) -> u64 {
    duration.as_micros() as u64
}

fn show_workers(ui: &mut Ui, workers: &mut WorkerCount) -> bool {
    let parallelism = Topology::get().parallelism();
    let mut auto = *workers == WorkerCount::Auto;
    if ui.checkbox(&mut auto, "auto").on_hover_text(format!("{parallelism} here")).changed() {
        *workers = if auto { WorkerCount::Auto } else { WorkerCount::Exactly(parallelism) };
    }
    let mut count = match *workers {
        WorkerCount::Auto => parallelism,
        WorkerCount::Exactly(count) => count,
    };
    // Twice as many as can run at once: enough to see what too many do.
    let response: Response = ui.add_enabled(!auto, Slider::new(&mut count, 1..=2 * parallelism));
    if !auto {
        *workers = WorkerCount::Exactly(count);
    }
    response.dragged()
}

fn show_pinning(ui: &mut Ui, pinning: &mut Pinning) {
    ui.horizontal(|ui| {
        ui.selectable_value(pinning, Pinning::Core, "core").on_hover_text("each worker on a core of its own");
        ui.selectable_value(pinning, Pinning::CacheDomain, "cache").on_hover_text("on the cores that share its cache");
        ui.selectable_value(pinning, Pinning::Off, "off").on_hover_text("wherever the system puts it");
    });
}
