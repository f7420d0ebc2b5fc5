//! Where a link runs on the map, and where its cars are along it.

use bevy::math::Vec2;

use super::line::Line;
use crate::model::Slot;

/// Metres.
pub const LANE_WIDTH: f32 = 3.4;

/// Metres that a queued car takes up, gap included: the same as the model's storage counts.
const CAR_SPACING: f32 = 7.5;

/// Metres from the middle of a car to its front, and a little more: signals are drawn ahead of it.
const HALF_CAR: f32 = 3.0;

/// More lanes than any road has; the rest of a road that claims more is drawn on the last.
const MOST_LANES: usize = 8;

/// The way of a link from stop line to stop line.
#[derive(Clone, Debug)]
pub struct Course {
    /// The road's middle, from intersection to intersection.
    pub line: Line,
    /// Metres along it where cars leave the intersection upstream.
    pub entry: f32,
    /// Metres along it where they stop.
    pub stop: f32,
    /// 1 where cars keep to the right, -1 where they keep to the left.
    pub side: f32,
    /// From the road's middle to the middle of the innermost lane, in metres to that side.
    pub first_lane: f32,
    pub lanes: u8,
    /// Seconds at free speed.
    pub travel_time: u32,
}

/// A car along its link, before and after the last step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    pub car: u32,
    pub lane: u8,
    /// Metres along the course.
    pub before: f32,
    pub after: f32,
}

impl Course {
    /// The middle of a lane.
    pub fn point(&self, along: f32, lane: u8) -> Vec2 {
        self.beside(along, self.first_lane + f32::from(lane) * LANE_WIDTH)
    }

    /// The middle of the lanes, just beyond the first cars.
    pub fn stop_line(&self) -> Vec2 {
        let middle = self.first_lane + f32::from(self.lanes - 1) / 2.0 * LANE_WIDTH;
        self.beside(self.stop + HALF_CAR, middle)
    }

    /// A point at this distance in metres from the road's middle, to the side on which cars drive.
    pub fn beside(&self, along: f32, outward: f32) -> Vec2 {
        let (middle, direction) = self.line.at(along);
        let to_the_right = Vec2::new(direction.y, -direction.x);
        middle + to_the_right * (outward * self.side)
    }

    /// Radians, counter-clockwise from east.
    pub fn heading(&self, along: f32) -> f32 {
        self.line.at(along).1.to_angle()
    }

    /// Where cars come from, and where they drive when they arrive: unit vectors.
    pub fn directions(&self) -> [Vec2; 2] {
        [self.line.at(0.0).1, self.line.at(self.line.length()).1]
    }

    /// Metres from a point to the nearest lane.
    pub fn distance(&self, point: Vec2) -> f32 {
        let along = self.line.nearest(point).min(self.stop);
        (0..self.lanes).map(|lane| self.point(along, lane).distance(point)).fold(f32::INFINITY, f32::min)
    }

    /// Metres that a car can drive.
    pub fn length(&self) -> f32 {
        self.stop - self.entry
    }

    /// Metres in a second at free speed.
    pub fn speed(&self) -> f32 {
        self.length() / self.travel_time as f32
    }

    /// Cars keep their lane, so that none has to change it when it meets a queue.
    pub fn lane(&self, car: u32) -> u8 {
        (car % u32::from(self.lanes).min(MOST_LANES as u32)) as u8
    }

    /// Visits the cars of the link from the stop line back. Each drives at free speed until it
    /// reaches the car in front of it: so it is drawn as the model counts, which knows only when a
    /// car can have reached the stop line.
    pub fn place<'a>(
        &self,
        cars: impl ExactSizeIterator<Item = &'a Slot>,
        now: u32,
        mut visit: impl FnMut(&Slot, Place),
    ) {
        let spacing = self.spacing(cars.len());
        let mut free_before = [self.stop; MOST_LANES];
        let mut free_after = free_before;
        for slot in cars {
            let lane = self.lane(slot.car);
            let advance = |free: &mut f32, second| {
                let along = self.driven(slot.exit_time, second).min(*free).max(self.entry);
                *free = along - spacing;
                along
            };
            let before = advance(&mut free_before[usize::from(lane)], now.saturating_sub(1));
            let after = advance(&mut free_after[usize::from(lane)], now);
            visit(slot, Place { car: slot.car, lane, before, after });
        }
    }

    /// How far a car is that nothing holds up.
    fn driven(&self, exit_time: u32, second: u32) -> f32 {
        let left = exit_time.saturating_sub(second) as f32 / self.travel_time as f32;
        self.entry + self.length() * (1.0 - left).max(0.0)
    }

    /// Bumper to bumper; nearer where the model lets more cars flow through a short link than could
    /// stand on it.
    fn spacing(&self, cars: usize) -> f32 {
        let in_a_lane = cars.div_ceil(usize::from(self.lanes).min(MOST_LANES)).max(1);
        CAR_SPACING.min(self.length() / in_a_lane as f32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn course(lanes: u8) -> Course {
        Course {
            line: Line::new([Vec2::new(100.0, 50.0), Vec2::new(100.0, 160.0)]),
            entry: 5.0,
            stop: 105.0,
            side: 1.0,
            first_lane: LANE_WIDTH / 2.0,
            lanes,
            travel_time: 10,
        }
    }

    fn slot(car: u32, exit_time: u32) -> Slot {
        Slot { car, exit_time, cursor: 0, exit: 0, early: 0, lane: 0 }
    }

    fn places(course: &Course, cars: &[Slot], now: u32) -> Vec<Place> {
        let mut places = Vec::new();
        course.place(cars.iter(), now, |_, place| places.push(place));
        places
    }

    #[test]
    fn a_lone_car_drives_from_end_to_end() {
        let course = course(1);
        let along: Vec<f32> = (20..=32).map(|now| places(&course, &[slot(7, 30)], now)[0].after).collect();
        assert_eq!((along[0], along[5], along[10], along[12]), (5.0, 55.0, 105.0, 105.0));
    }

    #[test]
    fn queued_cars_stand_a_car_length_apart() {
        let cars: Vec<Slot> = (0..4).map(|car| slot(car, 10)).collect();
        let along: Vec<f32> = places(&course(1), &cars, 20).iter().map(|place| place.after).collect();
        assert_eq!(along, [105.0, 97.5, 90.0, 82.5]);
        let two_lanes: Vec<f32> = places(&course(2), &cars, 20).iter().map(|place| place.after).collect();
        assert_eq!(two_lanes, [105.0, 105.0, 97.5, 97.5]);
    }

    #[test]
    fn a_link_that_is_overfull_keeps_its_cars_between_its_ends() {
        let cars: Vec<Slot> = (0..50).map(|car| slot(car, 10)).collect();
        let places = places(&course(1), &cars, 20);
        assert!(places.iter().all(|place| (5.0..=105.0).contains(&place.after)));
        assert!(places.is_sorted_by(|ahead, behind| ahead.after > behind.after));
    }

    #[test]
    fn cars_never_drive_backwards() {
        let cars: Vec<Slot> = (0..12).map(|car| slot(car, 20 + car)).collect();
        for now in 1..40 {
            assert!(places(&course(1), &cars, now).iter().all(|place| place.before <= place.after));
        }
    }

    #[test]
    fn lanes_lie_on_the_side_on_which_cars_drive() {
        for side in [1.0, -1.0] {
            let course = Course { side, ..course(2) };
            let point = course.point(10.0, 1);
            assert!(point.distance(Vec2::new(100.0 + side * 1.5 * LANE_WIDTH, 60.0)) < 1e-4, "{point}");
            let stop_line = course.stop_line();
            assert!((stop_line.x - 100.0 - side * LANE_WIDTH).abs() < 1e-4, "{stop_line}");
        }
    }
}
