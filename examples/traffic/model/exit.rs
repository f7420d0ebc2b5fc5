//! The upstream end of a link: how much room it has, as far as is known there.

use std::collections::VecDeque;

use super::NEVER;
use super::message::Message;
use super::slot::Slot;
use crate::hash::SequenceHash;
use crate::routes::Routes;

/// Room that cars have left at the other end, and that moves back as those behind them move up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Hole {
    /// The second in which it can be entered.
    due: u32,
    count: u32,
}

#[derive(Clone, Debug, Default)]
pub struct Exit {
    /// Places left on the link, below zero where cars have pushed in: this intersection takes one
    /// with each car that it sends, and the other end gives it back when the car has left.
    free: i32,
    /// The earliest first.
    holes: VecDeque<Hole>,
    /// What the drive to the other end takes, in [`PARTS`](super::road::PARTS) of a second.
    pub drive_time: u32,
    /// Seconds that a hole takes from the other end to here.
    pub hole_time: u32,
    /// The intersection at the other end.
    pub target: u32,
    /// Which approach the link is there.
    pub approach: u8,
    /// No car may enter the link.
    pub closed: bool,
}

impl Exit {
    /// An empty link with room for `storage` cars.
    pub fn new(target: u32, approach: u8, storage: u32, drive_time: u32, hole_time: u32) -> Self {
        Self { free: storage as i32, drive_time, hole_time, target, approach, ..Self::default() }
    }

    /// Whether a car can enter in second `now`.
    pub fn has_room(&mut self, now: u32) -> bool {
        while let Some(hole) = self.holes.pop_front_if(|hole| hole.due <= now) {
            self.free += hole.count as i32;
        }
        self.free > 0
    }

    /// When there is room, unless another car takes it: [`NEVER`] if no known hole brings it.
    pub fn room_at(&self) -> u32 {
        let mut free = self.free;
        let brings_room = |hole: &&Hole| {
            free += hole.count as i32;
            free > 0
        };
        self.holes.iter().find(brings_room).map_or(NEVER, |hole| hole.due)
    }

    /// Cars have left the link in second `at`. Returns when there is room that was missing.
    pub fn give_back(&mut self, count: u32, at: u32) -> Option<u32> {
        self.holes.push_back(Hole { due: at + self.hole_time, count });
        (self.free <= 0).then(|| self.room_at())
    }

    /// Sends a car onto the link, full or not. `cursor` is the hop that led here, `early` how long
    /// before `now` it came.
    pub fn enter(
        &mut self,
        car: u32,
        cursor: u32,
        now: u32,
        early: u8,
        routes: &Routes,
        send: &mut impl FnMut(u32, Message),
    ) {
        self.free -= 1;
        let (exit_time, early) = Slot::reach(now, early, self.drive_time);
        let (cursor, exit) = routes.next(cursor + 1);
        send(self.target, Message::Enter { approach: self.approach, exit, early, car, exit_time, cursor });
    }

    /// Places left, those that are on their way here included.
    #[cfg(test)]
    pub fn places_left(&self) -> i32 {
        self.free + self.holes.iter().map(|hole| hole.count as i32).sum::<i32>()
    }

    /// As of the start of second `now`, in which the holes that are due by then can be entered.
    pub fn write_state(&self, now: u32, state: &mut SequenceHash) {
        let coming = self.holes.partition_point(|hole| hole.due <= now);
        let here: u32 = self.holes.range(..coming).map(|hole| hole.count).sum();
        state.write(u64::from((self.free + here as i32) as u32) | u64::from(self.closed) << 32);
        for hole in self.holes.range(coming..) {
            state.write(u64::from(hole.due) | u64::from(hole.count) << 32);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_comes_back_when_the_hole_has_moved_up() {
        let mut exit = Exit::new(0, 0, 1, 256, 20);
        assert!(exit.has_room(0));
        exit.enter(7, 0, 0, 0, &Routes::from_hops(vec![0, 0]), &mut |_, _| ());
        assert!(!exit.has_room(30));
        assert_eq!(exit.give_back(1, 30), Some(50));
        assert!(!exit.has_room(49) && exit.has_room(50));
        assert_eq!(exit.give_back(1, 51), None, "there was room");
    }

    #[test]
    fn a_link_with_cars_that_pushed_in_must_lose_them_first() {
        let mut exit = Exit::new(0, 0, 0, 256, 5);
        exit.enter(7, 0, 0, 0, &Routes::from_hops(vec![0, 0]), &mut |_, _| ());
        assert_eq!(exit.give_back(1, 10), Some(NEVER));
        assert_eq!(exit.give_back(1, 12), Some(17));
        assert!(!exit.has_room(16) && exit.has_room(17));
    }
}
