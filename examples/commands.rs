//! Bombs that burn down: despawned from inside a parallel sweep, in the order of rows.
//!
//! `cargo run --release --example commands`

use bevy::prelude::*;
use bevy_affinity::prelude::*;

const BOMBS: u32 = 50_000;

#[derive(Component)]
struct Fuse(u32);

/// Left behind by a bomb, with its number.
#[derive(Component)]
struct Crater(u32);

#[derive(Component)]
struct Number(u32);

fn burn(mut bombs: AffineQuery<(Entity, &Number, &mut Fuse)>, mut commands: AffineCommands) {
    let sweep = bombs.par_iter_mut();
    sweep.for_each_with_commands(&mut commands, |commands, (bomb, number, mut fuse)| {
        fuse.0 -= 1;
        if fuse.0 == 0 {
            commands.entity(bomb).despawn();
            let crater = Crater(number.0);
            // Spawned when the command is applied, so that its id is the same in every run.
            commands.queue(|world: &mut World| _ = world.spawn(crater));
        }
    });
}

fn main() {
    let mut app = App::new();
    app.add_plugins(AffinityParallelPlugin).add_systems(Update, burn.affine());
    let bomb = |number: u32| (Number(number), Fuse(1 + number % 10));
    app.world_mut().spawn_batch((0..BOMBS).map(bomb));
    for frame in 1..=10 {
        app.update();
        let mut craters = app.world_mut().query::<&Crater>();
        let numbers: Vec<_> = craters.iter(app.world()).map(|crater| crater.0).collect();
        println!("frame {frame}: {} craters, the last of bomb {:?}", numbers.len(), numbers.last());
    }
    let mut bombs = app.world_mut().query::<&Fuse>();
    assert_eq!(bombs.iter(app.world()).count(), 0);
}
