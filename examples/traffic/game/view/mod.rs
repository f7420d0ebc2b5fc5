//! Everything that is drawn of the city. What never changes is worked out while the city loads
//! ([`Scenery`]); what moves is packed for the GPU once a step, and only what is in view.

mod course;
mod density;
mod detail;
mod glyph;
mod ground;
mod highlight;
mod labels;
mod legend;
mod line;
mod minimap;
mod pack;
mod quads;
mod ribbon;
mod roads;
mod scenery;
mod tracks;
mod traffic;

use bevy::prelude::*;

pub(super) use course::Course;
pub(super) use scenery::Scenery;

/// Behind the roads: a dark map, on which cars and signals are the light.
const GROUND: Color = Color::srgb(0.043, 0.055, 0.075);

/// Around an island.
const SEA: Color = Color::srgb(0.022, 0.060, 0.106);

/// Layers, from the ground up.
const LAND: f32 = -2.0;
const AREAS: f32 = -1.0;
const MINOR_ROADS: f32 = 0.0;
const MAJOR_ROADS: f32 = 1.0;
const TRAFFIC: f32 = 2.0;

pub(super) fn plugin(app: &mut App) {
    app.insert_resource(ClearColor(GROUND));
    quads::plugin(app);
    detail::plugin(app);
    density::plugin(app);
    ground::plugin(app);
    roads::plugin(app);
    pack::plugin(app);
    traffic::plugin(app);
    highlight::plugin(app);
    minimap::plugin(app);
    labels::plugin(app);
    legend::plugin(app);
}
