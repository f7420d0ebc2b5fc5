//! What is selected is a road: its figures, and the button that closes it.

use bevy::ecs::system::SystemParam;
use bevy::prelude::*;
use bevy_egui::{EguiContexts, EguiPrimaryContextPass, egui};

use super::orders::Wishes;
use super::shared::{GameState, Selection};
use super::signal_panel::compass;
use super::style;
use super::view::Scenery;
use crate::model::{Approach, Intersection, Order, Road};
use crate::simulation::{Directory, Now, Orders, Plan};

pub(super) fn plugin(app: &mut App) {
    app.init_resource::<Orders>().add_systems(EguiPrimaryContextPass, show.run_if(resource_equals(GameState::Playing)));
}

#[derive(SystemParam)]
struct City<'w, 's> {
    plan: Res<'w, Plan>,
    directory: Res<'w, Directory>,
    scenery: Res<'w, Scenery>,
    orders: Res<'w, Orders>,
    now: Res<'w, Now>,
    intersections: Query<'w, 's, &'static Intersection>,
    roads: Query<'w, 's, &'static Road>,
}

fn show(mut contexts: EguiContexts, selection: Res<Selection>, city: City, mut wishes: ResMut<Wishes>) -> Result {
    let Selection::Road(road) = *selection else { return Ok(()) };
    let state = city.roads.get(city.directory.road(road))?;
    let node = city.plan.network.links[road as usize].to;
    let intersection = city.intersections.get(city.directory.intersection(node))?;
    let approach = &intersection.approaches()[(road - city.plan.first_road(node)) as usize];
    style::inspector(format!("Road {road}")).show(contexts.ctx_mut()?, |ui| {
        ui.set_width(240.0);
        figures(ui, road, state, approach, &city);
        ui.add_space(6.0);
        if let Some((at, closes)) = city.orders.of_road(road) {
            let verb = if closes { "closes" } else { "reopens" };
            ui.label(format!("{verb} in {} s", at.saturating_sub(city.now.0)));
        } else if ui.button(if state.closed { "reopen (C)" } else { "close (C)" }).clicked() {
            wishes.one(Order::Road { road, closed: !state.closed });
        }
    });
    Ok(())
}

fn figures(ui: &mut egui::Ui, road: u32, state: &Road, approach: &Approach, city: &City) {
    let link = &city.plan.network.links[road as usize];
    let course = &city.scenery.courses[road as usize];
    let cars = approach.occupancy();
    egui::Grid::new("road").num_columns(2).spacing([18.0, 4.0]).show(ui, |ui| {
        style::row(ui, "leads", compass(course.directions()[1]));
        style::row(ui, "length", format!("{} m", link.length_dm / 10));
        style::row(ui, "lanes", link.lanes.to_string());
        style::row(ui, "speed", format!("{} km/h, {} s", link.speed_kmh, course.travel_time));
        style::row(ui, "cars", format!("{cars} of {} that fit", state.storage));
        let queued = approach.cars().filter(|slot| slot.exit_time < city.now.0).count();
        style::row(ui, "queued", queued.to_string());
        style::row(ui, "state", if state.closed { "closed" } else { "open" });
    });
    ui.add(egui::ProgressBar::new(cars as f32 / state.storage as f32).desired_height(6.0));
}
