//! Group `game`: a frame of a strategy game without a window: thirty systems with states, run
//! conditions, messages, observers and commands. Eight of them sweep over all units.

use std::time::{Duration, Instant};

use bevy::{
    MinimalPlugins,
    ecs::{schedule::ScheduleConfigs, system::ScheduleSystem},
    prelude::*,
    state::app::StatesPlugin,
};
use bevy_affinity::prelude::*;

use crate::shared::race::{Pace, Race, Turn};
use crate::shared::report::{print_table, with_p99};
use crate::shared::{bevys_pool, ours};
use crate::{sixty, spin::spin};

/// What the race may take.
const BUDGET: Duration = Duration::from_secs(20);

const UNITS: usize = 20_000;
const WIDE: usize = 8;
const SMALL: usize = 22;

/// Frames before the race, in which executors and queries learn.
const FIRST_FRAMES: usize = 600;

/// Turns at sixty frames a second: with the first frames half a minute.
const ROUNDS_AT_SIXTY: u32 = 16;

#[derive(States, Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum Phase {
    #[default]
    Playing,
    Paused,
}

#[derive(Component)]
struct Place([f32; 4]);

#[derive(Component)]
struct Force<const N: usize>([f32; 4]);

#[derive(Component)]
struct Fallen;

#[derive(Resource, Default)]
struct Ledger<const N: usize>(u64);

#[derive(Message)]
struct Order(u64);

#[derive(Event)]
struct Fell;

#[derive(Resource, Default)]
struct Frames(u64);

/// Which systems are tagged.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tags {
    None,
    /// None; the wide ones go by Bevy's `par_iter_mut`.
    Bevys,
    Wide,
    All,
}

fn push(place: &mut Place, force: &[f32; 4]) {
    for (place, force) in place.0.iter_mut().zip(force) {
        *place = (*place + force * 0.016).sqrt().abs() + 0.25 * place.sin();
    }
}

/// A sweep over all units: by Bevy's `iter_mut` or `par_iter_mut`, or tagged.
fn wide<const N: usize>(tags: Tags) -> ScheduleConfigs<ScheduleSystem> {
    match tags {
        Tags::None => (|mut units: Query<(&mut Place, &Force<N>)>| {
            units.iter_mut().for_each(|(mut place, force)| push(&mut place, &force.0));
        })
        .into_configs(),
        Tags::Bevys => (|mut units: Query<(&mut Place, &Force<N>)>| {
            units.par_iter_mut().for_each(|(mut place, force)| push(&mut place, &force.0));
        })
        .into_configs(),
        Tags::Wide | Tags::All => (|mut units: AffineQuery<(&mut Place, &Force<N>)>| {
            units.par_iter_mut().for_each(|(mut place, force)| push(&mut place, &force.0));
        })
        .affine(),
    }
}

fn tagged(system: ScheduleConfigs<ScheduleSystem>, tags: Tags) -> ScheduleConfigs<ScheduleSystem> {
    if tags == Tags::All { system.affine() } else { system }
}

/// Small systems of which each has something that Bevy has to take care of.
fn small(number: usize, tags: Tags) -> ScheduleConfigs<ScheduleSystem> {
    let microseconds = [2, 5, 8, 12, 20][number % 5];
    let system = match number % 6 {
        0 => (move |mut ledger: ResMut<Ledger<0>>| {
            ledger.0 += 1;
            spin(microseconds);
        })
        .into_configs(),
        1 => (move |_: Res<Ledger<0>>, mut orders: MessageWriter<Order>| {
            orders.write(Order(1));
            spin(microseconds);
        })
        .into_configs(),
        2 => (move |mut orders: MessageReader<Order>, mut ledger: ResMut<Ledger<1>>| {
            ledger.0 += orders.read().map(|order| order.0).sum::<u64>();
            spin(microseconds);
        })
        .into_configs(),
        3 => (move |mut commands: Commands, frames: Res<Frames>| {
            if frames.0.is_multiple_of(8) {
                commands.spawn(Fallen);
                commands.trigger(Fell);
            }
            spin(microseconds);
        })
        .into_configs(),
        4 => (move |mut commands: Commands, fallen: Query<Entity, With<Fallen>>| {
            fallen.iter().for_each(|fallen| commands.entity(fallen).despawn());
            spin(microseconds);
        })
        .into_configs(),
        _ => (move |mut sum: Local<u64>| {
            *sum += 1;
            spin(microseconds);
        })
        .into_configs(),
    };
    let system = tagged(system, tags);
    match number % 4 {
        0 => system.run_if(in_state(Phase::Playing)),
        1 => system.run_if(|frames: Res<Frames>| !frames.0.is_multiple_of(16)),
        _ => system,
    }
}

fn app(tags: Tags, plugin: bool, workers: usize) -> App {
    let mut app = App::new();
    app.add_plugins((MinimalPlugins, StatesPlugin)).init_state::<Phase>();
    app.init_resource::<Ledger<0>>().init_resource::<Ledger<1>>().init_resource::<Ledger<2>>();
    app.init_resource::<Frames>().add_message::<Order>();
    app.add_observer(|_: On<Fell>, mut ledger: ResMut<Ledger<2>>| ledger.0 += 1);
    app.add_systems(First, begin_frame);
    app.add_systems(
        Update,
        (
            wide::<0>(tags),
            wide::<1>(tags),
            wide::<2>(tags),
            wide::<3>(tags),
            wide::<4>(tags),
            wide::<5>(tags),
            wide::<6>(tags),
            wide::<7>(tags),
        )
            .run_if(in_state(Phase::Playing)),
    );
    (0..SMALL).for_each(|number| _ = app.add_systems(Update, small(number, tags)));
    if plugin {
        app.insert_resource(ours::settings(workers)).add_plugins(AffinityParallelPlugin);
    }
    let forces = || (Force::<0>([1.0; 4]), Force::<1>([2.0; 4]), Force::<2>([3.0; 4]), Force::<3>([4.0; 4]));
    let others = || (Force::<4>([1.0; 4]), Force::<5>([2.0; 4]), Force::<6>([3.0; 4]), Force::<7>([4.0; 4]));
    app.world_mut().spawn_batch((0..UNITS).map(move |unit| (Place([unit as f32; 4]), forces(), others())));
    app.finish();
    app.cleanup();
    (0..FIRST_FRAMES).for_each(|_| app.update());
    app
}

/// Every thousandth frame is one of a pause.
fn begin_frame(mut frames: ResMut<Frames>, mut next: ResMut<NextState<Phase>>) {
    frames.0 += 1;
    match frames.0 % 1000 {
        998 => next.set(Phase::Paused),
        999 => next.set(Phase::Playing),
        _ => {}
    }
}

/// How the app's `Update` runs now.
fn way_of(app: &App) -> String {
    let schedules = app.world().get_resource::<AffinityDiagnostics>().map(|diagnostics| &diagnostics.schedules);
    let update = schedules.and_then(|all| all.iter().find(|schedule| schedule.label == "Update"));
    update.map_or_else(|| "BevysThreads".into(), |update| format!("{:?}", update.choice))
}

/// One frame: what it took. The rest of it is slept through if it is `paced`.
fn frame(app: &mut App, paced: bool) -> Duration {
    let began = Instant::now();
    app.update();
    let took = began.elapsed();
    if paced {
        sixty::sleep_through(began);
    }
    took
}

pub fn run(workers: usize, rounds: u32) -> Result<(), String> {
    bevys_pool::start(workers);
    run_at_pace(workers, rounds, false)?;
    run_at_pace(workers, rounds.min(ROUNDS_AT_SIXTY), true)
}

fn run_at_pace(workers: usize, rounds: u32, paced: bool) -> Result<(), String> {
    let contests = [
        ("without the plugin", Tags::None, false),
        ("without it, the wide ones by `par_iter_mut`", Tags::Bevys, false),
        ("with it, nothing tagged", Tags::None, true),
        ("with it, the wide ones tagged", Tags::Wide, true),
        ("with it, all tagged", Tags::All, true),
    ];
    let calls = if paced { (sixty::TIMED_FRAMES, sixty::TIMED_FRAMES) } else { Pace::default().calls };
    let mut race = Race::new((), |(), _| None).at_pace(Pace { budget: BUDGET, calls, ..Pace::default() });
    let mut ways = Vec::new();
    for (place, (name, tags, plugin)) in contests.into_iter().enumerate() {
        let mut app = app(tags, plugin, workers);
        let paced_frames = if paced { sixty::FIRST_FRAMES } else { 0 };
        (0..paced_frames).for_each(|_| _ = frame(&mut app, true));
        ways.push(way_of(&app));
        let play = move |(): &mut (), turn: &mut Turn| turn.repeat_timed(|| frame(&mut app, paced));
        match place {
            0 => race.enter_baseline(name, play),
            _ => race.enter(name, play),
        }
    }
    let standings = race.run(rounds)?;
    let mut lines = vec![["app", "a frame (p99)", "x without", "`Update` runs"].map(str::to_owned).to_vec()];
    for ((name, ..), (standing, way)) in contests.into_iter().zip(standings.iter().zip(ways)) {
        let ratio = standing.ratio_to(&standings[0]);
        lines.push(vec![name.to_owned(), with_p99(standing), format!("{ratio:.2}"), way]);
    }
    let pace = if paced { "at 60 frames a second" } else { "flat out" };
    print_table(&format!("A strategy game: {WIDE} wide and {SMALL} small systems, {UNITS} units, {pace}"), &lines);
    Ok(())
}
