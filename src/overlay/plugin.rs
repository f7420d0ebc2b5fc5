//! [`AffinityOverlayPlugin`]: when the panel is on show, and what it needs from the app.

use bevy_app::{App, First, Plugin, PostUpdate};
use bevy_ecs::{
    prelude::{IntoScheduleConfigs, Res, With, World},
    query::QueryState,
};
use bevy_egui::{EguiContext, EguiPlugin, EguiPostUpdateSet, EguiPrimaryContextPass, PrimaryEguiContext, egui};
use bevy_image::ImagePlugin;
use bevy_input::InputPlugin;
use bevy_render::{RenderApp, renderer::RenderDevice};
use bevy_time::TimePlugin;
use bevy_window::WindowPlugin;

use super::{
    OverlaySettings, OverlayState, affinity_overlay_ui, compare_modes, drawing_begins, drawing_ends, input,
    record_while_seen, rendering,
};
use crate::schedule::AffinitySystems;

/// The panel that shows where the time of tagged systems goes, and that switches modes and settings
/// while the app runs.
///
/// [`AffinityParallelPlugin`](crate::AffinityParallelPlugin) brings it, and it brings
/// [`EguiPlugin`] unless the app has it; neither minds the order of plugins. F3 shows and hides it:
/// see [`OverlaySettings`]. Hidden it costs nothing: nothing is recorded, nothing is drawn. In an
/// app without windows or without rendering it stays away; a panel of your own can still embed it
/// with [`affinity_overlay_ui`].
///
/// ```
/// use bevy::prelude::*;
/// use bevy_affinity::prelude::*;
///
/// // `AffinityParallelPlugin` brings it: open from the start it is with a setting.
/// App::new()
///     .insert_resource(OverlaySettings { visible: true, ..default() })
///     .add_plugins(AffinityParallelPlugin);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct AffinityOverlayPlugin;

impl Plugin for AffinityOverlayPlugin {
    fn build(&self, app: &mut App) {
        // Added by hand as well as by `AffinityParallelPlugin`.
        if app.world().contains_resource::<OverlayState>() {
            return;
        }
        app.init_resource::<OverlaySettings>()
            .init_resource::<OverlayState>()
            .register_type::<OverlaySettings>()
            .add_systems(
                First,
                (compare_modes, record_while_seen).chain().in_set(AffinitySystems::BeginFrame).ambiguous_with_all(),
            );
    }

    fn finish(&self, app: &mut App) {
        if app.world().contains_resource::<PanelSystems>() || !can_draw(app) {
            return;
        }
        let brings_egui = !app.is_plugin_added::<EguiPlugin>();
        if brings_egui {
            app.add_plugins(EguiPlugin::default());
        }
        let brought = if !brings_egui {
            PanelSystems::Ready
        } else if app.world().contains_resource::<RenderDevice>() {
            // Plugins that are added while others finish are not finished by the app.
            EguiPlugin::default().finish(app);
            PanelSystems::Ready
        } else {
            PanelSystems::EguiUnfinished
        };
        app.insert_resource(brought);
        add_panel_systems(app);
    }

    /// If `RenderPlugin` comes after this one, egui can be finished only now. It is still early
    /// enough: pipelined rendering, which moves the render app away in its `cleanup`, comes after
    /// `RenderPlugin`.
    fn cleanup(&self, app: &mut App) {
        if let Some(PanelSystems::EguiUnfinished) = app.world().get_resource() {
            EguiPlugin::default().finish(app);
            app.insert_resource(PanelSystems::Ready);
        }
    }

    fn is_unique(&self) -> bool {
        false
    }
}

/// There once the app has the systems that draw.
#[derive(bevy_ecs::prelude::Resource)]
enum PanelSystems {
    Ready,
    EguiUnfinished,
}

/// Whether the app has what egui asks for.
fn can_draw(app: &App) -> bool {
    let draws = app.get_sub_app(RenderApp).is_some()
        && app.is_plugin_added::<ImagePlugin>()
        && app.is_plugin_added::<WindowPlugin>()
        && app.is_plugin_added::<InputPlugin>()
        && app.is_plugin_added::<TimePlugin>();
    if !draws {
        log::info!("no overlay: this app has no rendering, windows or input");
    }
    draws
}

fn add_panel_systems(app: &mut App) {
    let show = show_window.run_if(is_visible).in_set(AffinitySystems::Overlay).ambiguous_with_all();
    let begins = drawing_begins.before(EguiPostUpdateSet::ProcessOutput);
    let ends = drawing_ends.after(EguiPostUpdateSet::ProcessOutput).before(EguiPostUpdateSet::PostProcessOutput);
    rendering::plugin(app);
    app.add_plugins(input::plugin).add_systems(EguiPrimaryContextPass, show).add_systems(
        PostUpdate,
        (begins, ends).run_if(is_visible).in_set(AffinitySystems::Overlay).ambiguous_with_all(),
    );
}

fn is_visible(settings: Option<Res<OverlaySettings>>) -> bool {
    settings.is_some_and(|settings| settings.visible)
}

fn show_window(world: &mut World, contexts: &mut QueryState<&'static mut EguiContext, With<PrimaryEguiContext>>) {
    // No camera yet.
    let Ok(mut context) = contexts.single_mut(world) else { return };
    let context = context.get_mut().clone();
    let position = world.resource::<OverlaySettings>().position;
    egui::Window::new("Affinity")
        .default_pos(position.to_array())
        .default_size([640.0, 720.0])
        .vscroll(true)
        .show(&context, |ui| affinity_overlay_ui(ui, world));
}
