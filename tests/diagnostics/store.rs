//! The mirror in Bevy's `DiagnosticsStore`.

use bevy::diagnostic::{DiagnosticPath, DiagnosticsPlugin, DiagnosticsStore};
use bevy_affinity::paths;

use super::*;

fn value(app: &App, path: &DiagnosticPath) -> Option<f64> {
    app.world().resource::<DiagnosticsStore>().get(path)?.value()
}

#[test]
fn numbers_are_in_the_store_whatever_the_order_of_plugins() {
    let mut app = app(Scheduling::lock_step(3));
    app.add_plugins(DiagnosticsPlugin);
    (0..20).for_each(|_| app.update());
    let frame = *diagnostics(&app).history().next_back().expect("frames ran");
    assert_eq!(value(&app, &paths::FRAME), Some(frame.delta().as_secs_f64() * 1e3));
    assert_eq!(value(&app, &paths::TAGGED), Some(frame.tagged_time().as_secs_f64() * 1e3));
    assert_eq!(value(&app, &paths::MIGRATED_ROWS), Some(diagnostics(&app).migrated_rows as f64));
    for worker in 0..3 {
        let shares = [paths::worker_busy(worker), paths::worker_wait(worker), paths::worker_idle(worker)];
        assert!(shares.iter().all(|path| value(&app, path).is_some_and(|share| (0.0..=100.0).contains(&share))));
    }
    for system in &diagnostics(&app).systems {
        assert_eq!(value(&app, &paths::system(&system.name)), Some(system.recent_mean.as_secs_f64() * 1e3));
    }
}

#[test]
fn an_app_without_a_store_gets_none() {
    let mut app = app(Scheduling::lock_step(2));
    app.update();
    assert!(!app.world().contains_resource::<DiagnosticsStore>());
}

#[test]
fn what_is_switched_off_is_not_measured() {
    let mut app = app(Scheduling::lock_step(2));
    app.add_plugins(DiagnosticsPlugin).update();
    let measurements = |app: &App| {
        app.world().resource::<DiagnosticsStore>().get(&paths::TAGGED).map(|tagged| tagged.measurements().count())
    };
    assert_eq!(measurements(&app), Some(1));
    let mut store = app.world_mut().resource_mut::<DiagnosticsStore>();
    store.get_mut(&paths::TAGGED).expect("it was measured").is_enabled = false;
    app.update();
    assert_eq!(measurements(&app), Some(1));
}
