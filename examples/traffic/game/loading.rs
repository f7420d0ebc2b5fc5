//! Loads the city on a thread of its own, then lets its roads fill: behind a progress bar, in a
//! window that answers.

use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use bevy::prelude::*;
use bevy_egui::{EguiContexts, EguiPrimaryContextPass, egui};
use indicatif::ProgressBar;

use super::shared::GameState;
use super::view::Scenery;
use crate::BAD_INPUT;
use crate::city::City;
use crate::cli::Options;
use crate::map::land::Land;
use crate::map::{self, Network};
use crate::model::Order;
use crate::simulation::{plan, populate, step};

/// How long a frame may step the city while it fills: the bar still moves smoothly.
const FILLING_TIME: Duration = Duration::from_millis(15);

type Loaded = (City, Vec<(u32, Order)>, Box<Scenery>);

/// A city on its way.
#[derive(Resource)]
struct Loading {
    progress: ProgressBar,
    stage: Stage,
    /// Steps before the game begins, so that it does not begin with empty roads.
    warmup: u32,
}

enum Stage {
    Reading(JoinHandle<Result<Loaded, String>>),
    /// The city is there; the scenery follows when the game begins.
    Filling(Box<Scenery>),
    Ended,
}

pub(super) fn plugin(app: &mut App, options: &Options) {
    app.init_resource::<GameState>()
        .insert_resource(Loading::start(options.clone()))
        .add_systems(First, advance.run_if(resource_equals(GameState::Loading)))
        .add_systems(EguiPrimaryContextPass, show_progress.run_if(resource_exists::<Loading>));
}

impl Loading {
    fn start(options: Options) -> Self {
        let progress = ProgressBar::hidden().with_message("Reading the map");
        progress.set_length(0);
        let (shown, warmup) = (progress.clone(), options.warmup());
        let thread = thread::spawn(move || load(&options, &shown));
        Self { progress, stage: Stage::Reading(thread), warmup }
    }
}

fn load(options: &Options, progress: &ProgressBar) -> Result<Loaded, String> {
    let (city, orders) = crate::build(options, progress)?;
    super::style::set_day(city.day);
    progress.set_length(0);
    progress.set_message("Drawing the map");
    let first_view = options.view.map(|[east, north, width]| (Vec2::new(east, north), width));
    let scenery = Scenery::new(&city.network, first_view).with_land(land(options, &city.network));
    Ok((city, orders, Box::new(scenery)))
}

/// What lies around the roads: of a scenario or a generated city nothing is known.
fn land(options: &Options, network: &Network) -> Land {
    let Some(projection) = &network.globe else { return Land::default() };
    match &options.map {
        Some(file) => map::land(file, projection),
        None if options.network.is_some() || options.net.is_some() => Land::default(),
        None => map::isle_of_mans_land(projection),
    }
}

/// One frame's work on the way to the game.
fn advance(world: &mut World) {
    world.resource_scope(|world, mut loading: Mut<Loading>| {
        loading.stage = match std::mem::replace(&mut loading.stage, Stage::Ended) {
            Stage::Reading(thread) if thread.is_finished() => receive(world, &loading, thread),
            Stage::Filling(scenery) if loading.progress.position() >= loading.warmup.into() => begin(world, *scenery),
            Stage::Filling(scenery) => {
                fill(world, &loading);
                Stage::Filling(scenery)
            }
            other => other,
        };
    });
    if *world.resource::<GameState>() == GameState::Playing {
        world.remove_resource::<Loading>();
    }
}

/// Brings the city to life, or ends the game with one line if there is none.
fn receive(world: &mut World, loading: &Loading, thread: JoinHandle<Result<Loaded, String>>) -> Stage {
    match thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)) {
        Ok((city, orders, scenery)) => {
            populate(world, Arc::new(city));
            if let Err(refusal) = plan(world, &orders) {
                return give_up(world, &refusal.to_string());
            }
            loading.progress.set_message("Letting the roads fill");
            loading.progress.set_length(loading.warmup.into());
            loading.progress.set_position(0);
            Stage::Filling(scenery)
        }
        Err(message) => give_up(world, &message),
    }
}

fn give_up(world: &mut World, message: &str) -> Stage {
    crate::say(&format!("error: {message}"));
    world.write_message(AppExit::from_code(BAD_INPUT));
    Stage::Ended
}

/// At least one step, so that it ends on any machine.
fn fill(world: &mut World, loading: &Loading) {
    let start = Instant::now();
    while loading.progress.position() < loading.warmup.into() {
        step(world);
        loading.progress.inc(1);
        if start.elapsed() >= FILLING_TIME {
            return;
        }
    }
}

fn begin(world: &mut World, scenery: Scenery) -> Stage {
    world.insert_resource(scenery);
    world.insert_resource(GameState::Playing);
    Stage::Ended
}

fn show_progress(mut contexts: EguiContexts, loading: Res<Loading>) -> Result {
    let context = contexts.ctx_mut()?;
    egui::Area::new("loading".into()).anchor(egui::Align2::CENTER_CENTER, egui::Vec2::ZERO).show(context, |ui| {
        ui.set_width(320.0);
        ui.label(loading.progress.message());
        ui.add(bar(&loading.progress));
    });
    Ok(())
}

/// A bar that only moves where nobody knows how long it takes.
fn bar(progress: &ProgressBar) -> egui::ProgressBar {
    match progress.length() {
        Some(length) if length > 0 => {
            egui::ProgressBar::new(progress.position() as f32 / length as f32).show_percentage()
        }
        _ => egui::ProgressBar::new(0.0).animate(true),
    }
}
