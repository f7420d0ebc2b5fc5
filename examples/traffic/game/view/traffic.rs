//! Draws cars and signals: the GPU moves each of them from where it was to where it is while a step
//! is shown.

use bevy::asset::{RenderAssetUsages, load_internal_asset, uuid_handle};
use bevy::camera::visibility::NoFrustumCulling;
use bevy::mesh::MeshTag;
use bevy::prelude::*;
use bevy::reflect::TypePath;
use bevy::render::render_resource::AsBindGroup;
use bevy::render::storage::ShaderBuffer;
use bevy::shader::ShaderRef;
use bevy::sprite_render::{AlphaMode2d, Material2d, Material2dPlugin, MeshMaterial2d};

use super::glyph;
use super::pack::{self, Sheet};
use super::quads::{self, BATCH, Quads};
use super::{Scenery, TRAFFIC};
use crate::game::shared::{Clock, Frame};

const SHADER: Handle<Shader> = uuid_handle!("5f1f2a43-42a5-4d0b-8b39-9b8ac1c3a8d2");

#[derive(Asset, TypePath, AsBindGroup, Clone)]
struct TrafficMaterial {
    #[storage(0, read_only)]
    glyphs: Handle<ShaderBuffer>,
    /// The centre of the packed area, metres from there to its sides, and how much of the step has
    /// passed.
    #[uniform(1)]
    scene: Vec4,
}

impl Material2d for TrafficMaterial {
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

/// A draw of [`BATCH`] glyphs, beginning with this one.
#[derive(Component)]
struct First(usize);

#[derive(Resource)]
struct Canvas {
    glyphs: Handle<ShaderBuffer>,
    material: Handle<TrafficMaterial>,
}

pub(super) fn plugin(app: &mut App) {
    load_internal_asset!(app, SHADER, "traffic.wesl", quads::shader);
    app.add_plugins(Material2dPlugin::<TrafficMaterial>::default())
        .add_systems(PreUpdate, spawn.after(pack::start).run_if(resource_added::<Scenery>))
        .add_systems(
            Update,
            (upload.run_if(resource_exists_and_changed::<Sheet>), interpolate)
                .chain()
                .after(Frame::Pack)
                .run_if(resource_exists::<Canvas>),
        );
}

fn spawn(
    mut commands: Commands,
    (sheet, quads): (Res<Sheet>, Res<Quads>),
    mut buffers: ResMut<Assets<ShaderBuffer>>,
    mut materials: ResMut<Assets<TrafficMaterial>>,
) {
    let bytes = vec![0_u8; sheet.capacity() * glyph::SIZE];
    let glyphs = buffers.add(ShaderBuffer::new(bytes, RenderAssetUsages::RENDER_WORLD));
    let material = materials.add(TrafficMaterial { glyphs: glyphs.clone(), scene: Vec4::ZERO });
    for first in (0..sheet.capacity()).step_by(BATCH) {
        commands.spawn((
            First(first),
            Mesh2d(quads.0.clone()),
            MeshMaterial2d(material.clone()),
            MeshTag::new(first as u32),
            Transform::from_xyz(0.0, 0.0, TRAFFIC),
            NoFrustumCulling,
            Visibility::Hidden,
        ));
    }
    commands.insert_resource(Canvas { glyphs, material });
}

fn upload(
    mut sheet: ResMut<Sheet>,
    canvas: Res<Canvas>,
    mut buffers: ResMut<Assets<ShaderBuffer>>,
    mut batches: Query<(&First, &mut Visibility)>,
) {
    let Some(bytes) = sheet.bypass_change_detection().take_bytes() else { return };
    if let Some(mut buffer) = buffers.get_mut(&canvas.glyphs) {
        *buffer = ShaderBuffer::new(bytes, RenderAssetUsages::RENDER_WORLD);
    }
    for (first, mut visibility) in &mut batches {
        let is_used = first.0 < sheet.count();
        visibility.set_if_neq(if is_used { Visibility::Visible } else { Visibility::Hidden });
    }
}

fn interpolate(
    (sheet, clock, canvas): (Res<Sheet>, Res<Clock>, Res<Canvas>),
    mut materials: ResMut<Assets<TrafficMaterial>>,
) {
    let area = sheet.area();
    let scene = area.centre.extend(area.reach).extend(clock.alpha);
    if let Some(mut material) = materials.get_mut(&canvas.material) {
        material.scene = scene;
    }
}
