//! Three short systems as one sweep: a block of rows goes through all of them while it is cached.
//! That gains most where a round is a good part of the sweep, and nothing where memory is the
//! limit.
//!
//! `cargo run --release --example fused`

use std::time::Instant;

use bevy::prelude::*;
use bevy_affinity::prelude::*;

const ROWS: [usize; 3] = [20_000, 100_000, 1_000_000];
/// Frames of each app in which it finds out what rows cost, and that are measured.
const FRAMES: [usize; 2] = [200, 300];

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

fn app(rows: usize, add_systems: impl FnOnce(&mut App)) -> App {
    let mut app = App::new();
    app.add_plugins(AffinityParallelPlugin);
    add_systems(&mut app);
    let row = |index| (Thrust((index % 5) as f32), Velocity(0.0), Position(0.0));
    app.world_mut().spawn_batch((0..rows).map(row));
    app
}

/// What a frame of each of two apps takes in the middle, in microseconds: they take turns, so that
/// both meet the same machine.
fn race(apps: &mut [App; 2]) -> [u128; 2] {
    let mut times = [vec![], vec![]];
    for frame in 0..FRAMES.iter().sum() {
        for (app, times) in apps.iter_mut().zip(&mut times) {
            let began = Instant::now();
            app.update();
            if frame >= FRAMES[0] {
                times.push(began.elapsed().as_micros());
            }
        }
    }
    times.map(|mut times| {
        times.sort_unstable();
        times[times.len() / 2]
    })
}

fn sum_of_positions(app: &mut App) -> f64 {
    let mut positions = app.world_mut().query::<&Position>();
    positions.iter(app.world()).map(|position| f64::from(position.0)).sum()
}

fn main() {
    println!("three systems, microseconds a frame");
    println!("{:>10} {:>8} {:>6}", "rows", "chained", "fused");
    for rows in ROWS {
        let chained = (apart::steer, apart::brake, apart::drive);
        let chained = app(rows, |app| _ = app.add_systems(Update, chained.affine().chain()));
        let one = app(rows, |app| _ = app.add_systems(Update, fused((steer, brake, drive)).affine()));
        let mut apps = [chained, one];
        let [chained, fused] = race(&mut apps);
        let [sum, same] = apps.each_mut().map(sum_of_positions);
        assert_eq!(sum, same);
        println!("{rows:>10} {chained:>8} {fused:>6}");
    }
}
