//! The modes: a button for each, what each took when it was last on, and the A/B comparison of two.

use bevy_egui::egui::{self, ProgressBar, RichText, Ui};

use super::{
    ab::{Comparison, Verdict},
    colours,
    snapshot::{ModeRow, Snapshot},
    timeline::Nanoseconds,
};
use crate::settings::SchedulerMode;

/// The comparison that is going on or over, and the modes for the next.
#[derive(Debug)]
pub(super) struct Modes {
    pub(super) pair: [SchedulerMode; 2],
    pub(super) comparison: Option<Comparison>,
    pub(super) verdict: Option<Verdict>,
}

impl Default for Modes {
    fn default() -> Self {
        Self { pair: [SchedulerMode::Serial, SchedulerMode::Auto], comparison: None, verdict: None }
    }
}

impl Modes {
    /// Shows the buttons; returns the mode to switch to.
    pub(super) fn show(&mut self, ui: &mut Ui, mode: SchedulerMode, snapshot: &Snapshot) -> Option<SchedulerMode> {
        let chosen = show_buttons(ui, mode);
        if chosen.is_some() {
            // Who chooses a mode wants that mode.
            self.comparison = None;
        }
        show_numbers(ui, mode, &snapshot.modes);
        chosen.or_else(|| self.show_comparison(ui, mode))
    }

    fn show_comparison(&mut self, ui: &mut Ui, mode: SchedulerMode) -> Option<SchedulerMode> {
        ui.horizontal_wrapped(|ui| {
            if let Some(comparison) = &self.comparison {
                let [a, b] = comparison.modes();
                let progress = ProgressBar::new(comparison.progress()).desired_width(120.0).show_percentage();
                ui.add(progress);
                ui.label(format!("{a:?} and {b:?} in turns"));
                let before = comparison.before();
                return ui.small_button("stop").clicked().then(|| {
                    self.comparison = None;
                    before
                });
            }
            let begun =
                ui.button("A/B").on_hover_text("both modes in turns for 5 s").clicked() && self.pair[0] != self.pair[1];
            choose_mode(ui, "A", &mut self.pair[0]);
            ui.weak("against");
            choose_mode(ui, "B", &mut self.pair[1]);
            if let Some(verdict) = &self.verdict {
                show_verdict(ui, verdict);
            }
            begun.then(|| self.begin(mode))
        })
        .inner
    }

    /// Starts a comparison; returns the mode to begin with.
    fn begin(&mut self, mode: SchedulerMode) -> SchedulerMode {
        self.comparison = Some(Comparison::new(self.pair, mode));
        self.verdict = None;
        self.pair[0]
    }
}

fn show_buttons(ui: &mut Ui, mode: SchedulerMode) -> Option<SchedulerMode> {
    let mut chosen = None;
    ui.horizontal_wrapped(|ui| {
        for &other in SchedulerMode::ALL {
            let text = RichText::new(format!("{other:?}")).size(14.0);
            if ui.selectable_label(other == mode, text).clicked() && other != mode {
                chosen = Some(other);
            }
        }
    });
    chosen
}

fn choose_mode(ui: &mut Ui, name: &str, choice: &mut SchedulerMode) {
    egui::ComboBox::from_id_salt(name).selected_text(format!("{choice:?}")).width(84.0).show_ui(ui, |ui| {
        for &mode in SchedulerMode::ALL {
            ui.selectable_value(choice, mode, format!("{mode:?}"));
        }
    });
}

/// A row for each mode that has been on, with its times as they were then.
fn show_numbers(ui: &mut Ui, mode: SchedulerMode, rows: &[ModeRow]) {
    egui::Grid::new("modes").num_columns(5).striped(true).spacing([18.0, 3.0]).show(ui, |ui| {
        for head in ["mode", "frame", "tagged", "speed-up over serial", "frames"] {
            ui.weak(head);
        }
        ui.end_row();
        for row in rows {
            show_mode(ui, row, row.mode == mode);
        }
    });
}

fn show_mode(ui: &mut Ui, row: &ModeRow, active: bool) {
    let name = RichText::new(format!("{:?}", row.mode)).color(colours::mode(row.mode));
    ui.label(if active { name.strong().underline() } else { name });
    for time in [row.frame, row.tagged] {
        ui.monospace(Nanoseconds(time.as_nanos() as f64).to_string());
    }
    match row.speed_up {
        Some(speed_up) => ui.monospace(format!("{speed_up:.2} x")),
        None => ui.weak("once Serial was on"),
    };
    ui.monospace(row.frames.to_string());
    ui.end_row();
}

fn show_verdict(ui: &mut Ui, verdict: &Verdict) {
    let [a, b] = verdict.modes;
    ui.strong(format!("{a:?} takes {} of {b:?}", verdict.tagged))
        .on_hover_text("time in tagged systems: the median of the ratios of neighbouring slices, and their quartiles");
    ui.weak(format!("whole frames {}", verdict.frame));
}
