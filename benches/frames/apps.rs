//! Group `apps`: whole frames of apps that draw nothing: without the plugin, with it, and with it
//! but all schedules left alone. What its own systems cost shows against an app without it whose
//! schedules all have Bevy's single-threaded executor.

use std::{hint::black_box, time::Duration};

use bevy::{
    MinimalPlugins, ecs::schedule::SingleThreadedExecutor, input::InputPlugin, prelude::*, state::app::StatesPlugin,
};
use bevy_affinity::prelude::*;

use crate::shared::race::{Pace, Race, Turn};
use crate::shared::report::{duration, print_table};
use crate::shared::statistics::Standing;
use crate::shared::{bevys_pool, ours};

/// What one race may take.
const BUDGET: Duration = Duration::from_secs(3);

/// Frames before a race, in which executors learn.
const FIRST_FRAMES: u32 = 60;

/// Light systems, and entities that move.
const LIGHT: u32 = 20;
const ENTITIES: usize = 1_000;

/// An app by what is in it.
pub type Fill = fn(&mut App);

const FILLS: [(&str, Fill); 4] = [
    ("empty", |_| {}),
    ("minimal plugins", |app| _ = app.add_plugins(MinimalPlugins)),
    ("default plugins without a window, 20 light systems", without_window),
    ("minimal plugins, input, states, transforms, 20 light systems, 1,000 entities that move", game),
];

#[derive(States, Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum Phase {
    #[default]
    Day,
    Night,
}

#[derive(Component)]
struct Moves(f32);

fn without_window(app: &mut App) {
    default_plugins_without_window(app);
    add_light_systems(app);
}

/// Bevy's default plugins as far as this build has them: with feature `game` those for assets,
/// pictures, windows and rendering too, without a GPU.
pub fn default_plugins_without_window(app: &mut App) {
    let plugins = DefaultPlugins.build();
    #[cfg(feature = "game")]
    let plugins = {
        use bevy::{log::LogPlugin, render::RenderPlugin, render::settings::WgpuSettings, winit::WinitPlugin};
        let window = WindowPlugin { primary_window: None, ..default() };
        let render_creation = WgpuSettings { backends: None, ..default() }.into();
        let render = RenderPlugin { render_creation, ..default() };
        plugins.set(window).set(render).disable::<WinitPlugin>().disable::<LogPlugin>()
    };
    app.add_plugins(plugins);
}

fn add_light_systems(app: &mut App) {
    for number in 0..LIGHT {
        app.add_systems(Update, move |mut sum: Local<u32>| *sum = black_box(*sum + number));
    }
}

fn game(app: &mut App) {
    app.add_plugins((MinimalPlugins, InputPlugin, StatesPlugin, TransformPlugin)).init_state::<Phase>();
    add_light_systems(app);
    app.add_systems(Update, (turn_day_to_night, move_all));
    app.add_systems(OnEnter(Phase::Night), |mut nights: Local<u32>| *nights = black_box(*nights + 1));
    app.world_mut().spawn_batch((0..ENTITIES).map(|number| (Moves(number as f32), Transform::default())));
}

/// Every hundred frames.
fn turn_day_to_night(mut frames: Local<u32>, phase: Res<State<Phase>>, mut next: ResMut<NextState<Phase>>) {
    *frames += 1;
    if frames.is_multiple_of(100) {
        next.set(if *phase.get() == Phase::Day { Phase::Night } else { Phase::Day });
    }
}

fn move_all(mut all: Query<(&mut Transform, &Moves)>) {
    all.iter_mut().for_each(|(mut transform, moves)| transform.translation.x += moves.0);
}

/// How an app is run.
#[derive(Clone, Copy)]
pub enum Contest {
    Without,
    With,
    /// With the plugin, and with its transforms in place of Bevy's.
    Transforms,
    OneThread,
    LeftAlone,
}

impl Contest {
    fn name(self) -> &'static str {
        match self {
            Self::Without => "without the plugin",
            Self::With => "with it",
            Self::Transforms => "with it and its transforms",
            Self::OneThread => "without it, all on one thread",
            Self::LeftAlone => "with it, schedules left alone",
        }
    }

    fn app(self, fill: Fill, workers: usize) -> App {
        let mut app = App::new();
        fill(&mut app);
        app.insert_resource(ours::settings(workers));
        match self {
            Self::Without => {}
            Self::OneThread => {
                for (_, schedule) in app.world_mut().resource_mut::<Schedules>().iter_mut() {
                    schedule.set_executor(SingleThreadedExecutor::new());
                }
            }
            Self::With => _ = app.add_plugins(AffinityParallelPlugin),
            Self::Transforms => _ = app.add_plugins((AffinityParallelPlugin, AffinityTransformPlugin)),
            Self::LeftAlone => {
                app.insert_resource(AffinitySchedules::none()).add_plugins(AffinityParallelPlugin);
            }
        }
        app.finish();
        app.cleanup();
        (0..FIRST_FRAMES).for_each(|_| app.update());
        app
    }
}

/// What each app of the group is run by: its own systems are what the second takes more than the
/// third.
const CONTESTS: [Contest; 4] = [Contest::Without, Contest::With, Contest::OneThread, Contest::LeftAlone];

pub fn run(workers: usize, rounds: u32) -> Result<(), String> {
    bevys_pool::start(workers);
    let mut lines = vec![header(&CONTESTS, "its own systems")];
    for (name, fill) in FILLS {
        let races = races(fill, &CONTESTS, workers, rounds)?;
        let own = middle(races.iter().map(|race| race[1].excess_over(1.0, &race[2]) as i64));
        lines.push(line(name, &races, format!("{:.2} us", own as f64 / 1e3)));
    }
    print_table("Frames of apps (`App::update`): medians (p99)", &lines);
    Ok(())
}

/// A table of apps, with the ratios of all contests to the first.
pub fn run_ratios(
    title: &str,
    fills: &[(&str, Fill)],
    contests: &[Contest],
    workers: usize,
    rounds: u32,
) -> Result<(), String> {
    bevys_pool::start(workers);
    let mut lines = vec![header(contests, "x the first")];
    for (name, fill) in fills {
        let races = races(*fill, contests, workers, rounds)?;
        let ratio = |place: usize| mean_of_middle(races.iter().map(|race| race[place].ratio_to(&race[0])).collect());
        let ratios: Vec<_> = (1..contests.len()).map(|place| format!("{:.2}", ratio(place))).collect();
        lines.push(line(name, &races, ratios.join(", ")));
    }
    print_table(&format!("{title}: medians (p99)"), &lines);
    Ok(())
}

fn header(contests: &[Contest], last: &str) -> Vec<String> {
    let names = contests.iter().map(|contest| contest.name());
    std::iter::once("app").chain(names).chain([last]).map(String::from).collect()
}

fn line(name: &str, races: &[Vec<Standing>], last: String) -> Vec<String> {
    let of =
        |place: usize, time: fn(&Standing) -> Duration| duration(middle(races.iter().map(|race| time(&race[place]))));
    let cell = |place| format!("{} ({})", of(place, |standing| standing.median), of(place, |standing| standing.p99));
    std::iter::once(name.to_owned()).chain((0..races[0].len()).map(cell)).chain([last]).collect()
}

/// The standings of some races, in each of which another app was made first.
fn races(fill: Fill, contests: &[Contest], workers: usize, rounds: u32) -> Result<Vec<Vec<Standing>>, String> {
    let rounds = rounds.div_ceil(contests.len() as u32);
    (0..contests.len()).map(|first| race(fill, contests, workers, first).run(rounds)).collect()
}

/// The one in the middle; of an even number the mean of the two.
fn mean_of_middle(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    f64::midpoint(values[(values.len() - 1) / 2], values[values.len() / 2])
}

/// The one in the middle; of an even number the lesser.
fn middle<T: Ord>(values: impl Iterator<Item = T>) -> T {
    let mut values: Vec<_> = values.collect();
    values.sort();
    values.swap_remove((values.len() - 1) / 2)
}

/// A part of the rounds. Each contender has an app of its own, that of `first` made before the
/// others: how fast an app's memory is depends on when it was made. There is no result to check.
fn race(fill: Fill, contests: &[Contest], workers: usize, first: usize) -> Race<'static, ()> {
    let mut race = Race::new((), |(), _| None).at_pace(Pace { budget: BUDGET, ..Pace::default() });
    let mut order: Vec<_> = contests.iter().enumerate().collect();
    order.rotate_left(first);
    let mut apps: Vec<_> = order.into_iter().map(|(place, contest)| (place, contest.app(fill, workers))).collect();
    apps.sort_by_key(|&(place, _)| place);
    for ((place, mut app), contest) in apps.into_iter().zip(contests) {
        let play = move |(): &mut (), turn: &mut Turn| turn.repeat(|| app.update());
        match place {
            0 => race.enter_baseline(contest.name(), play),
            _ => race.enter(contest.name(), play),
        }
    }
    race
}
