//! Components that require their times, and rows that go all at once, against plain Bevy: each way
//! and in each mode.

use std::mem;

use bevy::{
    ecs::{schedule::ScheduleLabel, system::RunSystemOnce},
    prelude::*,
};
use bevy_affinity::{affine_system, prelude::*};

use crate::due::{Now, chain};
use crate::{
    common::Scheduling,
    mix::mix_slowly,
    ways::{app_going, ways_and_modes},
};

struct Meals;
struct Rests;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Stay {
    number: u64,
    meals: u64,
    rests: u64,
}

impl Stay {
    /// Returns when the next meal is, if there is one.
    fn eat(&mut self, now: u64) -> Option<u64> {
        self.meals = mix_slowly(chain(self.meals ^ self.number, now));
        (!self.meals.is_multiple_of(9)).then_some(now + 15 + self.meals % 30)
    }

    fn rest(&mut self, now: u64) -> Option<u64> {
        self.rests = mix_slowly(chain(self.rests ^ self.number, now));
        Some(now + 10 + self.rests % 25)
    }
}

#[derive(Component)]
#[require(Due<Meals>, Due<Rests> = Due::<Rests>::at(3))]
struct Guest(Stay);

#[derive(Component, Default)]
struct At<const N: usize>(u64);

#[derive(Component)]
#[require(At<0>, At<1> = At::<1>(3))]
struct PlainGuest(Stay);

fn serve(mut guests: AffineQuery<&mut Guest>, now: Res<Now>, mut meals: Agenda<Meals>, mut rests: Agenda<Rests>) {
    guests.par_iter_mut().due(&mut meals, now.0).for_each(|mut guest| guest.0.eat(now.0));
    guests.par_iter_mut().due(&mut rests, now.0).for_each(|mut guest| guest.0.rest(now.0));
}

fn eat_plainly(mut guests: Query<(&mut PlainGuest, &mut At<0>)>, now: Res<Now>) {
    for (mut guest, mut at) in guests.iter_mut().filter(|(_, at)| at.0 <= now.0) {
        at.0 = guest.0.eat(now.0).unwrap_or(u64::MAX);
    }
}

fn rest_plainly(mut guests: Query<(&mut PlainGuest, &mut At<1>)>, now: Res<Now>) {
    for (mut guest, mut at) in guests.iter_mut().filter(|(_, at)| at.0 <= now.0) {
        at.0 = guest.0.rest(now.0).unwrap_or(u64::MAX);
    }
}

/// Guests that require their times.
trait Kind: Component {
    type Meal: Component;

    fn new(stay: Stay) -> Self;

    fn stay(&self) -> Stay;

    fn meal(time: u64) -> Self::Meal;

    fn time(meal: &Self::Meal) -> u64;

    /// The earliest of all meals.
    fn first(world: &mut World) -> Option<u64>;
}

impl Kind for Guest {
    type Meal = Due<Meals>;

    fn new(stay: Stay) -> Self {
        Self(stay)
    }

    fn stay(&self) -> Stay {
        self.0
    }

    fn meal(time: u64) -> Due<Meals> {
        Due::at(time)
    }

    fn time(meal: &Due<Meals>) -> u64 {
        meal.time()
    }

    fn first(world: &mut World) -> Option<u64> {
        world.run_system_once(|mut meals: Agenda<Meals>| meals.next_time()).expect("it has what it needs")
    }
}

impl Kind for PlainGuest {
    type Meal = At<0>;

    fn new(stay: Stay) -> Self {
        Self(stay)
    }

    fn stay(&self) -> Stay {
        self.0
    }

    fn meal(time: u64) -> At<0> {
        At(time)
    }

    fn time(meal: &At<0>) -> u64 {
        meal.0
    }

    fn first(world: &mut World) -> Option<u64> {
        world.query::<&At<0>>().iter(world).map(|at| at.0).min().filter(|&time| time < u64::MAX)
    }
}

const GUESTS: u64 = 300;
const STEPS: u64 = 36;
/// All rows go in this step, and others come in the next one.
const CLEARED: u64 = 18;
const REOPENED: u64 = CLEARED + 1;

/// Guests arrive, by themselves, with a time or late; are exchanged, lose a component, and go.
fn change<K: Kind>(world: &mut World, rows: &mut Vec<Entity>, now: u64) {
    let new = |number| K::new(Stay { number, ..default() });
    rows.push(world.spawn(new(now)).id());
    rows.push(world.spawn((new(now), K::meal(now + 4))).id());
    rows.push(world.spawn_empty().id());
    for (place, &row) in (0..).zip(&*rows) {
        let Ok(mut row) = world.get_entity_mut(row) else { continue };
        match (31 * place + 17 * now) % 101 {
            0 | 1 => _ = row.insert(new(place)),
            2 => _ = row.remove::<K>(),
            3 => _ = row.remove::<K::Meal>(),
            4 => _ = row.insert(K::meal(now + 6)),
            5 => row.despawn(),
            _ => {}
        }
    }
}

/// Of each row, if it is there, its guest and the time of that one's meal.
type Rows = Vec<Option<(Option<Stay>, Option<u64>)>>;

/// The earliest meal, and all rows, after each step.
fn steps<K: Kind>(mut app: App) -> Vec<(Option<u64>, Rows)> {
    let mut rows = Vec::new();
    let steps = (0..STEPS).map(|now| {
        app.insert_resource(Now(now));
        let world = app.world_mut();
        match now {
            0 | REOPENED => rows.extend((0..GUESTS).map(|number| {
                let stay = Stay { number, ..default() };
                world.spawn(K::new(stay)).id()
            })),
            CLEARED => rows.drain(..).for_each(|row| _ = world.try_despawn(row)),
            _ => change::<K>(world, &mut rows, now),
        }
        app.update();
        let world = app.world_mut();
        let of_row = |row: EntityRef| (row.get::<K>().map(K::stay), row.get::<K::Meal>().map(K::time));
        let all = rows.iter().map(|&row| world.get_entity(row).ok().map(of_row)).collect();
        (K::first(world), all)
    });
    steps.collect()
}

#[test]
fn rows_that_require_their_times_come_and_go_as_in_plain_bevy() {
    let update = [Update.intern()];
    let plain = app_going(None, &update, |app| _ = app.add_systems(Update, (eat_plainly, rest_plainly).chain()));
    let expected = steps::<PlainGuest>(plain);
    assert!((0..).zip(&expected).all(|(step, (first, _))| first.is_none() == (step == CLEARED)));
    for (scheduling, forced) in ways_and_modes() {
        let ours = app_going(Some((scheduling, forced)), &update, |app| _ = app.add_systems(Update, serve.affine()));
        assert!(steps::<Guest>(ours) == expected, "{scheduling:?}, {forced:?}");
    }
}

/// With the entities of a world go its resources, which Bevy 0.20 cannot have again then: agendas
/// are missing as all resources are, and rows that require times are spawned all the same.
#[test]
fn an_agenda_goes_with_the_resources_of_a_world_that_is_cleared() {
    fn ask(agenda: Option<Agenda<Meals>>, now: Option<Res<Now>>) -> (Option<usize>, bool) {
        (agenda.map(|agenda| agenda.len()), now.is_some())
    }
    for scheduling in Scheduling::all() {
        let mut world = mem::take(scheduling.app().world_mut());
        world.insert_resource(Now(0));
        let mut asking = affine_system(ask);
        asking.initialize(&mut world);
        let mut ask = |world: &mut World| {
            (0..100).for_each(|number| _ = world.spawn(Guest(Stay { number, ..default() })));
            asking.run((), world).expect("all that it needs may be missing")
        };
        assert_eq!(ask(&mut world), (Some(100), true));
        world.clear_entities();
        assert_eq!(ask(&mut world), (None, false), "{scheduling:?}");
        assert_eq!(world.query::<(&Guest, &Due<Meals>, &Due<Rests>)>().iter(&world).count(), 100);
    }
}
