//! The history of frames: a bar for each, the budget's line, and the slowest ones to click.

use std::time::Duration;

use bevy_egui::egui::{self, Color32, FontId, Mesh, Painter, Rect, Sense, Shape, Stroke, StrokeKind, Ui, pos2, vec2};

use super::{colours, snapshot::FrameRow, timeline::Nanoseconds};

const HEIGHT: f32 = 70.0;
/// How many of the slowest frames have a button.
const SLOWEST: usize = 5;

/// Draws the frames, marks the one that is `on_show`, and lets the budget be changed; returns the
/// number of the frame that was clicked.
pub(super) fn show(ui: &mut Ui, frames: &[FrameRow], budget: &mut Duration, on_show: Option<u64>) -> Option<u64> {
    let response = ui.allocate_response(vec2(ui.available_width(), HEIGHT), Sense::click());
    let chart = Chart { area: response.rect, top: top(frames, *budget), count: frames.len() };
    let painter = ui.painter_at(response.rect);
    chart.paint(&painter, frames, *budget);
    if let Some(index) = on_show.and_then(|number| frames.iter().position(|frame| frame.number == number)) {
        chart.mark(&painter, index);
    }
    let pointed = response.hover_pos().and_then(|pointer| frames.get(chart.index(pointer.x)?));
    let mut clicked = pointed.filter(|_| response.clicked()).map(|frame| frame.number);
    if let Some(frame) = pointed {
        response.on_hover_ui_at_pointer(|ui| describe(ui, frame));
    }
    ui.horizontal_wrapped(|ui| {
        show_budget(ui, budget);
        ui.weak("slowest");
        for frame in slowest(frames) {
            let text = format!("{} in frame {}", Nanoseconds(frame.frame.as_nanos() as f64), frame.number);
            if ui.small_button(text).on_hover_text("show it in the timeline").clicked() {
                clicked = Some(frame.number);
            }
        }
    });
    clicked
}

fn show_budget(ui: &mut Ui, budget: &mut Duration) {
    let mut milliseconds = budget.as_secs_f64() * 1e3;
    ui.weak("budget");
    let value = egui::DragValue::new(&mut milliseconds).range(1.0..=1_000.0).speed(0.1).max_decimals(1).suffix(" ms");
    // A budget that was set elsewhere may be beyond these ends: it stays until it is changed here.
    let value = value.clamp_existing_to_range(false);
    if ui.add(value).changed() {
        *budget = Duration::from_secs_f64(milliseconds / 1e3);
    }
}

/// Whether a frame took longer than the budget: by more than the display's clock differs.
fn is_over(frame: Duration, budget: Duration) -> bool {
    frame > budget.saturating_mul(21) / 20
}

/// Where frames are on the screen.
struct Chart {
    area: Rect,
    /// The time at the upper border.
    top: Duration,
    count: usize,
}

impl Chart {
    fn paint(&self, painter: &Painter, frames: &[FrameRow], budget: Duration) {
        let mut mesh = Mesh::default();
        mesh.add_colored_rect(self.area, colours::GROUND);
        for (index, frame) in frames.iter().enumerate() {
            let whole = if is_over(frame.frame, budget) { colours::BUDGET.gamma_multiply(0.7) } else { colours::IDLE };
            mesh.add_colored_rect(self.bar(index, frame.frame), whole);
            mesh.add_colored_rect(self.bar(index, frame.tagged), colours::mode(frame.mode));
        }
        painter.add(Shape::mesh(mesh));
        self.paint_line(painter, budget, colours::BUDGET);
    }

    /// A frame around the whole height of a bar.
    fn mark(&self, painter: &Painter, index: usize) {
        let bar = self.bar(index, self.top);
        painter.rect_stroke(bar.expand2(vec2(1.0, 0.0)), 0.0, Stroke::new(1.5, Color32::WHITE), StrokeKind::Inside);
    }

    fn paint_line(&self, painter: &Painter, time: Duration, colour: Color32) {
        let y = self.y(time);
        painter.hline(self.area.x_range(), y, Stroke::new(1.0, colour));
        let text = Nanoseconds(time.as_nanos() as f64).to_string();
        let text = painter.layout_no_wrap(text, FontId::proportional(10.0), colour);
        let place = Rect::from_min_size(pos2(self.area.left() + 2.0, y - text.size().y - 1.0), text.size());
        // Over the bars.
        painter.rect_filled(place.expand(1.0), 2.0, colours::GROUND.gamma_multiply(0.8));
        painter.galley(place.min, text, colour);
    }

    fn y(&self, time: Duration) -> f32 {
        self.area.bottom() - self.area.height() * time.div_duration_f32(self.top).min(1.0)
    }

    fn bar(&self, index: usize, time: Duration) -> Rect {
        let width = self.area.width() / self.count.max(1) as f32;
        let left = self.area.left() + index as f32 * width;
        // A gap between bars, unless they are too narrow for it.
        let gap = if width > 3.0 { 1.0 } else { 0.0 };
        Rect::from_min_max(pos2(left, self.y(time)), pos2(left + width - gap, self.area.bottom()))
    }

    /// The frame at `x`.
    fn index(&self, x: f32) -> Option<usize> {
        let index = (x - self.area.left()) / self.area.width() * self.count as f32;
        (index >= 0.0 && (index as usize) < self.count).then_some(index as usize)
    }
}

/// The budget and nearly all frames fit; a single long one is cut off, so that the others stay
/// visible.
fn top(frames: &[FrameRow], budget: Duration) -> Duration {
    let mut times: Vec<_> = frames.iter().map(|frame| frame.frame).collect();
    times.sort_unstable();
    let most = times.get(times.len() * 98 / 100).copied().unwrap_or_default();
    most.max(budget).saturating_mul(5) / 4
}

/// The slowest frames, slowest first.
fn slowest(frames: &[FrameRow]) -> impl Iterator<Item = &FrameRow> {
    let mut order: Vec<_> = frames.iter().collect();
    order.sort_by_key(|frame| std::cmp::Reverse(frame.frame));
    order.into_iter().take(SLOWEST)
}

fn describe(ui: &mut Ui, frame: &FrameRow) {
    let time = |duration: Duration| Nanoseconds(duration.as_nanos() as f64);
    ui.strong(format!("frame {}", frame.number));
    ui.label(format!("{}, of which {} in tagged systems", time(frame.frame), time(frame.tagged)));
    ui.label(format!("{:?}", frame.mode));
    ui.weak("click: show it in the timeline");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::SchedulerMode;

    fn frames(milliseconds: &[u64]) -> Vec<FrameRow> {
        let row = |(number, &frame): (usize, &u64)| FrameRow {
            number: number as u64,
            frame: Duration::from_millis(frame),
            tagged: Duration::from_millis(1),
            mode: SchedulerMode::LockStep,
        };
        milliseconds.iter().enumerate().map(row).collect()
    }

    #[test]
    fn the_slowest_come_first() {
        let frames = frames(&[16, 17, 40, 16, 90, 18, 16]);
        let numbers: Vec<_> = slowest(&frames).map(|frame| frame.number).collect();
        assert_eq!(numbers, [4, 2, 5, 1, 0]);
    }

    #[test]
    fn budget_and_most_frames_fit() {
        let mut times = [16; 100];
        times[50] = 900;
        assert_eq!(top(&frames(&times), Duration::from_millis(10)), Duration::from_millis(20));
        assert_eq!(top(&[], Duration::from_millis(16)), Duration::from_millis(20));
    }

    #[test]
    fn a_bar_is_found_where_it_is_drawn() {
        let area = Rect::from_min_max(pos2(10.0, 0.0), pos2(110.0, 50.0));
        let chart = Chart { area, top: Duration::from_millis(20), count: 4 };
        for index in 0..4 {
            assert_eq!(chart.index(chart.bar(index, Duration::from_millis(3)).center().x), Some(index));
        }
        assert_eq!((chart.index(9.0), chart.index(110.5)), (None, None));
    }
}
