//! How panels look and how numbers are written.

use std::sync::OnceLock;

use bevy_egui::egui::{self, Color32};

use crate::model::{Day, MORNING};

pub const PLAYED: Color32 = Color32::from_rgb(255, 214, 102);
pub const UNTOUCHED: Color32 = Color32::from_rgb(120, 150, 190);
pub const GREEN: Color32 = Color32::from_rgb(70, 200, 120);
pub const RED: Color32 = Color32::from_rgb(225, 80, 70);
pub const QUIET: Color32 = Color32::from_rgb(140, 152, 168);

/// Opaque: text over streets is hard to read.
const PANEL: Color32 = Color32::from_rgb(14, 18, 25);
const EDGE: Color32 = Color32::from_rgb(48, 58, 72);

/// Pixels between a panel and the edge of the window, or another panel.
pub const MARGIN: f32 = 10.0;

/// Where panels begin below the bar at the top, in pixels.
pub const BELOW_BAR: f32 = 84.0;

/// The day of the city that is played: it stays the same, and every clock shows it.
static TODAY: OnceLock<Day> = OnceLock::new();

/// Clocks show the time of this day.
pub fn set_day(day: Day) {
    let _ = TODAY.set(day);
}

/// The ground of every panel.
pub fn panel() -> egui::Frame {
    egui::Frame::new().fill(PANEL).stroke((1.0, EDGE)).corner_radius(6.0).inner_margin(10.0)
}

/// The window of what is selected, below the bar at the top.
pub fn inspector(title: String) -> egui::Window<'static> {
    egui::Window::new(title)
        .id("inspector".into())
        .frame(panel())
        .anchor(egui::Align2::RIGHT_TOP, egui::vec2(-MARGIN, BELOW_BAR))
        .collapsible(false)
        .resizable(false)
}

/// A line of a table with two columns.
pub fn row(ui: &mut egui::Ui, name: &str, value: impl Into<egui::WidgetText>) {
    ui.label(egui::RichText::new(name).color(QUIET));
    ui.label(value);
    ui.end_row();
}

/// The time of day in a second of the simulation.
pub fn clock(second: u32) -> String {
    let second = TODAY.get().copied().unwrap_or(Day::starting_at(MORNING)).time(second);
    format!("{:02}:{:02}:{:02}", second / 3_600, second / 60 % 60, second % 60)
}

pub fn hours(second: u32) -> f64 {
    f64::from(second) / 3_600.0
}

/// Digits in groups of three.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_begin_in_the_morning_and_go_round() {
        assert_eq!([0, 59, 3_600, 18 * 3_600].map(clock), ["06:00:00", "06:00:59", "07:00:00", "00:00:00"]);
    }

    #[test]
    fn digits_stand_in_groups() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }
}
