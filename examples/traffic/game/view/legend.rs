//! In the lower left corner: what the colours of roads say, how long a metre is, and where the map
//! comes from.

use bevy::prelude::*;
use bevy_egui::{EguiContexts, EguiPrimaryContextPass, egui};

use crate::game::shared::{CameraView, GameState};
use crate::simulation::Plan;

const COLOUR: egui::Color32 = egui::Color32::from_rgb(168, 180, 196);

/// Pixels that the scale bar is at most long.
const LONGEST_BAR: f32 = 140.0;

/// Pixels from the edges of the window.
const MARGIN: f32 = 10.0;

pub(super) fn plugin(app: &mut App) {
    app.add_systems(EguiPrimaryContextPass, show.run_if(resource_equals(GameState::Playing)));
}

fn show(mut contexts: EguiContexts, view: Res<CameraView>, plan: Res<Plan>) -> Result {
    let context = contexts.ctx_mut()?;
    egui::Area::new("legend".into())
        .anchor(egui::Align2::LEFT_BOTTOM, egui::vec2(MARGIN, -MARGIN))
        .interactable(false)
        .show(context, |ui| {
            colours(ui);
            scale_bar(ui, view.metres_per_pixel);
            if let Some(attribution) = &plan.network.attribution {
                ui.label(egui::RichText::new(attribution).size(11.0).color(COLOUR));
            }
        });
    Ok(())
}

/// What the shader draws, from an empty road to a closed one.
const ROADS: [(egui::Color32, &str); 5] = [
    (egui::Color32::from_rgb(58, 70, 84), "empty"),
    (egui::Color32::from_rgb(44, 118, 108), "flows"),
    (egui::Color32::from_rgb(243, 174, 51), "busy"),
    (egui::Color32::from_rgb(237, 62, 60), "full"),
    (egui::Color32::from_rgb(231, 63, 137), "closed"),
];

fn colours(ui: &mut egui::Ui) {
    ui.horizontal(|ui| {
        ui.spacing_mut().item_spacing.x = 4.0;
        for (colour, meaning) in ROADS {
            let (spot, _) = ui.allocate_exact_size(egui::vec2(14.0, 4.0), egui::Sense::hover());
            ui.painter().rect_filled(spot, 1.0, colour);
            ui.label(egui::RichText::new(meaning).size(11.0).color(COLOUR));
        }
    });
}

fn scale_bar(ui: &mut egui::Ui, metres_per_pixel: f32) {
    let metres = round_length(LONGEST_BAR * metres_per_pixel);
    let width = metres / metres_per_pixel;
    let (rect, _) = ui.allocate_exact_size(egui::vec2(LONGEST_BAR, 18.0), egui::Sense::hover());
    let (left, right, bottom) = (rect.left(), rect.left() + width, rect.bottom() - 2.0);
    let ends = [(left, bottom - 5.0), (left, bottom), (right, bottom), (right, bottom - 5.0)];
    let line = ends.map(|(x, y)| egui::pos2(x, y)).to_vec();
    ui.painter().add(egui::Shape::line(line, egui::Stroke::new(1.5, COLOUR)));
    let text = egui::pos2(left + 5.0, bottom - 3.0);
    ui.painter().text(text, egui::Align2::LEFT_BOTTOM, label(metres), egui::FontId::proportional(11.0), COLOUR);
}

/// The largest of 1, 2, 5, 10, 20 and so on that is not above `most`.
fn round_length(most: f32) -> f32 {
    let power = 10.0_f32.powf(most.log10().floor());
    [5.0, 2.0, 1.0].into_iter().map(|digit| digit * power).find(|&length| length <= most).unwrap_or(power)
}

fn label(metres: f32) -> String {
    if metres >= 1_000.0 {
        format!("{} km", (metres / 1_000.0).round())
    } else if metres >= 1.0 {
        format!("{} m", metres.round())
    } else {
        format!("{} cm", (metres * 100.0).round())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_have_round_lengths() {
        for (most, length, text) in [(140.0, 100.0, "100 m"), (70.0, 50.0, "50 m"), (28_000.0, 20_000.0, "20 km")] {
            let round = round_length(most);
            assert!((round - length).abs() < length * 1e-5, "{round}");
            assert_eq!(label(round), text);
        }
        assert_eq!(label(round_length(0.6)), "50 cm");
    }
}
