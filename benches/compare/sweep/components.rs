//! `+= step` over one component, by row with change detection and by chunk. The closures borrow the
//! step from the system, as those of games borrow the time that has passed.
//!
//! Each contender is a system alone in its schedule, and all run on one world. The system times its
//! own sweep, so that the cost of the schedule is left out.

use std::{fmt::Debug, hint::black_box};

use bevy::ecs::component::Mutable;
use bevy::ecs::schedule::ScheduleLabel;
use bevy::prelude::*;
use bevy_affinity::prelude::*;

use crate::race::{Race, Turn};
use crate::report::SizeTable;
use crate::setup::Setup;
use crate::shared::stopwatch::Stopwatch;
use crate::{ours, ping_pong};

pub fn run(setup: &Setup) -> Result<(), String> {
    run_rows::<Scalar>(setup, "`f32 += step` in a component")?;
    run_rows::<Vector>(setup, "`[f32; 3] += step` in a component")?;
    run_rows::<Integer>(setup, "`i64 += step` in a component")
}

/// What is added: one, as far as the compiler does not know.
#[derive(Resource)]
struct Step(u8);

/// A component to sweep, which starts at zero.
trait Row: Component<Mutability = Mutable> + Copy + Default + Debug {
    type Step: From<u8> + Copy + Send + Sync;

    fn increment(&mut self, step: Self::Step);
    fn is(&self, calls: u64) -> bool;
}

#[derive(Component, Clone, Copy, Default, Debug)]
struct Scalar(f32);

impl Row for Scalar {
    type Step = f32;

    fn increment(&mut self, step: f32) {
        self.0 += step;
    }

    fn is(&self, calls: u64) -> bool {
        self.0 == calls as f32
    }
}

#[derive(Component, Clone, Copy, Default, Debug)]
struct Vector([f32; 3]);

impl Row for Vector {
    type Step = f32;

    fn increment(&mut self, step: f32) {
        self.0.iter_mut().for_each(|value| *value += step);
    }

    fn is(&self, calls: u64) -> bool {
        self.0 == [calls as f32; 3]
    }
}

#[derive(Component, Clone, Copy, Default, Debug)]
struct Integer(i64);

impl Row for Integer {
    type Step = i64;

    fn increment(&mut self, step: i64) {
        self.0 += step;
    }

    fn is(&self, calls: u64) -> bool {
        self.0 == calls as i64
    }
}

fn run_rows<R: Row>(setup: &Setup, title: &str) -> Result<(), String> {
    let mut table = SizeTable::new(&format!("{title}, x the serial sweep to the left"));
    for &size in &setup.sizes {
        let standings = race::<R>(setup, size).run(setup.rounds)?;
        table.push(size, &standings);
    }
    table.print();
    ping_pong::print(setup);
    Ok(())
}

fn race<R: Row>(setup: &Setup, size: usize) -> Race<'static, App> {
    let mut race = Race::new(app::<R>(setup.workers, size), fault::<R>);
    race.enter_baseline("Bevy `iter_mut`", Contest::IterMut.play());
    race.enter("Bevy `par_iter_mut`", Contest::ParIterMut.play());
    race.enter("affine `par_iter_mut`", Contest::AffineRows.play());
    race.enter_baseline("Bevy `contiguous_iter_mut`", Contest::ContiguousIterMut.play());
    race.enter("Bevy `contiguous_par_iter_mut`", Contest::ContiguousParIterMut.play());
    race.enter("affine `contiguous_par_iter_mut`", Contest::AffineContiguous.play());
    race.enter("affine `for_each_chunk`", Contest::AffineChunks.play());
    race
}

fn app<R: Row>(workers: usize, size: usize) -> App {
    let mut app = ours::app(workers);
    app.init_resource::<Stopwatch>().insert_resource(Step(black_box(1)));
    app.add_systems(Contest::IterMut, iter_mut::<R>);
    app.add_systems(Contest::ParIterMut, par_iter_mut::<R>);
    app.add_systems(Contest::AffineRows, affine_rows::<R>.affine());
    app.add_systems(Contest::ContiguousIterMut, contiguous_iter_mut::<R>);
    app.add_systems(Contest::ContiguousParIterMut, contiguous_par_iter_mut::<R>);
    app.add_systems(Contest::AffineContiguous, affine_contiguous::<R>.affine());
    app.add_systems(Contest::AffineChunks, affine_chunks::<R>.affine());
    for contest in [Contest::IterMut, Contest::ParIterMut, Contest::ContiguousIterMut, Contest::ContiguousParIterMut] {
        // Bevy's systems run on the calling thread too, as ours do.
        ours::run_on_one_thread(&mut app, contest);
    }
    app.world_mut().spawn_batch((0..size).map(|_| R::default()));
    app
}

/// The schedules, one for each contender.
#[derive(ScheduleLabel, Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Contest {
    IterMut,
    ParIterMut,
    AffineRows,
    ContiguousIterMut,
    ContiguousParIterMut,
    AffineContiguous,
    AffineChunks,
}

impl Contest {
    fn play(self) -> impl FnMut(&mut App, &mut Turn) {
        move |app, turn| {
            turn.repeat_timed(|| {
                app.world_mut().run_schedule(self);
                app.world().resource::<Stopwatch>().0
            });
        }
    }
}

fn iter_mut<R: Row>(mut rows: Query<&mut R>, step: Res<Step>, mut stopwatch: ResMut<Stopwatch>) {
    let step = R::Step::from(step.0);
    stopwatch.time(|| rows.iter_mut().for_each(|mut row| row.increment(step)));
}

fn par_iter_mut<R: Row>(mut rows: Query<&mut R>, step: Res<Step>, mut stopwatch: ResMut<Stopwatch>) {
    let step = R::Step::from(step.0);
    stopwatch.time(|| rows.par_iter_mut().for_each(|mut row| row.increment(step)));
}

fn affine_rows<R: Row>(mut rows: AffineQuery<&'static mut R>, step: Res<Step>, mut stopwatch: ResMut<Stopwatch>) {
    let step = R::Step::from(step.0);
    stopwatch.time(|| rows.par_iter_mut().for_each(|mut row| row.increment(step)));
}

fn contiguous_iter_mut<R: Row>(mut rows: Query<&mut R>, step: Res<Step>, mut stopwatch: ResMut<Stopwatch>) {
    let step = R::Step::from(step.0);
    stopwatch.time(|| {
        for mut chunk in rows.contiguous_iter_mut().into_iter().flatten() {
            chunk.iter_mut().for_each(|row| row.increment(step));
        }
    });
}

fn contiguous_par_iter_mut<R: Row>(
    mut rows: Query<&mut R>,
    step: Res<Step>,
    mut stopwatch: ResMut<Stopwatch>,
) -> Result {
    let step = R::Step::from(step.0);
    stopwatch.time(|| {
        let chunks = rows.contiguous_par_iter_mut()?;
        chunks.for_each(|mut chunk| chunk.iter_mut().for_each(|row| row.increment(step)));
        Ok(())
    })
}

fn affine_contiguous<R: Row>(
    mut rows: AffineQuery<&'static mut R>,
    step: Res<Step>,
    mut stopwatch: ResMut<Stopwatch>,
) -> Result {
    let step = R::Step::from(step.0);
    stopwatch.time(|| {
        let chunks = rows.contiguous_par_iter_mut()?;
        chunks.for_each(|mut chunk| chunk.iter_mut().for_each(|row| row.increment(step)));
        Ok(())
    })
}

fn affine_chunks<R: Row>(mut rows: AffineQuery<(&'static mut R,)>, step: Res<Step>, mut stopwatch: ResMut<Stopwatch>) {
    let step = R::Step::from(step.0);
    stopwatch.time(|| {
        rows.par_iter_mut().for_each_chunk(|(chunk,)| chunk.iter_mut().for_each(|row| row.increment(step)));
    });
}

/// Every call adds one to every row.
fn fault<R: Row>(app: &mut App, calls: u64) -> Option<String> {
    let mut rows = app.world_mut().query::<&R>();
    let wrong = rows.iter(app.world()).find(|row| !row.is(calls))?;
    Some(format!("a row is {wrong:?} after {calls} calls"))
}
