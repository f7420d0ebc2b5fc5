//! A fleet's masses from the leaves up, and its positions from the roots down.
//!
//! `cargo run --release --example tree`

use bevy::prelude::*;
use bevy_affinity::prelude::*;

const SHIPS: usize = 2_000;
const PARTS: usize = 12;

#[derive(Component)]
struct Mass(f64);
#[derive(Component)]
struct TotalMass(f64);
#[derive(Component)]
struct Offset(f64);
#[derive(Component, Default)]
struct Place(f64);

fn weigh(mut parts: AffineTree<(&Mass, &mut TotalMass)>, ships: Query<Entity, Without<ChildOf>>) {
    parts.fold(ships.iter(), |_, (mass, mut total), below: &[f64]| {
        total.0 = mass.0 + below.iter().sum::<f64>();
        total.0
    });
}

fn place(mut parts: AffineTree<(&Offset, &mut Place)>, ships: Query<Entity, Without<ChildOf>>) {
    let origin = ships.iter().map(|ship| (ship, 0.0));
    parts.propagate(origin, |above, _, (offset, mut place)| {
        place.0 = above + offset.0;
        Some(place.0)
    });
}

/// A chain of parts, each with one child.
fn spawn_ship(world: &mut World, ship: usize) {
    let part = |part: usize| {
        let number = (ship * PARTS + part) as f64;
        (Mass(number % 10.0), TotalMass(0.0), Offset(number % 3.0), Place::default())
    };
    let mut above = world.spawn(part(0)).id();
    for index in 1..PARTS {
        above = world.spawn((part(index), ChildOf(above))).id();
    }
}

fn main() {
    let mut app = App::new();
    app.add_plugins(AffinityParallelPlugin).add_systems(Update, (weigh, place).affine());
    (0..SHIPS).for_each(|ship| spawn_ship(app.world_mut(), ship));
    app.update();

    let mut ships = app.world_mut().query_filtered::<&TotalMass, Without<ChildOf>>();
    let fleet: f64 = ships.iter(app.world()).map(|total| total.0).sum();
    let mut masses = app.world_mut().query::<&Mass>();
    let parts: f64 = masses.iter(app.world()).map(|mass| mass.0).sum();
    assert_eq!(fleet, parts);
    let mut places = app.world_mut().query::<&Place>();
    let farthest = places.iter(app.world()).map(|place| place.0).fold(0.0, f64::max);
    println!("{SHIPS} ships of {PARTS} parts weigh {fleet}; the farthest part is at {farthest}");
}
