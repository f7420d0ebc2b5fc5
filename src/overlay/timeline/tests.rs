//! Pointer and keys on the timeline.

use bevy_egui::egui::{Key, Pos2, vec2};

use super::{Place, lanes::begin_of_mark};
use crate::overlay::tests::Screen;

#[test]
fn a_click_freezes_and_space_resumes() {
    let mut screen = Screen::new();
    assert!(!screen.timeline().is_frozen());
    screen.click_at(screen.on_the_bars());
    assert!(screen.timeline().is_frozen());
    assert!(screen.shows("resume"));
    screen.press(Key::Space);
    assert!(!screen.timeline().is_frozen());
    screen.press(Key::Space);
    assert!(screen.timeline().is_frozen());
}

#[test]
fn space_elsewhere_is_not_for_the_timeline() {
    let mut screen = Screen::new();
    screen.move_to(screen.on_the_bars() + vec2(0.0, 500.0));
    assert!(!screen.timeline().takes_keys());
    screen.press(Key::Space);
    assert!(!screen.timeline().is_frozen());
}

#[test]
fn ctrl_and_scroll_zoom_at_the_pointer() {
    let mut screen = Screen::new();
    let pointer = screen.on_the_bars();
    screen.click_at(pointer);
    let before = screen.timeline().axis;
    screen.scroll_with_ctrl(3.0);
    let after = screen.timeline().axis;
    assert!(after.span() < before.span() * 0.9, "{before:?} became {after:?}");
    assert!(after.begin > before.begin && after.end < before.end, "the pointer is inside");
}

#[test]
fn dragging_moves_and_a_double_click_resets() {
    let mut screen = Screen::new();
    let bars = screen.on_the_bars();
    screen.click_at(bars);
    let before = screen.timeline().axis;
    screen.drag(bars, bars + vec2(80.0, 0.0));
    let dragged = screen.timeline().axis;
    assert!(dragged.begin < before.begin && (dragged.span() - before.span()).abs() < 1e-3, "{before:?}, {dragged:?}");
    screen.double_click_at(bars);
    assert!(screen.timeline().fitted);
    assert!(screen.timeline().axis.begin > dragged.begin);
}

#[test]
fn marks_stay_inside_of_bars_that_are_a_point_long() {
    for left in [0.0_f32, 255.074_47, 255.074_48, 1_279.999_9] {
        for x in [-10.0, left, left + 0.5, 5_000.0] {
            let begin = begin_of_mark(x, left, left + 1.0);
            assert!((left..left + 1e-3).contains(&begin), "{x} on the bar at {left} became {begin}");
        }
    }
    assert_eq!(begin_of_mark(15.0, 10.0, 20.0), 15.0);
    assert_eq!(begin_of_mark(25.0, 10.0, 20.0), 19.0);
}

/// Shows the tagged systems of one frame, which stays.
fn freeze_on_tagged_systems(screen: &mut Screen) {
    screen.click("freeze");
    screen.click("tagged systems");
}

/// Clicks along the lane around `middle` until a bar is selected.
fn click_along(screen: &mut Screen, middle: Pos2) -> Option<Place> {
    (-38..38_i8).find_map(|step| {
        screen.click_at(middle + vec2(10.0 * f32::from(step), 0.0));
        screen.timeline().selected
    })
}

#[test]
fn pointing_at_a_bar_finds_it() {
    let mut screen = Screen::new();
    freeze_on_tagged_systems(&mut screen);
    let bars = screen.on_the_bars();
    let place = click_along(&mut screen, bars);
    assert_eq!(place.expect("the leader was at work somewhere").lane, 1);
    assert!(screen.shows("tests::work"), "the bar is described by its system's name");
}

#[test]
fn the_whole_frame_is_on_show_and_its_budget() {
    let mut screen = Screen::new();
    let budget = 1e9 / 60.0;
    let axis = screen.timeline().axis;
    assert!(axis.begin <= 0.0 && axis.end >= budget, "{axis:?}");
    screen.click("tagged systems");
    assert!(screen.timeline().axis.span() < axis.span());
    screen.click("whole frame");
    assert!(screen.timeline().axis.end >= budget);
}

#[test]
fn schedules_are_on_a_lane_of_their_own() {
    let mut screen = Screen::new();
    freeze_on_tagged_systems(&mut screen);
    let schedules = screen.on_the_schedules();
    let place = click_along(&mut screen, schedules);
    assert_eq!(place.expect("schedules ran").lane, 0);
    assert!(screen.shows("Update"), "tagged systems run in it");
}

#[test]
fn a_drag_with_shift_sums_up_what_went_on() {
    let mut screen = Screen::new();
    screen.click("tagged systems");
    let before = screen.timeline().axis;
    let bars = screen.on_the_bars();
    screen.drag_with_shift(bars - vec2(350.0, 0.0), bars + vec2(350.0, 0.0));
    screen.frame([]);
    assert_eq!(screen.timeline().axis, before, "nothing moves");
    assert!(screen.timeline().is_frozen());
    let stretch = screen.timeline().stretch.expect("a stretch is selected");
    assert!(stretch.end() - stretch.begin() > before.span() * 0.1);
    assert!(screen.shows_in_part(" selected, from ") && screen.shows_in_part("at work "));
    screen.click_at(bars);
    assert_eq!(screen.timeline().stretch, None);
}
