//! Towers shoot at targets: deferred updates to other entities, without a lock.
//!
//! `cargo run --release --example scatter`

use bevy::prelude::*;
use bevy_affinity::prelude::*;

const TOWERS: usize = 20_000;
const TARGETS: usize = 5_000;
const FRAMES: usize = 30;

#[derive(Component)]
struct Tower {
    target: Entity,
    damage: u32,
}

#[derive(Component)]
struct Health(u32);

/// All towers send first, then each target takes what was sent to it, in the order of the towers.
fn shoot(towers: AffineQuery<&Tower>, mut targets: AffineQuery<&mut Health>) {
    let report = towers.par_iter().scatter(
        &mut targets,
        |outbox, tower| outbox.send(tower.target, tower.damage),
        |mut health, damage| health.0 = health.0.saturating_sub(damage),
    );
    assert_eq!(report.delivered, TOWERS as u64);
}

fn main() {
    let mut app = App::new();
    app.add_plugins(AffinityParallelPlugin).add_systems(Update, shoot.affine());
    let targets: Vec<_> = (0..TARGETS).map(|_| app.world_mut().spawn(Health(500)).id()).collect();
    let tower = |index: usize| Tower { target: targets[index * 7 % TARGETS], damage: 1 + index as u32 % 3 };
    app.world_mut().spawn_batch((0..TOWERS).map(tower).collect::<Vec<_>>());
    (0..FRAMES).for_each(|_| app.update());

    let mut healths = app.world_mut().query::<&Health>();
    let healths: Vec<_> = healths.iter(app.world()).map(|health| health.0).collect();
    let (weakest, strongest) = (healths.iter().min(), healths.iter().max());
    println!("{TOWERS} towers shot {FRAMES} times at {TARGETS} targets");
    println!("health left: {weakest:?} to {strongest:?}");
}
