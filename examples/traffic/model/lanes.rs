//! The lanes of a link whose signals tell movements apart. Cars choose one when they come to the
//! stop line, and wait in it for their signal: who turns off holds up those who do not only where
//! they share all lanes.

use std::collections::VecDeque;

use super::NEVER;
use super::planned_signal::PlannedSignal;
use super::slot::Slot;
use super::stop_line::StopLine;
use crate::hash::SequenceHash;

/// Seconds that a car needs behind one that drives first while its green is not protected: the
/// critical gap of left turns in the Highway Capacity Manual is 4.5 s.
const GAP: u32 = 4;

/// A way from the link across the junction.
#[derive(Clone, Debug)]
pub struct Turn {
    pub signal: PlannedSignal,
    /// The lanes that lead there, as a mask.
    pub lanes: u32,
    /// The approaches and exits whose cars give way to these.
    pub holds: Box<[(u8, u8)]>,
    /// Cars that drive first have passed: the gap behind them is too small before this second.
    yield_until: u32,
}

#[derive(Clone, Debug)]
struct Lane {
    line: StopLine,
    cars: u32,
}

#[derive(Clone, Debug)]
pub struct Lanes {
    lanes: Box<[Lane]>,
    /// By exit; where there is none, no signal holds cars back.
    turns: Box<[Option<Turn>]>,
    /// So many cars of the link, the first ones, have chosen their lane.
    chosen: usize,
}

impl Turn {
    pub fn new(signal: PlannedSignal, lanes: u32, holds: Box<[(u8, u8)]>) -> Self {
        Self { signal, lanes, holds, yield_until: 0 }
    }
}

impl Lanes {
    /// Lanes of one flow each, in vehicles an hour.
    pub fn new(lanes: u8, flow: u32, turns: Box<[Option<Turn>]>) -> Self {
        let lane = Lane { line: StopLine::new(flow), cars: 0 };
        Self { lanes: vec![lane; usize::from(lanes.max(1))].into(), turns, chosen: 0 }
    }

    pub fn count(&self) -> u8 {
        self.lanes.len() as u8
    }

    pub fn turns(&self) -> impl Iterator<Item = &Turn> {
        self.turns.iter().flatten()
    }

    /// Share of the cycle in which the cars of a lane go, in the mean of where they may go.
    pub fn green_percent(&self) -> u32 {
        let greens = || self.turns().map(|turn| turn.signal.green_percent());
        greens().sum::<u32>() / (greens().count() as u32).max(1)
    }

    /// The cars that reach the stop line choose the lane with the fewest, of those that lead where
    /// they want to go. That is the second in which they get there in every run, whoever else calls
    /// at other times.
    pub fn choose(&mut self, queue: &mut VecDeque<Slot>, now: u32) {
        while let Some(slot) = queue.get_mut(self.chosen).filter(|slot| slot.exit_time <= now) {
            slot.lane = self.shortest(slot.exit);
            self.lanes[usize::from(slot.lane)].cars += 1;
            self.chosen += 1;
        }
    }

    fn shortest(&self, exit: u8) -> u8 {
        let mask = self.turn(exit).map_or(u32::MAX, |turn| turn.lanes);
        let leads_there = |lane: &u8| mask.checked_shr((*lane).into()).is_none_or(|mask| mask & 1 == 1);
        let lanes = (0..self.count()).filter(leads_there);
        lanes.min_by_key(|&lane| self.lanes[usize::from(lane)].cars).unwrap_or(0)
    }

    /// The first car of a lane if it may cross in second `now`.
    pub fn ready_head(&mut self, lane: u8, queue: &VecDeque<Slot>, now: u32) -> Option<Slot> {
        let head = self.head(lane, queue).copied();
        let turn = head.and_then(|head| self.turns.get(usize::from(head.exit))?.as_ref());
        let line = &mut self.lanes[usize::from(lane)].line;
        let Some(head) = head else {
            line.wake = NEVER;
            return None;
        };
        let signal = turn.map_or(&PlannedSignal::ALWAYS_GREEN, |turn| &turn.signal);
        let yield_until = turn.filter(|turn| !turn.signal.is_protected(now)).map_or(0, |turn| turn.yield_until);
        let may_cross = line.may_cross(signal, head.exit_time, yield_until, now);
        if line.is_yielding() && !may_cross {
            if signal.is_green(now) {
                // Its green may end, or become protected.
                line.wake = line.wake.min(now + 1);
            } else {
                line.stop_yielding();
            }
        }
        may_cross.then_some(head)
    }

    fn head<'a>(&self, lane: u8, queue: &'a VecDeque<Slot>) -> Option<&'a Slot> {
        self.place(lane, queue).map(|place| &queue[place])
    }

    /// Where the first car of a lane stands in the queue of the link.
    fn place(&self, lane: u8, queue: &VecDeque<Slot>) -> Option<usize> {
        queue.range(..self.chosen).position(|slot| slot.lane == lane)
    }

    pub fn line(&mut self, lane: u8) -> &mut StopLine {
        &mut self.lanes[usize::from(lane)].line
    }

    /// Takes the first car of a lane out of the queue.
    pub fn remove_head(&mut self, lane: u8, queue: &mut VecDeque<Slot>) -> Option<Slot> {
        let place = self.place(lane, queue)?;
        let Lane { line, cars } = &mut self.lanes[usize::from(lane)];
        line.next_head();
        *cars -= 1;
        self.chosen -= 1;
        queue.remove(place)
    }

    /// When a car may cross, or the next one has to choose its lane.
    pub fn wake(&self, queue: &VecDeque<Slot>) -> u32 {
        let next = queue.get(self.chosen).map_or(NEVER, |slot| slot.exit_time);
        self.lanes.iter().map(|lane| lane.line.wake).fold(next, u32::min)
    }

    /// A link ahead has space in second `at`.
    pub fn unblock(&mut self, at: u32) {
        self.lanes.iter_mut().for_each(|lane| lane.line.unblock(at));
    }

    /// The approaches and exits that give way to a car which takes an exit.
    pub fn held_by(&self, exit: u8) -> &[(u8, u8)] {
        self.turn(exit).map_or(&[], |turn| &turn.holds)
    }

    /// A car that drives first has passed in second `now`.
    pub fn give_way(&mut self, exit: u8, now: u32) {
        if let Some(turn) = self.turns.get_mut(usize::from(exit)).and_then(Option::as_mut) {
            turn.yield_until = now + GAP;
        }
    }

    fn turn(&self, exit: u8) -> Option<&Turn> {
        self.turns.get(usize::from(exit))?.as_ref()
    }

    /// Everything that the future depends on, as of the start of second `now`, but for the cars.
    pub fn write_state(&self, queue: &VecDeque<Slot>, now: u32, state: &mut SequenceHash) {
        for (number, lane) in (0..).zip(&self.lanes) {
            match self.head(number, queue) {
                Some(head) => {
                    let signal = self.turn(head.exit).map_or(&PlannedSignal::ALWAYS_GREEN, |turn| &turn.signal);
                    lane.line.write_credit(signal, now, state);
                }
                None => lane.line.write_idle_credit(state),
            }
            lane.line.write_state(state);
        }
        for turn in self.turns() {
            state.write(u64::from(turn.yield_until.saturating_sub(now)));
        }
        queue.range(..self.chosen).for_each(|slot| state.write(u64::from(slot.lane)));
    }
}
