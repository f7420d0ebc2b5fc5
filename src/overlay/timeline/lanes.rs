//! Painting the lanes: one mesh for all bars, and text where there is room.

use bevy_egui::egui::{Align2, Color32, FontId, Mesh, Painter, Rect, Shape, Stroke, StrokeKind, pos2, vec2};

use super::{Layout, Place, Timeline, axis::Tick};
use crate::overlay::{
    colours,
    recorded::{Bar, BarKind, Lane, Recorded},
    snapshot::SystemRow,
};

/// Height of text in bars and on the axis, in points.
const TEXT_SIZE: f32 = 11.0;
/// The narrowest bar that gets a text, in points: three letters.
const TEXT_WIDTH: f32 = 28.0;
/// Height of the mark on rows of other workers, in points.
const HELP_HEIGHT: f32 = 3.0;
/// Stages that are wider than this have a gap behind them, in points.
const WIDE: f32 = 3.0;
/// How much lower a stage is than the one that it lies inside of, in points, and how often.
const STEP_DOWN: f32 = 5.0;
const DEEPEST: usize = 3;
/// The most lines of the grid.
const TICKS: usize = 7;
/// Bars of one lane, kind and colour that begin less than this many points after the last one ended
/// are drawn as one with it.
const FINEST: f32 = 0.5;

pub(super) fn paint(
    painter: &Painter,
    layout: &Layout,
    timeline: &Timeline,
    recorded: &Recorded,
    systems: &[SystemRow],
) {
    let mut mesh = Mesh::default();
    for index in 0..recorded.lanes().count() {
        mesh.add_colored_rect(layout.lane(index), colours::GROUND);
    }
    let canvas = painter.with_clip_rect(layout.canvas().intersect(painter.clip_rect()));
    for (index, lane) in recorded.lanes().enumerate() {
        paint_name(painter, layout.lane(index), layout.whole.left(), lane);
        for kind in BarKind::FROM_BACK {
            add_bars(&mut mesh, layout, timeline, layout.lane(index), lane, kind);
        }
    }
    canvas.add(Shape::mesh(mesh));
    paint_axis(painter, &canvas, layout, timeline, recorded);
    for (index, lane) in recorded.lanes().enumerate() {
        paint_texts(&canvas, layout, timeline, layout.lane(index), lane, systems);
    }
    if let Some((place, bar)) = timeline.selected.and_then(|place| Some((place, place.find(recorded)?.1))) {
        paint_selection(&canvas, layout, timeline, place, bar);
    }
}

fn paint_name(painter: &Painter, lane: Rect, left: f32, of: &Lane) {
    let middle = lane.center().y;
    let font = |size| FontId::proportional(size);
    painter.text(pos2(left, middle - 5.0), Align2::LEFT_CENTER, &of.name, font(TEXT_SIZE + 1.0), colours::LABEL);
    painter.text(pos2(left, middle + 6.0), Align2::LEFT_CENTER, &of.place, font(TEXT_SIZE - 2.0), colours::LABEL);
}

/// Adds the visible bars of one kind.
fn add_bars(mesh: &mut Mesh, layout: &Layout, timeline: &Timeline, row: Rect, lane: &Lane, kind: BarKind) {
    let mut last: Option<(f32, Color32)> = None;
    for bar in lane.bars.iter().filter(|bar| bar.kind == kind) {
        let Some((left, right)) = visible(layout, timeline, bar) else { continue };
        let colour = colour(bar);
        let left = match last {
            Some((end, of)) if left < end + FINEST && of == colour => {
                if right <= end {
                    continue;
                }
                end
            }
            _ => left,
        };
        // Also what is shorter than a pixel is seen.
        let mut right = right.max(left + 1.0);
        if kind == BarKind::Stage && right > left + WIDE {
            // The next stage begins where this one ends, in the same colour.
            right -= 1.0;
        }
        mesh.add_colored_rect(part_of(row, bar, left, right), colour);
        if let Some(begin) = bar.help_begins() {
            let begin = begin_of_mark(layout.x(timeline.axis.position(begin)), left, right);
            let mark = Rect::from_min_max(pos2(begin, row.top()), pos2(right, row.top() + HELP_HEIGHT));
            mesh.add_colored_rect(mark, colours::HELP);
        }
        last = Some((right, colour));
    }
}

/// Where the mark on a bar from `left` to `right` begins that should begin at `x`: inside the bar,
/// and a point before its end if the bar is that long.
pub(super) fn begin_of_mark(x: f32, left: f32, right: f32) -> f32 {
    // Not `clamp`, which panics where a bar of one point is shorter by rounding.
    x.min(right - 1.0).max(left)
}

/// The left and right end of a bar on the screen, if any of it is in view.
fn visible(layout: &Layout, timeline: &Timeline, bar: &Bar) -> Option<(f32, f32)> {
    let axis = &timeline.axis;
    (bar.end >= axis.begin && bar.begin <= axis.end)
        .then(|| (layout.x(axis.position(bar.begin)), layout.x(axis.position(bar.end))))
}

/// Work fills the lane; what is not work is as much lower as it is worth less.
fn part_of(row: Rect, bar: &Bar, left: f32, right: f32) -> Rect {
    let height = match bar.kind {
        BarKind::System | BarKind::Work | BarKind::Session => row.height(),
        // What is beside it in its round stays visible above.
        BarKind::DealtOut => row.height() * 0.8,
        BarKind::Stage => row.height() - (bar.depth.min(DEEPEST) as f32) * STEP_DOWN,
        BarKind::OnCore => row.height() * 0.6,
        BarKind::Wait | BarKind::Between => row.height() * 0.4,
        BarKind::Parked => 2.0,
    };
    Rect::from_min_max(pos2(left, row.bottom() - height), pos2(right, row.bottom()))
}

fn colour(bar: &Bar) -> Color32 {
    let system = bar.system.map_or(colours::LABEL, colours::system);
    match bar.kind {
        BarKind::System => system.gamma_multiply(0.35),
        BarKind::DealtOut | BarKind::Work | BarKind::Session => system,
        BarKind::Wait => colours::WAIT,
        BarKind::Stage if bar.depth % 2 == 1 => colours::STAGE_INSIDE,
        BarKind::Stage => colours::STAGE,
        BarKind::OnCore => colours::BUSY,
        BarKind::Parked | BarKind::Between => colours::IDLE,
    }
}

/// Names in the bars that have room for some letters.
fn paint_texts(canvas: &Painter, layout: &Layout, timeline: &Timeline, row: Rect, lane: &Lane, systems: &[SystemRow]) {
    let has_text =
        |bar: &&Bar| matches!(bar.kind, BarKind::DealtOut | BarKind::Work | BarKind::Session | BarKind::Stage);
    for bar in lane.bars.iter().filter(has_text).filter(|bar| bar.depth == 0) {
        let Some((left, right)) = visible(layout, timeline, bar) else { continue };
        let left = left.max(row.left());
        let within = Rect::from_min_max(pos2(left, row.top()), pos2(right, row.bottom())).shrink2(vec2(3.0, 0.0));
        if within.width() >= TEXT_WIDTH {
            let text = pos2(within.left(), row.center().y);
            canvas.with_clip_rect(within.intersect(canvas.clip_rect())).text(
                text,
                Align2::LEFT_CENTER,
                bar.name(systems),
                FontId::proportional(TEXT_SIZE),
                colours::on(colour(bar)),
            );
        }
    }
}

/// Round times below the lanes, counted from the frame's begin, the borders of frames, and the end
/// of the budget.
fn paint_axis(painter: &Painter, canvas: &Painter, layout: &Layout, timeline: &Timeline, recorded: &Recorded) {
    let area = layout.canvas();
    let step = timeline.axis.step(TICKS);
    for time in timeline.axis.ticks(0.0, TICKS) {
        let x = layout.x(timeline.axis.position(time));
        canvas.vline(x, area.y_range(), Stroke::new(1.0, Color32::from_white_alpha(20)));
        let text = Tick { time, step }.to_string();
        painter.text(
            pos2(x, area.bottom() + 2.0),
            Align2::CENTER_TOP,
            text,
            FontId::proportional(TEXT_SIZE),
            colours::LABEL,
        );
    }
    let borders = recorded.borders.iter().map(|&border| (border, colours::LABEL));
    for (time, colour) in borders.chain([(timeline.budget, colours::BUDGET)]) {
        let position = timeline.axis.position(time);
        if (0.0..=1.0).contains(&position) {
            canvas.vline(layout.x(position), area.y_range(), Stroke::new(1.5, colour));
        }
    }
    if let Some(stretch) = &timeline.stretch {
        let [left, right] = [stretch.begin(), stretch.end()].map(|time| layout.x(timeline.axis.position(time)));
        let shade = Rect::from_x_y_ranges(left..=right, area.y_range());
        canvas.rect_filled(shade, 0.0, Color32::from_white_alpha(28));
    }
}

fn paint_selection(canvas: &Painter, layout: &Layout, timeline: &Timeline, place: Place, bar: &Bar) {
    if let Some((left, right)) = visible(layout, timeline, bar) {
        let rect = part_of(layout.lane(place.lane), bar, left, right.max(left + 1.0));
        canvas.rect_stroke(rect, 0.0, Stroke::new(1.5, Color32::WHITE), StrokeKind::Outside);
    }
}
