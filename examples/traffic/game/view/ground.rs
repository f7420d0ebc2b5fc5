//! Draws what lies below the roads: land, green, water and rivers, in one mesh that never changes.

use std::collections::BTreeMap;

use bevy::asset::RenderAssetUsages;
use bevy::mesh::{Indices, PrimitiveTopology};
use bevy::prelude::*;
use bevy::sprite_render::{AlphaMode2d, ColorMaterial, MeshMaterial2d};
use earcut::Earcut;

use super::{AREAS, LAND, SEA, Scenery};
use crate::game::shared::{CameraView, Frame};
use crate::map::land::{Area, AreaKind, Point};

/// Metres along the side of a square.
const CELL: f32 = 4_000.0;

/// From one kind of area to the next: what lies on top is nearer to the eye.
const STEP_UP: f32 = 0.1;

/// Metres from bank to bank of a river that the map has as a line.
const RIVER: f32 = 8.0;

pub(super) fn plugin(app: &mut App) {
    app.add_systems(PreUpdate, spawn.run_if(resource_added::<Scenery>)).add_systems(
        Update,
        fill.after(Frame::Input)
            .before(Frame::Pack)
            .run_if(resource_exists::<Coast>.and_then(resource_changed::<CameraView>.or_else(resource_added::<Coast>))),
    );
}

fn spawn(
    mut commands: Commands,
    scenery: Res<Scenery>,
    mut meshes: ResMut<Assets<Mesh>>,
    mut materials: ResMut<Assets<ColorMaterial>>,
) {
    let (land, rest): (Vec<&Area>, Vec<&Area>) =
        scenery.land.areas.iter().partition(|area| area.kind == AreaKind::Land);
    // Nothing shines through, and what is blended takes twice as long.
    let material = ColorMaterial { alpha_mode: AlphaMode2d::Opaque, ..ColorMaterial::default() };
    let material = materials.add(material);
    let mut drawn = |shapes: Shapes, layer: f32| {
        let mesh = Mesh2d(meshes.add(shapes.mesh()));
        let place = Transform::from_xyz(0.0, 0.0, layer);
        (mesh, MeshMaterial2d(material.clone()), place)
    };
    if !land.is_empty() {
        let entity = commands.spawn(drawn(Shapes::of(&land, &[]), LAND)).id();
        let coast = land.iter().map(|area| area.outline.iter().map(|&point| point.into()).collect()).collect();
        commands.insert_resource(Coast { outlines: coast, land: entity });
    }
    for areas in in_cells(rest).into_values() {
        commands.spawn(drawn(Shapes::of(&areas, &[]), AREAS));
    }
    if !scenery.land.rivers.is_empty() {
        commands.spawn(drawn(Shapes::of(&[], &scenery.land.rivers), AREAS));
    }
}

/// Areas by the square of the map that they begin in: what is far from the window is not drawn.
fn in_cells(areas: Vec<&Area>) -> BTreeMap<[i32; 2], Vec<&Area>> {
    let mut cells = BTreeMap::<_, Vec<_>>::new();
    for area in areas {
        let cell = (Vec2::from(area.outline[0]) / CELL).floor().as_ivec2().to_array();
        cells.entry(cell).or_default().push(area);
    }
    cells
}

/// Where the sea begins.
#[derive(Resource)]
struct Coast {
    outlines: Vec<Vec<Vec2>>,
    /// What is drawn within it.
    land: Entity,
}

/// Metres between two points of a coast at most, but for some: farther away from the window none of
/// it is in the picture.
const COAST_STEP: f32 = 300.0;

/// Where no coast is in the picture nothing is drawn but one colour, that of land or of the sea:
/// on a software rasteriser each pixel counts.
fn fill(coast: Res<Coast>, view: Res<CameraView>, mut clear: ResMut<ClearColor>, mut shown: Query<&mut Visibility>) {
    let around = view.visible.inflate(COAST_STEP);
    let is_coast = coast.outlines.iter().flatten().any(|&point| around.contains(point));
    let is_land = !is_coast && coast.outlines.iter().any(|outline| contains(outline, view.centre));
    let wanted = if is_land { colour(AreaKind::Land) } else { SEA };
    if clear.0 != wanted {
        clear.0 = wanted;
    }
    if let Ok(mut visibility) = shown.get_mut(coast.land) {
        visibility.set_if_neq(if is_coast { Visibility::Visible } else { Visibility::Hidden });
    }
}

/// By the even-odd rule.
fn contains(outline: &[Vec2], point: Vec2) -> bool {
    let edges = outline.iter().zip(outline.iter().cycle().skip(1));
    let crossed = edges.filter(|&(a, b)| {
        (a.y > point.y) != (b.y > point.y) && point.x < (b.x - a.x) * (point.y - a.y) / (b.y - a.y) + a.x
    });
    crossed.count() % 2 == 1
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
    fn of(areas: &[&Area], rivers: &[Vec<Point>]) -> Self {
        let mut shapes = Self::default();
        let mut earcut = Earcut::new();
        for area in areas {
            let mut triangles: Vec<u32> = Vec::new();
            let outline = area.outline.iter().map(|&(x, y)| [x, y]);
            earcut.earcut(outline, &[] as &[u32], &mut triangles);
            shapes.add(&area.outline, &triangles, area.kind);
        }
        for pair in rivers.iter().flat_map(|river| river.windows(2)) {
            shapes.add(&banks(pair[0].into(), pair[1].into()), &[0, 1, 2, 2, 1, 3], AreaKind::Water);
        }
        shapes
    }

    fn add(&mut self, corners: &[Point], triangles: &[u32], kind: AreaKind) {
        let first = self.corners.len() as u32;
        let (height, colour) = (f32::from(kind as u8) * STEP_UP, colour(kind).to_linear().to_f32_array());
        self.corners.extend(corners.iter().map(|&(x, y)| [x, y, height]));
        self.colours.extend(corners.iter().map(|_| colour));
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
        let area = Area { kind: AreaKind::Green, outline };
        assert!((size(&Shapes::of(&[&area], &[])) - 60.0).abs() < 1e-3);
    }

    #[test]
    fn the_island_has_its_572_square_kilometres() {
        let land = isle_of_mans_land(&isle_of_man().unwrap().globe.unwrap());
        let areas: Vec<_> = land.areas.iter().filter(|area| area.kind == AreaKind::Land).collect();
        let size = size(&Shapes::of(&areas, &[])) / 1e6;
        assert!((size / 572.0 - 1.0).abs() < 0.02, "{size} square kilometres");
    }

    #[test]
    fn inside_and_outside_are_told_apart() {
        let bay = [(0.0, 0.0), (10.0, 0.0), (10.0, 10.0), (5.0, 2.0), (0.0, 10.0)].map(Vec2::from);
        assert!(contains(&bay, Vec2::new(1.0, 5.0)) && contains(&bay, Vec2::new(5.0, 1.0)));
        assert!(!contains(&bay, Vec2::new(5.0, 6.0)) && !contains(&bay, Vec2::new(11.0, 1.0)));
    }
}
