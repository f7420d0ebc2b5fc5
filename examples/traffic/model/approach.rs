//! The downstream end of a link: its first-in first-out queue and the flow credit of its stop line.

use std::collections::VecDeque;

use super::NEVER;
use super::lanes::Lanes;
use super::signal::{Phase, Programme};
use super::slot::Slot;
use super::stop_line::{CAR_COST, Light, StopLine};
use crate::hash::SequenceHash;

/// What has happened at the end of a link since the start. The number of cars starts anew after
/// 2^32.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passed {
    pub cars: u32,
    /// Seconds that they have waited at the end of the link.
    pub waited: u64,
}

impl Passed {
    /// What has happened since `earlier`.
    pub fn since(self, earlier: Self) -> Self {
        Self { cars: self.cars.wrapping_sub(earlier.cars), waited: self.waited - earlier.waited }
    }
}

/// Where a link ends at an intersection.
#[derive(Clone, Debug)]
pub struct Approach {
    queue: VecDeque<Slot>,
    /// Where all lanes wait together or, where they wait apart, when to look at them.
    line: StopLine,
    /// The intersection that the link comes from.
    pub upstream: u32,
    /// Which of the upstream intersection's exits leads here.
    pub upstream_exit: u8,
    pub phase: Phase,
    /// Cars that drive first have passed: the gap behind them is too small before this second.
    yield_until: u32,
    pub passed: Passed,
    /// Where signals tell movements apart.
    lanes: Option<Box<Lanes>>,
}

impl Default for Approach {
    fn default() -> Self {
        Self::new(0, 0, 0, CAR_COST)
    }
}

impl Approach {
    pub fn new(upstream: u32, upstream_exit: u8, phase: Phase, flow: u32) -> Self {
        Self {
            queue: VecDeque::new(),
            line: StopLine::new(flow),
            upstream,
            upstream_exit,
            phase,
            yield_until: 0,
            passed: Passed::default(),
            lanes: None,
        }
    }

    pub fn with_lanes(mut self, lanes: Option<Lanes>) -> Self {
        self.lanes = lanes.map(Box::new);
        self
    }

    /// When a car might leave next.
    pub fn wake(&self) -> u32 {
        self.line.wake
    }

    /// Queues of the link in second `now`: one, or as many as it has lanes.
    pub fn queues(&mut self, now: u32) -> u8 {
        let Some(lanes) = &mut self.lanes else { return 1 };
        lanes.choose(&mut self.queue, now);
        lanes.count()
    }

    /// The head of a queue if it may cross the stop line in second `now`; else `wake` says when to
    /// ask again.
    pub fn ready_head(&mut self, queue: u8, programme: &Programme, now: u32) -> Option<Slot> {
        if let Some(lanes) = &mut self.lanes {
            let head = lanes.ready_head(queue, &self.queue, now);
            self.line.wake = lanes.wake(&self.queue);
            return head;
        }
        let Some(&head) = self.queue.front() else {
            self.line.wake = NEVER;
            return None;
        };
        let light = programme.light(self.phase);
        self.line.may_cross(&light, head.exit_time, self.yield_until, now).then_some(head)
    }

    /// A car that drives first has passed: nobody enters its way before second `until`.
    pub fn give_way(&mut self, until: u32) {
        self.yield_until = self.yield_until.max(until);
    }

    #[cfg(test)]
    pub fn gives_way(&self, now: u32) -> bool {
        self.yield_until > now
    }

    pub fn lanes(&self) -> Option<&Lanes> {
        self.lanes.as_deref()
    }

    pub fn lanes_mut(&mut self) -> Option<&mut Lanes> {
        self.lanes.as_deref_mut()
    }

    pub fn occupancy(&self) -> u32 {
        self.queue.len() as u32
    }

    #[cfg(any(test, feature = "game"))]
    /// The cars on the link, the one that came first at the front.
    pub fn cars(&self) -> impl ExactSizeIterator<Item = &Slot> {
        self.queue.iter()
    }

    /// How many cars could have left before second `now`, but for a red light or others ahead.
    pub fn queued(&self, now: u32) -> u32 {
        self.queue.partition_point(|slot| slot.exit_time < now) as u32
    }

    /// Adds a car at the end.
    pub fn push(&mut self, slot: Slot, programme: &Programme) {
        if self.lanes.is_some() {
            self.line.wake = self.line.wake.min(slot.exit_time);
        } else if self.queue.is_empty() {
            self.line.wake = programme.light(self.phase).next_green(slot.exit_time);
        }
        self.queue.push_back(slot);
    }

    /// The head of a queue crosses the stop line.
    pub fn cross(&mut self, queue: u8, now: u32) {
        self.line(queue).pay();
        self.remove_head(queue, now);
    }

    /// The head of a queue leaves the road where it stands.
    pub fn remove_head(&mut self, queue: u8, now: u32) {
        let head = match &mut self.lanes {
            Some(lanes) => lanes.remove_head(queue, &mut self.queue),
            None => {
                self.line.next_head();
                self.queue.pop_front()
            }
        };
        if let Some(head) = head {
            self.passed.cars = self.passed.cars.wrapping_add(1);
            self.passed.waited += u64::from(now.saturating_sub(head.exit_time));
        }
    }

    /// The head of a queue could cross but for a full link ahead: see [`StopLine::block`].
    pub fn block(&mut self, queue: u8, now: u32, room: u32, patience: u32) -> bool {
        let pushes_in = self.line(queue).block(now, room, patience);
        if let Some(lanes) = &self.lanes {
            self.line.wake = lanes.wake(&self.queue);
        }
        pushes_in
    }

    /// A link ahead has space in second `at`.
    pub fn unblock(&mut self, at: u32) {
        let Some(lanes) = &mut self.lanes else { return self.line.unblock(at) };
        lanes.unblock(at);
        self.line.wake = self.line.wake.min(lanes.wake(&self.queue));
    }

    fn line(&mut self, queue: u8) -> &mut StopLine {
        match &mut self.lanes {
            Some(lanes) => lanes.line(queue),
            None => &mut self.line,
        }
    }

    /// Other rules hold from second `now` on: another phase, and as many vehicles an hour.
    pub fn change_rules(&mut self, old: &Programme, phase: Phase, flow: u32, now: u32) {
        self.change_programme(old, now);
        (self.phase, self.yield_until) = (phase, 0);
        self.line.change_flow(flow);
    }

    /// The signals change before second `now`: green so far has earned its credit, and cars that
    /// wait ask again.
    pub fn change_programme(&mut self, old: &Programme, now: u32) {
        self.line.earn(&old.light(self.phase), now);
        if !self.queue.is_empty() {
            self.line.wake = 0;
        }
    }

    /// Everything that the future depends on, as of the start of second `now`.
    pub fn write_state(&self, programme: &Programme, now: u32, state: &mut SequenceHash) {
        self.line.write_credit(&programme.light(self.phase), now, state);
        self.line.write_state(state);
        state.write(u64::from(self.yield_until.saturating_sub(now)));
        state.write(self.passed.cars.into());
        state.write(self.passed.waited);
        state.write(self.queue.len() as u64);
        for slot in &self.queue {
            state.write(u64::from(slot.car) | u64::from(slot.exit_time) << 32);
            state.write(u64::from(slot.cursor) | u64::from(slot.exit) << 32 | u64::from(slot.early) << 40);
        }
        if let Some(lanes) = &self.lanes {
            lanes.write_state(&self.queue, now, state);
        }
    }
}
