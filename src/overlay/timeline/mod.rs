//! The timeline: a lane for each worker, and on it what the worker did when.

mod axis;
mod interaction;
mod lanes;
mod stretch;

use std::{ops::Range, time::Duration};

use bevy_egui::egui::{self, Rect, Sense, pos2, vec2};

use axis::Axis;
pub(super) use axis::Nanoseconds;
use stretch::Stretch;

use super::{
    colours,
    recorded::{Bar, BarKind, Lane, Recorded},
    snapshot::SystemRow,
};

/// Height of a lane, of its name's column, and of the axis; in points.
const LANE_HEIGHT: f32 = 22.0;
const LANE_GAP: f32 = 3.0;
const NAMES_WIDTH: f32 = 128.0;
const AXIS_HEIGHT: f32 = 18.0;

/// What is on show of the recording.
#[derive(Debug)]
pub(super) struct Timeline {
    /// In times of [`Recorded`]: so the view stays when the next frame comes.
    axis: Axis,
    /// Whether the axis still follows the length of frames: until it is zoomed or dragged.
    fitted: bool,
    /// Whether the bars stay as they are.
    frozen: bool,
    hovered: bool,
    /// Frames to step by, as arrow keys said.
    steps: Option<i64>,
    /// The bar under the pointer, or the one that was clicked.
    selected: Option<Place>,
    /// The stretch of time that was selected.
    stretch: Option<Stretch>,
    /// Whether the drag that is under way selects one.
    selects: bool,
    /// How long a frame may take, in nanoseconds.
    budget: f64,
}

/// A bar: the index of its lane, and its index there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    lane: usize,
    bar: usize,
}

impl Default for Timeline {
    fn default() -> Self {
        Self {
            axis: Axis::over(0.0..1e6),
            fitted: true,
            frozen: false,
            hovered: false,
            steps: None,
            selected: None,
            stretch: None,
            selects: false,
            budget: 0.0,
        }
    }
}

impl Timeline {
    pub(super) fn is_frozen(&self) -> bool {
        self.frozen
    }

    /// Keeps the bars as they are, or lets them follow the newest frame again.
    pub(super) fn freeze(&mut self, frozen: bool) {
        self.frozen = frozen;
        if !frozen {
            self.selected = None;
            self.stretch = None;
        }
    }

    /// Whether Space is meant for the timeline: the pointer was over it in the last frame.
    pub(super) fn takes_keys(&self) -> bool {
        self.hovered
    }

    /// To be called when other bars are there than before.
    pub(super) fn follow(&mut self, recorded: &Recorded) {
        self.selected = None;
        // Frames differ a little: an axis that followed each would flicker.
        let length = recorded.length.max(self.budget);
        let fits = self.axis.begin <= 0.0 && length <= self.axis.end && length * 2.0 > self.axis.span();
        if self.fitted && !fits {
            self.fit(recorded);
        }
    }

    /// Shows the whole frame and the budget.
    pub(super) fn fit(&mut self, recorded: &Recorded) {
        self.show_times(0.0..recorded.length.max(self.budget));
        self.fitted = true;
    }

    /// Shows the tagged systems of the frame.
    pub(super) fn fit_tagged(&mut self, recorded: &Recorded) {
        self.show_times(recorded.tagged.clone());
        self.fitted = false;
    }

    /// Shows these times, with a margin.
    fn show_times(&mut self, Range { start, end }: Range<f64>) {
        let margin = (end - start) * 0.02;
        self.axis = Axis::over(start - margin..end + 3.0 * margin);
    }

    pub(super) fn set_budget(&mut self, budget: Duration) {
        self.budget = budget.as_nanos() as f64;
    }

    /// To be called when the timeline is not drawn: the pointer cannot be over it.
    pub(super) fn leave(&mut self) {
        self.hovered = false;
    }

    /// Draws the lanes and obeys pointer and keys. Says below what was clicked. Returns by how many
    /// frames to step.
    pub(super) fn show(&mut self, ui: &mut egui::Ui, recorded: &Recorded, systems: &[SystemRow]) -> Option<i64> {
        let height = recorded.lanes().count() as f32 * (LANE_HEIGHT + LANE_GAP) + AXIS_HEIGHT;
        let size = vec2(ui.available_width().max(NAMES_WIDTH + 100.0), height);
        let response = ui.allocate_response(size, Sense::click_and_drag());
        let layout = Layout { whole: response.rect };
        let pointed = self.interact(ui, &response, &layout, recorded);
        lanes::paint(&ui.painter_at(response.rect), &layout, self, recorded, systems);
        if let Some((lane, bar)) = pointed.and_then(|place| place.find(recorded)) {
            response.on_hover_ui_at_pointer(|ui| describe(ui, lane, bar, systems));
        }
        show_legend(ui);
        if let Some((lane, bar)) = self.selected.and_then(|place| place.find(recorded)) {
            describe_in_line(ui, lane, bar, systems);
        }
        if let Some(stretch) = &self.stretch {
            stretch.describe(ui, recorded, systems);
        }
        self.steps.take()
    }
}

impl Place {
    fn find(self, recorded: &Recorded) -> Option<(&Lane, &Bar)> {
        let lane = recorded.lane(self.lane)?;
        Some((lane, lane.bars.get(self.bar)?))
    }
}

/// Where things are on the screen.
struct Layout {
    whole: Rect,
}

impl Layout {
    /// The part with bars.
    fn canvas(&self) -> Rect {
        Rect::from_min_max(
            pos2(self.whole.left() + NAMES_WIDTH, self.whole.top()),
            pos2(self.whole.right(), self.whole.bottom() - AXIS_HEIGHT),
        )
    }

    fn lane(&self, index: usize) -> Rect {
        let canvas = self.canvas();
        let top = canvas.top() + index as f32 * (LANE_HEIGHT + LANE_GAP);
        Rect::from_min_max(pos2(canvas.left(), top), pos2(canvas.right(), top + LANE_HEIGHT))
    }

    /// Where `x` is in the canvas: 0 to 1.
    fn position(&self, x: f32) -> f64 {
        let canvas = self.canvas();
        f64::from((x - canvas.left()) / canvas.width())
    }

    fn x(&self, position: f64) -> f32 {
        let canvas = self.canvas();
        canvas.left() + (position.clamp(-1.0, 2.0) as f32) * canvas.width()
    }
}

/// The colours that are no system's; systems have theirs in their table.
fn show_legend(ui: &mut egui::Ui) {
    ui.horizontal_wrapped(|ui| {
        for (colour, meaning) in [
            (colours::WAIT, "waits at the barrier"),
            (colours::IDLE, "parked"),
            (colours::HELP, "rows of a late worker"),
            (colours::STAGE, "schedules, rendering"),
            (colours::BUSY, "other threads' time on a core"),
            (colours::LABEL, "a frame begins"),
            (colours::BUDGET, "the budget is used up"),
        ] {
            let (spot, _) = ui.allocate_exact_size(vec2(10.0, 10.0), Sense::hover());
            ui.painter().rect_filled(spot, 2.0, colour);
            ui.weak(meaning);
        }
    });
}

/// What a bar is: a row for each fact.
fn describe(ui: &mut egui::Ui, lane: &Lane, bar: &Bar, systems: &[SystemRow]) {
    ui.strong(bar.name(systems));
    egui::Grid::new("bar").num_columns(2).spacing([12.0, 2.0]).show(ui, |ui| {
        let mut fact = |name: &str, value: Option<String>| {
            if let Some(value) = value {
                ui.weak(name);
                ui.label(value);
                ui.end_row();
            }
        };
        let counted = |count: u64| (count > 0).then(|| count.to_string());
        fact("on", Some(lane.name.clone()));
        fact("ran", (!bar.detail.is_empty()).then(|| bar.detail.to_string()));
        fact("core", bar.core.map(|core| core.to_string()));
        fact("rows", counted(bar.rows));
        fact("stolen", counted(bar.stolen_rows).map(|rows| format!("{rows} of these, from workers that were late")));
        fact("taken over", bar.taken_from.map(|worker| format!("from worker {worker}, which was late")));
        fact("joins published", counted(bar.joins));
        fact("jobs promoted", counted(bar.promotions));
        let helpers = if bar.kind == BarKind::OnCore { "threads" } else { "helpers" };
        fact(helpers, counted(u64::from(bar.helpers)));
        fact("without a job", (bar.idle > 0.0).then(|| Nanoseconds(bar.idle).to_string()));
        fact("from", Some(Nanoseconds(bar.begin).to_string()));
        fact("lasts", Some(Nanoseconds(bar.duration()).to_string()));
    });
    if bar.kind == BarKind::OnCore {
        ui.weak("each thread, on average; when in the frame, the system does not tell");
    }
}

/// What a bar is, in one line: for the one that was clicked.
fn describe_in_line(ui: &mut egui::Ui, lane: &Lane, bar: &Bar, systems: &[SystemRow]) {
    let counted = |rows: u64, what: &str| if rows > 0 { format!(", {rows} {what}") } else { String::new() };
    let rows = counted(bar.rows, "rows") + &counted(bar.stolen_rows, "of them stolen");
    let (from, lasts) = (Nanoseconds(bar.begin), Nanoseconds(bar.duration()));
    ui.horizontal_wrapped(|ui| {
        ui.strong(bar.name(systems));
        ui.label(format!("on {}: {lasts}{rows}, from {from} on", lane.name));
    });
}

#[cfg(test)]
mod tests;
