//! Marks what is selected.

use bevy::prelude::*;
use bevy_egui::{EguiContexts, EguiPrimaryContextPass, egui};

use super::Scenery;
use super::course::LANE_WIDTH;
use crate::game::shared::{CameraView, GameState, Selection, Tracked};
use crate::simulation::Plan;

const COLOUR: egui::Color32 = egui::Color32::from_rgb(255, 214, 102);

/// Pixels.
const LINE: f32 = 2.0;
const SMALLEST_RING: f32 = 9.0;

/// Metres around an intersection and around a car.
const INTERSECTION_RING: f32 = 14.0;
const CAR_RING: f32 = 5.0;

pub(super) fn plugin(app: &mut App) {
    app.add_systems(EguiPrimaryContextPass, mark.run_if(resource_equals(GameState::Playing)));
}

fn mark(
    mut contexts: EguiContexts,
    (selection, tracked, view): (Res<Selection>, Res<Tracked>, Res<CameraView>),
    (plan, scenery): (Res<Plan>, Res<Scenery>),
) -> Result {
    let painter = contexts.ctx_mut()?.layer_painter(egui::LayerId::background());
    let ring = |place: Vec2, metres: f32| {
        let radius = (metres / view.metres_per_pixel).max(SMALLEST_RING);
        painter.circle_stroke(screen(&view, place), radius, (LINE, COLOUR));
    };
    match *selection {
        Selection::Intersection(number) => {
            let node = &plan.network.nodes[number as usize];
            ring(Vec2::new(node.x, node.y), INTERSECTION_RING);
        }
        Selection::Road(number) => outline(&painter, &view, &scenery, number),
        Selection::Car(_) | Selection::None => {}
    }
    if let Some(car) = tracked.0 {
        ring(car.position, CAR_RING);
    }
    Ok(())
}

/// Along both sides of the lanes.
fn outline(painter: &egui::Painter, view: &CameraView, scenery: &Scenery, road: u32) {
    let course = &scenery.courses[road as usize];
    let sides =
        [course.first_lane - LANE_WIDTH / 2.0, course.first_lane + (f32::from(course.lanes) - 0.5) * LANE_WIDTH];
    let [left, right] =
        sides.map(|side| course.line.corners().map(|along| course.beside(along, side)).collect::<Vec<_>>());
    let corners = left.iter().chain(right.iter().rev()).map(|&corner| screen(view, corner)).collect();
    painter.add(egui::Shape::closed_line(corners, egui::Stroke::new(LINE, COLOUR)));
}

fn screen(view: &CameraView, place: Vec2) -> egui::Pos2 {
    let pixel = view.window_position(place);
    egui::pos2(pixel.x, pixel.y)
}
