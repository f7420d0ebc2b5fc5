//! The downstream end of a link: its first-in first-out queue and the flow credit of its stop line.

use std::collections::VecDeque;

use super::NEVER;
use super::signal::{Phase, Programme};
use crate::hash::SequenceHash;

/// Credit that one car costs: seconds in an hour, because a green second earns vehicles an hour.
const CAR_COST: u32 = 3_600;

/// Seconds after which a car in front of a full link ends its trip: five cycles of the signals, so
/// longer than any ordinary queue takes to move on, and short enough to dissolve a ring of full
/// links.
const STUCK_AFTER: u32 = 300;

/// A car on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    pub car: u32,
    /// The first second in which the car can have reached the stop line.
    pub exit_time: u32,
    /// Where the car stands in the hops of all routes.
    pub cursor: u32,
    /// The exit it wants at this intersection, or [`ARRIVE`](crate::routes::ARRIVE).
    pub exit: u8,
}

/// Where a link ends at an intersection.
#[derive(Clone, Debug, Default)]
pub struct Approach {
    queue: VecDeque<Slot>,
    /// No car can leave before this second, unless a blocked one hears of space: spares a look at
    /// the queue.
    wake: u32,
    /// The intersection that the link comes from.
    pub upstream: u32,
    /// Which of the upstream intersection's exits leads here.
    pub upstream_exit: u8,
    pub phase: Phase,
    /// Vehicles an hour of green.
    flow: u32,
    credit: u32,
    /// Green seconds up to which `credit` has been earned; the rest is added when somebody asks.
    greens_counted: u32,
    /// Since when the head could have left but for a full link ahead.
    blocked_since: Option<u32>,
}

impl Approach {
    pub fn new(upstream: u32, upstream_exit: u8, phase: Phase, flow: u32, programme: &Programme) -> Self {
        Self {
            queue: VecDeque::new(),
            wake: NEVER,
            upstream,
            upstream_exit,
            phase,
            flow,
            credit: 0,
            greens_counted: programme.greens_before(phase, 0),
            blocked_since: None,
        }
    }

    /// When a car might leave next.
    pub fn wake(&self) -> u32 {
        self.wake
    }

    /// The head of the queue if it may cross the stop line in second `now`; else `wake` says when
    /// to ask again.
    pub fn ready_head(&mut self, programme: &Programme, now: u32) -> Option<Slot> {
        let Some(&head) = self.queue.front() else {
            self.wake = NEVER;
            return None;
        };
        self.wake = programme.next_green(self.phase, head.exit_time.max(now));
        if self.wake > now {
            return None;
        }
        self.earn(programme, now);
        if self.credit < CAR_COST {
            self.wake = now + (CAR_COST - self.credit).div_ceil(self.flow);
            return None;
        }
        Some(head)
    }

    pub fn occupancy(&self) -> u32 {
        self.queue.len() as u32
    }

    /// The cars on the link, the one that leaves first at the front.
    #[cfg(any(test, feature = "game"))]
    pub fn cars(&self) -> impl ExactSizeIterator<Item = &Slot> {
        self.queue.iter()
    }

    /// How many cars could have left before second `now`, but for a red light or others ahead.
    pub fn queued(&self, now: u32) -> u32 {
        self.queue.partition_point(|slot| slot.exit_time < now) as u32
    }

    /// Adds a car at the end.
    pub fn push(&mut self, slot: Slot, programme: &Programme) {
        if self.queue.is_empty() {
            self.wake = programme.next_green(self.phase, slot.exit_time);
        }
        self.queue.push_back(slot);
    }

    /// The head crosses the stop line.
    pub fn cross(&mut self) {
        self.credit -= CAR_COST;
        self.remove_head();
    }

    /// The head leaves the road where it stands.
    pub fn remove_head(&mut self) {
        self.blocked_since = None;
        self.queue.pop_front();
    }

    /// The head could cross but for a full link ahead. Returns whether it has lost patience: else
    /// it stays until there is space or its patience ends.
    pub fn block(&mut self, now: u32) -> bool {
        let patience_ends = *self.blocked_since.get_or_insert(now) + STUCK_AFTER;
        self.wake = patience_ends;
        now >= patience_ends
    }

    /// A link ahead has space again.
    pub fn unblock(&mut self) {
        if self.blocked_since.is_some() {
            self.wake = 0;
        }
    }

    /// The signals change before second `now`: green so far has earned its credit, and whoever
    /// waits asks again.
    #[cfg(any(test, feature = "game"))]
    pub fn change_programme(&mut self, old: &Programme, new: &Programme, now: u32) {
        self.credit = self.credit_after(old.greens_before(self.phase, now) - self.greens_counted);
        self.greens_counted = new.greens_before(self.phase, now);
        if !self.queue.is_empty() {
            self.wake = 0;
        }
    }

    /// Everything that the future depends on, as of the start of second `now`.
    pub fn write_state(&self, programme: &Programme, now: u32, state: &mut SequenceHash) {
        let greens = programme.greens_before(self.phase, now);
        state.write(u64::from(self.credit_after(greens - self.greens_counted)));
        state.write(self.blocked_since.map_or(0, |since| 1 + u64::from(since)));
        state.write(self.queue.len() as u64);
        for slot in &self.queue {
            state.write(u64::from(slot.car) | u64::from(slot.exit_time) << 32);
            state.write(u64::from(slot.cursor) | u64::from(slot.exit) << 32);
        }
    }

    /// Adds the credit of all green seconds up to and including `now`.
    fn earn(&mut self, programme: &Programme, now: u32) {
        let greens = programme.greens_before(self.phase, now + 1);
        self.credit = self.credit_after(greens - self.greens_counted);
        self.greens_counted = greens;
    }

    /// The cap lets a link that flows slower than a car a second carry a remainder from one car to
    /// the next, and one that flows faster keep its last fraction.
    fn credit_after(&self, greens: u32) -> u32 {
        let earned = self.flow.saturating_mul(greens);
        self.credit.saturating_add(earned).min(self.flow + CAR_COST - 1)
    }
}
