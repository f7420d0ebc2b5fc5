//! Combined run conditions and states: what is evaluated, entered and left, and how often, is what
//! it is in plain Bevy, each way and in each mode.

use std::{
    mem,
    sync::atomic::{AtomicU64, Ordering},
};

use bevy::{
    ecs::{
        error::{FallbackErrorHandler, ignore},
        schedule::{ScheduleConfigs, ScheduleLabel},
        system::ScheduleSystem,
    },
    prelude::*,
    state::app::StatesPlugin,
};
use bevy_affinity::Forced;

use crate::{Tags, common::Scheduling, compare_with_bevy, tag, ways::app_going, ways_modes_and_tags};

const FRAMES: u64 = 12;

/// Of conditions that are combined.
const PAIRS: usize = 15;

/// How often each condition of a pair was evaluated.
#[derive(Resource, Default)]
struct Evaluated([AtomicU64; 2 * PAIRS]);

/// How often each system ran.
#[derive(Resource, Default)]
struct Ran([AtomicU64; 20]);

/// There in some frames only.
#[derive(Resource)]
struct Missing;

#[derive(SystemSet, Clone, Debug, PartialEq, Eq, Hash)]
struct Both;

/// Holds in one of `many` evaluations: one too many, or too few, changes those behind it.
fn one_in(many: u64, place: usize) -> impl FnMut(Local<u64>, Res<Evaluated>) -> bool + Clone {
    move |mut evaluations, evaluated| {
        evaluated.0[place].fetch_add(1, Ordering::Relaxed);
        *evaluations += 1;
        evaluations.is_multiple_of(many)
    }
}

fn count(place: usize, tags: Tags) -> ScheduleConfigs<ScheduleSystem> {
    tag(tags(place), move |ran: Res<Ran>| _ = ran.0[place].fetch_add(1, Ordering::Relaxed))
}

/// How often systems ran and conditions were evaluated by the end of each frame.
fn conditions(mut schedule: Schedule, mut world: World, tags: Tags) -> Vec<Vec<u64>> {
    let count = |place| count(place, tags);
    let (a, b) = (|pair: usize| one_in(2, 2 * pair), |pair: usize| one_in(3, 2 * pair + 1));
    schedule.configure_sets(Both.run_if(a(11).xor(b(11))));
    schedule.add_systems((
        count(0).run_if(a(0).and_then(b(0))),
        count(1).run_if(a(1).and_eager(b(1))),
        count(2).run_if(a(2).or_else(b(2))),
        count(3).run_if(a(3).or_eager(b(3))),
        count(4).run_if(a(4).nand_then(b(4))),
        count(5).run_if(a(5).nand_eager(b(5))),
        count(6).run_if(a(6).nor_else(b(6))),
        count(7).run_if(a(7).nor_eager(b(7))),
        count(8).run_if(a(8).xor(b(8))),
        count(9).run_if(a(9).xnor(b(9))),
        count(10).run_if(not(a(10).and_then(not(b(10))))),
        (count(11), count(12)).in_set(Both),
        (count(13), count(14)).run_if(a(12).or_else(b(12))),
        (count(15), count(16)).distributive_run_if(a(13).and_then(b(13))),
        count(17).run_if((|_: Res<Missing>| true).or_else(b(14))),
        count(18).run_if(resource_exists::<Missing>.and_then(resource_changed::<Missing>)),
        count(19).run_if(run_once.or_else(resource_removed::<Missing>)),
    ));
    world.init_resource::<Evaluated>();
    world.init_resource::<Ran>();
    world.insert_resource(FallbackErrorHandler(ignore));
    let frames = (0..FRAMES).map(|frame| {
        match frame % 5 {
            2 => world.insert_resource(Missing),
            4 => _ = world.remove_resource::<Missing>(),
            _ => {}
        }
        schedule.run(&mut world);
        let (ran, evaluated) = (&world.resource::<Ran>().0, &world.resource::<Evaluated>().0);
        ran.iter().chain(evaluated).map(|count| count.load(Ordering::Relaxed)).collect()
    });
    frames.collect()
}

#[test]
fn conditions_are_evaluated_as_often_as_in_plain_bevy() {
    let counted = compare_with_bevy(conditions);
    let last = counted.last().expect("there were frames");
    assert!(last[..20].iter().all(|&ran| (1..FRAMES).contains(&ran)), "{last:?}");
}

#[derive(States, Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum Light {
    #[default]
    Off,
    On,
    Blinking,
}

#[derive(SubStates, Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[source(Light = Light::On)]
enum Colour {
    #[default]
    Red,
    Green,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Lit {
    Steadily,
    AtTimes,
}

impl ComputedStates for Lit {
    type SourceStates = Light;

    fn compute(light: Light) -> Option<Self> {
        match light {
            Light::Off => None,
            Light::On => Some(Self::Steadily),
            Light::Blinking => Some(Self::AtTimes),
        }
    }
}

/// What happened to states of one kind, or in `Update`, in order.
#[derive(Resource, Default)]
struct Log<const N: usize>(Vec<&'static str>);

fn note<const N: usize>(tagged: bool, what: &'static str) -> ScheduleConfigs<ScheduleSystem> {
    tag(tagged, move |mut log: ResMut<Log<N>>| log.0.push(what))
}

fn take<const N: usize>(world: &mut World) -> Vec<&'static str> {
    mem::take(&mut world.resource_mut::<Log<N>>().0)
}

fn light_up(mut commands: Commands) {
    commands.spawn(DespawnOnExit(Light::On));
    commands.spawn(DespawnOnExit(Colour::Red));
    commands.spawn(DespawnOnExit(Lit::Steadily));
    commands.spawn(DespawnOnEnter(Light::Blinking));
}

/// Adds states, and what happens in them.
fn add_systems(app: &mut App, tags: Tags) {
    app.add_plugins(StatesPlugin).init_state::<Light>().add_sub_state::<Colour>().add_computed_state::<Lit>();
    app.init_resource::<Log<0>>().init_resource::<Log<1>>().init_resource::<Log<2>>().init_resource::<Log<3>>();
    let to_blinking = OnTransition { exited: Light::On, entered: Light::Blinking };
    app.add_systems(OnExit(Light::Off), (note::<0>(tags(0), "off no more"), note::<0>(tags(1), "really")).chain())
        .add_systems(OnEnter(Light::On), (note::<0>(tags(1), "on"), tag(tags(0), light_up)).chain())
        .add_systems(OnExit(Light::On), note::<0>(tags(0), "on no more"))
        .add_systems(to_blinking, (note::<0>(tags(1), "to blinking"), note::<0>(tags(0), "really")).chain())
        .add_systems(OnEnter(Colour::Green), note::<1>(tags(0), "green"))
        .add_systems(OnExit(Colour::Red), note::<1>(tags(1), "red no more"))
        .add_systems(OnEnter(Lit::Steadily), note::<2>(tags(0), "steadily"))
        .add_systems(OnExit(Lit::AtTimes), note::<2>(tags(1), "at times no more"));
    let lit_red = in_state(Lit::Steadily).and_then(in_state(Colour::Red));
    let dim = in_state(Light::Off).or_else(in_state(Lit::AtTimes));
    let changed_or_green = state_changed::<Light>.xor(in_state(Colour::Green));
    let lacks = state_exists::<Colour>.nand_eager(state_exists::<Lit>);
    app.add_systems(
        Update,
        (
            note::<3>(tags(0), "red").run_if(lit_red),
            note::<3>(tags(1), "dim").run_if(dim),
            note::<3>(tags(2), "changed or green").run_if(changed_or_green),
            note::<3>(tags(3), "not on").run_if(not(in_state(Light::On))),
            note::<3>(tags(4), "lacks a state").run_if(lacks),
        )
            .chain(),
    );
}

/// What happened in a frame, and what entities that belong to states are left.
type Happened = ([Vec<&'static str>; 4], [usize; 4]);

/// What is set before each frame.
const NEXT: [(Option<Light>, Option<Colour>); 12] = [
    (None, None),
    (Some(Light::On), None),
    (None, Some(Colour::Green)),
    (None, None),
    (Some(Light::Blinking), None),
    (Some(Light::On), Some(Colour::Green)),
    // It is left and entered.
    (Some(Light::On), None),
    (None, Some(Colour::Red)),
    (Some(Light::Off), None),
    (Some(Light::Blinking), Some(Colour::Red)),
    (Some(Light::On), None),
    (Some(Light::Off), None),
];

fn left<C: Component>(world: &mut World) -> usize {
    world.query::<&C>().iter(world).count()
}

fn states(runner: Option<(Scheduling, Forced)>, tags: Tags) -> Vec<Happened> {
    let schedules = [
        Update.intern(),
        StateTransition.intern(),
        OnEnter(Light::On).intern(),
        OnExit(Light::On).intern(),
        OnExit(Light::Off).intern(),
        OnEnter(Colour::Green).intern(),
        OnExit(Colour::Red).intern(),
        OnEnter(Lit::Steadily).intern(),
    ];
    let mut app = app_going(runner, &schedules, |app| add_systems(app, tags));
    let frames = NEXT.into_iter().map(|(light, colour)| {
        if let Some(light) = light {
            app.world_mut().resource_mut::<NextState<Light>>().set(light);
        }
        if let Some(colour) = colour {
            app.world_mut().resource_mut::<NextState<Colour>>().set(colour);
        }
        app.update();
        let world = app.world_mut();
        (
            [take::<0>(world), take::<1>(world), take::<2>(world), take::<3>(world)],
            [
                left::<DespawnOnExit<Light>>(world),
                left::<DespawnOnExit<Colour>>(world),
                left::<DespawnOnExit<Lit>>(world),
                left::<DespawnOnEnter<Light>>(world),
            ],
        )
    });
    frames.collect()
}

#[test]
fn states_are_entered_and_left_as_in_plain_bevy() {
    let expected = states(None, |_| false);
    // What the frames are for does happen.
    assert_eq!(expected[4].0[0], ["on no more", "to blinking", "really"]);
    assert_eq!(expected[6].0[0], ["on no more", "on"]);
    let ever = |place: usize| expected.iter().any(|(_, left)| left[place] > 0);
    assert!((0..4).all(ever) && expected[9].1 == [0; 4], "{expected:?}");
    for (scheduling, forced, tags) in ways_modes_and_tags() {
        let found = states(Some((scheduling, forced)), tags);
        assert_eq!(found, expected, "{scheduling:?}, {forced:?}, tags: {:?}", [0, 1].map(tags));
    }
}
