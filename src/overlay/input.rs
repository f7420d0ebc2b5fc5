//! Which input is the panel's, and how it is kept from the game.
//!
//! egui says after each pass whether it wants the pointer, for the place where it was in that pass.
//! A click that comes with the move onto the panel would go to the game by that. So the place is
//! looked up in the frame in which the click arrives.

use std::hash::Hash;

use bevy_app::{App, PreUpdate};
use bevy_ecs::{
    message::{MessageReader, Messages},
    prelude::{IntoScheduleConfigs, Local, Query, Res, ResMut},
    system::SystemParam,
};
use bevy_egui::{
    EguiContext, EguiInputSet,
    egui::{Context, Order, Pos2},
    input::{EguiContextPointerPosition, EguiWantsInput},
};
use bevy_input::{
    ButtonInput, InputSystems,
    keyboard::{Key, KeyCode, KeyboardInput, NativeKey},
    mouse::{AccumulatedMouseMotion, AccumulatedMouseScroll, MouseButton, MouseButtonInput, MouseMotion, MouseWheel},
};

use super::{OverlaySettings, OverlayState};
use crate::schedule::AffinitySystems;

pub(super) fn plugin(app: &mut App) {
    let toggle = toggle.after(InputSystems).before(EguiInputSet::InitReading);
    let absorb = (absorb_pointer, absorb_keys, absorb_timeline_keys).chain();
    let absorb = absorb.after(EguiInputSet::WriteEguiEvents).run_if(absorbs_input);
    app.add_systems(PreUpdate, (toggle, absorb).in_set(AffinitySystems::OverlayInput));
}

fn absorbs_input(settings: Option<Res<OverlaySettings>>) -> bool {
    settings.is_some_and(|settings| settings.visible && settings.absorb_input)
}

/// All that a game reads of the keyboard, but for the messages.
#[derive(SystemParam)]
struct Keyboard<'w> {
    codes: ResMut<'w, ButtonInput<KeyCode>>,
    /// The same keys by what they mean.
    keys: Option<ResMut<'w, ButtonInput<Key>>>,
}

impl Keyboard<'_> {
    fn reset(&mut self, code: KeyCode, key: &Key) {
        self.codes.reset(code);
        if let Some(keys) = &mut self.keys {
            keys.reset(key.clone());
        }
    }

    /// Takes all keys back but modifiers, which are held, not typed.
    fn reset_typed(&mut self) {
        reset_all_but(&mut self.codes, |code| MODIFIER_CODES.contains(code));
        if let Some(keys) = &mut self.keys {
            reset_all_but(keys, |key| MODIFIERS.contains(key));
        }
    }
}

/// What stays is as it was: pressed in this frame, or before.
fn reset_all_but<T: Clone + Eq + Hash + Send + Sync>(keys: &mut ButtonInput<T>, stays: impl Fn(&T) -> bool) {
    let all = keys.get_pressed().chain(keys.get_just_pressed()).chain(keys.get_just_released());
    let typed: Vec<T> = all.filter(|key| !stays(key)).cloned().collect();
    typed.into_iter().for_each(|key| keys.reset(key));
}

/// Shows or hides the panel when its key is pressed, and keeps the key from the game. A letter that
/// is typed into a text field is no such key.
fn toggle(
    settings: Option<ResMut<OverlaySettings>>,
    wants: Option<Res<EguiWantsInput>>,
    mut keyboard: Keyboard,
    mut messages: MessageReader<KeyboardInput>,
) {
    let Some(mut settings) = settings else { return };
    let is_typed = !(KeyCode::F1..=KeyCode::F35).contains(&settings.key);
    if is_typed && wants.is_some_and(|wants| wants.wants_keyboard_input()) {
        return;
    }
    // Which key that is: it depends on the layout.
    let pressed = messages.read().filter(|message| message.key_code == settings.key).last();
    let key = pressed.map_or(Key::Unidentified(NativeKey::Unidentified), |message| message.logical_key.clone());
    if keyboard.codes.just_pressed(settings.key) {
        settings.visible = !settings.visible;
        keyboard.reset(settings.key, &key);
    }
}

/// All that a game reads of the mouse.
#[derive(SystemParam)]
struct Mouse<'w> {
    buttons: ResMut<'w, ButtonInput<MouseButton>>,
    clicks: ResMut<'w, Messages<MouseButtonInput>>,
    wheel: ResMut<'w, Messages<MouseWheel>>,
    scrolling: ResMut<'w, AccumulatedMouseScroll>,
    motion: ResMut<'w, Messages<MouseMotion>>,
    moved: ResMut<'w, AccumulatedMouseMotion>,
}

/// Whether a button was pressed over the game and is still held: then the mouse is the game's
/// wherever it is moved, up to and with the release.
#[derive(Default)]
struct HeldByGame(bool);

impl HeldByGame {
    /// Notes the buttons of this frame. Presses over the panel are not the game's.
    fn update(&mut self, buttons: &ButtonInput<MouseButton>, is_panels: bool) -> bool {
        let is_new = buttons.get_just_pressed().len() > 0 && !is_panels;
        let is_held = buttons.get_pressed().len() > 0 || buttons.get_just_released().len() > 0;
        self.0 = (self.0 && is_held) || is_new;
        self.0
    }
}

fn absorb_pointer(
    mut mouse: Mouse,
    mut held: Local<HeldByGame>,
    mut contexts: Query<(&mut EguiContext, &EguiContextPointerPosition)>,
    wants: Res<EguiWantsInput>,
) {
    let is_over =
        contexts.iter_mut().any(|(mut context, pointer)| is_over_egui(context.get_mut(), pointer.position, &wants));
    let is_dragging = wants.is_using_pointer();
    let is_panels = is_over || is_dragging || wants.is_popup_open();
    if held.update(&mouse.buttons, is_panels) || !is_panels {
        return;
    }
    mouse.buttons.reset_all();
    mouse.clicks.clear();
    mouse.wheel.clear();
    mouse.scrolling.delta = Default::default();
    if is_dragging {
        // A camera that turns with the mouse would turn while a slider is dragged.
        mouse.motion.clear();
        mouse.moved.delta = Default::default();
    }
}

/// Whether something of egui is at `pointer`, which may have come there in this frame.
fn is_over_egui(context: &Context, pointer: Pos2, wants: &EguiWantsInput) -> bool {
    let is_background = |place| context.layer_id_at(place).is_none_or(|layer| layer.order == Order::Background);
    if !is_background(pointer) {
        return true;
    }
    // Panels at the window's sides are in the background, and so is all that the game shows
    // through. Only egui knows which is where, and has said so of the place where the pointer was:
    // of no use if that was on a window.
    let before = context.input(|input| input.pointer.interact_pos());
    wants.is_pointer_over_area() && before.is_none_or(is_background)
}

/// Keys that change what others do: they are held, not typed.
const MODIFIERS: [Key; 7] = [Key::Super, Key::Meta, Key::Control, Key::Alt, Key::AltGraph, Key::Shift, Key::CapsLock];
const MODIFIER_CODES: [KeyCode; 9] = [
    KeyCode::CapsLock,
    KeyCode::SuperLeft,
    KeyCode::SuperRight,
    KeyCode::ControlLeft,
    KeyCode::ControlRight,
    KeyCode::AltLeft,
    KeyCode::AltRight,
    KeyCode::ShiftLeft,
    KeyCode::ShiftRight,
];

/// Keys that are typed into a text field.
fn absorb_keys(wants: Res<EguiWantsInput>, mut keyboard: Keyboard, mut messages: ResMut<Messages<KeyboardInput>>) {
    if !wants.wants_any_keyboard_input() {
        return;
    }
    keyboard.reset_typed();
    messages.clear();
}

/// Space pauses the timeline that the pointer is over and arrows step through its frames, and then
/// not the game.
fn absorb_timeline_keys(state: Res<OverlayState>, wants: Res<EguiWantsInput>, mut keyboard: Keyboard) {
    if state.timeline.takes_keys() && wants.is_pointer_over_area() {
        keyboard.reset(KeyCode::Space, &Key::Space);
        keyboard.reset(KeyCode::ArrowLeft, &Key::ArrowLeft);
        keyboard.reset(KeyCode::ArrowRight, &Key::ArrowRight);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The buttons of one frame after another; whether the mouse is the game's in each.
    fn games(frames: &[(&str, bool)]) -> Vec<bool> {
        let (mut buttons, mut held) = (ButtonInput::default(), HeldByGame::default());
        let frame = |&(what, is_panels): &(&str, bool)| {
            buttons.clear();
            match what {
                "press" => buttons.press(MouseButton::Left),
                "release" => buttons.release(MouseButton::Left),
                _ => {}
            }
            let games = held.update(&buttons, is_panels);
            if is_panels && !games {
                buttons.reset_all();
            }
            games
        };
        frames.iter().map(frame).collect()
    }

    #[test]
    fn a_drag_that_began_in_the_game_ends_in_the_game() {
        let drag = [("press", false), ("", false), ("", true), ("release", true), ("", true)];
        assert_eq!(games(&drag), [true, true, true, true, false]);
    }

    #[test]
    fn a_drag_that_began_on_the_panel_is_never_the_games() {
        let drag = [("press", true), ("", true), ("", false), ("release", false), ("", false)];
        assert_eq!(games(&drag), [false; 5]);
    }

    #[test]
    fn typed_keys_go_and_held_modifiers_stay_as_they_are() {
        let mut keys = ButtonInput::default();
        [KeyCode::ShiftLeft, KeyCode::KeyA].into_iter().for_each(|key| keys.press(key));
        keys.clear();
        [KeyCode::ControlLeft, KeyCode::KeyW].into_iter().for_each(|key| keys.press(key));
        keys.release(KeyCode::KeyA);
        reset_all_but(&mut keys, |code| MODIFIER_CODES.contains(code));
        let pressed: Vec<_> = keys.get_pressed().collect();
        assert!(pressed.len() == 2 && keys.pressed(KeyCode::ShiftLeft) && keys.pressed(KeyCode::ControlLeft));
        assert_eq!(keys.get_just_pressed().collect::<Vec<_>>(), [&KeyCode::ControlLeft]);
        assert_eq!(keys.get_just_released().count(), 0);
    }

    #[test]
    fn the_key_shows_and_hides_the_panel_as_long_as_there_are_settings() {
        use bevy_ecs::{prelude::World, system::RunSystemOnce};

        let mut world = World::new();
        world.init_resource::<ButtonInput<KeyCode>>();
        world.init_resource::<Messages<KeyboardInput>>();
        world.init_resource::<OverlaySettings>();
        let press = |world: &mut World| {
            world.resource_mut::<ButtonInput<KeyCode>>().press(OverlaySettings::default().key);
            world.run_system_once(toggle).expect("it needs no settings");
            (
                world.run_system_once(absorbs_input).expect("nor does this"),
                world.get_resource::<OverlaySettings>().map(|settings| settings.visible),
            )
        };
        let [first, second] = [press(&mut world), press(&mut world)];
        assert!(first.1.is_some() && second.1.is_some() && first != second);
        world.remove_resource::<OverlaySettings>();
        assert_eq!(press(&mut world), (false, None));
    }

    #[test]
    fn what_comes_to_the_panel_in_this_frame_is_over_it() {
        let context = Context::default();
        let window = |context: &Context| {
            let mut output = context.run_ui(Default::default(), |ui| {
                bevy_egui::egui::Window::new("panel").fixed_pos([10.0, 10.0]).show(ui.ctx(), |ui| ui.label("text"));
            });
            // There is no renderer to send fonts to.
            output.textures_delta.clear();
        };
        // egui knows the size of a window after its first pass, and its layers after the second.
        (0..3).for_each(|_| window(&context));
        let wants = EguiWantsInput::default();
        assert!(is_over_egui(&context, Pos2::new(20.0, 20.0), &wants));
        assert!(!is_over_egui(&context, Pos2::new(900.0, 900.0), &wants));
    }
}
