//! Dust around three suns: four tagged systems, one of them uneven, with the overlay open. It
//! begins in mode Auto, and the panel tells what that chose for each system, and why. Switch modes,
//! click on bars, let A/B compare.
//!
//! `cargo overlay`
//!
//! F3 hides the panel; + and - change the number of grains by a quarter; a click beside the panel
//! blows grains away.

use bevy::{
    log::LogPlugin,
    prelude::*,
    window::{PresentMode, WindowResolution},
};
use bevy_affinity::prelude::*;
use bevy_egui::{EguiContexts, EguiPrimaryContextPass, egui};

/// Grains at the start. Only some are drawn, so that drawing leaves time to the simulation.
const GRAINS: usize = 200_000;
/// One grain in so many is drawn.
const DRAWN: usize = 100;
/// Half the width of the square that grains live in; who leaves it comes back on the other side.
const BORDER: f32 = 420.0;
/// Seconds that a frame simulates, whatever it takes: so the work is the same on every machine.
const STEP: f32 = 1.0 / 60.0;

#[derive(Component)]
struct Position(Vec2);

#[derive(Component)]
struct Velocity(Vec2);

/// 0 is cold, 1 is as hot as it gets.
#[derive(Component)]
struct Heat(f32);

/// Grains that are drawn.
#[derive(Component)]
struct Drawn;

/// Where the suns are.
#[derive(Resource, Default)]
struct Suns([Vec2; 3]);

fn main() {
    let window = Window {
        title: "bevy_affinity: the overlay".into(),
        resolution: WindowResolution::new(1280, 800),
        present_mode: PresentMode::AutoVsync,
        ..default()
    };
    let plugins = DefaultPlugins
        .set(WindowPlugin { primary_window: Some(window), ..default() })
        .set(LogPlugin { filter: "warn,bevy_affinity=info,overlay=info".into(), ..default() });
    App::new()
        .insert_resource(ClearColor(Color::srgb(0.02, 0.02, 0.05)))
        .insert_resource(OverlaySettings { visible: true, ..default() })
        .init_resource::<Suns>()
        .add_plugins((plugins, AffinityParallelPlugin))
        .add_systems(Startup, (open_eyes, spawn_first))
        .add_systems(Update, (move_suns, (pull, drift, burn, cool).affine().chain(), change_number, blow).chain())
        .add_systems(EguiPrimaryContextPass, draw)
        .add_systems(Update, say_mode.run_if(resource_changed::<SchedulerMode>))
        .run();
}

fn open_eyes(mut commands: Commands) {
    commands.spawn((Camera2d, Msaa::Off));
}

fn spawn_first(mut commands: Commands) {
    spawn(&mut commands, 0..GRAINS);
}

/// Grains on a spiral, each at about the speed that keeps it on a circle.
fn spawn(commands: &mut Commands, grains: std::ops::Range<usize>) {
    for index in grains {
        let angle = index as f32 * 2.4;
        let position = Vec2::from_angle(angle) * (20.0 + (index as f32 / GRAINS as f32).sqrt() * 360.0);
        let mut grain =
            commands.spawn((Position(position), Velocity(Vec2::from_angle(angle).perp() * 110.0), Heat(0.2)));
        if index % DRAWN == 0 {
            grain.insert(Drawn);
        }
    }
}

fn move_suns(mut suns: ResMut<Suns>, mut seconds: Local<f32>) {
    *seconds += STEP;
    for (index, sun) in suns.0.iter_mut().enumerate() {
        let angle = *seconds * 0.3 + index as f32 * std::f32::consts::TAU / 3.0;
        *sun = Vec2::from_angle(angle) * (90.0 + 60.0 * (*seconds * 0.2 + index as f32).sin());
    }
}

/// Every sun pulls every grain.
fn pull(suns: Res<Suns>, mut grains: AffineQuery<(&Position, &mut Velocity)>) {
    grains.par_iter_mut().for_each(|(position, mut velocity)| {
        let pulls = suns.0.map(|sun| {
            let way = sun - position.0;
            way * (250_000.0 / (way.length_squared() + 900.0).powf(1.5))
        });
        velocity.0 += pulls.into_iter().sum::<Vec2>() * STEP;
    });
}

fn drift(mut grains: AffineQuery<(&mut Position, &Velocity)>) {
    grains.par_iter_mut().for_each(|(mut position, velocity)| {
        let next = position.0 + velocity.0 * STEP;
        position.0 = (next + BORDER).rem_euclid(Vec2::splat(2.0 * BORDER)) - BORDER;
    });
}

/// Uneven: a grain in a sun's corona takes fifty times as long as one in the cold.
fn burn(suns: Res<Suns>, mut grains: AffineQuery<(&Position, &mut Heat)>) {
    grains.par_iter_mut().for_each(|(position, mut heat)| {
        let nearest = suns.0.iter().map(|sun| sun.distance(position.0)).fold(f32::MAX, f32::min);
        let steps = if nearest < 60.0 { 50 } else { 1 };
        for _ in 0..steps {
            heat.0 += (1.0 - heat.0).sqrt() * STEP / (1.0 + nearest * 0.2);
        }
        heat.0 = heat.0.min(1.0);
    });
}

fn cool(mut grains: AffineQuery<&mut Heat>) {
    grains.par_iter_mut().for_each(|mut heat| heat.0 *= 0.995);
}

/// Where the scene's origin is on the screen, in points: the panel covers the left half of the
/// window.
fn middle(width: f32, height: f32) -> Vec2 {
    Vec2::new(width, height) / 2.0 + Vec2::new(320.0, 0.0)
}

/// Painted behind all windows: one picture for all grains, and no shader but the panel's own.
fn draw(mut contexts: EguiContexts, grains: Query<(&Position, &Heat), With<Drawn>>) -> Result {
    let painter = contexts.ctx_mut()?.layer_painter(egui::LayerId::background());
    let middle = middle(painter.clip_rect().width(), painter.clip_rect().height());
    let middle = egui::pos2(middle.x, middle.y);
    for (position, heat) in &grains {
        let colour = Color::hsl(220.0 - 190.0 * heat.0, 0.85, 0.45 + 0.3 * heat.0).to_srgba();
        let [red, green, blue, _] = colour.to_u8_array();
        let colour = egui::Color32::from_rgb(red, green, blue);
        painter.circle_filled(middle + egui::vec2(position.0.x, -position.0.y), 1.5, colour);
    }
    Ok(())
}

fn change_number(keys: Res<ButtonInput<KeyCode>>, mut commands: Commands, grains: Query<Entity, With<Heat>>) {
    let count = grains.count();
    if keys.get_just_pressed().len() > 0 {
        info!("keys: {:?}", keys.get_just_pressed().collect::<Vec<_>>());
    }
    if keys.any_just_pressed([KeyCode::Equal, KeyCode::NumpadAdd]) {
        spawn(&mut commands, count..count + count / 4);
    }
    if keys.any_just_pressed([KeyCode::Minus, KeyCode::NumpadSubtract]) {
        grains.iter().take(count / 5).for_each(|grain| commands.entity(grain).despawn());
    }
}

/// Clicks that reach the scene, and are not the panel's.
fn blow(
    buttons: Res<ButtonInput<MouseButton>>,
    window: Single<&Window>,
    mut grains: AffineQuery<(&Position, &mut Velocity)>,
) {
    let Some(pointer) = window.cursor_position().filter(|_| buttons.just_pressed(MouseButton::Left)) else { return };
    let place = (pointer - middle(window.width(), window.height())) * Vec2::new(1.0, -1.0);
    info!("a click blows at {place:.0}");
    grains.iter_mut().for_each(|(position, mut velocity)| {
        let away = position.0 - place;
        velocity.0 += away * (300.0 / (away.length_squared() + 400.0));
    });
}

fn say_mode(mode: Res<SchedulerMode>) {
    info!("mode: {:?}", *mode);
}
