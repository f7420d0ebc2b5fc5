//! How much is drawn: cars and signals only where they are large enough to see.

use bevy::prelude::*;
use bevy::render::renderer::RenderAdapterInfo;

use super::Scenery;
use crate::game::shared::{CameraView, Frame};

/// Metres in a pixel beyond which a car would be no more than a dot among dots: the colours of the
/// roads say more then.
const CARS: f32 = 2.5;

/// The bar of a signal is as wide as its lanes, so it can be told from the cars a little longer
/// than it can be read.
const SIGNALS: f32 = 1.3;

/// Most roads in the picture before the minor ones are left out. About what a software rasteriser
/// draws in a tenth of a second; a GPU draws New York's 370,000 in a few milliseconds.
const MOST_ROADS_IN_SOFTWARE: usize = 60_000;
const MOST_ROADS_ON_A_GPU: usize = 2_000_000;

/// How many roads the machine can draw.
#[derive(Resource)]
pub struct MostRoads(pub usize);

/// What is worth drawing from where the camera is.
#[derive(Resource, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Detail {
    pub cars: bool,
    pub signals: bool,
}

impl Detail {
    pub fn at(metres_per_pixel: f32) -> Self {
        Self { cars: metres_per_pixel <= CARS, signals: metres_per_pixel <= SIGNALS }
    }
}

pub(super) fn plugin(app: &mut App) {
    app.init_resource::<Detail>()
        .add_systems(PreUpdate, know_machine.run_if(resource_added::<Scenery>))
        .add_systems(Update, choose.after(Frame::Input).before(Frame::Pack));
}

fn know_machine(mut commands: Commands, adapter: Res<RenderAdapterInfo>) {
    // Bevy does not export the type of the device's kind.
    let is_software = format!("{:?}", adapter.device_type) == "Cpu";
    commands.insert_resource(MostRoads(if is_software { MOST_ROADS_IN_SOFTWARE } else { MOST_ROADS_ON_A_GPU }));
}

fn choose(view: Res<CameraView>, mut detail: ResMut<Detail>) {
    detail.set_if_neq(Detail::at(view.metres_per_pixel));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cars_appear_when_they_are_larger_than_a_pixel() {
        const CAR_LENGTH: f32 = 4.5;
        assert!(Detail::at(CAR_LENGTH / 2.0).cars);
        assert!(!Detail::at(CAR_LENGTH).cars);
    }

    #[test]
    fn nearer_never_shows_less() {
        let detail = |step: u16| Detail::at(0.05 * f32::from(step));
        for step in 1..200 {
            let (near, far) = (detail(step), detail(step + 1));
            assert!(near.cars >= far.cars && near.signals >= far.signals);
        }
    }
}
