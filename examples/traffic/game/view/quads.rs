//! The one mesh that everything is drawn with: many squares, which a shader moves to where they
//! belong.

use std::{borrow::Cow, path::Path};

use bevy::asset::{RenderAssetUsages, load_internal_asset, uuid_handle};
use bevy::mesh::{Indices, PrimitiveTopology};
use bevy::prelude::*;

/// Squares of one draw. Few enough that a batch of roads is a district that can be left out, and
/// that the last batch of cars leaves little idle; enough that a million are a few hundred draws.
pub const BATCH: usize = 2_048;

/// [`BATCH`] squares from -1 to 1; the third coordinate is the number of the square.
#[derive(Resource)]
pub struct Quads(pub Handle<Mesh>);

/// What the shaders of all squares import.
const SHADER: Handle<Shader> = uuid_handle!("c1d1c5c8-7a55-4b3e-9c42-2f6b0e7d4a19");

/// A shader in the package `traffic`, under its file's name.
pub(super) fn shader(source: &'static str, path: Cow<str>) -> Shader {
    let name = Path::new(&*path).file_name().unwrap_or_default().to_string_lossy();
    Shader::from_wesl(source, format!("embedded://traffic/{name}"))
}

pub(super) fn plugin(app: &mut App) {
    load_internal_asset!(app, SHADER, "quads.wesl", shader);
    let mesh = app.world_mut().resource_mut::<Assets<Mesh>>().add(mesh());
    app.insert_resource(Quads(mesh));
}

fn mesh() -> Mesh {
    const CORNERS: [(f32, f32); 4] = [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)];
    let square = |number: usize| CORNERS.map(|(x, y)| [x, y, number as f32]);
    let positions: Vec<[f32; 3]> = (0..BATCH).flat_map(square).collect();
    let indices = (0..BATCH as u32).flat_map(|number| [0, 1, 2, 0, 2, 3].map(|corner| number * 4 + corner)).collect();
    Mesh::new(PrimitiveTopology::TriangleList, RenderAssetUsages::RENDER_WORLD)
        .with_inserted_attribute(Mesh::ATTRIBUTE_POSITION, positions)
        .with_inserted_indices(Indices::U32(indices))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_square_has_four_corners_of_its_own() {
        let mesh = mesh();
        assert_eq!(mesh.count_vertices(), 4 * BATCH);
        let indices: Vec<usize> = mesh.indices().unwrap().iter().collect();
        assert_eq!(indices.len(), 6 * BATCH);
        assert!(
            indices.chunks(6).enumerate().all(|(square, corners)| corners.iter().all(|corner| corner / 4 == square))
        );
    }
}
