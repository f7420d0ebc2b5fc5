//! The keys of the game. What moves the camera is in `camera`.

use bevy::prelude::*;
use bevy_egui::input::EguiWantsInput;

use super::clock::{Pace, SPEEDS, change_speed};
use super::orders::Wishes;
use super::shared::{CameraView, Clock, Follow, Frame, Selection};
use crate::game::select::Places;
use crate::model::{Order, Road};
use crate::simulation::{Directory, Orders};

/// For the help window and the reader: every key, and what it does.
pub const TABLE: [(&str, &str); 17] = [
    ("Space", "pause and go on"),
    (".", "one step of a second, while paused"),
    ("1 to 9, [ and ]", "speed: ×1 is real time, 9 is as fast as it goes"),
    ("click", "select a car, an intersection or a road"),
    ("F", "follow the selected car"),
    ("C", "close or reopen the selected road"),
    ("R", "rush hour toward the middle of the view"),
    ("U", "take the last order back (not a rush hour)"),
    ("Esc", "deselect"),
    ("drag, arrows, W A S D", "move the map"),
    ("wheel, + and -", "zoom"),
    ("Home", "the whole map"),
    ("F1", "this help"),
    ("F2", "score against the untouched city"),
    ("F3", "overlay: where every core's time goes"),
    ("F4", "where most cars wait, and what came of your orders"),
    ("F5", "challenges"),
];

const DIGITS: [KeyCode; 9] = [
    KeyCode::Digit1,
    KeyCode::Digit2,
    KeyCode::Digit3,
    KeyCode::Digit4,
    KeyCode::Digit5,
    KeyCode::Digit6,
    KeyCode::Digit7,
    KeyCode::Digit8,
    KeyCode::Digit9,
];

pub(super) fn plugin(app: &mut App) {
    app.add_systems(Update, (set_clock, deselect_or_follow, give).in_set(Frame::Input).run_if(keys_are_free));
}

/// Whether no panel has the keyboard.
fn keys_are_free(egui: Res<EguiWantsInput>) -> bool {
    !egui.wants_any_keyboard_input()
}

fn set_clock(keys: Res<ButtonInput<KeyCode>>, mut clock: ResMut<Clock>, mut pace: ResMut<Pace>) {
    if keys.just_pressed(KeyCode::Space) {
        clock.paused = !clock.paused;
    }
    if keys.just_pressed(KeyCode::Period) {
        clock.paused = true;
        pace.single_steps += 1;
    }
    let by =
        isize::from(keys.just_pressed(KeyCode::BracketRight)) - isize::from(keys.just_pressed(KeyCode::BracketLeft));
    if by != 0 {
        clock.speed = change_speed(clock.speed, by);
    }
    if let Some(number) = DIGITS.iter().position(|&digit| keys.just_pressed(digit)) {
        clock.speed = SPEEDS[number];
    }
}

fn deselect_or_follow(keys: Res<ButtonInput<KeyCode>>, mut selection: ResMut<Selection>, mut follow: ResMut<Follow>) {
    if keys.just_pressed(KeyCode::Escape) {
        (*selection, follow.0) = (Selection::None, None);
    }
    if keys.just_pressed(KeyCode::KeyF)
        && let Selection::Car(car) = *selection
    {
        follow.0 = if follow.0 == Some(car) { None } else { Some(car) };
    }
}

fn give(
    keys: Res<ButtonInput<KeyCode>>,
    (selection, view): (Res<Selection>, Res<CameraView>),
    (directory, places): (Res<Directory>, Res<Places>),
    (roads, orders): (Query<&Road>, Res<Orders>),
    mut wishes: ResMut<Wishes>,
) {
    if keys.just_pressed(KeyCode::KeyR)
        && let Some(node) = places.nearest_intersection(view.centre)
    {
        wishes.one(Order::RushHour { node });
    }
    if keys.just_pressed(KeyCode::KeyU) {
        wishes.undo();
    }
    if keys.just_pressed(KeyCode::KeyC)
        && let Selection::Road(road) = *selection
        && let Ok(state) = roads.get(directory.road(road))
        // As the button in the panel: an order that is on its way is not given again.
        && orders.of_road(road).is_none()
    {
        wishes.one(Order::Road { road, closed: !state.closed });
    }
}
