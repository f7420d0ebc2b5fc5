//! The whole city in the lower right corner, with a frame around what the window shows. A click
//! goes there.

use std::time::Duration;

use bevy::math::Rect;
use bevy::prelude::*;
use bevy::time::common_conditions::on_real_timer;
use bevy_egui::{EguiContexts, EguiPrimaryContextPass, egui};

use super::Scenery;
use super::density::Densities;
use crate::game::shared::{CameraView, Follow, GameState};

/// Pixels of its longer side.
const SIZE: f32 = 190.0;

/// The shorter side is at least this part of the longer one, also on a map of one straight road.
const NARROWEST: f32 = 0.25;

/// Pixels from the edges of the window.
const MARGIN: f32 = 10.0;

/// The colours of a million roads take milliseconds to add up; jams grow in minutes.
const INTERVAL: Duration = Duration::from_secs(2);

const GROUND: [f32; 3] = [9.0, 12.0, 17.0];
const ROAD: [f32; 3] = [62.0, 76.0, 96.0];
const JAM: [f32; 3] = [240.0, 70.0, 50.0];
const FRAME: egui::Color32 = egui::Color32::from_rgb(235, 240, 248);
const EDGE: egui::Color32 = egui::Color32::from_rgb(48, 58, 72);

#[derive(Resource)]
struct Minimap {
    bounds: Rect,
    /// Pixels across and down.
    size: [usize; 2],
    /// The pixels along each link, and where those of each end.
    cells: Vec<u32>,
    ends: Vec<u32>,
    /// For each pixel how much road there is: one is as much as can be seen.
    roads: Vec<f32>,
    texture: Option<egui::TextureHandle>,
}

pub(super) fn plugin(app: &mut App) {
    app.add_systems(PreUpdate, start.run_if(resource_added::<Scenery>)).add_systems(
        EguiPrimaryContextPass,
        (paint.run_if(on_real_timer(INTERVAL).or_else(resource_added::<Minimap>)), show)
            .chain()
            .run_if(resource_equals(GameState::Playing).and_then(resource_exists::<Minimap>)),
    );
}

fn start(mut commands: Commands, scenery: Res<Scenery>) {
    commands.insert_resource(Minimap::new(&scenery));
}

impl Minimap {
    fn new(scenery: &Scenery) -> Self {
        let least = scenery.bounds.size().max_element().max(1.0) * NARROWEST;
        let bounds = Rect::from_center_size(scenery.bounds.center(), scenery.bounds.size().max(Vec2::splat(least)));
        let scale = SIZE / bounds.size().max_element().max(1.0);
        let size = (bounds.size() * scale).ceil().max(Vec2::ONE).to_array().map(|side| side as usize);
        let roads = vec![0.0; size[0] * size[1]];
        let mut map = Self { bounds, size, cells: Vec::new(), ends: Vec::new(), roads, texture: None };
        for course in &scenery.courses {
            let pixels = (course.stop * scale).ceil().max(1.0);
            let along = (0..pixels as u32).map(|pixel| course.stop * (pixel as f32 + 0.5) / pixels);
            let mut cells: Vec<u32> = along.map(|along| map.cell(course.line.at(along).0) as u32).collect();
            cells.dedup();
            for &cell in &cells {
                let road = &mut map.roads[cell as usize];
                *road = (*road + 0.35).min(1.0);
            }
            map.cells.extend(cells);
            map.ends.push(map.cells.len() as u32);
        }
        map
    }

    fn cell(&self, place: Vec2) -> usize {
        let share = (place - self.bounds.min) / self.bounds.size().max(Vec2::ONE);
        let [width, height] = self.size;
        let column = ((share.x * width as f32) as usize).min(width - 1);
        let row = (((1.0 - share.y) * height as f32) as usize).min(height - 1);
        row * width + column
    }

    fn image(&self, density: impl Fn(u32) -> u8) -> egui::ColorImage {
        // Of the links in each pixel: the sum of their densities, and their number.
        let mut sums = vec![(0_u32, 0_u32); self.roads.len()];
        let mut first = 0;
        for (link, &end) in (0..).zip(&self.ends) {
            for &cell in &self.cells[first..end as usize] {
                let (sum, links) = &mut sums[cell as usize];
                (*sum, *links) = (*sum + u32::from(density(link)), *links + 1);
            }
            first = end as usize;
        }
        let pixels =
            self.roads.iter().zip(sums).map(|(&road, (sum, links))| colour(road, sum / links.max(1))).collect();
        egui::ColorImage::new(self.size, pixels)
    }
}

/// Where roads are a seventh full, in 255ths, a pixel begins to glow: half of the roads in it lead
/// away from a jam.
fn colour(road: f32, density: u32) -> egui::Color32 {
    let jam = ((density as f32 / 255.0 - 0.15) * 2.5).clamp(0.0, 1.0);
    let mix = |from: f32, to: f32, share: f32| from + (to - from) * share;
    let channel = |number: usize| mix(GROUND[number], mix(ROAD[number], JAM[number], jam), road) as u8;
    egui::Color32::from_rgb(channel(0), channel(1), channel(2))
}

fn paint(mut contexts: EguiContexts, mut map: ResMut<Minimap>, densities: Res<Densities>) -> Result {
    let image = map.image(|link| densities.get(link));
    match &mut map.texture {
        Some(texture) => texture.set(image, egui::TextureOptions::LINEAR),
        none => *none = Some(contexts.ctx_mut()?.load_texture("minimap", image, egui::TextureOptions::LINEAR)),
    }
    Ok(())
}

fn show(
    mut contexts: EguiContexts,
    map: Res<Minimap>,
    mut view: ResMut<CameraView>,
    mut follow: ResMut<Follow>,
) -> Result {
    let Some(texture) = &map.texture else { return Ok(()) };
    let corner = egui::Area::new("minimap".into()).anchor(egui::Align2::RIGHT_BOTTOM, egui::vec2(-MARGIN, -MARGIN));
    let response = corner.show(contexts.ctx_mut()?, |ui| {
        let image = egui::Image::new(texture).sense(egui::Sense::click_and_drag());
        let response = ui.add(image);
        draw_frame(&ui.painter_at(response.rect), response.rect, &map, &view);
        response
    });
    let map_rect = response.inner.rect;
    if let Some(pointer) = response.inner.interact_pointer_pos() {
        let share = (pointer - map_rect.min) / map_rect.size();
        let share = Vec2::new(share.x, 1.0 - share.y).clamp(Vec2::ZERO, Vec2::ONE);
        view.centre = map.bounds.min + share * map.bounds.size();
        follow.0 = None;
    }
    Ok(())
}

/// The outline of the window, never too small to see.
fn draw_frame(painter: &egui::Painter, rect: egui::Rect, map: &Minimap, view: &CameraView) {
    painter.rect_stroke(rect, 2.0, (1.0, EDGE), egui::StrokeKind::Inside);
    let at = |place: Vec2| {
        let share = (place - map.bounds.min) / map.bounds.size();
        rect.min + egui::vec2(share.x, 1.0 - share.y) * rect.size()
    };
    let frame = egui::Rect::from_two_pos(at(view.visible.min), at(view.visible.max));
    let frame = egui::Rect::from_center_size(frame.center(), frame.size().max(egui::Vec2::splat(6.0)));
    painter.rect_stroke(frame, 0.0, (1.0, FRAME), egui::StrokeKind::Middle);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::map::{Control, Link, Network, Node};
    use crate::tests::grid;

    #[test]
    fn a_straight_road_has_a_map_around_it() {
        let nodes = [0.0, 4_000.0].map(|x| Node::new(x, 10.0, Control::Priority)).to_vec();
        let links = vec![Link::new(1, 0, 40_000, 1, 50), Link::new(0, 1, 40_000, 1, 50)];
        let map = Minimap::new(&Scenery::new(&Network::new("road".to_owned(), nodes, links), None));
        assert_eq!(map.size, [190, 48]);
        let rows = map.cells.iter().map(|cell| *cell as usize / map.size[0]);
        assert!(rows.clone().all(|row| (22..=26).contains(&row)), "{:?}", rows.collect::<Vec<_>>());
    }

    #[test]
    fn a_jam_glows_along_its_whole_road() {
        let scenery = Scenery::new(&grid(4), None);
        let map = Minimap::new(&scenery);
        let empty = map.image(|_| 0);
        let jammed = map.image(|link| if link == 5 { 255 } else { 0 });
        let glowing = empty.pixels.iter().zip(&jammed.pixels).filter(|(a, b)| a != b).count();
        let scale = SIZE / scenery.bounds.size().max_element();
        let length = scenery.courses[5].stop * scale;
        assert!(glowing as f32 > 0.8 * length && length > 30.0, "{glowing} of {length} pixels");
    }
}
