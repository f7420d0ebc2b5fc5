//! The camera: drag, wheel and keys move it; it stays on the car that is followed.

use bevy::input::mouse::{AccumulatedMouseMotion, AccumulatedMouseScroll, MouseScrollUnit};
use bevy::math::Rect;
use bevy::prelude::*;
use bevy::window::PrimaryWindow;
use bevy_egui::input::EguiWantsInput;

use super::shared::{CameraView, Cursor, Destination, Follow, Frame, Tracked};
use super::style;
use super::view::Scenery;

/// Metres in a pixel when a car fills a third of the window: nearer there is nothing more to see.
const NEAREST: f32 = 0.015;

/// Metres in a pixel at which cars can be told apart.
const NEAR: f32 = 0.6;

/// How much more than the whole map the window can show.
const MARGIN: f32 = 1.08;

/// Zoom of one notch of the wheel.
const NOTCH: f32 = 1.25;

/// Pixels of a touchpad's scrolling that count as a notch.
const PIXELS_PER_NOTCH: f32 = 60.0;

/// Zoom in a second of `+` or `-`.
const KEY_ZOOM: f32 = 4.0;

/// Window widths in a second of the arrow keys.
const KEY_PAN: f32 = 0.7;

/// How much of the way to its goal the camera leaves in a second, as an exponent: it is there in a
/// fifth of a second.
const ZOOM_HASTE: f32 = 16.0;
const FOLLOW_HASTE: f32 = 8.0;

/// Pixels the mouse may move between press and release of a click.
const CLICK_SLACK: f32 = 4.0;

pub(super) fn plugin(app: &mut App) {
    app.init_resource::<CameraView>()
        .init_resource::<Cursor>()
        .init_resource::<Motion>()
        .add_systems(Startup, spawn)
        .add_systems(
            Update,
            (
                fit.run_if(resource_exists::<Scenery>.and_then(wants_fit)),
                point,
                zoom,
                drag,
                steer,
                follow,
                travel,
                apply,
            )
                .chain()
                .in_set(Frame::Input),
        );
}

/// Where the camera is going.
#[derive(Resource)]
struct Motion {
    metres_per_pixel: f32,
    /// What stays where it is while zooming, in pixels from the window's middle.
    anchor: Vec2,
    drag: Drag,
    /// Where the mouse was in the last frame.
    pointer: Option<Vec2>,
}

#[derive(Clone, Copy, PartialEq)]
enum Drag {
    No,
    /// The button is down; so many pixels so far.
    Undecided(f32),
    Yes,
}

impl Default for Motion {
    fn default() -> Self {
        Self { metres_per_pixel: 1.0, anchor: Vec2::ZERO, drag: Drag::No, pointer: None }
    }
}

/// Edges are smoothed by the shaders; sampling each pixel several times would cost a software
/// rasteriser most of its time.
fn spawn(mut commands: Commands) {
    commands.spawn((Camera2d, Msaa::Off));
}

fn wants_fit(scenery: Res<Scenery>, keys: Res<ButtonInput<KeyCode>>, egui: Res<EguiWantsInput>) -> bool {
    scenery.is_added() || keys.just_pressed(KeyCode::Home) && !egui.wants_any_keyboard_input()
}

/// Shows the whole map, or what the command line asks for when the game begins.
fn fit(
    scenery: Res<Scenery>,
    mut motion: ResMut<Motion>,
    mut view: ResMut<CameraView>,
    mut follow: ResMut<Follow>,
    window: Single<&Window, With<PrimaryWindow>>,
) {
    follow.0 = None;
    (view.centre, motion.metres_per_pixel) = match scenery.first_view {
        Some((centre, width)) if scenery.is_added() => (centre, (width / window.width()).max(NEAREST)),
        _ => whole(scenery.bounds, window.size()),
    };
    if scenery.is_added() {
        view.metres_per_pixel = motion.metres_per_pixel;
    }
    motion.anchor = Vec2::ZERO;
}

/// The centre, and metres in a pixel, that show the whole map below the bar at the top.
fn whole(bounds: Rect, window: Vec2) -> (Vec2, f32) {
    let bar = Vec2::new(0.0, style::BELOW_BAR);
    let metres_per_pixel = (bounds.size() * MARGIN / (window - bar).max(Vec2::ONE)).max_element().max(NEAREST);
    (bounds.center() + bar / 2.0 * metres_per_pixel, metres_per_pixel)
}

fn point(
    window: Single<&Window, With<PrimaryWindow>>,
    egui: Res<EguiWantsInput>,
    view: Res<CameraView>,
    mut cursor: ResMut<Cursor>,
) {
    let pointer = window.cursor_position().filter(|_| !egui.wants_any_pointer_input());
    cursor.world = pointer.map(|pixel| view.centre + from_middle(&window, pixel) * view.metres_per_pixel);
}

/// Pixels east and north of the window's middle.
fn from_middle(window: &Window, pixel: Vec2) -> Vec2 {
    (pixel - window.size() / 2.0) * Vec2::new(1.0, -1.0)
}

fn zoom(
    window: Single<&Window, With<PrimaryWindow>>,
    scroll: Res<AccumulatedMouseScroll>,
    keys: Res<ButtonInput<KeyCode>>,
    egui: Res<EguiWantsInput>,
    (time, scenery, follow): (Res<Time<Real>>, Res<Scenery>, Res<Follow>),
    mut motion: ResMut<Motion>,
) {
    let mut notches = 0.0;
    if scroll.delta.y != 0.0 && !egui.wants_any_pointer_input() {
        notches = scroll.delta.y / if scroll.unit == MouseScrollUnit::Line { 1.0 } else { PIXELS_PER_NOTCH };
        let pixel = window.cursor_position().filter(|_| follow.0.is_none());
        motion.anchor = pixel.map_or(Vec2::ZERO, |pixel| from_middle(&window, pixel));
    }
    let direction = axis(&keys, &[KeyCode::Minus, KeyCode::NumpadSubtract], &[KeyCode::Equal, KeyCode::NumpadAdd]);
    let mut factor = NOTCH.powf(-notches);
    if direction != 0.0 && !egui.wants_any_keyboard_input() {
        factor *= KEY_ZOOM.powf(-direction * time.delta_secs());
        motion.anchor = Vec2::ZERO;
    }
    let farthest = (scenery.bounds.size() * MARGIN * 1.5 / window.size()).max_element().max(NEAREST);
    motion.metres_per_pixel = (motion.metres_per_pixel * factor).clamp(NEAREST, farthest);
}

/// The map sticks to the mouse while the left button is down; a press that hardly moves is a click,
/// not a drag.
fn drag(
    buttons: Res<ButtonInput<MouseButton>>,
    mouse: Res<AccumulatedMouseMotion>,
    egui: Res<EguiWantsInput>,
    mut motion: ResMut<Motion>,
    mut view: ResMut<CameraView>,
    mut follow: ResMut<Follow>,
    window: Single<&Window, With<PrimaryWindow>>,
) {
    let pixel = window.cursor_position();
    // Where the window system tells no position, outside the window, the mouse's own motion will
    // do.
    let moved = match (motion.pointer, pixel) {
        (Some(before), Some(now)) => now - before,
        _ => mouse.delta,
    };
    motion.pointer = pixel;
    motion.drag = match motion.drag {
        _ if !buttons.any_pressed([MouseButton::Left, MouseButton::Middle]) => Drag::No,
        Drag::No if just_pressed(&buttons) && !egui.wants_any_pointer_input() => Drag::Undecided(0.0),
        Drag::Undecided(so_far) if so_far + moved.length() > CLICK_SLACK => Drag::Yes,
        Drag::Undecided(so_far) => Drag::Undecided(so_far + moved.length()),
        other => other,
    };
    if motion.drag == Drag::Yes && moved != Vec2::ZERO {
        follow.0 = None;
        let metres_per_pixel = view.metres_per_pixel;
        view.centre += moved * Vec2::new(-1.0, 1.0) * metres_per_pixel;
    }
}

fn just_pressed(buttons: &ButtonInput<MouseButton>) -> bool {
    buttons.any_just_pressed([MouseButton::Left, MouseButton::Middle])
}

/// Arrow keys, and W, A, S, D.
fn steer(
    keys: Res<ButtonInput<KeyCode>>,
    egui: Res<EguiWantsInput>,
    time: Res<Time<Real>>,
    mut view: ResMut<CameraView>,
    mut follow: ResMut<Follow>,
) {
    let modified = keys.any_pressed([KeyCode::ControlLeft, KeyCode::ControlRight, KeyCode::AltLeft]);
    if egui.wants_any_keyboard_input() || modified {
        return;
    }
    let east = axis(&keys, &[KeyCode::ArrowLeft, KeyCode::KeyA], &[KeyCode::ArrowRight, KeyCode::KeyD]);
    let north = axis(&keys, &[KeyCode::ArrowDown, KeyCode::KeyS], &[KeyCode::ArrowUp, KeyCode::KeyW]);
    if east != 0.0 || north != 0.0 {
        follow.0 = None;
        let metres = KEY_PAN * view.visible.width() * time.delta_secs();
        view.centre += Vec2::new(east, north) * metres;
    }
}

fn axis(keys: &ButtonInput<KeyCode>, less: &[KeyCode], more: &[KeyCode]) -> f32 {
    let pressed = |keys_of_side: &[KeyCode]| f32::from(u8::from(keys.any_pressed(keys_of_side.iter().copied())));
    pressed(more) - pressed(less)
}

fn follow(
    (follow, tracked, time): (Res<Follow>, Res<Tracked>, Res<Time<Real>>),
    mut view: ResMut<CameraView>,
    mut motion: ResMut<Motion>,
) {
    let car = tracked.0.filter(|car| follow.0 == Some(car.car));
    if let Some(car) = car {
        let rest = (-FOLLOW_HASTE * time.delta_secs()).exp();
        view.centre = car.position.lerp(view.centre, rest);
        motion.anchor = Vec2::ZERO;
    }
}

/// Shows the destination, and at least as near as its cars can be seen.
fn travel(
    mut destination: ResMut<Destination>,
    mut view: ResMut<CameraView>,
    mut motion: ResMut<Motion>,
    mut follow: ResMut<Follow>,
) {
    if let Some(place) = destination.bypass_change_detection().0.take() {
        (view.centre, follow.0) = (place, None);
        motion.metres_per_pixel = motion.metres_per_pixel.min(NEAR);
        motion.anchor = Vec2::ZERO;
    }
}

/// Zooms towards the goal, keeps the map in reach and shows the result.
fn apply(
    (motion, time, scenery): (Res<Motion>, Res<Time<Real>>, Res<Scenery>),
    window: Single<&Window, With<PrimaryWindow>>,
    mut view: ResMut<CameraView>,
    camera: Single<(&mut Transform, &mut Projection), With<Camera2d>>,
) {
    let before = view.metres_per_pixel;
    let rest = (-ZOOM_HASTE * time.delta_secs()).exp();
    let after = motion.metres_per_pixel * (before / motion.metres_per_pixel).powf(rest);
    view.centre = zoomed(view.centre, motion.anchor, before, after);
    view.centre = view.centre.clamp(scenery.bounds.min, scenery.bounds.max);
    view.metres_per_pixel = after;
    view.visible = Rect::from_center_size(view.centre, window.size() * after);
    let (mut transform, mut projection) = camera.into_inner();
    transform.translation = view.centre.extend(transform.translation.z);
    if let Projection::Orthographic(projection) = &mut *projection {
        projection.scale = after;
    }
}

/// The centre that leaves the point at `anchor` pixels where it is.
fn zoomed(centre: Vec2, anchor: Vec2, before: f32, after: f32) -> Vec2 {
    centre + anchor * (before - after)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_covers_nothing_of_the_whole_map() {
        let window = Vec2::new(1_280.0, 800.0);
        for size in [Vec2::new(4_000.0, 9_000.0), Vec2::new(9_000.0, 4_000.0), Vec2::splat(5_000.0)] {
            let bounds = Rect::from_center_size(Vec2::new(50.0, -20.0), size);
            let (centre, metres_per_pixel) = whole(bounds, window);
            let seen = Rect::from_center_size(centre, window * metres_per_pixel);
            let free = Rect { max: seen.max - Vec2::Y * style::BELOW_BAR * metres_per_pixel, ..seen };
            assert!(free.contains(bounds.min) && free.contains(bounds.max), "{bounds:?} in {free:?}");
        }
    }

    #[test]
    fn zooming_keeps_the_place_under_the_mouse() {
        let (centre, anchor) = (Vec2::new(120.0, -40.0), Vec2::new(300.0, 200.0));
        let place = centre + anchor * 2.0;
        let after = zoomed(centre, anchor, 2.0, 0.5) + anchor * 0.5;
        assert!(after.distance(place) < 1e-3, "{place} moved to {after}");
    }
}
