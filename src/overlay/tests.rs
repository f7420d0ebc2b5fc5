//! The panel without a window: egui is given pointer and keys, and what it laid out is found by
//! name.

use std::{thread, time::Duration};

use bevy::{MinimalPlugins, prelude::*};
use bevy_egui::egui::{
    self, Event, Key, Modifiers, MouseWheelUnit, PointerButton, Pos2, RawInput, Rect, TouchPhase, pos2, vec2,
};

use super::*;
use crate::{
    AffineQuery, AffinityDiagnostics, AffinityParallelPlugin, AffinitySettings, AffinityTimeline, IntoAffine,
    SchedulerMode, WorkerCount,
};

#[derive(Component)]
struct Value(f32);

fn work(mut values: AffineQuery<&mut Value>) {
    values.par_iter_mut().for_each(|mut value| value.0 = value.0.sin() + 1.0);
}

/// An app, and a screen on which its panel is drawn.
pub(super) struct Screen {
    app: App,
    context: egui::Context,
    /// Where named things are, as of the last frame.
    places: Vec<(String, Rect)>,
    pointer: Pos2,
    modifiers: Modifiers,
    seconds: f64,
}

impl Screen {
    pub(super) fn new() -> Self {
        let mut app = App::new();
        app.add_plugins((MinimalPlugins, AffinityParallelPlugin)).add_systems(Update, work.affine());
        app.insert_resource(OverlaySettings { refresh_rate: 10.0, ..default() });
        app.world_mut().spawn_batch((0..20_000).map(|index| Value(index as f32)));
        let context = egui::Context::default();
        context.enable_accesskit();
        let (pointer, modifiers) = (Pos2::ZERO, Modifiers::NONE);
        let mut screen = Self { app, context, places: Vec::new(), pointer, modifiers, seconds: 0.0 };
        // The first frame asks for a recording, the second is recorded, the third shows it; then
        // egui knows how large everything is.
        for _ in 0..6 {
            screen.frame([]);
        }
        screen
    }

    /// Runs the app for a frame and draws the panel.
    pub(super) fn frame<const N: usize>(&mut self, events: [Event; N]) {
        self.seconds += 0.1;
        self.app.world_mut().resource_mut::<OverlayState>().refreshed = None;
        self.app.update();
        let screen_rect = Some(Rect::from_min_size(Pos2::ZERO, vec2(800.0, 1_600.0)));
        let input = RawInput { screen_rect, time: Some(self.seconds), events: events.to_vec(), ..RawInput::default() };
        let world = self.app.world_mut();
        let mut output = self.context.run_ui(input, |ui| affinity_overlay_ui(ui, world));
        // There is no renderer to send fonts to.
        output.textures_delta.clear();
        let nodes = output.platform_output.accesskit_update.expect("access is enabled").nodes;
        self.places = nodes.iter().filter_map(|(_, node)| named(node)).collect();
    }

    /// Where the topmost thing with this name is: buttons are above the tables that repeat their
    /// names.
    fn place(&self, name: &str) -> Rect {
        let named = self.places.iter().filter(|place| place.0 == name);
        let topmost = named.min_by(|a, b| a.1.top().total_cmp(&b.1.top()));
        topmost.unwrap_or_else(|| panic!("no {name:?} among {:?}", self.places)).1
    }

    pub(super) fn shows(&self, name: &str) -> bool {
        self.places.iter().any(|place| place.0 == name)
    }

    pub(super) fn shows_in_part(&self, part: &str) -> bool {
        self.places.iter().any(|place| place.0.contains(part))
    }

    /// The rest of a text that begins like this.
    fn text_after(&self, begin: &str) -> Option<&str> {
        self.places.iter().find_map(|place| place.0.strip_prefix(begin))
    }

    pub(super) fn move_to(&mut self, to: Pos2) {
        self.pointer = to;
        self.frame([Event::PointerMoved(to)]);
    }

    fn button(&mut self, pressed: bool) {
        let (pos, modifiers) = (self.pointer, self.modifiers);
        self.frame([Event::PointerButton { pos, button: PointerButton::Primary, pressed, modifiers }]);
    }

    pub(super) fn click_at(&mut self, at: Pos2) {
        self.move_to(at);
        self.click_here();
    }

    fn click_here(&mut self) {
        self.button(true);
        self.button(false);
        // What was clicked shows its effect.
        self.frame([]);
        // Two clicks would be a double click.
        self.seconds += 1.0;
    }

    pub(super) fn double_click_at(&mut self, at: Pos2) {
        self.move_to(at);
        // So fast that it is one.
        for pressed in [true, false, true, false] {
            self.seconds -= 0.07;
            self.button(pressed);
        }
        self.frame([]);
    }

    pub(super) fn click(&mut self, name: &str) {
        // What was clicked before may have made tables longer.
        (0..3).for_each(|_| self.frame([]));
        // Lanes of other threads come and go: what is below them may move while the pointer does.
        while {
            self.move_to(self.place(name).center());
            !self.place(name).contains(self.pointer)
        } {}
        self.click_here();
    }

    pub(super) fn drag(&mut self, from: Pos2, to: Pos2) {
        self.move_to(from);
        self.button(true);
        self.move_to(to);
        self.button(false);
    }

    pub(super) fn scroll_with_ctrl(&mut self, lines: f32) {
        self.modifiers = Modifiers::CTRL.plus(Modifiers::COMMAND);
        let (unit, delta, phase) = (MouseWheelUnit::Line, vec2(0.0, lines), TouchPhase::Move);
        self.frame([Event::MouseWheel { unit, delta, phase, modifiers: self.modifiers }]);
        // Scrolling is spread over some frames.
        (0..10).for_each(|_| self.frame([]));
        self.modifiers = Modifiers::NONE;
    }

    pub(super) fn press(&mut self, key: Key) {
        let event =
            |pressed| Event::Key { key, physical_key: None, pressed, repeat: false, modifiers: Modifiers::NONE };
        self.frame([event(true)]);
        self.frame([event(false)]);
    }

    fn resource<R: Resource>(&self) -> &R {
        self.app.world().resource()
    }

    pub(super) fn timeline(&self) -> &timeline::Timeline {
        &self.resource::<OverlayState>().timeline
    }

    /// A point on the lane of schedules: right below the row with the button.
    pub(super) fn on_the_schedules(&self) -> Pos2 {
        let button = self.place("Save trace");
        pos2(400.0, button.bottom() + 12.0)
    }

    /// A point on the lane of the leader, which is the next one.
    pub(super) fn on_the_bars(&self) -> Pos2 {
        self.on_the_schedules() + vec2(0.0, 25.0)
    }

    /// Presses, moves and releases the pointer with Shift held.
    pub(super) fn drag_with_shift(&mut self, from: Pos2, to: Pos2) {
        self.modifiers = Modifiers::SHIFT;
        self.drag(from, to);
        self.modifiers = Modifiers::NONE;
    }
}

/// A thing's label, or else its value, and where it is.
fn named(node: &egui::accesskit::Node) -> Option<(String, Rect)> {
    let bounds = node.bounds()?;
    let place = Rect::from_min_max(pos2(bounds.x0 as f32, bounds.y0 as f32), pos2(bounds.x1 as f32, bounds.y1 as f32));
    Some((node.label().or(node.value())?.to_string(), place))
}

#[test]
fn resources_that_are_removed_are_missed_by_nobody() {
    let mut screen = Screen::new();
    let diagnostics = screen.app.world_mut().remove_resource::<AffinityDiagnostics>();
    screen.frame([]);
    assert!(screen.shows_in_part("there is nothing to show"));
    screen.app.insert_resource(diagnostics.expect("the plugin's"));
    screen.frame([]);
    screen.frame([]);
    assert!(screen.shows("Serial"));
    screen.app.world_mut().remove_resource::<AffinityTimeline>();
    screen.app.world_mut().remove_resource::<SchedulerMode>();
    screen.frame([]);
}

#[test]
fn each_mode_has_a_button_and_its_numbers_stay() {
    let mut screen = Screen::new();
    let others = SchedulerMode::ALL.iter().filter(|&&mode| mode != SchedulerMode::default());
    for &mode in others.chain([&SchedulerMode::Auto]) {
        screen.click(&format!("{mode:?}"));
        assert_eq!(*screen.resource::<SchedulerMode>(), mode);
        (0..3).for_each(|_| screen.frame([]));
        assert!(screen.shows(&format!("{mode:?} mode")), "the active mode is said");
    }
    assert!(screen.text_after("Serial takes ").is_none(), "nothing was compared");
    assert!(screen.shows("now") && screen.places.iter().any(|place| place.0.ends_with("frames ago")));
}

#[test]
fn a_mode_that_is_visited_moves_nothing() {
    let mut screen = Screen::new();
    let before = screen.place("A/B");
    screen.click("Heartbeat");
    (0..5).for_each(|_| screen.frame([]));
    assert_eq!(screen.place("A/B"), before);
}

#[test]
fn a_frozen_panel_stays_as_it_is_and_arrows_step_through_its_frames() {
    let mut screen = Screen::new();
    screen.click_at(screen.on_the_bars());
    let frame = |screen: &Screen| screen.resource::<OverlayState>().recorded.frame;
    let frozen = frame(&screen);
    let newest = |screen: &Screen| screen.resource::<OverlayState>().snapshot.frames.last().map(|frame| frame.number);
    let frames = newest(&screen);
    (0..5).for_each(|_| screen.frame([]));
    assert_eq!((frame(&screen), newest(&screen)), (frozen, frames));
    assert!(screen.shows(&format!("frozen at frame {frozen}")));
    screen.press(Key::ArrowLeft);
    assert_eq!(frame(&screen), frozen - 1);
    screen.press(Key::ArrowRight);
    assert_eq!(frame(&screen), frozen);
    screen.press(Key::Space);
    screen.frame([]);
    assert!(frame(&screen) > frozen);
}

#[test]
fn schedules_say_how_they_run() {
    let mut screen = Screen::new();
    (0..3).for_each(|_| screen.frame([]));
    assert!(screen.shows("Update") && screen.shows("Schedules"), "{:?}", screen.places);
}

#[test]
fn a_forecast_is_made_when_somebody_looks() {
    let mut screen = Screen::new();
    assert!(screen.resource::<OverlayState>().forecast.is_none());
    screen.click("What would help");
    // It opens slowly.
    (0..10).for_each(|_| screen.frame([]));
    assert!(screen.shows("1 worker") && screen.shows("tests::work twice as fast"), "{:?}", screen.places);
}

#[test]
fn too_many_workers_are_warned_of() {
    let mut screen = Screen::new();
    let workers = WorkerCount::Exactly(4 * crate::topology::Topology::get().parallelism());
    screen.app.insert_resource(AffinitySettings { workers, ..default() });
    (0..3).for_each(|_| screen.frame([]));
    assert!(screen.places.iter().any(|place| place.0.contains("they take turns")), "{:?}", screen.places);
}

#[test]
fn the_comparison_switches_to_and_fro_and_returns() {
    let mut screen = Screen::new();
    screen.click("Heartbeat");
    screen.click("A/B");
    let mut seen = Vec::new();
    while screen.shows("stop") {
        let mode = *screen.resource::<SchedulerMode>();
        if seen.last() != Some(&mode) {
            seen.push(mode);
        }
        thread::sleep(Duration::from_millis(5));
        screen.frame([]);
    }
    assert_eq!(*screen.resource::<SchedulerMode>(), SchedulerMode::Heartbeat);
    let turns: Vec<_> = seen.into_iter().filter(|&mode| mode != SchedulerMode::Heartbeat).collect();
    assert!(turns.len() > 5 && turns.windows(2).all(|pair| pair[0] != pair[1]), "{turns:?}");
    assert!(screen.text_after("Serial takes ").is_some(), "{:?}", screen.places);
}

#[test]
fn who_stops_a_comparison_gets_the_mode_back() {
    let mut screen = Screen::new();
    screen.click("Bevy");
    screen.click("A/B");
    assert_eq!(*screen.resource::<SchedulerMode>(), SchedulerMode::Serial);
    screen.click("stop");
    assert_eq!(*screen.resource::<SchedulerMode>(), SchedulerMode::Bevy);
    assert!(screen.shows("A/B"));
}

#[test]
fn choices_of_auto_are_explained() {
    let screen = Screen::new();
    let site = screen.resource::<AffinityDiagnostics>().call_sites[0];
    let row = screen.place(&format!("overlay/tests.rs:{}", site.location.line())).center().y;
    // How a call runs stands above the reason: both are within half of a row's height.
    let on_the_row = |name: &str| {
        screen.places.iter().any(|place| place.0.trim() == name && (place.1.center().y - row).abs() < 14.0)
    };
    assert!(
        on_the_row("tests::work")
            && on_the_row("20000")
            && on_the_row(&format!("{:?}", site.choice))
            && on_the_row(&site.reason.to_string()),
        "{:?}",
        screen.places
    );
}

#[test]
fn without_auto_there_is_nothing_to_explain() {
    let mut screen = Screen::new();
    assert!(!screen.shows(choices::NONE));
    // The diagnostics list them anew now and then: that may be in the very frame that is drawn.
    let is_empty = |screen: &mut Screen| {
        screen.app.world_mut().resource_mut::<AffinityDiagnostics>().call_sites.clear();
        screen.frame([]);
        screen.shows(choices::NONE)
    };
    assert!((0..20).any(|_| is_empty(&mut screen)));
}

#[test]
fn settings_change_when_they_are_clicked() {
    let mut screen = Screen::new();
    screen.click("Settings");
    // It opens slowly.
    (0..10).for_each(|_| screen.frame([]));
    screen.click("auto");
    assert!(matches!(screen.resource::<AffinitySettings>().workers, WorkerCount::Exactly(_)));
    screen.click("off");
    assert_eq!(screen.resource::<AffinitySettings>().pinning, crate::Pinning::Off);
    screen.click("cache");
    assert_eq!(screen.resource::<AffinitySettings>().pinning, crate::Pinning::CacheDomain);
}

#[test]
fn a_slider_applies_when_it_is_let_go() {
    let mut screen = Screen::new();
    screen.click("Settings");
    (0..10).for_each(|_| screen.frame([]));
    let before = screen.resource::<AffinitySettings>().chunk_rows;
    let label = screen.place("chunk");
    // The sliders are in the second column: 100 points wide, behind the longest label.
    let slider = screen.place("heartbeat").right() + 12.0;
    screen.move_to(pos2(slider + 90.0, label.center().y));
    screen.button(true);
    screen.move_to(pos2(slider + 20.0, label.center().y));
    assert_eq!(screen.resource::<AffinitySettings>().chunk_rows, before, "not while it is dragged");
    screen.button(false);
    screen.frame([]);
    let after = screen.resource::<AffinitySettings>().chunk_rows;
    assert!((64..before).contains(&after), "{before} became {after}");
}

#[test]
fn settings_beyond_the_sliders_stay_until_these_are_moved() {
    let set = AffinitySettings {
        workers: WorkerCount::Exactly(40),
        chunk_rows: 7,
        spin: Duration::MAX,
        heartbeat: Duration::from_nanos(1_500),
        ..Default::default()
    };
    let mut screen = Screen::new();
    screen.app.insert_resource(set.clone());
    screen.click("Settings");
    (0..10).for_each(|_| screen.frame([]));
    assert_eq!(*screen.resource::<AffinitySettings>(), set);
    // A look into the box of a number, and out of it.
    screen.click("7 rows");
    (0..3).for_each(|_| screen.frame([]));
    screen.click("chunk");
    (0..3).for_each(|_| screen.frame([]));
    assert_eq!(*screen.resource::<AffinitySettings>(), set);
}

#[test]
fn a_number_that_is_typed_counts_when_it_is_complete() {
    let mut screen = Screen::new();
    screen.app.insert_resource(AffinitySettings { chunk_rows: 100, ..Default::default() });
    screen.click("Settings");
    (0..10).for_each(|_| screen.frame([]));
    screen.click("100 rows");
    for typed in ["2", "0", "0"] {
        screen.frame([Event::Text(typed.to_owned())]);
        screen.frame([]);
        assert_eq!(screen.resource::<AffinitySettings>().chunk_rows, 100);
    }
    screen.click("chunk");
    (0..3).for_each(|_| screen.frame([]));
    assert_eq!(screen.resource::<AffinitySettings>().chunk_rows, 200);
}

#[test]
fn recording_stops_when_nobody_looks() {
    let mut screen = Screen::new();
    assert!(screen.resource::<AffinityTimeline>().is_recording());
    screen.app.update();
    screen.app.update();
    assert!(!screen.resource::<AffinityTimeline>().is_recording());
    assert!(!screen.timeline().takes_keys());
}

#[test]
fn a_trace_is_saved_and_failures_are_said() {
    let mut screen = Screen::new();
    let folder = std::env::temp_dir().join(format!("affinity-overlay-{}", std::process::id()));
    screen.app.world_mut().resource_mut::<OverlaySettings>().trace_folder = folder.clone();
    screen.click("Save trace");
    assert!(screen.text_after(&folder.display().to_string()).is_some(), "the error");
    std::fs::create_dir_all(&folder).unwrap();
    screen.click("Save trace");
    let saved = screen.text_after("saved as ").expect("the name of the file");
    let text = std::fs::read_to_string(saved).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    let events: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert!(events.as_array().is_some_and(|events| events.len() > 4), "{text}");
}

#[test]
fn without_the_plugin_one_line_says_so() {
    let mut world = World::new();
    let context = egui::Context::default();
    context.enable_accesskit();
    let mut output = context.run_ui(RawInput::default(), |ui| affinity_overlay_ui(ui, &mut world));
    output.textures_delta.clear();
    let nodes = output.platform_output.accesskit_update.unwrap().nodes;
    assert!(nodes.iter().any(|(_, node)| node.value().is_some_and(|text| text.contains("AffinityParallelPlugin"))));
}

#[test]
fn plugins_may_be_added_in_any_order_and_headless() {
    let orders: [fn(&mut App); 3] = [
        |app| {
            app.add_plugins((AffinityParallelPlugin, AffinityOverlayPlugin));
        },
        |app| {
            app.add_plugins((AffinityOverlayPlugin, AffinityParallelPlugin));
        },
        |app| {
            app.insert_resource(OverlaySettings { visible: true, ..default() }).add_plugins(AffinityParallelPlugin);
        },
    ];
    for add in orders {
        let mut app = App::new();
        app.add_plugins(MinimalPlugins);
        add(&mut app);
        app.finish();
        app.cleanup();
        app.update();
        app.update();
        assert!(!app.world().resource::<AffinityTimeline>().is_recording());
    }
}
