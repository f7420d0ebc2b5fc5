//! Schedules with tagged systems run on one thread where no two of their systems could run at the
//! same time, and only there.

use std::{
    sync::{Mutex, PoisonError},
    thread::{self, ThreadId},
};

use bevy::{
    ecs::{
        schedule::{ScheduleCleanupPolicy, ScheduleConfigs},
        system::{NonSendMarker, ScheduleSystem},
    },
    prelude::*,
};
use bevy_affinity::prelude::*;

use crate::{Count, assert_counted, common::Scheduling, count_up, spawn_many};

/// The threads that untagged systems ran on. They only read this, so it does not keep them apart.
#[derive(Resource, Default)]
struct Noted(Mutex<Vec<ThreadId>>);

fn note(noted: Res<Noted>) {
    noted.0.lock().unwrap_or_else(PoisonError::into_inner).push(thread::current().id());
}

fn note_too(noted: Res<Noted>) {
    note(noted);
}

fn light() {}

#[derive(SystemSet, Clone, Debug, PartialEq, Eq, Hash)]
enum Step {
    Early,
    /// In `Early`.
    Within,
    Late,
    Empty,
}

#[derive(SystemSet, Clone, Debug, PartialEq, Eq, Hash)]
struct Numbered(usize);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Threads {
    /// All untagged systems of a frame ran on the main thread.
    One,
    /// None did.
    Many,
}
use Threads::{Many, One};

fn app_with(systems: ScheduleConfigs<ScheduleSystem>) -> App {
    let mut app = Scheduling::lock_step(3).app();
    spawn_many(&mut app);
    app.init_resource::<Noted>().add_systems(Update, systems);
    app
}

/// Where the untagged systems of a frame ran.
fn threads_of_frame(app: &mut App) -> Threads {
    app.update();
    let noted = std::mem::take(&mut app.world_mut().resource_mut::<Noted>().0);
    let noted = noted.into_inner().unwrap_or_else(PoisonError::into_inner);
    let on_main = noted.iter().filter(|&&id| id == thread::current().id()).count();
    assert!(!noted.is_empty() && (on_main == 0 || on_main == noted.len()), "{on_main} of {}", noted.len());
    if on_main == 0 { Many } else { One }
}

/// Asserts where the untagged systems run in the first frames, of which the first knows neither
/// access nor threads of untagged systems.
fn assert_threads(mut app: App, first: Threads, later: Threads) {
    assert_eq!(threads_of_frame(&mut app), first, "the first frame");
    (0..3).for_each(|_| assert_eq!(threads_of_frame(&mut app), later));
}

#[test]
fn chains_of_tagged_and_untagged_systems() {
    let mut app = app_with((count_up.affine(), note, count_up.affine(), note_too, note).chain());
    assert_eq!(threads_of_frame(&mut app), One);
    assert_counted(&mut app, 2);
    assert_threads(app, One, One);
}

#[test]
fn chains_with_conditions() {
    let none = |counts: Query<&Count>| counts.is_empty();
    assert_threads(app_with((note.run_if(not(none)), count_up.affine().run_if(none)).chain()), One, One);
}

#[test]
fn chains_with_sync_points() {
    fn spawn(mut commands: Commands) {
        commands.spawn_empty();
    }

    assert_threads(app_with((spawn, count_up.affine(), spawn.affine(), note, spawn, note_too).chain()), One, One);
    assert_threads(app_with((spawn, ApplyDeferred, count_up.affine(), ApplyDeferred, note).chain()), One, One);
}

#[test]
fn untagged_systems_that_may_run_beside_tagged_ones() {
    assert_threads(app_with((count_up.affine(), note).into_configs()), Many, Many);
}

#[test]
fn untagged_systems_that_may_run_beside_each_other() {
    assert_threads(app_with((count_up.affine(), (note, note_too), count_up.affine()).chain()), Many, Many);
}

#[test]
fn a_single_light_system_beside_a_chain() {
    assert_threads(app_with((light, (count_up.affine(), note, count_up.affine()).chain()).into_configs()), Many, Many);
}

#[test]
fn schedules_without_tagged_systems() {
    assert_threads(app_with((note, note_too, light).chain()), Many, Many);
}

#[test]
fn systems_in_ordered_sets() {
    let systems = (count_up.affine().in_set(Step::Within), note.in_set(Step::Late)).into_configs();
    let mut app = app_with(systems);
    app.configure_sets(Update, (Step::Within.in_set(Step::Early), (Step::Early, Step::Late).chain()));
    assert_threads(app, One, One);
}

#[test]
fn systems_ordered_by_an_empty_set() {
    let systems = (count_up.affine().before(Step::Empty), note.after(Step::Empty)).into_configs();
    assert_threads(app_with(systems), One, One);
}

/// What comes before a set comes before no empty set in it.
#[test]
fn systems_not_ordered_by_an_empty_set_within_another() {
    let systems = (count_up.affine().before(Step::Early), note.after(Step::Within)).into_configs();
    let mut app = app_with(systems);
    app.configure_sets(Update, Step::Within.in_set(Step::Early));
    assert_threads(app, Many, Many);
}

#[test]
fn untagged_systems_of_the_main_thread() {
    fn on_main_thread(_: NonSendMarker) {}

    assert_threads(app_with(((count_up.affine(), on_main_thread), note).chain()), Many, One);
}

#[test]
fn exclusive_systems() {
    fn exclusive(_: &mut World) {}

    assert_threads(app_with((exclusive, (count_up.affine(), note).chain()).into_configs()), Many, One);
}

#[test]
fn systems_in_no_order_that_conflict() {
    fn double(mut counts: Query<&mut Count>, noted: Res<Noted>) {
        counts.iter_mut().for_each(|mut count| count.0 *= 2);
        note(noted);
    }

    fn halve(mut counts: Query<&mut Count>, noted: Res<Noted>) {
        counts.iter_mut().for_each(|mut count| count.0 /= 2);
        note(noted);
    }

    assert_threads(app_with((count_up.affine(), double, halve).into_configs()), Many, One);
    // Those that may be in any order do not count as conflicting: Bevy does not tell them from
    // those that run at the same time.
    let ambiguous = (count_up.affine(), double.ambiguous_with_all()).into_configs();
    assert_threads(app_with(ambiguous), Many, Many);
}

#[test]
fn systems_that_come_and_go() {
    let mut app = app_with((count_up.affine(), note).chain());
    assert_eq!(threads_of_frame(&mut app), One);
    app.add_systems(Update, light);
    assert_eq!(threads_of_frame(&mut app), Many);
    assert_eq!(threads_of_frame(&mut app), Many);
    app.remove_systems_in_set(Update, light, ScheduleCleanupPolicy::RemoveSystemsOnly).expect("it was added");
    assert_threads(app, One, One);
}

/// What changes between the look at the schedule and its run counts in the next frame.
#[test]
fn systems_and_orders_that_another_system_adds() {
    fn change(mut frames: Local<u32>, mut schedules: ResMut<Schedules>) {
        *frames += 1;
        match *frames {
            2 => schedules.configure_sets(Update, (Step::Early, Step::Late).chain()),
            4 => schedules.add_systems(Update, light),
            _ => return,
        };
    }

    let mut app = app_with((count_up.affine().in_set(Step::Early), note.in_set(Step::Late)).into_configs());
    app.add_systems(PreUpdate, change);
    let frames: Vec<_> = (0..6).map(|_| threads_of_frame(&mut app)).collect();
    assert_eq!(frames, [Many, Many, One, One, Many, Many]);
}

/// They are not looked into: of so many some could run at the same time.
#[test]
fn very_many_systems() {
    let mut app = app_with((count_up.affine(), note).chain());
    for number in 0..500 {
        app.add_systems(Update, light.in_set(Numbered(number)).after(note));
        app.configure_sets(Update, Numbered(number).before(Numbered(number + 1)));
    }
    assert_threads(app, Many, Many);
}

#[test]
fn orders_that_come_later() {
    let systems = (count_up.affine().in_set(Step::Early), note.in_set(Step::Late)).into_configs();
    let mut app = app_with(systems);
    assert_eq!(threads_of_frame(&mut app), Many);
    app.configure_sets(Update, (Step::Early, Step::Late).chain());
    assert_threads(app, One, One);
}
