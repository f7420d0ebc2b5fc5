//! What the diagnostics say of apps whose work is known.

mod choices;
#[path = "../common/mod.rs"]
mod common;
mod dealt_out;
mod forecast;
mod forgotten;
#[path = "../common/mix.rs"]
mod mix;
mod modes;
mod replaced;
mod steals;
mod store;
mod timeline;
#[cfg(feature = "trace-file")]
mod trace_file;

use bevy::prelude::*;
use bevy_affinity::{Forecast, Span, SpanKind, prelude::*};

use common::{Scheduling, swept_rows};
use mix::mix_slowly;

/// A component whose rows are dear enough to be shared.
#[derive(Component)]
struct Seed(u64);

/// Rows of the component: a sweep of them takes a millisecond or so.
const ROWS: usize = 5000;

fn mix(mut seeds: AffineQuery<&mut Seed>) {
    seeds.par_iter_mut().for_each(|mut seed| seed.0 = mix_slowly(seed.0));
}

fn mix_again(seeds: AffineQuery<&mut Seed>) {
    mix(seeds);
}

/// An app with two systems that sweep all rows in each frame; recording is on.
fn app(scheduling: Scheduling) -> App {
    let mut app = scheduling.app();
    app.add_systems(Update, (mix, mix_again).affine().chain());
    app.world_mut().spawn_batch((0..ROWS as u64).map(Seed));
    timeline_mut(&mut app).record(true);
    app
}

fn timeline(app: &App) -> &AffinityTimeline {
    app.world().resource()
}

fn timeline_mut(app: &mut App) -> Mut<'_, AffinityTimeline> {
    app.world_mut().resource_mut()
}

fn diagnostics(app: &App) -> &AffinityDiagnostics {
    app.world().resource()
}

fn spans_of(app: &App, kind: SpanKind) -> Vec<Span> {
    timeline(app).spans().filter(|span| span.kind == kind).copied().collect()
}
