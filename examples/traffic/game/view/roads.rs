//! Draws the roads: in batches that are left out when they lie outside the window.

use bevy::asset::{RenderAssetUsages, load_internal_asset, uuid_handle};
use bevy::camera::visibility::NoFrustumCulling;
use bevy::math::Rect;
use bevy::mesh::MeshTag;
use bevy::prelude::*;
use bevy::reflect::TypePath;
use bevy::render::render_resource::AsBindGroup;
use bevy::render::storage::ShaderBuffer;
use bevy::shader::ShaderRef;
use bevy::sprite_render::{AlphaMode2d, Material2d, Material2dPlugin, MeshMaterial2d};

use super::density::{self, Densities};
use super::detail::MostRoads;
use super::quads::{self, BATCH, Quads};
use super::ribbon::{Class, Ribbon};
use super::{MAJOR_ROADS, MINOR_ROADS, Scenery};
use crate::game::shared::{CameraView, Frame};

const SHADER: Handle<Shader> = uuid_handle!("0d5c6f0e-6a8e-4f0b-9d55-3a27b1c0a9e1");

#[derive(Asset, TypePath, AsBindGroup, Clone)]
struct RoadMaterial {
    #[storage(0, read_only)]
    ribbons: Handle<ShaderBuffer>,
    #[storage(1, read_only)]
    densities: Handle<ShaderBuffer>,
}

impl Material2d for RoadMaterial {
    fn vertex_shader() -> ShaderRef {
        SHADER.into()
    }

    fn fragment_shader() -> ShaderRef {
        SHADER.into()
    }

    fn alpha_mode(&self) -> AlphaMode2d {
        AlphaMode2d::Blend
    }
}

/// Neighbouring roads.
#[derive(Component)]
struct District {
    bounds: Rect,
    roads: usize,
    is_minor: bool,
}

pub(super) fn plugin(app: &mut App) {
    load_internal_asset!(app, SHADER, "roads.wesl", quads::shader);
    app.add_plugins(Material2dPlugin::<RoadMaterial>::default())
        .add_systems(PreUpdate, spawn.after(density::start).run_if(resource_added::<Scenery>))
        .add_systems(Update, cull.in_set(Frame::Pack));
}

fn spawn(
    mut commands: Commands,
    (scenery, densities, quads): (Res<Scenery>, Res<Densities>, Res<Quads>),
    mut buffers: ResMut<Assets<ShaderBuffer>>,
    mut materials: ResMut<Assets<RoadMaterial>>,
) {
    let bytes: Vec<u8> = scenery.ribbons.iter().flat_map(Ribbon::encode).collect();
    let ribbons = buffers.add(ShaderBuffer::new(bytes, RenderAssetUsages::RENDER_WORLD));
    let material = materials.add(RoadMaterial { ribbons, densities: densities.buffer.clone() });
    // One draw may hold the last minor roads and the first major ones: then it counts as major.
    for (batch, roads) in scenery.ribbons.chunks(BATCH).enumerate() {
        let is_minor = roads.iter().all(|road| road.class == Class::Minor);
        let bounds = roads.iter().map(Ribbon::bounds).fold(Rect::EMPTY, |all, road| all.union(road));
        commands.spawn((
            District { bounds, roads: roads.len(), is_minor },
            Mesh2d(quads.0.clone()),
            MeshMaterial2d(material.clone()),
            MeshTag::new((batch * BATCH) as u32),
            Transform::from_xyz(0.0, 0.0, if is_minor { MINOR_ROADS } else { MAJOR_ROADS }),
            NoFrustumCulling,
            Visibility::Hidden,
        ));
    }
}

/// Shows the districts in the window; of the minor roads none if there are too many.
fn cull(view: Res<CameraView>, most_roads: Res<MostRoads>, mut districts: Query<(&District, &mut Visibility)>) {
    let in_view = |district: &District| !district.bounds.intersect(view.visible).is_empty();
    let minor = districts.iter().filter(|(district, _)| district.is_minor && in_view(district));
    let shows_minor = minor.map(|(district, _)| district.roads).sum::<usize>() <= most_roads.0;
    for (district, mut visibility) in &mut districts {
        let is_shown = in_view(district) && (shows_minor || !district.is_minor);
        visibility.set_if_neq(if is_shown { Visibility::Visible } else { Visibility::Hidden });
    }
}
