//! Curves over the time of day, as the score shows them.

use bevy_egui::egui::{self, Color32};
use egui_plot::{AxisHints, GridInput, GridMark, Line, Plot, PlotPoints};

use super::style;

/// Pixels down, the times of day included.
const HEIGHT: f32 = 110.0;

/// Pixels for the numbers beside it: curves above each other begin in one line.
const NUMBERS_WIDTH: f32 = 44.0;

/// Pixels between numbers below which they are not shown, and from which they are in full colour.
const NUMBERS_APART: egui::Rangef = egui::Rangef { min: 8.0, max: 14.0 };

/// Most steps between the lowest and the highest number beside a plot: they are as high as a line
/// of text at least.
const MOST_STEPS: f64 = 4.0;

/// A curve and what it is called.
pub struct Curve {
    pub name: &'static str,
    pub colour: Color32,
    pub width: f32,
    pub points: PlotPoints<'static>,
}

/// Curves below a line that says what they are of, and which is which: a legend among them would
/// hide some.
pub fn show(ui: &mut egui::Ui, title: &str, curves: Vec<Curve>) {
    ui.horizontal(|ui| {
        ui.label(title);
        for curve in &curves {
            ui.add_space(6.0);
            let (spot, _) = ui.allocate_exact_size(egui::vec2(14.0, 3.0), egui::Sense::hover());
            ui.painter().rect_filled(spot, 1.0, curve.colour);
            ui.label(egui::RichText::new(curve.name).small());
        }
    });
    let numbers = AxisHints::new_y().label_spacing(NUMBERS_APART).min_thickness(NUMBERS_WIDTH);
    Plot::new(title)
        .height(HEIGHT)
        .allow_drag(false)
        .allow_zoom(false)
        .allow_scroll(false)
        .custom_y_axes(vec![numbers])
        .x_axis_formatter(|mark, _| style::clock((mark.value * 3_600.0).round() as u32))
        .y_grid_spacer(|GridInput { bounds, .. }| marks(bounds))
        .show(ui, |plot| {
            for Curve { name, colour, width, points } in curves {
                plot.line(Line::new(name, points).color(colour).width(width));
            }
        });
}

/// Two to four round steps from the least to the most.
fn marks((least, most): (f64, f64)) -> Vec<GridMark> {
    let smallest = (most - least) / MOST_STEPS;
    if !(smallest.is_finite() && smallest > 0.0) {
        return Vec::new();
    }
    let power = 10.0_f64.powf(smallest.log10().floor());
    let round = [1.0, 2.0, 2.5, 5.0].into_iter().map(|digit| digit * power).find(|&step| step >= smallest);
    let step = round.unwrap_or(10.0 * power);
    let first = (least / step).ceil() as i64;
    let last = (most / step).floor() as i64;
    (first..=last).map(|number| GridMark { value: number as f64 * step, step_size: step }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_two_to_five_round_numbers_beside_a_plot() {
        let values = |bounds| marks(bounds).iter().map(|mark| mark.value).collect::<Vec<_>>();
        assert_eq!(values((9_400.0, 18_100.0)), [10_000.0, 12_500.0, 15_000.0, 17_500.0]);
        assert_eq!(values((-20.0, 310.0)), [0.0, 100.0, 200.0, 300.0]);
        for (least, range) in (1..500).map(|number| (f64::from(number * 37 % 900), f64::from(number) * 0.73)) {
            let count = marks((least, least + range)).len();
            assert!((2..=5).contains(&count), "{count} from {least} on, {range} further");
        }
        assert!(values((5.0, 5.0)).is_empty() && values((0.0, f64::INFINITY)).is_empty());
    }
}
