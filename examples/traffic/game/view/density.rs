//! How full each road is, as the colour of the road.

use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use bevy::asset::RenderAssetUsages;
use bevy::prelude::*;
use bevy::render::storage::ShaderBuffer;
use bevy::time::common_conditions::on_real_timer;
use bevy_affinity::prelude::*;

use super::Scenery;
use crate::game::shared::Frame;
use crate::model::{Intersection, Road};
use crate::simulation::{Number, Plan};

/// Often enough to see a jam grow, rarely enough that a million roads cost nothing.
const INTERVAL: Duration = Duration::from_millis(250);

/// A road takes this part of the way to a new value each time, so that colours follow traffic and
/// not the signals.
const SMOOTHING: i32 = 4;

/// What a full road shows; above it there is [`CLOSED`].
const FULL: u32 = 254;

/// The shader knows the same number.
const CLOSED: u8 = 255;

/// For each link the share of its places that are taken, smoothed, up to [`FULL`].
#[derive(Resource)]
pub struct Densities {
    links: Vec<AtomicU8>,
    pub buffer: Handle<ShaderBuffer>,
}

pub(super) fn plugin(app: &mut App) {
    app.add_systems(PreUpdate, start.run_if(resource_added::<Scenery>)).add_systems(
        Update,
        ((measure, close).affine().chain(), upload).chain().in_set(Frame::Pack).run_if(on_real_timer(INTERVAL)),
    );
}

impl Densities {
    pub fn get(&self, link: u32) -> u8 {
        self.links[link as usize].load(Ordering::Relaxed)
    }

    /// Each link is written by the worker of the intersection where it ends.
    fn note(&self, link: u32, cars: u32, storage: u32) {
        let density = &self.links[link as usize];
        let target = (cars * FULL / storage.max(1)).min(FULL) as u8;
        density.store(approach(density.load(Ordering::Relaxed), target), Ordering::Relaxed);
    }

    /// Four links in a word of the buffer, whose length must never change.
    fn shader_buffer(&self) -> ShaderBuffer {
        let mut bytes: Vec<u8> = self.links.iter().map(|density| density.load(Ordering::Relaxed)).collect();
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        ShaderBuffer::new(bytes, RenderAssetUsages::RENDER_WORLD)
    }
}

/// Takes at least one step, so that an empty road gets its colour back.
fn approach(density: u8, target: u8) -> u8 {
    let rest = i32::from(target) - i32::from(density);
    let step = if rest.abs() < SMOOTHING { rest.signum() } else { rest / SMOOTHING };
    (i32::from(density) + step) as u8
}

pub(super) fn start(mut commands: Commands, scenery: Res<Scenery>, mut buffers: ResMut<Assets<ShaderBuffer>>) {
    let links = scenery.courses.iter().map(|_| AtomicU8::new(0)).collect();
    let mut densities = Densities { links, buffer: Handle::default() };
    densities.buffer = buffers.add(densities.shader_buffer());
    commands.insert_resource(densities);
}

fn measure(
    intersections: AffineQuery<(&Number, &Intersection)>,
    plan: Res<Plan>,
    scenery: Res<Scenery>,
    densities: Res<Densities>,
) {
    intersections.par_iter().for_each(|(number, intersection)| {
        for (link, approach) in (plan.first_road(number.0)..).zip(intersection.approaches()) {
            densities.note(link, approach.occupancy(), scenery.storage[link as usize]);
        }
    });
}

/// Closed roads stand out, however empty they are.
fn close(roads: AffineQuery<(&Number, &Road)>, densities: Res<Densities>) {
    roads.par_iter().for_each(|(number, road)| {
        if road.closed {
            densities.links[number.0 as usize].store(CLOSED, Ordering::Relaxed);
        }
    });
}

fn upload(densities: Res<Densities>, mut buffers: ResMut<Assets<ShaderBuffer>>) {
    if let Some(mut buffer) = buffers.get_mut(&densities.buffer) {
        *buffer = densities.shader_buffer();
    }
}

#[cfg(test)]
mod tests {
    use super::approach;

    #[test]
    fn colours_arrive_where_they_are_going() {
        for (start, target) in [(0, 255), (255, 0), (7, 8), (200, 199), (50, 50)] {
            let end = (0..40).fold(start, |density, _| approach(density, target));
            assert_eq!(end, target);
        }
    }
}
