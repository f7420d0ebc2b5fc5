//! Packs the cars and signals in view for the GPU, on all workers: once a step, not once a frame,
//! for the GPU moves them in between.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use bevy::ecs::system::SystemParam;
use bevy::math::Rect;
use bevy::prelude::*;
use bevy::utils::Parallel;
use bevy_affinity::prelude::*;

use super::Scenery;
use super::course::{Course, Place};
use super::detail::Detail;
use super::glyph::{self, Area, Pose};
use super::quads::BATCH;
use super::tracks::{Track, Tracks};
use crate::game::shared::{CameraView, Clock, Follow, Frame, FrameParts, Selection, Tracked, TrackedCar};
use crate::model::{Approach, Intersection};
use crate::simulation::{Now, Number, Plan};

/// Most glyphs in one picture: 4 MB a step for the GPU. A window that shows cars at all rarely
/// shows as many.
const MOST_GLYPHS: usize = 1 << 18;

/// How far beyond the window is packed, as a share of its size, so that the camera can move without
/// packing again.
const MARGIN: f32 = 0.3;

/// Packed again when the window shows less than this share of the area: nearer by, coordinates
/// would become coarse.
const SMALLEST_SHARE: f32 = 0.15;

/// What is packed.
#[derive(Resource)]
pub struct Sheet {
    capacity: usize,
    count: usize,
    /// Until the GPU takes them.
    bytes: Option<Vec<u8>>,
    area: Area,
    /// What it was packed for, if it was.
    subject: Option<Subject>,
}

/// As long as these stay the same and the window within the area, the sheet is up to date.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Subject {
    now: u32,
    detail: Detail,
    wanted: Option<u32>,
}

/// The places of cars a step ago.
#[derive(Resource)]
struct Memory(Tracks);

/// The car that somebody wants to know about, before and after the last step.
#[derive(Resource, Default)]
struct Sighting(Option<(TrackedCar, Pose, Pose)>);

pub(super) fn plugin(app: &mut App) {
    app.init_resource::<Sighting>().add_systems(PreUpdate, start.run_if(resource_added::<Scenery>)).add_systems(
        Update,
        (pack.affine().run_if(resource_exists::<Sheet>.and_then(is_stale)), track).chain().in_set(Frame::Pack),
    );
}

impl Sheet {
    fn new(capacity: usize) -> Self {
        let area = Area { centre: Vec2::ZERO, reach: 1.0 };
        Self { capacity, count: 0, bytes: None, area, subject: None }
    }

    /// Glyphs that there is room for.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    pub fn count(&self) -> usize {
        self.count
    }

    pub fn area(&self) -> Area {
        self.area
    }

    /// As many bytes as there is room for, if there are new ones.
    pub fn take_bytes(&mut self) -> Option<Vec<u8>> {
        self.bytes.take()
    }

    /// The buffer's length must never change: what is left over is filled with nothing.
    fn fill<'a>(&mut self, pieces: impl Iterator<Item = &'a mut Vec<u8>>) {
        let mut bytes = Vec::with_capacity(self.capacity * glyph::SIZE);
        for piece in pieces {
            let room = self.capacity * glyph::SIZE - bytes.len();
            bytes.extend_from_slice(&piece[..piece.len().min(room)]);
            piece.clear();
        }
        self.count = bytes.len() / glyph::SIZE;
        bytes.resize(self.capacity * glyph::SIZE, 0);
        self.bytes = Some(bytes);
    }

    fn covers(&self, visible: Rect) -> bool {
        let corners = [visible.min, visible.max];
        let is_coarse = visible.half_size().max_element() < self.area.reach * SMALLEST_SHARE;
        corners.into_iter().all(|corner| self.area.contains(corner)) && !is_coarse
    }
}

/// All cars fit, unless there are more than any window shows.
pub(super) fn start(mut commands: Commands, plan: Res<Plan>) {
    let signals = plan.network.links.len().min(MOST_GLYPHS / 4);
    let capacity = (plan.cars as usize + signals).min(MOST_GLYPHS).next_multiple_of(BATCH);
    commands.insert_resource(Sheet::new(capacity));
    commands.insert_resource(Memory(Tracks::new(plan.cars)));
}

#[derive(SystemParam)]
struct Wish<'w> {
    now: Res<'w, Now>,
    detail: Res<'w, Detail>,
    selection: Res<'w, Selection>,
    follow: Res<'w, Follow>,
}

impl Wish<'_> {
    fn subject(&self) -> Subject {
        let selected = if let Selection::Car(car) = *self.selection { Some(car) } else { None };
        Subject { now: self.now.0, detail: *self.detail, wanted: self.follow.0.or(selected) }
    }
}

fn is_stale(sheet: Res<Sheet>, wish: Wish, view: Res<CameraView>) -> bool {
    let subject = wish.subject();
    sheet.subject != Some(subject) || subject.detail.cars && !sheet.covers(view.visible)
}

fn pack(
    intersections: AffineQuery<(&Number, &Intersection)>,
    (plan, scenery, memory): (Res<Plan>, Res<Scenery>, Res<Memory>),
    (wish, view): (Wish, Res<CameraView>),
    mut sheet: ResMut<Sheet>,
    mut sighting: ResMut<Sighting>,
    mut parts: ResMut<FrameParts>,
    mut pieces: Local<Parallel<Vec<u8>>>,
) {
    let start = Instant::now();
    let subject = wish.subject();
    let area = Area::around(view.visible.inflate(view.visible.size().max_element() * MARGIN));
    let seen = Mutex::new(None);
    let painter = Painter { plan: &plan, scenery: &scenery, tracks: &memory.0, subject, area, seen: &seen };
    intersections.par_iter().for_each_init(
        || pieces.borrow_local_mut(),
        |glyphs, (number, intersection)| painter.visit(number.0, intersection, glyphs),
    );
    sheet.fill(pieces.iter_mut());
    (sheet.area, sheet.subject) = (area, Some(subject));
    sighting.0 = seen.into_inner().unwrap_or_else(PoisonError::into_inner);
    (parts.pack, parts.drawn) = (start.elapsed(), sheet.count as u32);
}

/// Where the wanted car is drawn in this frame.
fn track(sighting: Res<Sighting>, clock: Res<Clock>, mut tracked: ResMut<Tracked>) {
    let position = |from: Pose, to: Pose| from.position.lerp(to.position, clock.alpha);
    tracked.0 = sighting.0.map(|(car, from, to)| TrackedCar { position: position(from, to), ..car });
}

/// What every worker needs.
struct Painter<'a> {
    plan: &'a Plan,
    scenery: &'a Scenery,
    tracks: &'a Tracks,
    subject: Subject,
    area: Area,
    /// Written by the one worker that finds the wanted car.
    seen: &'a Mutex<Option<(TrackedCar, Pose, Pose)>>,
}

impl Painter<'_> {
    fn visit(&self, number: u32, intersection: &Intersection, glyphs: &mut Vec<u8>) {
        let is_drawn = self.subject.detail.cars && self.overlaps(self.scenery.reach[number as usize]);
        if !is_drawn && self.subject.wanted.is_none() {
            return;
        }
        for (road, approach) in (self.plan.first_road(number)..).zip(intersection.approaches()) {
            let is_wanted = || approach.cars().any(|slot| Some(slot.car) == self.subject.wanted);
            if is_drawn || is_wanted() {
                self.cars(road, approach, is_drawn, glyphs);
            }
            let is_lit = intersection.has_signals() || intersection.has_plan();
            if is_drawn && self.subject.detail.signals && is_lit {
                // The light of the step that is shown: the one before the next.
                let second = self.subject.now.saturating_sub(1);
                self.signal(road, intersection.is_green(approach, second), glyphs);
            }
        }
    }

    fn overlaps(&self, rect: Rect) -> bool {
        let apart = (rect.center() - self.area.centre).abs();
        apart.cmple(rect.half_size() + self.area.reach).all()
    }

    fn cars(&self, road: u32, approach: &Approach, is_drawn: bool, glyphs: &mut Vec<u8>) {
        let course = &self.scenery.courses[road as usize];
        course.place(approach.cars(), self.subject.now, |_, place| {
            let (from, to) = (self.before(road, course, place), pose(course, place.after, place.lane));
            if self.subject.wanted == Some(place.car) {
                let car = TrackedCar { car: place.car, road, position: to.position };
                *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = Some((car, from, to));
            }
            if is_drawn {
                self.remember(road, course, place);
                self.car(course, from, to, place.car, glyphs);
            }
        });
    }

    fn car(&self, course: &Course, from: Pose, to: Pose, car: u32, glyphs: &mut Vec<u8>) {
        if self.area.contains(from.position) || self.area.contains(to.position) {
            let flow = from.position.distance(to.position) / course.speed().max(f32::EPSILON);
            glyphs.extend_from_slice(&glyph::car(&self.area, from, to, flow, car));
        }
    }

    /// Where a car was a step ago: on this road, on the one before it, or where the model says if
    /// nobody looked.
    fn before(&self, road: u32, course: &Course, place: Place) -> Pose {
        let track = self.subject.now.checked_sub(1).and_then(|second| self.tracks.find(place.car, second));
        match track {
            Some(track) if track.road == road => {
                let along = course.entry + track.share * course.length();
                pose(course, along.min(place.after), place.lane)
            }
            Some(track) if self.leads_to(track.road, road) => {
                let last = &self.scenery.courses[track.road as usize];
                pose(last, last.entry + track.share * last.length(), last.lane(place.car))
            }
            _ => pose(course, place.before, place.lane),
        }
    }

    fn leads_to(&self, last: u32, road: u32) -> bool {
        let links = &self.plan.network.links;
        links.get(last as usize).is_some_and(|last| last.to == links[road as usize].from)
    }

    fn remember(&self, road: u32, course: &Course, place: Place) {
        let share = (place.after - course.entry) / course.length().max(f32::EPSILON);
        self.tracks.record(place.car, self.subject.now, Track { road, share });
    }

    fn signal(&self, road: u32, is_green: bool, glyphs: &mut Vec<u8>) {
        let course = &self.scenery.courses[road as usize];
        let pose = Pose { position: course.stop_line(), heading: course.heading(course.stop) };
        if self.area.contains(pose.position) {
            glyphs.extend_from_slice(&glyph::signal(&self.area, pose, course.lanes, is_green));
        }
    }
}

fn pose(course: &Course, along: f32, lane: u8) -> Pose {
    Pose { position: course.point(along, lane), heading: course.heading(along) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sheet_always_has_the_same_length() {
        let mut sheet = Sheet::new(4);
        for (glyphs, kept) in [(0, 0), (3, 3), (4, 4), (9, 4)] {
            let (mut first, mut second) = (vec![1; glyph::SIZE], vec![2; glyph::SIZE * glyphs]);
            first.truncate(if glyphs == 0 { 0 } else { glyph::SIZE });
            second.truncate(glyph::SIZE * usize::saturating_sub(glyphs, 1));
            sheet.fill([&mut first, &mut second].into_iter());
            assert_eq!((sheet.count(), sheet.take_bytes().unwrap().len()), (kept, 4 * glyph::SIZE));
            assert!(first.is_empty() && second.is_empty());
        }
    }

    #[test]
    fn the_camera_can_move_a_little_before_the_sheet_is_packed_again() {
        let view = |x: f32, size: f32| Rect::from_center_size(Vec2::new(x, 0.0), Vec2::new(size, size * 0.6));
        let mut sheet = Sheet::new(1);
        sheet.area = Area::around(view(0.0, 100.0).inflate(100.0 * MARGIN));
        assert!(sheet.covers(view(0.0, 100.0)) && sheet.covers(view(20.0, 100.0)) && sheet.covers(view(0.0, 50.0)));
        assert!(!sheet.covers(view(60.0, 100.0)), "moved out of it");
        assert!(!sheet.covers(view(0.0, 200.0)), "zoomed out of it");
        assert!(!sheet.covers(view(0.0, 10.0)), "zoomed in too far for its coordinates");
    }
}
