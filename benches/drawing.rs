//! What workers that spin take from those who draw: an app with a window, in which modes take turns
//! of some frames. Three tagged systems move rows, an untagged one moves sprites, and Bevy's render
//! thread draws them beside the next frame.
//!
//! `cargo bench --bench drawing --ignore-rust-version --features game -- [--rows N] [--sprites N] [--turns N]`
//!
//! Needs a display and something that draws on it; a software rasteriser keeps all cores busy
//! itself.

use std::time::{Duration, Instant};

use bevy::{
    log::LogPlugin,
    prelude::*,
    window::{PresentMode, WindowResolution},
    winit::WinitSettings,
};
use bevy_affinity::prelude::*;
use clap::Parser;

#[allow(dead_code, reason = "each bench needs a part of it")]
mod shared;

use shared::{machine, report};

/// Frames of a turn, and how many of them are not counted: what the mode before left is still on
/// its way to the screen.
const FRAMES: usize = 50;
const UNCOUNTED: usize = 10;

/// Frames of a window that has just been opened are slow.
const WARM_UP: usize = 60;

/// Half the side of the square that rows live in.
const BORDER: f32 = 400.0;

#[derive(Parser, Resource, Clone, Copy)]
#[command(about = "Frame times of an app that draws, mode by mode")]
struct Arguments {
    /// Rows that the tagged systems sweep
    #[arg(long, default_value_t = 200_000)]
    rows: usize,
    /// Sprites that are drawn, each at the place of a row
    #[arg(long, default_value_t = 500)]
    sprites: usize,
    /// Turns of each mode
    #[arg(long, default_value_t = 8)]
    turns: usize,
    /// Cargo tells every bench that it is one
    #[arg(long, hide = true)]
    bench: bool,
}

#[derive(Component)]
struct Position(Vec2);

#[derive(Component)]
struct Velocity(Vec2);

#[derive(Component)]
struct Heat(f32);

/// How long the frames of each mode took.
#[derive(Resource, Default)]
struct Frames {
    count: usize,
    began: Option<Instant>,
    times: [Vec<Duration>; SchedulerMode::ALL.len()],
}

fn main() {
    let arguments = Arguments::parse();
    let cores = core_affinity::get_core_ids().map_or(1, |cores| cores.len());
    println!("{}", machine::list(&machine::describe("drawing --features game", cores)));
    let window = Window {
        title: "bevy_affinity: drawing".into(),
        resolution: WindowResolution::new(1280, 800),
        present_mode: PresentMode::AutoNoVsync,
        ..default()
    };
    let plugins = DefaultPlugins
        .set(WindowPlugin { primary_window: Some(window), ..default() })
        .set(LogPlugin { filter: "error".into(), ..default() });
    App::new()
        .add_plugins((plugins, AffinityParallelPlugin))
        .insert_resource(WinitSettings::continuous())
        .insert_resource(OverlaySettings { visible: false, ..default() })
        .insert_resource(arguments)
        .init_resource::<Frames>()
        .add_systems(Startup, spawn)
        .add_systems(Update, ((pull, drift, cool).affine().chain(), draw, take_turns).chain())
        .run();
}

fn spawn(arguments: Res<Arguments>, mut commands: Commands) {
    commands.spawn(Camera2d);
    for row in 0..arguments.rows {
        // Steps that no side is a multiple of: rows are spread over the square.
        let [x, y] = [0.37, 0.73].map(|step| (row as f32 * step) % (2.0 * BORDER) - BORDER);
        commands.spawn((Position(Vec2::new(x, y)), Velocity(Vec2::ZERO), Heat(1.0)));
    }
    let grain = Sprite { custom_size: Some(Vec2::splat(3.0)), ..default() };
    commands.spawn_batch(vec![grain; arguments.sprites]);
}

fn pull(mut rows: AffineQuery<(&'static mut Velocity, &'static Position)>) {
    rows.par_iter_mut().for_each(|(mut velocity, position)| {
        for sun in [-BORDER / 2.0, 0.0, BORDER / 2.0] {
            let way = Vec2::splat(sun) - position.0;
            velocity.0 += way / (way.length_squared() + 100.0);
        }
    });
}

fn drift(mut rows: AffineQuery<(&'static mut Position, &'static Velocity)>) {
    rows.par_iter_mut().for_each(|(mut position, velocity)| position.0 += velocity.0 / 60.0);
}

fn cool(mut rows: AffineQuery<&'static mut Heat>) {
    rows.par_iter_mut().for_each(|mut heat| heat.0 *= 0.99);
}

fn draw(rows: Query<&Position>, mut sprites: Query<&mut Transform, With<Sprite>>) {
    for (mut sprite, row) in sprites.iter_mut().zip(&rows) {
        sprite.translation = row.0.extend(0.0);
    }
}

/// Counts the frame that has just passed, and switches modes when a turn is over.
fn take_turns(
    arguments: Res<Arguments>,
    mut frames: ResMut<Frames>,
    mut mode: ResMut<SchedulerMode>,
    mut exit: MessageWriter<AppExit>,
) {
    let now = Instant::now();
    let began = frames.began.replace(now);
    frames.count += 1;
    let Some(frame) = frames.count.checked_sub(WARM_UP) else { return };
    let (turn, in_turn) = (frame / FRAMES, frame % FRAMES);
    if turn == arguments.turns * SchedulerMode::ALL.len() {
        print(&arguments, &mut frames.times);
        exit.write(AppExit::Success);
        return;
    }
    let number = turn % SchedulerMode::ALL.len();
    *mode = SchedulerMode::ALL[number];
    if let (Some(began), UNCOUNTED..) = (began, in_turn) {
        frames.times[number].push(now - began);
    }
}

fn print(arguments: &Arguments, times: &mut [Vec<Duration>]) {
    let mut lines = vec![["mode", "frames", "median", "p95", "mean"].map(String::from).to_vec()];
    for (mode, times) in SchedulerMode::ALL.iter().zip(times) {
        times.sort_unstable();
        let mean = times.iter().sum::<Duration>() / times.len().max(1) as u32;
        let part = |percent: usize| times.get(times.len() * percent / 100).copied().unwrap_or_default();
        let figures = [part(50), part(95), mean].map(report::duration);
        lines.push([format!("{mode:?}"), times.len().to_string()].into_iter().chain(figures).collect());
    }
    let title = format!(
        "A frame with {} in three tagged systems, and {} drawn",
        report::counted(arguments.rows, "row"),
        report::counted(arguments.sprites, "sprite")
    );
    report::print_table(&title, &lines);
}
