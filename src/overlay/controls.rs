//! The settings, to be changed while the app runs.

use std::{ops::RangeInclusive, time::Duration};

use bevy_egui::egui::{self, Response, Slider, SliderClamping, Ui};

use crate::{
    settings::{AffinitySettings, Pinning, SpareCores, WorkerCount},
    topology::Topology,
};

/// Settings as they stand in the panel.
#[derive(Debug, Default)]
pub(super) struct Controls {
    /// Differs from the app's while a slider is dragged: each change makes a new gang, so they
    /// change when it is let go.
    draft: Option<AffinitySettings>,
}

impl Controls {
    /// The panel is not drawn: what was dragged then is no wish any more.
    pub(super) fn forget(&mut self) {
        self.draft = None;
    }

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
    dragged |= show_workers(ui, settings);
    ui.end_row();
    ui.label("spare").on_hover_text("cores that are left to others when the number of workers is automatic");
    let auto = settings.workers == WorkerCount::Auto;
    dragged |= ui.add_enabled_ui(auto, |ui| show_spare(ui, &mut settings.spare_cores)).inner;
    ui.end_row();
    ui.label("pinning");
    show_pinning(ui, &mut settings.pinning);
    ui.end_row();
    let range = containing(64..=65_536, settings.chunk_rows);
    let rows = Slider::new(&mut settings.chunk_rows, range).logarithmic(true).suffix(" rows");
    dragged |=
        show_slider(ui, "chunk", "the most rows in a slice, and in a grain of a sweep by fork/join", rows).dragged();
    dragged |= show_duration(ui, "spin", "how long workers stay awake after a round", &mut settings.spin, 0..=1_000);
    dragged |=
        show_duration(ui, "heartbeat", "how often work is given away at most", &mut settings.heartbeat, 10..=2_000);
    dragged
}

/// With the value that a setting has: it may have been set elsewhere, and stays until the slider is
/// moved. A look into the box of its number would clamp it.
fn containing<T: Copy + PartialOrd>(range: RangeInclusive<T>, value: T) -> RangeInclusive<T> {
    let (start, end) = range.into_inner();
    (if value < start { value } else { start })..=(if value > end { value } else { end })
}

/// A row of the grid. What is typed counts when it is complete: each change makes a new gang.
fn show_slider(ui: &mut Ui, name: &str, meaning: &str, slider: Slider) -> Response {
    ui.label(name).on_hover_text(meaning);
    let slider = slider.clamping(SliderClamping::Edits).update_while_editing(false);
    let response = ui.add(slider).on_hover_text(meaning);
    ui.end_row();
    response
}

/// The row of a duration, in microseconds. Returns whether the slider is being dragged.
fn show_duration(ui: &mut Ui, name: &str, meaning: &str, setting: &mut Duration, range: RangeInclusive<u64>) -> bool {
    let before = u64::try_from(setting.as_micros()).unwrap_or(u64::MAX);
    let mut micros = before;
    let slider = Slider::new(&mut micros, containing(range, before)).logarithmic(true).suffix(" us");
    let response = show_slider(ui, name, meaning, slider);
    // A duration may be more, and finer, than the slider shows.
    if micros != before {
        *setting = Duration::from_micros(micros);
    }
    response.dragged()
}

fn show_workers(ui: &mut Ui, settings: &mut AffinitySettings) -> bool {
    let parallelism = Topology::get().parallelism();
    let by_itself = settings.spare_cores.leave_of(parallelism);
    let chosen = match settings.workers {
        WorkerCount::Auto => None,
        WorkerCount::Exactly(count) => Some(count),
    };
    // Twice as many as can run at once: enough to see what too many do.
    let (chosen, dragged) = show_count(ui, chosen, by_itself, 1..=2 * parallelism);
    settings.workers = chosen.map_or(WorkerCount::Auto, WorkerCount::Exactly);
    dragged
}

fn show_spare(ui: &mut Ui, spare: &mut SpareCores) -> bool {
    let parallelism = Topology::get().parallelism();
    let chosen = match *spare {
        SpareCores::Auto => None,
        SpareCores::Exactly(count) => Some(count),
    };
    let by_itself = parallelism - SpareCores::Auto.leave_of(parallelism);
    let (chosen, dragged) = show_count(ui, chosen, by_itself, 0..=parallelism - 1);
    *spare = chosen.map_or(SpareCores::Auto, SpareCores::Exactly);
    dragged
}

/// A number that is `chosen`, or else comes `by_itself`. Returns it as it is now, and whether the
/// slider is being dragged.
fn show_count(
    ui: &mut Ui,
    chosen: Option<usize>,
    by_itself: usize,
    range: RangeInclusive<usize>,
) -> (Option<usize>, bool) {
    ui.horizontal(|ui| {
        let (mut auto, mut count) = (chosen.is_none(), chosen.unwrap_or(by_itself));
        ui.checkbox(&mut auto, "auto").on_hover_text(format!("{by_itself} here"));
        let range = containing(range, count);
        let slider = Slider::new(&mut count, range).clamping(SliderClamping::Edits);
        let slider = ui.add_enabled(!auto, slider.update_while_editing(false));
        ((!auto).then_some(count), slider.dragged())
    })
    .inner
}

fn show_pinning(ui: &mut Ui, pinning: &mut Pinning) {
    ui.horizontal(|ui| {
        ui.selectable_value(pinning, Pinning::Core, "core").on_hover_text("each worker on a core of its own");
        ui.selectable_value(pinning, Pinning::CacheDomain, "cache").on_hover_text("on the cores that share its cache");
        ui.selectable_value(pinning, Pinning::Off, "off").on_hover_text("wherever the system puts it");
    });
}
