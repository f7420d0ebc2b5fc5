//! What is told of mode `Auto`: which way each place chose, and why.
//!
//! Rows that are dear sleep: that takes as long on a busy machine as on a quiet one, and several
//! can sleep on one core.

use std::{thread, time::Duration};

use bevy::prelude::*;
use bevy_affinity::{CallSiteDiagnostics, prelude::*, topology::Topology};

use super::{Scheduling, diagnostics};

#[derive(Component)]
struct Cheap(u32);

#[derive(Component)]
struct Dear;

fn count(mut rows: AffineQuery<&mut Cheap>) {
    rows.par_iter_mut().for_each(|mut row| row.0 += 1);
}
/// The line of `par_iter_mut` above.
const COUNTED_AT: u32 = line!() - 3;

fn wait(rows: AffineQuery<&Dear>) {
    rows.par_iter().for_each(|_| thread::sleep(Duration::from_micros(100)));
}

/// More workers than cores: they wait for each other, and none is left out because its core is
/// busy.
fn workers() -> usize {
    Topology::get().parallelism() + 1
}

fn app<M>(system: impl IntoAffine<M>, rows: impl IntoIterator<Item = impl Bundle>) -> App {
    let mut app = Scheduling::auto(workers()).app();
    app.add_systems(Update, system.affine());
    rows.into_iter().for_each(|row| _ = app.world_mut().spawn(row));
    app
}

/// Runs the app until its one call site has been called so often, and it is told.
fn after(app: &mut App, calls: u64) -> CallSiteDiagnostics {
    loop {
        app.update();
        if let [site] = diagnostics(app).call_sites[..]
            && site.calls >= calls
        {
            return site;
        }
    }
}

/// As [`after`], and until what is told is right: other tests disturb what is measured.
fn settled(app: &mut App, calls: u64, is_right: impl Fn(&CallSiteDiagnostics) -> bool) -> CallSiteDiagnostics {
    let site = (0..100).map(|more| after(app, calls + more * calls / 2)).find(|site| is_right(site));
    site.unwrap_or_else(|| panic!("never: {:?}", diagnostics(app).call_sites))
}

#[test]
fn a_tiny_sweep_stays_on_the_leader() {
    let mut app = app(count, [Cheap(0)]);
    let site = settled(&mut app, 200, |site| site.choice == SchedulerMode::Serial);
    assert_eq!(site.rows, 1, "{site:?}");
    assert!(site.expected(SchedulerMode::Serial).is_some(), "{site:?}");
    assert!(site.expected(SchedulerMode::Bevy).is_none() && site.expected(SchedulerMode::Auto).is_none());
}

#[test]
fn a_sweep_that_gains_by_it_goes_to_the_gang() {
    let mut app = app(wait, (0..64).map(|_| Dear));
    let gains = |site: &CallSiteDiagnostics| {
        let [alone, shared] = [SchedulerMode::Serial, site.choice].map(|mode| site.expected(mode));
        matches!(site.choice, SchedulerMode::LockStep | SchedulerMode::Heartbeat) && shared.is_some() && shared < alone
    };
    let site = settled(&mut app, 60, gains);
    assert!(site.trials > 0 && site.rows == 64, "{site:?}");
}

#[test]
fn a_place_is_told_by_its_system_and_its_line() {
    let mut app = app(count, [Cheap(0)]);
    let site = after(&mut app, 1);
    let system = site.system.expect("it is in a tagged system");
    assert!(diagnostics(&app).systems[system].name.ends_with("count"));
    assert!(site.location.file().ends_with("choices.rs"), "{site:?}");
    assert_eq!(site.location.line(), COUNTED_AT);
}

/// A macro makes a system, all of which has the location of the macro's own call.
macro_rules! system_that_sweeps_and_visits {
    ($name:ident) => {
        fn $name(mut rows: AffineQuery<&mut Cheap>, mut agenda: Agenda) {
            rows.par_iter_mut().for_each(|mut row| row.0 += 1);
            rows.par_iter_mut().due(&mut agenda, 1).for_each(|_| None);
        }
    };
}
system_that_sweeps_and_visits!(sweep_and_visit);

#[test]
fn rows_that_are_due_have_a_place_of_their_own_in_a_macro_too() {
    let mut app = app(sweep_and_visit, [(Cheap(0), Due::<()>::never())]);
    (0..64).for_each(|_| app.update());
    let [sweep, due] = diagnostics(&app).call_sites[..] else {
        panic!("{:?}", diagnostics(&app).call_sites);
    };
    assert_eq!((sweep.location, sweep.rows), (due.location, 1));
    assert_eq!(due.rows, 0, "{due:?}");
}

#[test]
fn other_modes_choose_nothing() {
    for scheduling in [Scheduling::SERIAL, Scheduling::BEVY, Scheduling::lock_step(2), Scheduling::heartbeat(2)] {
        let mut app = super::app(scheduling);
        (0..3).for_each(|_| app.update());
        assert!(diagnostics(&app).call_sites.is_empty(), "{scheduling:?}");
    }
}

#[test]
fn one_worker_has_nothing_to_choose() {
    let mut app = super::app(Scheduling::auto(2));
    app.update();
    assert_eq!(diagnostics(&app).call_sites.len(), 2);
    app.world_mut().resource_mut::<AffinitySettings>().workers = WorkerCount::Exactly(1);
    // As many as until they are brought up to date.
    (0..32).for_each(|_| app.update());
    assert!(diagnostics(&app).call_sites.is_empty());
    app.world_mut().resource_mut::<AffinitySettings>().workers = WorkerCount::Exactly(2);
    (0..32).for_each(|_| app.update());
    assert_eq!(diagnostics(&app).call_sites.len(), 2);
}
