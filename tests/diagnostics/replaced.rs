//! Diagnostics that a user replaces know all systems again.

use super::*;

fn quick() {}

/// The names by place, and how often the systems ran in the last frame and in it all together.
fn systems(app: &App) -> (Vec<&str>, u64) {
    let names = diagnostics(app).systems.iter().map(|system| system.name.rsplit("::").next().unwrap_or_default());
    (names.collect(), diagnostics(app).history().next_back().map_or(0, |frame| frame.calls))
}

fn quick_app() -> App {
    let mut app = Scheduling::lock_step(2).app();
    app.add_systems(Update, quick.affine());
    (0..3).for_each(|_| app.update());
    app
}

#[test]
fn a_reset_loses_no_system_and_counts_no_earlier_run() {
    let mut app = quick_app();
    *app.world_mut().resource_mut::<AffinityDiagnostics>() = AffinityDiagnostics::default();
    app.update();
    assert_eq!(systems(&app), (vec!["quick"], 1));
    assert_eq!(
        (diagnostics(&app).frames, diagnostics(&app).systems[0].calls),
        (1, 4),
        "a system counts from its begin"
    );
}

#[test]
fn diagnostics_that_come_back_know_who_came_meanwhile() {
    let mut app = quick_app();
    let saved = app.world_mut().remove_resource::<AffinityDiagnostics>();
    app.add_systems(Update, mix.affine().after(quick));
    (0..3).for_each(|_| app.update());
    for back in [saved.unwrap_or_default(), AffinityDiagnostics::default()] {
        app.insert_resource(back);
        app.update();
        assert_eq!(systems(&app), (vec!["quick", "mix"], 2));
    }
}

#[test]
fn diagnostics_of_an_earlier_moment_forget_who_is_gone() {
    let mut app = quick_app();
    let mut schedule = Schedule::default();
    schedule.add_systems(mix.affine());
    schedule.run(app.world_mut());
    app.update();
    let saved = diagnostics(&app).clone();
    assert_eq!(systems(&app), (vec!["quick", "mix"], 2));
    app.add_systems(Update, mix_again.affine().after(quick));
    app.update();
    drop(schedule);
    app.update();
    assert_eq!(systems(&app), (vec!["quick", "", "mix_again"], 2));
    app.insert_resource(saved);
    app.update();
    assert_eq!(systems(&app), (vec!["quick", "", "mix_again"], 2));
}
