//! Loads the city on a thread of its own, behind a progress bar.

use std::sync::Arc;
use std::thread::{self, JoinHandle};

use bevy::prelude::*;
use bevy_egui::{EguiContexts, EguiPrimaryContextPass, egui};
use indicatif::ProgressBar;

use super::shared::GameState;
use super::view::Scenery;
use crate::city::City;
use crate::cli::Options;
use crate::simulation::populate;

/// The exit code for a map that cannot be used.
const BAD_INPUT: u8 = 2;

type Loaded = (City, Scenery);

/// A city on its way.
#[derive(Resource)]
struct Loading {
    progress: ProgressBar,
    /// Taken when it has ended.
    thread: Option<JoinHandle<Result<Loaded, String>>>,
}

pub(super) fn plugin(app: &mut App, options: &Options) {
    app.init_resource::<GameState>()
        .insert_resource(Loading::start(options.clone()))
        .add_systems(First, take_city.run_if(resource_equals(GameState::Loading)))
        .add_systems(EguiPrimaryContextPass, show_progress.run_if(resource_equals(GameState::Loading)));
}

impl Loading {
    fn start(options: Options) -> Self {
        let progress = ProgressBar::hidden().with_message("reading the map");
        progress.set_length(0);
        let shown = progress.clone();
        let thread = thread::spawn(move || load(&options, &shown));
        Self { progress, thread: Some(thread) }
    }

    fn take(&mut self) -> Option<Result<Loaded, String>> {
        let thread = self.thread.take_if(|thread| thread.is_finished())?;
        Some(thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    }
}

fn load(options: &Options, progress: &ProgressBar) -> Result<Loaded, String> {
    let city = crate::build(options, progress)?;
    progress.set_message("drawing the map");
    let first_view = options.view.map(|[east, north, width]| (Vec2::new(east, north), width));
    let scenery = Scenery::new(&city.network, first_view);
    Ok((city, scenery))
}

/// Starts the game when the city is there; ends it with one line if there will be none.
fn take_city(world: &mut World) {
    match world.resource_mut::<Loading>().take() {
        None => {}
        Some(Ok((city, scenery))) => {
            populate(world, Arc::new(city));
            world.insert_resource(scenery);
            world.remove_resource::<Loading>();
            world.insert_resource(GameState::Playing);
        }
        Some(Err(message)) => {
            eprintln!("error: {message}");
            world.write_message(AppExit::from_code(BAD_INPUT));
        }
    }
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

fn bar(progress: &ProgressBar) -> egui::ProgressBar {
    match progress.length() {
        Some(length) if length > 0 => {
            egui::ProgressBar::new(progress.position() as f32 / length as f32).show_percentage()
        }
        _ => egui::ProgressBar::new(0.0).animate(true),
    }
}
