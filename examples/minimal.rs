//! The least that a game needs: the plugin, the tag and the query. Prints how and where the rows
//! were swept. Warnings tell what is wrong: without `DefaultPlugins` add Bevy's `LogPlugin`.
//!
//! `cargo run --release --example minimal`

use bevy::{MinimalPlugins, app::ScheduleRunnerPlugin, prelude::*};
use bevy_affinity::prelude::*;

#[derive(Component)]
struct Position(Vec2);

#[derive(Component)]
struct Velocity(Vec2);

fn main() {
    App::new()
        .add_plugins((MinimalPlugins.set(ScheduleRunnerPlugin::run_loop(default())), AffinityParallelPlugin))
        .add_systems(Startup, spawn)
        .add_systems(Update, drive.affine())
        .add_systems(Last, report)
        .run();
}

fn spawn(mut commands: Commands) {
    commands.spawn_batch((0..200_000).map(|index| (Position(Vec2::ZERO), Velocity(Vec2::splat(index as f32)))));
}

fn drive(mut cars: AffineQuery<(&mut Position, &Velocity)>) {
    cars.par_iter_mut().for_each(|(mut position, velocity)| position.0 += velocity.0 / 60.0);
}

fn report(diagnostics: Res<AffinityDiagnostics>, mut exit: MessageWriter<AppExit>) {
    if diagnostics.frames == 1_000 {
        println!("{:?} a frame", diagnostics.systems[0].mean);
        for site in &diagnostics.call_sites {
            println!("{}: mode Auto chose {:?} for {} rows", site.location, site.choice, site.rows);
        }
        if let Some(same_core) = diagnostics.same_core_share() {
            println!("{:.1}% of the rows that were shared out stayed on their core", 100.0 * same_core);
        }
        exit.write(AppExit::Success);
    }
}
