//! Group `fused`: three systems that sweep the same rows, chained and as one fused system. Whole
//! schedules are timed, so that what lies between systems counts.

use std::time::Instant;

use bevy::ecs::schedule::ScheduleLabel;
use bevy::prelude::*;
use bevy_affinity::prelude::*;

use crate::race::{Race, Turn};
use crate::report::SizeTable;
use crate::setup::Setup;
use crate::{ours, ping_pong};

pub fn run(setup: &Setup) -> Result<(), String> {
    run_rows::<f32>(setup, "three systems over `f32` components")?;
    run_rows::<[f32; 3]>(setup, "three systems over `[f32; 3]` components")
}

fn run_rows<V: Value>(setup: &Setup, title: &str) -> Result<(), String> {
    let mut table = SizeTable::new(&format!("{title}, x Bevy's to the left"));
    for &size in &setup.sizes {
        let mut race = Race::new(app::<V>(setup.workers, size), fault::<V>);
        race.enter_baseline("Bevy, chained `iter_mut`", Contest::Bevy.play());
        race.enter("affine, chained", Contest::Chained.play());
        race.enter("affine, fused", Contest::Fused.play());
        table.push(size, &race.run(setup.rounds)?);
    }
    table.print();
    ping_pong::print(setup);
    Ok(())
}

/// What components hold.
trait Value: Copy + Send + Sync + 'static {
    const ONE: Self;

    /// `self + other * factor`
    fn plus(self, other: Self, factor: f32) -> Self;
    fn is(self, value: f32) -> bool;
}

impl Value for f32 {
    const ONE: Self = 1.0;

    fn plus(self, other: Self, factor: f32) -> Self {
        self + other * factor
    }

    fn is(self, value: f32) -> bool {
        self == value
    }
}

impl Value for [f32; 3] {
    const ONE: Self = [1.0; 3];

    fn plus(self, other: Self, factor: f32) -> Self {
        [self[0] + other[0] * factor, self[1] + other[1] * factor, self[2] + other[2] * factor]
    }

    fn is(self, value: f32) -> bool {
        self == [value; 3]
    }
}

#[derive(Component, Clone, Copy)]
struct Thrust<V: Value>(V);
#[derive(Component, Clone, Copy)]
struct Velocity<V: Value>(V);
#[derive(Component, Clone, Copy)]
struct Position<V: Value>(V);
#[derive(Component, Clone, Copy)]
struct Age<V: Value>(V);

/// One, which the compiler does not know.
#[derive(Resource)]
struct Step(f32);

/// The schedules, one for each contender.
#[derive(ScheduleLabel, Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Contest {
    Bevy,
    Chained,
    Fused,
}

impl Contest {
    fn play(self) -> impl FnMut(&mut App, &mut Turn) {
        move |app, turn| {
            turn.repeat_timed(|| {
                let start = Instant::now();
                app.world_mut().run_schedule(self);
                start.elapsed()
            });
        }
    }
}

fn app<V: Value>(workers: usize, size: usize) -> App {
    let mut app = ours::app(workers);
    app.insert_resource(Step(1.0));
    app.add_systems(Contest::Bevy, (plain::steer::<V>, plain::drive::<V>, plain::age::<V>).chain());
    app.add_systems(Contest::Chained, (chained::steer::<V>, chained::drive::<V>, chained::age::<V>).affine().chain());
    app.add_systems(Contest::Fused, fused((steer::<V>, drive::<V>, age::<V>)).affine());
    for contest in [Contest::Bevy, Contest::Chained, Contest::Fused] {
        ours::run_on_one_thread(&mut app, contest);
    }
    let row = (Thrust(V::ONE), Velocity(V::ONE), Position(V::ONE), Age(V::ONE));
    app.world_mut().spawn_batch((0..size).map(move |_| row));
    app
}

fn steer<V: Value>(Row((mut velocity, thrust)): Row<(&mut Velocity<V>, &Thrust<V>)>, step: &Step) {
    velocity.0 = velocity.0.plus(thrust.0, step.0);
}

fn drive<V: Value>(Row((mut position, velocity)): Row<(&mut Position<V>, &Velocity<V>)>, step: &Step) {
    position.0 = velocity.0.plus(velocity.0, step.0);
}

fn age<V: Value>(Row(mut age): Row<&mut Age<V>>, step: &Step) {
    age.0 = age.0.plus(V::ONE, step.0);
}

/// As one writes them by hand: what is the same for all rows is read once.
macro_rules! systems {
    ($query:ident, $iterate:ident) => {
        pub fn steer<V: Value>(mut rows: $query<(&'static mut Velocity<V>, &'static Thrust<V>)>, step: Res<Step>) {
            let step = step.0;
            rows.$iterate().for_each(move |(mut velocity, thrust)| velocity.0 = velocity.0.plus(thrust.0, step));
        }

        pub fn drive<V: Value>(mut rows: $query<(&'static mut Position<V>, &'static Velocity<V>)>, step: Res<Step>) {
            let step = step.0;
            rows.$iterate().for_each(move |(mut position, velocity)| position.0 = velocity.0.plus(velocity.0, step));
        }

        pub fn age<V: Value>(mut rows: $query<&'static mut Age<V>>, step: Res<Step>) {
            let step = step.0;
            rows.$iterate().for_each(move |mut age| age.0 = age.0.plus(V::ONE, step));
        }
    };
}

mod plain {
    use super::*;

    systems!(Query, iter_mut);
}

mod chained {
    use super::*;

    systems!(AffineQuery, par_iter_mut);
}

/// Every call adds one to velocity and age; the position is twice the velocity.
fn fault<V: Value>(app: &mut App, calls: u64) -> Option<String> {
    let expected = 1.0 + calls as f32;
    let mut rows = app.world_mut().query::<(&Velocity<V>, &Position<V>, &Age<V>)>();
    let is_right = |(velocity, position, age): (&Velocity<V>, &Position<V>, &Age<V>)| {
        velocity.0.is(expected) && position.0.is(2.0 * expected) && age.0.is(expected)
    };
    (!rows.iter(app.world()).all(is_right)).then(|| format!("a row is not what {calls} calls make of it"))
}
