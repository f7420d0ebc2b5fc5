//! Three short systems as one sweep: a block of rows goes through all of them while it is cached.
//!
//! `cargo run --release --example fused`

use std::time::Instant;

use bevy::prelude::*;
use bevy_affinity::prelude::*;

const ROWS: usize = 500_000;
const FRAMES: u32 = 60;

#[derive(Component, Clone, Copy)]
struct Thrust(f32);
#[derive(Component, Clone, Copy)]
struct Velocity(f32);
#[derive(Component, Clone, Copy)]
struct Position(f32);

fn steer(Row((mut velocity, thrust)): Row<(&mut Velocity, &Thrust)>) {
    velocity.0 += thrust.0;
}

fn brake(Row(mut velocity): Row<&mut Velocity>) {
    velocity.0 *= 0.99;
}

fn drive(Row((mut position, velocity)): Row<(&mut Position, &Velocity)>) {
    position.0 += velocity.0;
}

/// The same three as systems of their own.
mod apart {
    use super::*;

    pub fn steer(mut rows: AffineQuery<(&mut Velocity, &Thrust)>) {
        rows.par_iter_mut().for_each(|(mut velocity, thrust)| velocity.0 += thrust.0);
    }

    pub fn brake(mut rows: AffineQuery<&mut Velocity>) {
        rows.par_iter_mut().for_each(|mut velocity| velocity.0 *= 0.99);
    }

    pub fn drive(mut rows: AffineQuery<(&mut Position, &Velocity)>) {
        rows.par_iter_mut().for_each(|(mut position, velocity)| position.0 += velocity.0);
    }
}

/// The sum of all positions after the frames, and what they took.
fn run(mut app: App) -> (f64, f64) {
    let row = |index| (Thrust((index % 5) as f32), Velocity(0.0), Position(0.0));
    app.world_mut().spawn_batch((0..ROWS).map(row));
    // The first frames find out what rows cost.
    (0..FRAMES).for_each(|_| app.update());
    let began = Instant::now();
    (0..FRAMES).for_each(|_| app.update());
    let each = began.elapsed().as_secs_f64() * 1000.0 / f64::from(FRAMES);
    let mut positions = app.world_mut().query::<&Position>();
    (positions.iter(app.world()).map(|position| f64::from(position.0)).sum(), each)
}

fn main() {
    let mut chained = App::new();
    let systems = (apart::steer, apart::brake, apart::drive);
    chained.add_plugins(AffinityParallelPlugin).add_systems(Update, systems.affine().chain());
    let mut one = App::new();
    one.add_plugins(AffinityParallelPlugin);
    one.add_systems(Update, fused((steer, brake, drive)).affine());

    let ((sum, chained), (same, fused)) = (run(chained), run(one));
    assert_eq!(sum, same);
    println!("{ROWS} rows, three systems: chained {chained:.2} ms a frame, fused {fused:.2} ms");
}
