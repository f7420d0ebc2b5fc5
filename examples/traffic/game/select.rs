//! A click on the map selects the nearest car, intersection or road.

use bevy::prelude::*;
use bevy::window::PrimaryWindow;

use super::grid::Grid;
use super::shared::{CameraView, Clock, Cursor, Frame, Selection};
use super::view::{Course, Scenery};
use crate::model::Intersection;
use crate::simulation::{Directory, Now, Plan};

/// How far from a click something may be, in pixels.
const REACH: f32 = 9.0;

/// Up close a click may also be anywhere on what it means, in metres.
const HALF_CAR: f32 = 3.0;
const HALF_INTERSECTION: f32 = 8.0;

/// Cars can be selected while a pixel is at most so many metres: about as long as they are drawn.
const CARS_UP_TO: f32 = 2.5;

/// Pixels that the mouse may move between press and release.
const CLICK_SLACK: f32 = 4.0;

/// Metres along the side of a cell: a few streets.
const CELL: f32 = 150.0;

/// Where intersections and roads are: neither ever moves.
#[derive(Resource)]
pub struct Places {
    intersections: Grid,
    roads: Grid,
    positions: Vec<Vec2>,
}

pub(super) fn plugin(app: &mut App) {
    app.add_systems(PreUpdate, index.run_if(resource_added::<Scenery>))
        .add_systems(Update, select.run_if(clicked).in_set(Frame::Input));
}

fn index(plan: Res<Plan>, scenery: Res<Scenery>, mut commands: Commands) {
    let positions: Vec<Vec2> = plan.network.nodes.iter().map(|node| Vec2::new(node.x, node.y)).collect();
    let points = (0..).zip(positions.iter().map(|&point| (point, point)));
    let courses = (0..).zip(&scenery.courses);
    let lines = courses.flat_map(|(road, course)| course.line.pieces().map(move |ends| (road, ends)));
    let (intersections, roads) = (Grid::new(CELL, points), Grid::new(CELL, lines));
    commands.insert_resource(Places { intersections, roads, positions });
}

impl Places {
    /// The nearest intersection, wherever it is.
    pub fn nearest_intersection(&self, point: Vec2) -> Option<u32> {
        let distance = |node: &u32| self.positions[*node as usize].distance_squared(point);
        (0..self.positions.len() as u32).min_by(|a, b| distance(a).total_cmp(&distance(b)))
    }

    /// The intersections within `reach` metres of one of them, itself included.
    pub fn intersections_around(&self, node: u32, reach: f32) -> Vec<u32> {
        let centre = self.positions[node as usize];
        let is_near = |&other: &u32| self.positions[other as usize].distance(centre) <= reach;
        self.intersections.near(centre, reach).filter(is_near).collect()
    }

    fn intersection(&self, point: Vec2, reach: f32) -> Option<u32> {
        let near = self.intersections.near(point, reach);
        nearest(near.map(|node| (node, self.positions[node as usize].distance(point))), reach)
    }

    fn road(&self, scenery: &Scenery, point: Vec2, reach: f32) -> Option<u32> {
        let near = self.roads.near(point, reach);
        nearest(near.map(|road| (road, scenery.courses[road as usize].distance(point))), reach)
    }
}

/// The button went down and up again over the same place of the map.
fn clicked(
    buttons: Res<ButtonInput<MouseButton>>,
    cursor: Res<Cursor>,
    window: Single<&Window, With<PrimaryWindow>>,
    mut pressed: Local<Option<Vec2>>,
) -> bool {
    let pointer = window.cursor_position();
    if buttons.just_pressed(MouseButton::Left) {
        *pressed = cursor.world.and(pointer);
    }
    let stays = pressed.zip(pointer).is_some_and(|(start, end)| start.distance(end) <= CLICK_SLACK);
    buttons.just_released(MouseButton::Left) && cursor.world.is_some() && stays
}

fn select(
    (cursor, view, places, scenery): (Res<Cursor>, Res<CameraView>, Res<Places>, Res<Scenery>),
    cars: Cars,
    mut selection: ResMut<Selection>,
) {
    let Some(point) = cursor.world else { return };
    let reach = REACH * view.metres_per_pixel;
    let car = || {
        let near = places.roads.near(point, reach + HALF_CAR);
        let near = near.flat_map(|road| cars.on(road, &scenery.courses[road as usize]));
        nearest(near.map(|(car, place)| (car, place.distance(point))), reach.min(HALF_CAR) + HALF_CAR)
    };
    let car = (view.metres_per_pixel <= CARS_UP_TO).then(car).flatten();
    *selection = if let Some(car) = car {
        Selection::Car(car)
    } else if let Some(node) = places.intersection(point, reach.max(HALF_INTERSECTION)) {
        Selection::Intersection(node)
    } else if let Some(road) = places.road(&scenery, point, reach) {
        Selection::Road(road)
    } else {
        Selection::None
    };
    info!("selected: {:?}", *selection);
}

/// Cars as they are drawn.
#[derive(bevy::ecs::system::SystemParam)]
struct Cars<'w, 's> {
    plan: Res<'w, Plan>,
    directory: Res<'w, Directory>,
    intersections: Query<'w, 's, &'static Intersection>,
    now: Res<'w, Now>,
    clock: Res<'w, Clock>,
}

impl Cars<'_, '_> {
    fn on(&self, road: u32, course: &Course) -> Vec<(u32, Vec2)> {
        let mut cars = Vec::new();
        let node = self.plan.network.links[road as usize].to;
        let approach = (road - self.plan.first_road(node)) as usize;
        if let Ok(intersection) = self.intersections.get(self.directory.intersection(node)) {
            course.place(intersection.approaches()[approach].cars(), self.now.0, |_, place| {
                let along = place.before + (place.after - place.before) * self.clock.alpha;
                cars.push((place.car, course.point(along, place.lane)));
            });
        }
        cars
    }
}

fn nearest(candidates: impl Iterator<Item = (u32, f32)>, reach: f32) -> Option<u32> {
    let near = candidates.filter(|&(_, distance)| distance <= reach);
    near.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(number, _)| number)
}
