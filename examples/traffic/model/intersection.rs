//! One intersection and the step rule of the queue model. An intersection touches only itself;
//! whatever concerns others is a message, applied after every intersection has had its turn, so the
//! result depends neither on the order of the sweep nor on the number of workers.

use std::collections::VecDeque;

use bevy::prelude::Component;

use super::NEVER;
use super::approach::{Approach, Slot};
use super::few::Few;
use super::signal::Programme;
use crate::hash::SequenceHash;
use crate::routes::{ARRIVE, Routes};

/// The upstream end of a link.
#[derive(Clone, Debug, Default)]
pub struct Exit {
    /// Places left on the link, as far as this intersection knows: it takes one with each car that
    /// it sends, and the other end gives it back when the car has left.
    pub free: u32,
    /// Seconds that a car takes to the other end.
    pub travel_time: u32,
    /// The intersection at the other end.
    pub target: u32,
    /// Which approach the link is there.
    pub approach: u8,
    /// No car may enter the link.
    pub closed: bool,
}

/// A car that wants to start its trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    pub car: u32,
    /// Where its route begins in the hops of all routes.
    pub cursor: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Arrived,
    Stuck,
}

/// A car whose trip has ended at an intersection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finish {
    pub car: u32,
    pub outcome: Outcome,
}

/// What one intersection tells another: 16 bytes, since a busy city sends hundreds of thousands of
/// them a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// A car has entered the link that ends at the receiver's `approach`.
    Enter { approach: u8, exit: u8, car: u32, exit_time: u32, cursor: u32 },
    /// Cars have left the link that begins at the receiver's `exit`.
    Freed { exit: u8, count: u32 },
}

#[derive(Component, Clone, Debug)]
pub struct Intersection {
    pub(super) programme: Programme,
    pub(super) approaches: Few<Approach>,
    pub(super) exits: Few<Exit>,
    waiting: VecDeque<Departure>,
    finished: Vec<Finish>,
}

impl Intersection {
    pub fn new(programme: Programme, approaches: Few<Approach>, exits: Few<Exit>) -> Self {
        Self { programme, approaches, exits, waiting: VecDeque::new(), finished: Vec::new() }
    }

    pub fn approaches(&self) -> &[Approach] {
        &self.approaches
    }

    #[cfg(any(test, feature = "game"))]
    pub fn exits(&self) -> &[Exit] {
        &self.exits
    }

    /// Whether an approach may go in second `now`.
    #[cfg(feature = "game")]
    pub fn is_green(&self, approach: &Approach, now: u32) -> bool {
        self.programme.is_green(approach.phase, now)
    }

    pub fn waiting(&self) -> u32 {
        self.waiting.len() as u32
    }

    pub fn on_road(&self) -> u32 {
        self.approaches.iter().map(Approach::occupancy).sum()
    }

    /// Moves every car that can move in second `now` and returns the next second in which one
    /// might, if no message comes before. Calling more often changes nothing.
    pub fn step(&mut self, now: u32, routes: &Routes, mut send: impl FnMut(u32, Message)) -> u32 {
        let count = self.approaches.len();
        let first = now as usize % count.max(1);
        let mut wake = NEVER;
        for index in (first..count).chain(0..first) {
            if self.approaches[index].wake() <= now {
                self.serve(index, now, routes, &mut send);
            }
            wake = wake.min(self.approaches[index].wake());
        }
        self.start_trips(now, routes, &mut send);
        wake
    }

    /// A car starts its trip here, in the next call of [`step`](Self::step) that finds room on its
    /// first link.
    pub fn depart(&mut self, departure: Departure) {
        self.waiting.push_back(departure);
    }

    /// Applies a message and returns the second in which it might let a car move.
    pub fn receive(&mut self, message: Message) -> u32 {
        match message {
            Message::Enter { approach, exit, car, exit_time, cursor } => {
                let approach = &mut self.approaches[usize::from(approach)];
                approach.push(Slot { car, exit_time, cursor, exit }, &self.programme);
                approach.wake()
            }
            Message::Freed { exit, count } => self.free(usize::from(exit), count),
        }
    }

    fn free(&mut self, exit: usize, count: u32) -> u32 {
        let exit = &mut self.exits[exit];
        exit.free += count;
        if exit.free > count {
            return NEVER;
        }
        self.approaches.iter_mut().for_each(Approach::unblock);
        0
    }

    /// The cars whose trips have ended here since the last call.
    pub fn take_finished(&mut self) -> impl Iterator<Item = Finish> {
        self.finished.drain(..)
    }

    pub fn has_finished(&self) -> bool {
        !self.finished.is_empty()
    }

    /// Everything that the future depends on, as of the start of second `now`.
    pub fn write_state(&self, now: u32, state: &mut SequenceHash) {
        self.programme.write_state(state);
        for approach in self.approaches.iter() {
            approach.write_state(&self.programme, now, state);
        }
        for exit in self.exits.iter() {
            state.write(u64::from(exit.free) | u64::from(exit.closed) << 32);
        }
        state.write(self.waiting.len() as u64);
        for departure in &self.waiting {
            state.write(u64::from(departure.car) | u64::from(departure.cursor) << 32);
        }
    }

    /// Lets cars of one approach go while green, credit and space last.
    fn serve(&mut self, index: usize, now: u32, routes: &Routes, send: &mut impl FnMut(u32, Message)) {
        let before = self.approaches[index].occupancy();
        while let Some(head) = self.approaches[index].ready_head(&self.programme, now)
            && self.release(index, head, now, routes, send)
        {}
        let approach = &self.approaches[index];
        let count = before - approach.occupancy();
        if count > 0 {
            send(approach.upstream, Message::Freed { exit: approach.upstream_exit, count });
        }
    }

    /// Takes a ready car out of its queue: onto its next link, or out of the traffic when its trip
    /// ends or there is no way on. Where the link is full it stays, and the answer is false.
    fn release(
        &mut self,
        index: usize,
        head: Slot,
        now: u32,
        routes: &Routes,
        send: &mut impl FnMut(u32, Message),
    ) -> bool {
        let approach = &mut self.approaches[index];
        if head.exit == ARRIVE {
            approach.cross();
            self.finished.push(Finish { car: head.car, outcome: Outcome::Arrived });
            return true;
        }
        let (cursor, exit) = way_on(&mut self.exits, head.cursor, head.exit, routes);
        if exit.free > 0 && !exit.closed {
            approach.cross();
            exit.enter(head.car, cursor, now, routes, send);
            return true;
        }
        let stuck = exit.closed || approach.block(now);
        if stuck {
            approach.remove_head();
            self.finished.push(Finish { car: head.car, outcome: Outcome::Stuck });
        }
        stuck
    }

    /// Puts waiting cars on their first link, in the order in which they came, after the cars that
    /// are on the road.
    fn start_trips(&mut self, now: u32, routes: &Routes, send: &mut impl FnMut(u32, Message)) {
        while let Some(&Departure { car, cursor }) = self.waiting.front() {
            let (cursor, exit) = routes.next(cursor);
            let exit = &mut self.exits[usize::from(exit)];
            if exit.closed {
                self.finished.push(Finish { car, outcome: Outcome::Stuck });
            } else if exit.free > 0 {
                exit.enter(car, cursor, now, routes, send);
            } else {
                return;
            }
            self.waiting.pop_front();
        }
    }
}

/// The exit that a car at the stop line takes: the one it came for or, since that was closed, the
/// one its detour begins with. It is closed only where there is no detour.
fn way_on<'a>(exits: &'a mut [Exit], cursor: u32, exit: u8, routes: &Routes) -> (u32, &'a mut Exit) {
    let (cursor, exit) = if exits[usize::from(exit)].closed { routes.next(cursor) } else { (cursor, exit) };
    (cursor, &mut exits[usize::from(exit)])
}

impl Exit {
    /// Sends a car onto the link, which must have room. `cursor` is the hop that led here.
    fn enter(&mut self, car: u32, cursor: u32, now: u32, routes: &Routes, send: &mut impl FnMut(u32, Message)) {
        self.free -= 1;
        let exit_time = now + self.travel_time;
        let (cursor, exit) = routes.next(cursor + 1);
        send(self.target, Message::Enter { approach: self.approach, exit, car, exit_time, cursor });
    }
}
