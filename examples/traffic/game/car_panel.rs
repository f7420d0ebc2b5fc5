//! What is selected is a car: its trip, and the way it will take.

use bevy::ecs::system::SystemParam;
use bevy::prelude::*;
use bevy_egui::{EguiContexts, EguiPrimaryContextPass, egui};

use super::shared::{CameraView, Follow, GameState, Selection, Tracked};
use super::style::{self, PLAYED};
use crate::model::{Due, Intersection, PARTS, Slot, Trips};
use crate::routes::ARRIVE;
use crate::simulation::{CurrentRoutes, Directory, Now, Plan};

pub(super) fn plugin(app: &mut App) {
    app.add_systems(EguiPrimaryContextPass, show.run_if(resource_equals(GameState::Playing)));
}

#[derive(SystemParam)]
struct City<'w, 's> {
    plan: Res<'w, Plan>,
    directory: Res<'w, Directory>,
    routes: Res<'w, CurrentRoutes>,
    now: Res<'w, Now>,
    view: Res<'w, CameraView>,
    intersections: Query<'w, 's, &'static Intersection>,
    cars: Query<'w, 's, (&'static Due, &'static Trips)>,
}

/// What is left of a trip.
struct WayAhead {
    points: Vec<Vec2>,
    roads: u32,
    /// The second of arrival if nothing holds the car up any more.
    arrival: u32,
}

fn show(
    mut contexts: EguiContexts,
    (selection, tracked): (Res<Selection>, Res<Tracked>),
    mut follow: ResMut<Follow>,
    city: City,
) -> Result {
    let Selection::Car(car) = *selection else { return Ok(()) };
    let (due, trips) = city.cars.get(city.directory.car(car))?;
    let seen = tracked.0.filter(|seen| seen.car == car);
    let way = seen.and_then(|seen| city.way_ahead(car, seen.road, seen.position));
    let context = contexts.ctx_mut()?;
    if let Some(way) = &way {
        draw(context, &city.view, &way.points);
    }
    style::inspector(format!("Car {car}")).show(context, |ui| {
        ui.set_width(240.0);
        egui::Grid::new("car").num_columns(2).spacing([18.0, 4.0]).show(ui, |ui| {
            trip(ui, *due, trips, way.as_ref());
            style::row(ui, "trips", format!("{} arrived, {} stuck", trips.arrived, trips.stuck));
            style::row(ui, "lost", format!("{:.0} s a trip", f64::from(trips.delay) / f64::from(trips.arrived.max(1))));
        });
        ui.add_space(6.0);
        let mut is_followed = follow.0 == Some(car);
        if ui.toggle_value(&mut is_followed, "follow (F)").changed() {
            follow.0 = is_followed.then_some(car);
        }
    });
    Ok(())
}

fn trip(ui: &mut egui::Ui, due: Due, trips: &Trips, way: Option<&WayAhead>) {
    match way {
        Some(way) => {
            style::row(
                ui,
                "ahead",
                match way.roads {
                    1 => "one more road".to_owned(),
                    roads => format!("{roads} more roads"),
                },
            );
            style::row(ui, "arrives", format!("at {} at best", style::clock(way.arrival)));
            style::row(ui, "delay", format!("{} s so far", way.arrival.saturating_sub(trips.expected)));
        }
        None if due == Due::NO_MORE => style::row(ui, "rests", "for good: no more trips"),
        None if due.is_resting() => style::row(ui, "rests", format!("until {}", style::clock(due.0))),
        None => style::row(ui, "waits", "to set out"),
    }
}

impl City<'_, '_> {
    /// The way of a car from where it is drawn on a road.
    fn way_ahead(&self, car: u32, road: u32, position: Vec2) -> Option<WayAhead> {
        let mut node = self.plan.network.links.get(road as usize)?.to;
        let approach = (road - self.plan.first_road(node)) as usize;
        let intersection = self.intersections.get(self.directory.intersection(node)).ok()?;
        let &Slot { cursor, exit_time, .. } =
            intersection.approaches().get(approach)?.cars().find(|slot| slot.car == car)?;
        let mut way =
            WayAhead { points: vec![position, self.point(node)], roads: 0, arrival: exit_time.max(self.now.0) };
        let mut parts = 0;
        let (mut cursor, mut hop) = self.routes.next(cursor);
        while hop != ARRIVE {
            let intersection = self.intersections.get(self.directory.intersection(node)).ok()?;
            let exit = &intersection.exits()[usize::from(hop)];
            node = exit.target;
            way.points.push(self.point(node));
            way.roads += 1;
            parts += exit.drive_time;
            (cursor, hop) = self.routes.next(cursor + 1);
        }
        // Once for the whole way, as for the expected arrival: each road would add its part.
        way.arrival += parts.div_ceil(PARTS);
        Some(way)
    }

    fn point(&self, node: u32) -> Vec2 {
        let node = &self.plan.network.nodes[node as usize];
        Vec2::new(node.x, node.y)
    }
}

fn draw(context: &egui::Context, view: &CameraView, points: &[Vec2]) {
    let window_position = |&point: &Vec2| {
        let pixel = view.window_position(point);
        egui::pos2(pixel.x, pixel.y)
    };
    let line: Vec<egui::Pos2> = points.iter().map(window_position).collect();
    let painter = context.layer_painter(egui::LayerId::background());
    if let Some(&goal) = line.last() {
        painter.circle_filled(goal, 5.0, PLAYED);
    }
    painter.add(egui::Shape::line(line, egui::Stroke::new(2.5, PLAYED.gamma_multiply(0.7))));
}
