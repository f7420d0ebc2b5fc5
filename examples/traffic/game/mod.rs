//! The game in a window: play a city.

mod camera;
mod car_panel;
mod census;
mod challenge;
mod clock;
mod closures;
mod exhibit;
mod frame_times;
mod grid;
mod help;
mod hud;
mod journal;
mod junctions;
mod keys;
mod loading;
mod orders;
mod plot;
mod score;
mod score_panel;
mod select;
mod shared;
mod signal_panel;
mod style;
mod untouched;
mod verdict;
mod view;
mod window;

use std::panic::{self, AssertUnwindSafe};
use std::process::ExitCode;

use bevy::prelude::*;
use bevy_affinity::prelude::*;
use bevy_egui::EguiPlugin;

use crate::cli::Options;
use crate::simulation::TrafficPlugin;
use shared::{Destination, Follow, Frame, FrameParts, GameState, Selection, Tracked};

/// Plays until the window is closed, or says why there can be no window.
pub fn play(options: &Options) -> Result<ExitCode, String> {
    window::display()?;
    let mut app = quietly(|| build(options))?;
    Ok(match app.run() {
        AppExit::Success => ExitCode::SUCCESS,
        AppExit::Error(code) => ExitCode::from(code.get()),
    })
}

fn build(options: &Options) -> App {
    let mut app = App::new();
    window::plugin(&mut app, options);
    // The mode to begin with; the overlay changes it.
    app.insert_resource(settings(options)).insert_resource(crate::scheduler(options.mode)).add_plugins((
        EguiPlugin::default(),
        AffinityParallelPlugin,
        TrafficPlugin { affine: true },
    ));
    frame(&mut app);
    loading::plugin(&mut app, options);
    clock::plugin(&mut app);
    rules(&mut app, options);
    camera::plugin(&mut app);
    view::plugin(&mut app);
    frame_times::plugin(&mut app);
    exhibit::plugin(&mut app, options);
    app
}

/// What the player sees and does.
fn rules(app: &mut App, options: &Options) {
    keys::plugin(app);
    select::plugin(app);
    orders::plugin(app);
    census::plugin(app);
    score::plugin(app);
    score_panel::plugin(app);
    challenge::plugin(app, options);
    junctions::plugin(app);
    hud::plugin(app);
    signal_panel::plugin(app);
    closures::plugin(app);
    car_panel::plugin(app);
    help::plugin(app);
}

/// What every part of the game relies on.
fn frame(app: &mut App) {
    app.init_resource::<Selection>()
        .init_resource::<Follow>()
        .init_resource::<Tracked>()
        .init_resource::<Destination>()
        .init_resource::<FrameParts>()
        .configure_sets(
            Update,
            (Frame::Input, Frame::Simulate, Frame::Pack).chain().run_if(resource_equals(GameState::Playing)),
        );
}

fn settings(options: &Options) -> AffinitySettings {
    let workers = options.workers.map_or(WorkerCount::Auto, |workers| WorkerCount::Exactly(workers.into()));
    AffinitySettings { workers, ..AffinitySettings::default() }
}

/// The drivers' and the window system's last words are panics: they become a message, and nothing
/// else is printed.
fn quietly<T>(build: impl FnOnce() -> T) -> Result<T, String> {
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let built = panic::catch_unwind(AssertUnwindSafe(build));
    panic::set_hook(hook);
    built.map_err(|payload| {
        let message = payload.downcast_ref::<String>().cloned();
        let message = message.or_else(|| payload.downcast_ref::<&str>().map(|&text| text.to_owned()));
        let reason = message.unwrap_or_default();
        // What follows the first clause is for developers.
        format!("no window ({})", reason.split(['!', ':', '\n']).next().unwrap_or_default())
    })
}
