//! The modes: a button for each, what each took when it was last on, and A/B comparisons of two.

use std::collections::VecDeque;

use bevy_egui::egui::{self, ProgressBar, RichText, Ui};

use super::{
    ab::{Comparison, Verdict},
    colours,
    snapshot::Snapshot,
    timeline::Nanoseconds,
};
use crate::{diagnostics::ModeDiagnostics, settings::SchedulerMode};

/// Results of comparisons that stay on show.
const VERDICTS: usize = 4;

/// The comparison that is going on, the modes for the next, and what the last ones found.
#[derive(Debug)]
pub(super) struct Modes {
    pub(super) pair: [SchedulerMode; 2],
    pub(super) comparison: Option<Comparison>,
    /// Whether the last one found frames of other modes only.
    is_lost: bool,
    /// The newest first, each with the frame in which it ended.
    verdicts: VecDeque<(u64, Verdict)>,
}

impl Default for Modes {
    fn default() -> Self {
        let pair = [SchedulerMode::Serial, SchedulerMode::Auto];
        Self { pair, comparison: None, is_lost: false, verdicts: VecDeque::new() }
    }
}

impl Modes {
    /// Ends the comparison with what it found, in this frame.
    pub(super) fn conclude(&mut self, frame: u64, verdict: Verdict) {
        self.comparison = None;
        self.verdicts.truncate(VERDICTS - 1);
        self.verdicts.push_front((frame, verdict));
    }

    /// Ends the comparison: something else sets the mode, which stays as that wants it.
    pub(super) fn lose(&mut self) {
        (self.comparison, self.is_lost) = (None, true);
    }

    /// Shows the buttons; returns the mode to switch to.
    pub(super) fn show(&mut self, ui: &mut Ui, mode: SchedulerMode, snapshot: &Snapshot) -> Option<SchedulerMode> {
        let chosen = show_buttons(ui, mode, self.comparison.is_some());
        if chosen.is_some() {
            // Who chooses a mode wants that mode.
            self.comparison = None;
        }
        show_numbers(ui, mode, snapshot);
        let compared = self.show_comparison(ui, mode);
        for (frame, verdict) in &self.verdicts {
            show_verdict(ui, *frame, verdict);
        }
        chosen.or(compared)
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
            let are_two = self.pair[0] != self.pair[1];
            let button = ui.add_enabled(are_two, egui::Button::new("A/B"));
            let button = button.on_hover_text("both modes in turns for 5 s");
            let begun = button.on_disabled_hover_text("choose two different modes").clicked();
            choose_mode(ui, "A", &mut self.pair[0]);
            ui.weak("against");
            choose_mode(ui, "B", &mut self.pair[1]);
            if self.is_lost {
                ui.colored_label(colours::BUDGET, "something else set the mode: nothing was compared");
            }
            begun.then(|| self.begin(mode))
        })
        .inner
    }

    /// Starts a comparison; returns the mode to begin with.
    fn begin(&mut self, mode: SchedulerMode) -> SchedulerMode {
        self.is_lost = false;
        self.comparison = Some(Comparison::new(self.pair, mode));
        self.pair[0]
    }
}

/// While modes are compared the one that happens to be on may be chosen, too.
fn show_buttons(ui: &mut Ui, mode: SchedulerMode, are_compared: bool) -> Option<SchedulerMode> {
    let mut chosen = None;
    ui.horizontal_wrapped(|ui| {
        for &other in SchedulerMode::ALL {
            let text = RichText::new(format!("{other:?}")).size(14.0);
            if ui.selectable_label(other == mode, text).clicked() && (other != mode || are_compared) {
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

/// A row for each mode, also for those that have never been on: the table keeps its height, and
/// nothing moves under the pointer.
fn show_numbers(ui: &mut Ui, mode: SchedulerMode, snapshot: &Snapshot) {
    egui::Grid::new("modes").num_columns(5).striped(true).spacing([18.0, 3.0]).show(ui, |ui| {
        for (head, meaning) in [
            ("mode", ""),
            ("frame", "from one frame's begin to the next one's, smoothed over about 32 frames"),
            ("tagged", "all tagged systems of a frame together; of those that ran at a time the longest worker counts. Modes that were on at different times have seen different scenes: A/B compares equal ones"),
            ("frames", "how many frames are in the figures"),
            ("last on", "how old the figures are"),
        ] {
            let head = ui.weak(head);
            if !meaning.is_empty() {
                head.on_hover_text(meaning);
            }
        }
        ui.end_row();
        for &other in SchedulerMode::ALL {
            let name = RichText::new(format!("{other:?}")).color(colours::mode(other));
            ui.label(if other == mode { name.strong().underline() } else { name });
            match snapshot.modes.iter().find(|known| known.mode == other && known.frames > 0) {
                Some(known) => show_mode(ui, known, snapshot.taken.0, other == mode),
                None => (0..4).for_each(|_| _ = ui.weak("-")),
            }
            ui.end_row();
        }
    });
}

/// `frames` is how many frames there were when the figures were taken.
fn show_mode(ui: &mut Ui, known: &ModeDiagnostics, frames: u64, active: bool) {
    for time in [known.frame_time, known.tagged_time] {
        let text = RichText::new(Nanoseconds(time.as_nanos() as f64).to_string()).monospace();
        // What is not of now is not as bright.
        ui.label(if active { text } else { text.weak() });
    }
    ui.monospace(known.frames.to_string());
    match frames.saturating_sub(known.last_frame().unwrap_or(0)) {
        0 | 1 => ui.label("now"),
        age => ui.weak(format!("{age} frames ago")),
    };
}

fn show_verdict(ui: &mut Ui, frame: u64, verdict: &Verdict) {
    ui.horizontal_wrapped(|ui| {
        let [a, b] = verdict.modes;
        let takes = match verdict.tagged.is_known() {
            true => format!("{a:?} takes {} of {b:?}", verdict.tagged),
            false => format!("{a:?} and {b:?}: no time in tagged systems"),
        };
        ui.strong(takes).on_hover_text(
            "time in tagged systems by their runs: the median of the ratios of neighbouring slices, and their quartiles",
        );
        ui.weak(format!("whole frames {}, until frame {frame}", verdict.frame));
    });
}
