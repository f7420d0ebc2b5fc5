//! The window and what draws into it.

use bevy::app::TerminalCtrlCHandlerPlugin;
use bevy::prelude::*;
use bevy::render::RenderPlugin;
use bevy::render::renderer::initialize_renderer;
use bevy::render::settings::{Backends, RenderCreation, WgpuSettings};
use bevy::window::{WindowResizeConstraints, WindowResolution};

use crate::cli::Options;

/// Large enough for the map between the panels, small enough for a laptop.
const SIZE: (u32, u32) = (1280, 800);

/// Room for the bar at the top, and for a panel below it.
const LEAST_SIZE: (f32, f32) = (1_024.0, 600.0);

/// Whether there is a display: without one the window system panics.
pub(super) fn display() -> Result<(), String> {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let needs_server = cfg!(all(unix, not(target_os = "macos")));
    if needs_server && !is_set("DISPLAY") && !is_set("WAYLAND_DISPLAY") && !is_set("WAYLAND_SOCKET") {
        return Err("no display (neither DISPLAY nor WAYLAND_DISPLAY is set)".to_owned());
    }
    Ok(())
}

/// Bevy's plugins for a window.
///
/// # Panics
/// If the system has no GPU driver or refuses the window.
pub(super) fn plugin(app: &mut App, _options: &Options) {
    let renderer = renderer();
    let window = Window {
        title: "Traffic".to_owned(),
        resolution: WindowResolution::new(SIZE.0, SIZE.1),
        resize_constraints: WindowResizeConstraints {
            min_width: LEAST_SIZE.0,
            min_height: LEAST_SIZE.1,
            ..WindowResizeConstraints::default()
        },
        ..Window::default()
    };
    app.add_plugins(
        DefaultPlugins
            .build()
            .disable::<TerminalCtrlCHandlerPlugin>()
            .set(WindowPlugin { primary_window: Some(window), ..WindowPlugin::default() })
            .set(RenderPlugin { render_creation: renderer, ..RenderPlugin::default() }),
    );
    // A process has one handler for Ctrl-C. Without a window it is that of the headless run.
    app.add_plugins(TerminalCtrlCHandlerPlugin);
}

/// The GPU, before any plugin is added: if there is none, nothing has been started yet.
fn renderer() -> RenderCreation {
    let settings = WgpuSettings::default();
    let backends = settings.backends.unwrap_or(Backends::all());
    let renderer = bevy::tasks::block_on(initialize_renderer(backends, None, &settings));
    RenderCreation::Manual(Box::new(renderer))
}
