//! Names of towns and streets: on the map, as many as have room.

use bevy::math::Rect;
use bevy::prelude::*;
use bevy_egui::{EguiContexts, EguiPrimaryContextPass, egui};

use super::Scenery;
use crate::game::shared::{CameraView, GameState};
use crate::map::Class;
use crate::map::land::{NamedPlace, Point, Rank, Street};

const STREETS: egui::Color32 = egui::Color32::from_rgb(150, 162, 180);
const PLACES: egui::Color32 = egui::Color32::from_rgb(214, 220, 230);
/// Behind letters, so that they can be read over roads.
const SHADE: egui::Color32 = egui::Color32::from_black_alpha(190);

/// Points.
const STREET_SIZE: f32 = 11.0;
/// Between two names.
const APART: f32 = 6.0;
/// The same street is named again after so many points.
const REPEAT: f32 = 420.0;

/// Cosine of the angle by which a road may turn below its name: 8 degrees.
const STRAIGHT: f32 = 0.99;

/// The most names of streets at once: more would be a list.
const MOST_STREETS: usize = 60;

/// Metres in a point beyond which streets have no names: those of main roads, and all.
const MAIN_ROADS: f32 = 6.0;
const ALL_ROADS: f32 = 1.6;

pub(super) fn plugin(app: &mut App) {
    app.add_systems(EguiPrimaryContextPass, show.run_if(resource_equals(GameState::Playing)));
}

fn show(mut contexts: EguiContexts, view: Res<CameraView>, scenery: Res<Scenery>) -> Result {
    let painter = contexts.ctx_mut()?.layer_painter(egui::LayerId::background());
    let mut sheet = Sheet { painter, view: &view, taken: Vec::new() };
    scenery.land.places.iter().for_each(|place| sheet.place(place));
    sheet.streets(&scenery.land.streets);
    Ok(())
}

/// What is written, and where there is no room any more.
struct Sheet<'a> {
    painter: egui::Painter,
    view: &'a CameraView,
    taken: Vec<egui::Rect>,
}

impl Sheet<'_> {
    fn place(&mut self, place: &NamedPlace) {
        let Some(size) = size_of(place.rank, self.view.metres_per_pixel) else { return };
        let at = Vec2::from(place.at);
        if self.view.visible.contains(at) {
            self.write(&place.name, size, PLACES, at, 0.0);
        }
    }

    /// Main roads first.
    fn streets(&mut self, streets: &[Street]) {
        let pixel = self.view.metres_per_pixel;
        let has_name =
            |street: &&Street| pixel <= if street.class >= Class::Secondary { MAIN_ROADS } else { ALL_ROADS };
        let mut near: Vec<&Street> = streets.iter().filter(has_name).filter(|street| self.is_in_view(street)).collect();
        near.sort_by_key(|street| std::cmp::Reverse(street.class));
        let mut named: Vec<(&str, Vec2)> = Vec::new();
        for street in near {
            let Some((at, angle)) = self.room_on(street) else { continue };
            let is_near = |&(name, other): &(&str, Vec2)| name == &*street.name && other.distance(at) < REPEAT * pixel;
            if named.iter().any(is_near) || !self.write(&street.name, STREET_SIZE, STREETS, at, angle) {
                continue;
            }
            named.push((&street.name, at));
            if named.len() == MOST_STREETS {
                return;
            }
        }
    }

    fn is_in_view(&self, street: &Street) -> bool {
        let points = street.line.iter().map(|&point| Vec2::from(point));
        let bounds = points.fold(Rect::EMPTY, |bounds, point| bounds.union_point(point));
        !bounds.intersect(self.view.visible).is_empty()
    }

    /// The middle of the longest stretch that hardly bends, if the name fits in it, and how far it
    /// is turned: so that it is not upside down.
    fn room_on(&self, street: &Street) -> Option<(Vec2, f32)> {
        // Letters are about half as wide as high.
        let width = street.name.chars().count() as f32 * STREET_SIZE * 0.5 * self.view.metres_per_pixel;
        let inside =
            stretches(&street.line).into_iter().filter(|(start, end)| self.view.visible.contains(start.midpoint(*end)));
        let (start, end) = inside.max_by(|a, b| a.0.distance(a.1).total_cmp(&b.0.distance(b.1)))?;
        let (from, to) = if start.x <= end.x { (start, end) } else { (end, start) };
        (start.distance(end) >= width).then(|| (start.midpoint(end), -(to - from).to_angle()))
    }

    /// Writes a name unless something is there.
    fn write(&mut self, name: &str, size: f32, colour: egui::Color32, at: Vec2, angle: f32) -> bool {
        let pixel = self.view.window_position(at);
        let font = egui::FontId::proportional(size);
        let text = self.painter.layout_no_wrap(name.to_owned(), font.clone(), colour);
        let turned = turned(text.size(), angle);
        let room = egui::Rect::from_center_size(egui::pos2(pixel.x, pixel.y), turned).expand(APART);
        if self.taken.iter().any(|taken| taken.intersects(room)) {
            return false;
        }
        self.taken.push(room);
        let shade = self.painter.layout_no_wrap(name.to_owned(), font, SHADE);
        for (galley, aside) in [(shade, 1.0), (text, 0.0)] {
            let corner = room.center() - egui::emath::Rot2::from_angle(angle) * (galley.size() / 2.0);
            let shape = egui::epaint::TextShape::new(corner + egui::Vec2::splat(aside), galley, colour);
            self.painter.add(shape.with_angle(angle));
        }
        true
    }
}

/// The ends of the stretches of a line that hardly bend.
fn stretches(line: &[Point]) -> Vec<(Vec2, Vec2)> {
    let mut stretches: Vec<(Vec2, Vec2)> = Vec::new();
    let mut heading = Vec2::ZERO;
    for pair in line.windows(2) {
        let (start, end) = (Vec2::from(pair[0]), Vec2::from(pair[1]));
        let Some(direction) = (end - start).try_normalize() else { continue };
        match stretches.last_mut() {
            Some(last) if heading.dot(direction) > STRAIGHT => last.1 = end,
            _ => {
                heading = direction;
                stretches.push((start, end));
            }
        }
    }
    stretches
}

/// The size of the box around a text that is turned.
fn turned(size: egui::Vec2, angle: f32) -> egui::Vec2 {
    let (sine, cosine) = (angle.sin().abs(), angle.cos().abs());
    egui::vec2(size.x * cosine + size.y * sine, size.x * sine + size.y * cosine)
}

/// In points; towns can be read from afar, hamlets from near by, and none stands over single cars.
fn size_of(rank: Rank, metres_per_pixel: f32) -> Option<f32> {
    let (size, farthest) = match rank {
        Rank::City => (18.0, f32::INFINITY),
        Rank::Town => (15.0, 150.0),
        Rank::Village => (13.0, 40.0),
        Rank::Hamlet => (12.0, 12.0),
    };
    (0.8..=farthest).contains(&metres_per_pixel).then_some(size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearer_shows_more_names_of_places() {
        let shown = |metres: f32| {
            let ranks = [Rank::Hamlet, Rank::Village, Rank::Town, Rank::City];
            ranks.into_iter().filter(|&rank| size_of(rank, metres).is_some()).count()
        };
        assert_eq!([300.0, 100.0, 30.0, 5.0, 0.3].map(shown), [1, 2, 3, 4, 0]);
    }

    #[test]
    fn names_run_along_what_hardly_bends() {
        let line = [(0.0, 0.0), (50.0, 1.0), (100.0, 0.0), (100.0, 0.0), (100.0, 80.0)];
        let corner = Vec2::new(100.0, 0.0);
        assert_eq!(stretches(&line), [(Vec2::ZERO, corner), (corner, Vec2::new(100.0, 80.0))]);
        assert!(stretches(&[]).is_empty() && stretches(&[(1.0, 1.0)]).is_empty());
    }

    #[test]
    fn a_turned_text_has_a_larger_box() {
        let size = egui::vec2(40.0, 10.0);
        assert_eq!(turned(size, 0.0), size);
        let upright = turned(size, std::f32::consts::FRAC_PI_2);
        assert!((upright.x - 10.0).abs() < 1e-3 && (upright.y - 40.0).abs() < 1e-3, "{upright}");
    }
}
