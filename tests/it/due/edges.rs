//! Times at the ends of the scale, rows that come and go, and what the agenda says.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use bevy::{
    ecs::{entity_disabling::Disabled, system::RunSystemOnce},
    prelude::*,
};
use bevy_affinity::prelude::*;

use crate::common::Scheduling;
use crate::due::Now;

#[derive(Component, Default)]
struct Visits(u32);

fn visit(mut rows: AffineQuery<&mut Visits>, mut agenda: Agenda, now: Res<Now>) {
    rows.par_iter_mut().due(&mut agenda, now.0).for_each(|mut visits| {
        visits.0 += 1;
        None
    });
}

/// An app whose agenda finds rows: nothing was due for some steps.
fn app() -> App {
    let mut app = Scheduling::SERIAL.app();
    app.init_resource::<Now>().add_systems(Update, visit.affine());
    (0..5).for_each(|_| app.update());
    app
}

fn spawn(app: &mut App, time: u64) -> Entity {
    app.world_mut().spawn((Visits(0), Due::<()>::at(time))).id()
}

fn visits(app: &App, row: Entity) -> u32 {
    app.world().get::<Visits>(row).expect("it is there").0
}

fn step(app: &mut App, now: u64) {
    app.world_mut().resource_mut::<Now>().0 = now;
    app.update();
}

fn ask<T: 'static>(app: &mut App, question: impl Fn(&mut Agenda) -> T + Send + Sync + 'static) -> T {
    app.world_mut().run_system_once(move |mut agenda: Agenda| question(&mut agenda)).expect("it has what it needs")
}

#[test]
fn times_at_the_ends_of_the_scale() {
    let mut app = app();
    let [first, last, never] = [0, u64::MAX - 1, u64::MAX].map(|time| spawn(&mut app, time));
    step(&mut app, 0);
    assert_eq!([first, last, never].map(|row| visits(&app, row)), [1, 0, 0]);
    assert_eq!(ask(&mut app, |agenda| agenda.next_time()), Some(u64::MAX - 1));
    step(&mut app, u64::MAX);
    assert_eq!([first, last, never].map(|row| visits(&app, row)), [1, 1, 0]);
    assert_eq!(ask(&mut app, |agenda| agenda.next_time()), None);
}

#[test]
fn the_clock_may_go_back() {
    let mut app = app();
    let row = spawn(&mut app, 50);
    step(&mut app, 49);
    step(&mut app, 7);
    assert_eq!(visits(&app, row), 0);
    step(&mut app, 90);
    assert_eq!(visits(&app, row), 1);
    ask(&mut app, move |agenda| agenda.wake(row, 60));
    step(&mut app, 10);
    assert_eq!(visits(&app, row), 1);
    step(&mut app, 60);
    assert_eq!(visits(&app, row), 2);
}

#[test]
fn a_wake_brings_forward_and_an_insertion_sets() {
    let mut app = app();
    let row = spawn(&mut app, 10);
    assert!(ask(&mut app, move |agenda| agenda.wake(row, 20)));
    assert_eq!(ask(&mut app, move |agenda| agenda.time(row)), Some(10));
    app.world_mut().entity_mut(row).insert(Due::<()>::at(30));
    step(&mut app, 29);
    assert_eq!((visits(&app, row), ask(&mut app, |agenda| agenda.next_time())), (0, Some(30)));
    // Several wakes are one visit; of a time that has passed it is the next call.
    assert!(ask(&mut app, move |agenda| agenda.wake(row, 3) && agenda.wake(row, 2) && agenda.wake(row, 3)));
    step(&mut app, 29);
    step(&mut app, 29);
    assert_eq!(visits(&app, row), 1);
}

#[test]
fn who_is_gone_is_not_woken_nor_who_comes_after() {
    let mut app = app();
    let gone = spawn(&mut app, 10);
    app.world_mut().despawn(gone);
    // Indices are used again, at some time.
    let mut rows = std::iter::repeat_with(|| spawn(&mut app, 100)).take(5_000);
    let heir = rows.find(|heir| heir.index() == gone.index());
    let heir = heir.unwrap_or_else(|| spawn(&mut app, 100));
    assert!(!ask(&mut app, move |agenda| agenda.wake(gone, 0)));
    step(&mut app, 50);
    assert_eq!((visits(&app, heir), ask(&mut app, |agenda| agenda.next_time())), (0, Some(100)));
    let len = app.world_mut().query::<&Due>().iter(app.world()).len();
    let without = app.world_mut().spawn(Visits(0)).id();
    assert!(!ask(&mut app, move |agenda| agenda.wake(without, 0)));
    assert_eq!(
        ask(&mut app, move |agenda| (agenda.time(without), agenda.len(), agenda.is_empty())),
        (None, len, false)
    );
}

#[test]
fn a_row_that_does_not_match_is_visited_once_it_does() {
    let mut app = app();
    let disabled = app.world_mut().spawn((Visits(0), Due::<()>::at(1), Disabled)).id();
    let bare = app.world_mut().spawn(Due::<()>::at(1)).id();
    (2..6).for_each(|now| step(&mut app, now));
    assert_eq!((visits(&app, disabled), ask(&mut app, |agenda| agenda.next_time())), (0, Some(1)));
    app.world_mut().entity_mut(disabled).remove::<Disabled>();
    app.world_mut().entity_mut(bare).insert(Visits(0));
    (6..9).for_each(|now| step(&mut app, now));
    assert_eq!([disabled, bare].map(|row| visits(&app, row)), [1, 1]);
}

#[test]
fn a_copy_of_an_entity_is_due_when_that_is() {
    let mut app = app();
    let row = spawn(&mut app, 20);
    app.world_mut().entity_mut(row).insert(Due::<()>::at(7));
    let copy = app.world_mut().entity_mut(row).clone_and_spawn_with_opt_out(|copy| {
        copy.deny::<Visits>();
    });
    app.world_mut().entity_mut(copy).insert(Visits(0));
    step(&mut app, 7);
    assert_eq!([row, copy].map(|row| visits(&app, row)), [1, 1]);
}

#[test]
fn change_ticks_of_times_tell_of_insertions() {
    #[derive(Resource, Default)]
    struct Changed2(usize);
    fn count(rows: Query<(), Changed<Due>>, mut changed: ResMut<Changed2>) {
        changed.0 = rows.iter().count();
    }
    let mut app = app();
    app.init_resource::<Changed2>().add_systems(PostUpdate, count);
    let row = spawn(&mut app, 3);
    let changed = [1, 2, 3, 4].map(|now| {
        step(&mut app, now);
        app.world().resource::<Changed2>().0
    });
    assert_eq!((visits(&app, row), changed), (1, [1, 0, 0, 0]));
}

#[test]
#[should_panic(expected = "asks it for times with `Agenda::time`")]
fn an_agenda_has_its_times_to_itself() {
    fn both(_rows: AffineQuery<&Due>, _agenda: Agenda) {}
    let mut app = Scheduling::SERIAL.app();
    app.add_systems(Update, both.affine()).update();
}

#[test]
#[should_panic(expected = "`Without<IsResource>` leaves them out")]
fn an_agenda_is_an_entity_too() {
    fn all(_rows: AffineQuery<EntityRef, Without<Due>>, _agenda: Agenda) {}
    let mut app = Scheduling::SERIAL.app();
    app.add_systems(Update, all.affine()).update();
}

#[test]
fn systems_that_are_not_tagged_visit_due_rows_too() {
    let mut app = Scheduling::lock_step(2).app();
    app.init_resource::<Now>().add_systems(Update, visit);
    let rows: Vec<_> = (0..3_000).map(|row| spawn(&mut app, row % 10)).collect();
    (0..10).for_each(|now| step(&mut app, now));
    assert!(rows.iter().all(|&row| visits(&app, row) == 1));
}

#[derive(Component)]
struct Mark;

/// Makes an observer visit what is due when the mark comes.
fn visit_when_marked(app: &mut App) {
    app.add_observer(|_: On<Add<Mark>>, mut rows: AffineQuery<&mut Visits>, mut agenda: Agenda| {
        rows.par_iter_mut().due(&mut agenda, 5).for_each(|mut visits| {
            visits.0 += 1;
            None
        });
    });
}

#[test]
fn observers_of_what_comes_with_a_time_find_the_row() {
    let mut app = app();
    ask(&mut app, |agenda| agenda.next_time());
    visit_when_marked(&mut app);
    let row = app.world_mut().spawn((Visits(0), Due::<()>::at(5), Mark)).id();
    assert_eq!(visits(&app, row), 1);
}

#[test]
fn observers_of_what_comes_with_another_time_find_the_row() {
    let mut app = app();
    let row = spawn(&mut app, 50);
    ask(&mut app, |agenda| agenda.next_time());
    visit_when_marked(&mut app);
    app.world_mut().entity_mut(row).insert((Due::<()>::at(5), Mark));
    assert_eq!(visits(&app, row), 1);
    assert_eq!(ask(&mut app, |agenda| agenda.next_time()), None);
}

#[test]
fn a_row_is_visited_though_an_observer_of_it_panicked() {
    let mut app = app();
    ask(&mut app, |agenda| agenda.next_time());
    app.add_observer(|_: On<Add<Mark>>| resume_unwind(Box::new("not today")));
    let spawned = catch_unwind(AssertUnwindSafe(|| {
        app.world_mut().spawn((Visits(0), Due::<()>::at(5), Mark));
    }));
    assert!(spawned.is_err());
    assert_eq!(ask(&mut app, |agenda| agenda.next_time()), Some(5));
    step(&mut app, 5);
    let mut rows = app.world_mut().query::<&Visits>();
    assert_eq!(rows.iter(app.world()).map(|visits| visits.0).collect::<Vec<_>>(), [1]);
}
