//! Systems that are gone are forgotten, those that stay keep their places, and no two have one
//! name.

use bevy::diagnostic::{DiagnosticsPlugin, DiagnosticsStore};
use bevy_affinity::paths;

use super::*;

/// A schedule of its own with one tagged system.
fn schedule() -> Schedule {
    let mut schedule = Schedule::default();
    schedule.add_systems(mix.affine());
    schedule
}

fn auto_app() -> App {
    let mut app = Scheduling::auto(2).app();
    app.add_plugins(DiagnosticsPlugin);
    app.world_mut().spawn_batch((0..100).map(Seed));
    timeline_mut(&mut app).record(true);
    app
}

/// The names by place; vacant places have none.
fn names(app: &App) -> Vec<&str> {
    diagnostics(app).systems.iter().map(|system| system.name.rsplit("::").next().unwrap_or_default()).collect()
}

/// The paths of systems in Bevy's store, without their common part.
fn stored(app: &App) -> Vec<String> {
    let store = app.world().resource::<DiagnosticsStore>();
    let paths = store.iter().filter_map(|diagnostic| diagnostic.path().as_str().strip_prefix("affinity/system/"));
    let mut stored: Vec<_> = paths.map(|path| path.rsplit("::").next().unwrap_or(path).to_string()).collect();
    stored.sort_unstable();
    stored
}

/// Runs frames until the sites have been looked at again.
fn look_at_sites(app: &mut App) {
    std::thread::sleep(std::time::Duration::from_millis(150));
    (0..2).for_each(|_| app.update());
}

#[test]
fn schedules_that_come_and_go_leave_nothing() {
    let mut app = auto_app();
    app.add_systems(Update, mix_again.affine());
    for _ in 0..3 {
        for _ in 0..300 {
            schedule().run(app.world_mut());
        }
        app.update();
        assert_eq!(names(&app), ["mix_again"]);
    }
    // In the record for as long as they are there when frames end.
    for _ in 0..100 {
        let mut schedule = schedule();
        schedule.run(app.world_mut());
        app.update();
        assert_eq!(names(&app), ["mix_again", "mix"]);
        assert_eq!(stored(&app), ["mix", "mix_again"]);
    }
    look_at_sites(&mut app);
    assert_eq!(names(&app), ["mix_again"]);
    assert_eq!(stored(&app), ["mix_again"]);
    assert_eq!(diagnostics(&app).call_sites.len(), 1);
    assert!(timeline(&app).spans().all(|span| span.system.is_none_or(|system| system == 0)));
    let calls: u64 = diagnostics(&app).history().map(|frame| frame.calls).sum();
    assert_eq!(calls, 900 + 3 + 200 + 2, "what they did counts to the frames");
}

#[test]
fn who_stays_keeps_its_place() {
    let mut app = auto_app();
    let mut schedules: Vec<_> = (0..5).map(|_| Some(schedule())).collect();
    let run = |app: &mut App, schedules: &mut [Option<Schedule>]| {
        schedules.iter_mut().flatten().for_each(|schedule| schedule.run(app.world_mut()));
        app.update();
    };
    run(&mut app, &mut schedules);
    assert_eq!(names(&app), ["mix", "mix#2", "mix#3", "mix#4", "mix#5"]);
    (schedules[1], schedules[4]) = (None, None);
    look_at_sites(&mut app);
    assert_eq!(names(&app), ["mix", "", "mix#3", "mix#4"]);
    let site_of = |place: usize| diagnostics(&app).call_sites.iter().filter(|site| site.system == Some(place)).count();
    assert_eq!([0, 1, 2, 3, 4].map(site_of), [1, 0, 1, 1, 0]);
    schedules.push(Some(schedule()));
    schedules.push(Some(schedule()));
    run(&mut app, &mut schedules);
    assert_eq!(names(&app), ["mix", "mix#2", "mix#3", "mix#4", "mix#5"]);
    assert_eq!(diagnostics(&app).systems.iter().map(|system| system.calls).collect::<Vec<_>>(), [2, 1, 2, 2, 1]);
    let last = timeline(&app).frames().next_back().expect("it was recorded").number;
    assert_eq!(last, diagnostics(&app).frames);
    let mut places: Vec<_> = spans_of(&app, SpanKind::System).iter().rev().take(5).map(|span| span.system).collect();
    places.sort_unstable();
    assert_eq!(places, [0, 1, 2, 3, 4].map(Some), "spans of this frame");
}

#[test]
fn spans_of_a_system_that_is_gone_are_nobodys() {
    let mut app = auto_app();
    let mut first = schedule();
    first.run(app.world_mut());
    app.update();
    assert!(spans_of(&app, SpanKind::System).iter().all(|span| span.system == Some(0)));
    drop(first);
    let mut second = schedule();
    second.run(app.world_mut());
    app.update();
    let systems: Vec<_> = spans_of(&app, SpanKind::System).iter().map(|span| span.system).collect();
    assert_eq!(systems, [None, Some(0)]);
}

#[test]
fn one_function_that_is_tagged_twice_is_two_systems() {
    let mut app = auto_app();
    app.add_systems(Update, (mix.affine(), mix_again.affine(), mix.affine()).chain());
    (0..5).for_each(|_| app.update());
    assert_eq!(names(&app), ["mix", "mix_again", "mix#2"]);
    let store = app.world().resource::<DiagnosticsStore>();
    let measured = |name: &str| store.get(&paths::system(name)).expect("it is in the store");
    let systems = &diagnostics(&app).systems;
    let times = measured(&systems[0].name).history_len();
    assert!(times > 0);
    for system in systems {
        let measured = measured(&system.name);
        assert_eq!((system.calls, measured.history_len()), (5, times), "{}", system.name);
        assert_eq!(measured.value(), Some(system.recent_mean.as_secs_f64() * 1e3), "{}", system.name);
    }
}

#[test]
fn a_store_that_forgets_systems_keeps_all_else() {
    let mut app = auto_app();
    app.update();
    let mut store = app.world_mut().resource_mut::<DiagnosticsStore>();
    store.get_mut(&paths::TAGGED).expect("it was measured").is_enabled = false;
    let history = |app: &App| {
        let store = app.world().resource::<DiagnosticsStore>();
        [paths::FRAME, paths::TAGGED].map(|path| store.get(&path).map(|known| (known.history_len(), known.is_enabled)))
    };
    let mut schedule = schedule();
    schedule.run(app.world_mut());
    app.update();
    drop(schedule);
    app.update();
    assert!(stored(&app).is_empty());
    assert_eq!(history(&app), [Some((3, true)), Some((1, false))]);
}
