//! F1: all keys.

use bevy::prelude::*;
use bevy_egui::{EguiContexts, EguiPrimaryContextPass, egui};

use super::keys::TABLE;
use super::style;

/// Whether the help is open.
#[derive(Resource, Default)]
pub struct Help(pub bool);

pub(super) fn plugin(app: &mut App) {
    app.init_resource::<Help>().add_systems(Update, toggle).add_systems(EguiPrimaryContextPass, show);
}

fn toggle(keys: Res<ButtonInput<KeyCode>>, mut help: ResMut<Help>) {
    if keys.just_pressed(KeyCode::F1) {
        help.0 = !help.0;
    }
}

fn show(mut contexts: EguiContexts, mut help: ResMut<Help>) -> Result {
    let mut is_open = help.0;
    egui::Window::new("Keys")
        .open(&mut is_open)
        .frame(style::panel())
        // Above the task of a challenge.
        .anchor(egui::Align2::CENTER_TOP, egui::vec2(0.0, style::BELOW_BAR))
        .collapsible(false)
        .resizable(false)
        .show(contexts.ctx_mut()?, |ui| {
            egui::Grid::new("keys").num_columns(2).spacing([24.0, 6.0]).show(ui, |ui| {
                for (key, effect) in TABLE {
                    ui.label(egui::RichText::new(key).strong());
                    ui.label(effect);
                    ui.end_row();
                }
            });
            ui.add_space(8.0);
            ui.label("Make more trips arrive, with less delay, than in the city that nobody touches.");
        });
    help.bypass_change_detection().0 = is_open;
    Ok(())
}
