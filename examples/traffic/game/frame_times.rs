//! How long the parts of a frame take.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bevy::prelude::*;
use bevy::render::{Render, RenderApp, RenderSystems};

use super::shared::FrameParts;

/// Nanoseconds that the last frame took to draw, as the thread that draws tells it.
#[derive(Resource, Clone, Default)]
struct DrawTime(Arc<AtomicU64>);

#[derive(Resource)]
struct DrawStart(Instant);

pub(super) fn plugin(app: &mut App) {
    let time = DrawTime::default();
    app.insert_resource(time.clone()).add_systems(First, collect);
    if let Some(render) = app.get_sub_app_mut(RenderApp) {
        render
            .insert_resource(time)
            .insert_resource(DrawStart(Instant::now()))
            .add_systems(Render, begin.before(RenderSystems::ExtractCommands))
            .add_systems(Render, end.after(RenderSystems::PostCleanup));
    }
}

fn begin(mut start: ResMut<DrawStart>) {
    start.0 = Instant::now();
}

/// A number of its own: nothing else is read after it, so no order is needed.
fn end(start: Res<DrawStart>, time: Res<DrawTime>) {
    time.0.store(start.0.elapsed().as_nanos() as u64, Ordering::Relaxed);
}

fn collect(time: Res<DrawTime>, clock: Res<Time<Real>>, mut parts: ResMut<FrameParts>) {
    parts.draw = Duration::from_nanos(time.0.load(Ordering::Relaxed));
    parts.frame = clock.delta();
    // Not every frame packs.
    parts.pack = Duration::ZERO;
}
