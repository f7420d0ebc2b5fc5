//! One intersection and the step rule of the queue model. An intersection touches only itself;
//! whatever concerns others is a message, applied after every intersection has had its turn, so the
//! result depends neither on the order of the sweep nor on the number of workers.

use std::collections::VecDeque;

use bevy::prelude::Component;

use super::NEVER;
use super::approach::Approach;
use super::exit::Exit;
use super::few::Few;
use super::message::Message;
use super::right_of_way::{RightOfWay, is_in};
use super::service_order::ServiceOrder;
use super::signal::Programme;
use super::slot::Slot;
use crate::hash::SequenceHash;
use crate::routes::{ARRIVE, Routes};

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

/// Cars that wait to set out on the link of one exit.
#[derive(Clone, Debug)]
struct Line {
    exit: u8,
    cars: VecDeque<Departure>,
}

/// Seconds after which the head of a queue pushes into a full link, unless told otherwise: as in
/// MATSim's QSim. A ring of full links dissolves so.
pub const PATIENCE: u32 = 10;

#[derive(Component, Clone, Debug)]
pub struct Intersection {
    pub(super) programme: Programme,
    pub(super) approaches: Few<Approach>,
    pub(super) exits: Few<Exit>,
    pub(super) right_of_way: Option<Box<RightOfWay>>,
    order: ServiceOrder,
    /// Seconds after which the head of a queue pushes into a full link.
    patience: u32,
    /// Cars that have pushed in so far.
    pushed: u32,
    /// One for each way out, for those that somebody has waited for: a full road holds up nobody
    /// who leaves by another.
    waiting: Vec<Line>,
    finished: Vec<Finish>,
}

impl Intersection {
    /// `number` makes its order of service differ from that of its neighbours.
    pub fn new(number: u32, programme: Programme, approaches: Few<Approach>, exits: Few<Exit>) -> Self {
        Self {
            programme,
            approaches,
            exits,
            right_of_way: None,
            order: ServiceOrder::of(number),
            patience: PATIENCE,
            pushed: 0,
            waiting: Vec::new(),
            finished: Vec::new(),
        }
    }

    pub fn with_right_of_way(mut self, right_of_way: Option<RightOfWay>) -> Self {
        self.right_of_way = right_of_way.map(Box::new);
        self
    }

    /// The head of a queue pushes into a full link after `patience` seconds.
    pub fn with_patience(mut self, patience: u32) -> Self {
        self.patience = patience;
        self
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
        match approach.lanes() {
            Some(lanes) => lanes.turns().any(|turn| turn.signal.is_green(now)),
            None => self.programme.is_green(approach.phase, now),
        }
    }

    pub fn waiting(&self) -> u32 {
        self.waiting.iter().map(|line| line.cars.len() as u32).sum()
    }

    /// Cars that have pushed into a full link so far.
    pub fn pushed(&self) -> u32 {
        self.pushed
    }

    pub fn on_road(&self) -> u32 {
        self.approaches.iter().map(Approach::occupancy).sum()
    }

    /// Moves every car that can move in second `now` and returns the next second in which one
    /// might, if no message comes before. Calling more often changes nothing.
    pub fn step(&mut self, now: u32, routes: &Routes, mut send: impl FnMut(u32, Message)) -> u32 {
        let minor = self.right_of_way.as_ref().map_or(0, |right_of_way| right_of_way.minor());
        let order = self.order.at(now, self.approaches.len());
        let mut wake = NEVER;
        for drives_first in [true, false] {
            for index in order.clone().filter(|&index| is_in(minor, index) != drives_first) {
                if self.approaches[index].wake() <= now {
                    self.serve(index, now, routes, &mut send);
                }
                wake = wake.min(self.approaches[index].wake());
            }
            if minor == 0 {
                break;
            }
        }
        wake.min(self.start_trips(now, routes, &mut send))
    }

    /// A car starts its trip here, in the next call of [`step`](Self::step) that finds room on its
    /// first link.
    pub fn depart(&mut self, departure: Departure, routes: &Routes) {
        let (_, exit) = routes.next(departure.cursor);
        match self.waiting.iter_mut().find(|line| line.exit == exit) {
            Some(line) => line.cars.push_back(departure),
            None => self.waiting.push(Line { exit, cars: [departure].into() }),
        }
    }

    /// Applies a message and returns the second in which it might let a car move.
    pub fn receive(&mut self, message: Message) -> u32 {
        match message {
            Message::Enter { approach, exit, early, car, exit_time, cursor } => {
                let approach = &mut self.approaches[usize::from(approach)];
                approach.push(Slot { car, exit_time, cursor, exit, early, lane: 0 }, &self.programme);
                approach.wake()
            }
            Message::Freed { exit, count, at } => self.free(usize::from(exit), count, at),
        }
    }

    fn free(&mut self, exit: usize, count: u32, at: u32) -> u32 {
        let exit = &mut self.exits[exit];
        let Some(room_at) = exit.give_back(count, at) else { return NEVER };
        self.approaches.iter_mut().for_each(|approach| approach.unblock(room_at));
        room_at
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
        self.exits.iter().for_each(|exit| exit.write_state(now, state));
        state.write(u64::from(self.pushed));
        for line in &self.waiting {
            state.write(u64::from(line.exit) | (line.cars.len() as u64) << 8);
            for departure in &line.cars {
                state.write(u64::from(departure.car) | u64::from(departure.cursor) << 32);
            }
        }
    }

    /// Lets cars of one approach go while green, credit and space last.
    fn serve(&mut self, index: usize, now: u32, routes: &Routes, send: &mut impl FnMut(u32, Message)) {
        let before = self.approaches[index].occupancy();
        for queue in 0..self.approaches[index].queues(now) {
            while let Some(head) = self.approaches[index].ready_head(queue, &self.programme, now)
                && self.release(index, head, now, routes, send)
            {}
        }
        let approach = &self.approaches[index];
        let count = before - approach.occupancy();
        if count > 0 {
            send(approach.upstream, Message::Freed { exit: approach.upstream_exit, count, at: now });
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
            approach.cross(head.lane, now);
            self.finished.push(Finish { car: head.car, outcome: Outcome::Arrived });
            return true;
        }
        let (cursor, number) = way_on(&self.exits, head.cursor, head.exit, routes);
        let exit = &mut self.exits[usize::from(number)];
        if exit.closed {
            approach.remove_head(head.lane, now);
            self.finished.push(Finish { car: head.car, outcome: Outcome::Stuck });
            return true;
        }
        if !exit.has_room(now) {
            if !approach.block(head.lane, now, exit.room_at(), self.patience) {
                return false;
            }
            self.pushed += 1;
        }
        approach.cross(head.lane, now);
        exit.enter(head.car, cursor, now, head.lead(now), routes, send);
        if let Some(right_of_way) = &self.right_of_way {
            right_of_way.passed(&mut self.approaches, index, number, now);
        }
        self.hold(index, number, now);
        true
    }

    /// Where signals tell movements apart, the cars whose green is not protected give way to one
    /// that has passed.
    fn hold(&mut self, from: usize, exit: u8, now: u32) {
        let held = |approaches: &[Approach], turn| approaches[from].lanes()?.held_by(exit).get(turn).copied();
        let mut turn = 0;
        while let Some((approach, exit)) = held(&self.approaches, turn) {
            if let Some(lanes) = self.approaches[usize::from(approach)].lanes_mut() {
                lanes.give_way(exit, now);
            }
            turn += 1;
        }
    }

    /// Puts waiting cars on their first link, in the order in which they came, after the cars that
    /// are on the road. Returns when there is room for the next one, as far as is known.
    fn start_trips(&mut self, now: u32, routes: &Routes, send: &mut impl FnMut(u32, Message)) -> u32 {
        let mut wake = NEVER;
        for line in &mut self.waiting {
            while let Some(&Departure { car, cursor }) = line.cars.front() {
                let (cursor, number) = routes.next(cursor);
                let exit = &mut self.exits[usize::from(number)];
                if exit.closed {
                    self.finished.push(Finish { car, outcome: Outcome::Stuck });
                } else if exit.has_room(now) {
                    exit.enter(car, cursor, now, 0, routes, send);
                } else {
                    wake = wake.min(exit.room_at());
                    break;
                }
                line.cars.pop_front();
            }
        }
        self.waiting.retain(|line| !line.cars.is_empty());
        wake
    }
}

/// The exit that a car at the stop line takes: the one it came for or, since that was closed, the
/// one its detour begins with. It is closed only where there is no detour.
fn way_on(exits: &[Exit], cursor: u32, exit: u8, routes: &Routes) -> (u32, u8) {
    if exits[usize::from(exit)].closed { routes.next(cursor) } else { (cursor, exit) }
}
