//! How the workers spend their time: shares of the last second as stacked bars, and what these say about the placement.

use bevy_egui::egui::{Align2, Color32, FontId, Mesh, Rect, Sense, Shape, Ui, pos2, vec2};

use super::{
    colours,
    snapshot::{Snapshot, WorkerRow},
};

const HEIGHT: f32 = 12.0;
const NAME_WIDTH: f32 = 128.0;
/// Room for `33% busy, 33% wait, 34% idle`.
const NUMBERS_WIDTH: f32 = 190.0;

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
            let meaning = "how much longer than the mean the busiest worker was busy";
            fact("imbalance", format!("{:.0}%", imbalance * 100.0), meaning);
        }
        if let Some(share) = snapshot.same_core {
            fact("same core", format!("{:.1}%", share * 100.0), "rows swept on the core that swept them last time");
        }
        fact("migrated rows", snapshot.migrated_rows.to_string(), "rows that changed owner since the settings changed");
    });
}

fn show_worker(ui: &mut Ui, worker: &WorkerRow) {
    ui.horizontal(|ui| {
        let width = ui.available_width();
        let response = ui.allocate_response(vec2(NAME_WIDTH, HEIGHT), Sense::hover());
        ui.painter().text(
            response.rect.left_center(),
            Align2::LEFT_CENTER,
            format!("worker {}", worker.index),
            FontId::proportional(12.0),
            colours::LABEL,
        );
        let (bar, _) =
            ui.allocate_exact_size(vec2((width - NAME_WIDTH - NUMBERS_WIDTH).max(60.0), HEIGHT), Sense::hover());
        paint_stack(ui, bar, &[(worker.busy, colours::BUSY), (worker.wait, colours::WAIT)]);
        let [busy, wait, idle] = [worker.busy, worker.wait, worker.idle].map(|share| share * 100.0);
        ui.weak(format!("{busy:.0}% busy, {wait:.0}% wait, {idle:.0}% idle"));
    });
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
