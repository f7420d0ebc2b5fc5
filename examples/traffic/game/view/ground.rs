//! Draws what lies below the roads: land, green, water and rivers, in one mesh that never changes.

use bevy::asset::RenderAssetUsages;
use bevy::camera::visibility::NoFrustumCulling;
use bevy::mesh::{Indices, PrimitiveTopology};
use bevy::prelude::*;
use bevy::sprite_render::{ColorMaterial, MeshMaterial2d};
use earcut::Earcut;

use super::{AREAS, SEA, Scenery};
use crate::map::land::{AreaKind, Land, Point};

/// Metres from bank to bank of a river that the map has as a line.
const RIVER: f32 = 8.0;

pub(super) fn plugin(app: &mut App) {
    app.add_systems(PreUpdate, spawn.run_if(resource_added::<Scenery>));
}

fn spawn(
    mut commands: Commands,
    scenery: Res<Scenery>,
    mut meshes: ResMut<Assets<Mesh>>,
    mut materials: ResMut<Assets<ColorMaterial>>,
) {
    if scenery.land.is_island {
        commands.insert_resource(ClearColor(SEA));
    }
    let shapes = Shapes::of(&scenery.land);
    if !shapes.indices.is_empty() {
        commands.spawn((
            Mesh2d(meshes.add(shapes.mesh())),
            MeshMaterial2d(materials.add(ColorMaterial::default())),
            Transform::from_xyz(0.0, 0.0, AREAS),
            NoFrustumCulling,
        ));
    }
}

fn colour(kind: AreaKind) -> Color {
    match kind {
        AreaKind::Land => Color::srgb(0.066, 0.078, 0.096),
        AreaKind::Built => Color::srgb(0.086, 0.096, 0.116),
        AreaKind::Green => Color::srgb(0.058, 0.112, 0.090),
        AreaKind::Water => Color::srgb(0.030, 0.086, 0.150),
    }
}

/// Triangles, those on top behind those below.
#[derive(Default)]
struct Shapes {
    corners: Vec<[f32; 3]>,
    colours: Vec<[f32; 4]>,
    indices: Vec<u32>,
}

impl Shapes {
    fn of(land: &Land) -> Self {
        let mut shapes = Self::default();
        let mut earcut = Earcut::new();
        for area in &land.areas {
            let mut triangles: Vec<u32> = Vec::new();
            let outline = area.outline.iter().map(|&(x, y)| [x, y]);
            earcut.earcut(outline, &[] as &[u32], &mut triangles);
            shapes.add(&area.outline, &triangles, colour(area.kind));
        }
        for pair in land.rivers.iter().flat_map(|river| river.windows(2)) {
            shapes.add(&banks(pair[0].into(), pair[1].into()), &[0, 1, 2, 2, 1, 3], colour(AreaKind::Water));
        }
        shapes
    }

    fn add(&mut self, corners: &[Point], triangles: &[u32], colour: Color) {
        let first = self.corners.len() as u32;
        self.corners.extend(corners.iter().map(|&(x, y)| [x, y, 0.0]));
        self.colours.extend(corners.iter().map(|_| colour.to_linear().to_f32_array()));
        self.indices.extend(triangles.iter().map(|corner| first + corner));
    }

    fn mesh(self) -> Mesh {
        Mesh::new(PrimitiveTopology::TriangleList, RenderAssetUsages::RENDER_WORLD)
            .with_inserted_attribute(Mesh::ATTRIBUTE_POSITION, self.corners)
            .with_inserted_attribute(Mesh::ATTRIBUTE_COLOR, self.colours)
            .with_inserted_indices(Indices::U32(self.indices))
    }
}

/// The corners of a stretch of river: two at its begin, two at its end.
fn banks(begin: Vec2, end: Vec2) -> [Point; 4] {
    let along = (end - begin).normalize_or_zero() * RIVER / 2.0;
    let aside = along.perp();
    // A little longer than it is, so that bends have no gaps.
    [begin - along + aside, begin - along - aside, end + along + aside, end + along - aside].map(Point::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::map::land::Area;
    use crate::map::{isle_of_man, isle_of_mans_land};

    fn size(shapes: &Shapes) -> f32 {
        let corner = |index: u32| Vec2::from_slice(&shapes.corners[index as usize][..2]);
        let triangle = |three: &[u32]| {
            let [a, b, c] = [three[0], three[1], three[2]].map(corner);
            (b - a).perp_dot(c - a).abs() / 2.0
        };
        shapes.indices.chunks(3).map(triangle).sum()
    }

    #[test]
    fn an_area_is_covered_by_its_triangles() {
        let outline = vec![(0.0, 0.0), (10.0, 0.0), (10.0, 10.0), (5.0, 2.0), (0.0, 10.0)];
        let land = Land { areas: vec![Area { kind: AreaKind::Green, outline }], ..Land::default() };
        assert!((size(&Shapes::of(&land)) - 60.0).abs() < 1e-3);
    }

    #[test]
    fn the_island_has_its_572_square_kilometres() {
        let land = isle_of_mans_land(&isle_of_man().unwrap().globe.unwrap());
        let areas = land.areas.into_iter().filter(|area| area.kind == AreaKind::Land).collect();
        let size = size(&Shapes::of(&Land { areas, ..Land::default() })) / 1e6;
        assert!((size / 572.0 - 1.0).abs() < 0.02, "{size} square kilometres");
    }
}
