//! How the workers spend their time: shares of the last second as stacked bars, and what these say
//! about the placement.

use bevy_egui::egui::{
    Align2, Color32, FontId, Mesh, Rect, Response, Sense, Shape, Ui, WidgetInfo, WidgetType, pos2, vec2,
};

use super::{colours, snapshot::Snapshot};
use crate::diagnostics::WorkerDiagnostics;

const HEIGHT: f32 = 12.0;
const TEXT_SIZE: f32 = 12.0;
const NAME_WIDTH: f32 = 64.0;
/// Room for `33% busy, 33% wait, 34% idle`.
const NUMBERS_WIDTH: f32 = 172.0;
/// Room for `stolen 1.23 M` and for `left out 12.3 k`.
const STOLEN_WIDTH: f32 = 82.0;
const LEFT_OUT_WIDTH: f32 = 90.0;

pub(super) fn show(ui: &mut Ui, snapshot: &Snapshot) {
    for worker in &snapshot.workers {
        show_worker(ui, worker);
    }
    ui.horizontal_wrapped(|ui| {
        let mut fact = |name: &str, value: String, meaning: &str| {
            ui.weak(name).on_hover_text(meaning);
            ui.label(value).on_hover_text(meaning);
            ui.add_space(10.0);
        };
        if let Some(imbalance) = snapshot.imbalance {
            let meaning = "how much longer than the mean the busiest worker was busy in the last second, the leader with serial code of tagged systems";
            fact("imbalance", format!("{:.0}%", imbalance * 100.0), meaning);
        }
        if let Some(share) = snapshot.same_core {
            let meaning = "rows swept on the core that swept them last time, since the settings changed";
            fact("same core", format!("{:.1}%", share * 100.0), meaning);
        }
        fact("migrated rows", snapshot.migrated_rows.to_string(), "rows that changed owner since the settings changed");
        let meaning =
            "how often rows changed owner because some were found to cost more than others, since the settings changed";
        fact("migrations", snapshot.migrations.to_string(), meaning);
    });
}

fn show_worker(ui: &mut Ui, worker: &WorkerDiagnostics) {
    ui.horizontal(|ui| {
        let gaps = 4.0 * ui.spacing().item_spacing.x;
        let others = NAME_WIDTH + NUMBERS_WIDTH + STOLEN_WIDTH + LEFT_OUT_WIDTH + gaps;
        let width = (ui.available_width() - others).max(60.0);
        show_text(ui, NAME_WIDTH, format!("worker {}", worker.index), colours::LABEL);
        let (bar, _) = ui.allocate_exact_size(vec2(width, HEIGHT), Sense::hover());
        let recent = &worker.recent;
        paint_stack(ui, bar, &[(recent.busy, colours::BUSY), (recent.wait, colours::WAIT)]);
        let [busy, wait, idle] = [recent.busy, recent.wait, recent.idle].map(|share| share * 100.0);
        let shares = format!("{busy:.0}% busy, {wait:.0}% wait, {idle:.0}% idle");
        let weak = ui.visuals().weak_text_color();
        show_text(ui, NUMBERS_WIDTH, shares, weak);
        show_text(ui, STOLEN_WIDTH, format!("stolen {}", Count(worker.stolen_rows)), weak)
            .on_hover_text(format!(
                "rows swept for other workers, which were late with them, since the settings changed; besides, {} whole shares \
                 of workers that did not come, or were left out",
                Count(worker.taken_over)
            ));
        show_text(ui, LEFT_OUT_WIDTH, format!("left out {}", Count(worker.rounds_left_out)), weak).on_hover_text(
            "rounds without this worker, because its core was busy with another process, since the settings changed",
        );
    });
}

/// A text that takes the same room however long it is: so those of all workers stand below each
/// other.
fn show_text(ui: &mut Ui, width: f32, text: String, colour: Color32) -> Response {
    let (place, response) = ui.allocate_exact_size(vec2(width, HEIGHT), Sense::hover());
    let font = FontId::proportional(TEXT_SIZE);
    ui.painter().text(place.left_center(), Align2::LEFT_CENTER, &text, font, colour);
    response.widget_info(|| WidgetInfo::labeled(WidgetType::Label, true, &text));
    response
}

/// Draws shares one after another; what is left of the whole is idle.
fn paint_stack(ui: &Ui, area: Rect, shares: &[(f64, Color32)]) {
    let mut mesh = Mesh::default();
    mesh.add_colored_rect(area, colours::IDLE);
    let mut left = area.left();
    for &(share, colour) in shares {
        let right = (left + share as f32 * area.width()).min(area.right());
        mesh.add_colored_rect(Rect::from_min_max(pos2(left, area.top()), pos2(right, area.bottom())), colour);
        left = right;
    }
    ui.painter().add(Shape::mesh(mesh));
}

/// Writes a count with the unit that suits it, to three digits: `999`, `12.3 k`, `1.23 M`.
struct Count(u64);

impl std::fmt::Display for Count {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (value, unit) = match self.0 {
            0..1_000 => return write!(f, "{}", self.0),
            1_000..999_500 => (self.0 as f64 / 1e3, "k"),
            999_500..999_500_000 => (self.0 as f64 / 1e6, "M"),
            _ => (self.0 as f64 / 1e9, "G"),
        };
        let digits = if value >= 99.95 { 0 } else { 1 + usize::from(value < 9.995) };
        write!(f, "{value:.digits$} {unit}")
    }
}

#[cfg(test)]
mod tests {
    use super::Count;

    #[test]
    fn counts_have_three_digits_and_a_unit() {
        let shown =
            [7, 999, 1_000, 12_345, 999_499, 999_500, 1_234_567, 2_000_000_000].map(|count| Count(count).to_string());
        assert_eq!(shown, ["7", "999", "1.00 k", "12.3 k", "999 k", "1.00 M", "1.23 M", "2.00 G"]);
    }
}
