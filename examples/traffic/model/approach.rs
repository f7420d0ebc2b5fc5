//! The downstream end of a link: its first-in first-out queue and the flow credit of its stop line.

use std::collections::VecDeque;

use super::NEVER;
use super::road::PARTS;
use super::signal::{Phase, Programme};
use crate::hash::SequenceHash;

/// Credit that one car costs: seconds in an hour, because a green second earns vehicles an hour.
const CAR_COST: u32 = 3_600;

/// Seconds after which a driver who has given way all the time takes the next small gap.
const IMPATIENT_AFTER: u32 = 30;

/// A car on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    pub car: u32,
    /// The first second in which the car can leave.
    pub exit_time: u32,
    /// Where the car stands in the hops of all routes.
    pub cursor: u32,
    /// The exit it wants at this intersection, or [`ARRIVE`](crate::routes::ARRIVE).
    pub exit: u8,
    /// How long before `exit_time` it reaches the stop line, in [`PARTS`] of a second.
    pub early: u8,
}

impl Slot {
    /// The first second in which a car can leave that enters now, and how long before it reaches
    /// the stop line. The part of a second by which it came `early` here is not lost on the way.
    pub fn reach(now: u32, early: u8, drive_time: u32) -> (u32, u8) {
        let seconds = drive_time.saturating_sub(early.into()).div_ceil(PARTS).max(1);
        let early = (seconds * PARTS + u32::from(early)).saturating_sub(drive_time);
        (now.saturating_add(seconds), early.min(u8::MAX.into()) as u8)
    }

    /// How early the car is for what comes next, if it leaves in second `now`.
    pub fn lead(&self, now: u32) -> u8 {
        if now == self.exit_time { self.early } else { 0 }
    }
}

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
    /// Since when the head could have left but for a full link ahead, or [`NEVER`].
    blocked_since: u32,
    /// Since when the head has given way, or [`NEVER`].
    yielding_since: u32,
    /// Cars that drive first have passed: the gap behind them is too small before this second.
    yield_until: u32,
    pub passed: Passed,
}

impl Default for Approach {
    fn default() -> Self {
        Self::new(0, 0, 0, CAR_COST, &Programme::ALWAYS_GREEN)
    }
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
            blocked_since: NEVER,
            yielding_since: NEVER,
            yield_until: 0,
            passed: Passed::default(),
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
        self.takes_the_gap(now).then_some(head)
    }

    /// Whether nobody who drives first is in the way of the head, or it has waited for too long, or
    /// stands in the crossing already because the link ahead was full.
    fn takes_the_gap(&mut self, now: u32) -> bool {
        if self.yield_until <= now || self.blocked_since != NEVER {
            return true;
        }
        if self.yielding_since == NEVER {
            self.yielding_since = now;
        }
        let impatient = self.yielding_since + IMPATIENT_AFTER;
        self.wake = self.yield_until.min(impatient);
        impatient <= now
    }

    /// A car that drives first has passed: nobody enters its way before second `until`.
    pub fn give_way(&mut self, until: u32) {
        self.yield_until = self.yield_until.max(until);
    }

    #[cfg(test)]
    pub fn gives_way(&self, now: u32) -> bool {
        self.yield_until > now
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
    pub fn cross(&mut self, now: u32) {
        self.credit -= CAR_COST;
        self.remove_head(now);
    }

    /// The head leaves the road where it stands.
    pub fn remove_head(&mut self, now: u32) {
        (self.blocked_since, self.yielding_since) = (NEVER, NEVER);
        if let Some(head) = self.queue.pop_front() {
            self.passed.cars = self.passed.cars.wrapping_add(1);
            self.passed.waited += u64::from(now.saturating_sub(head.exit_time));
        }
    }

    /// The head could cross but for a full link ahead, which has room in second `room` for all that
    /// is known. Returns whether it has waited for `patience` seconds and pushes in: else it stays.
    pub fn block(&mut self, now: u32, room: u32, patience: u32) -> bool {
        if self.blocked_since == NEVER {
            self.blocked_since = now;
        }
        let patience_ends = self.blocked_since.saturating_add(patience);
        self.wake = patience_ends.min(room.max(now + 1));
        now >= patience_ends
    }

    /// A link ahead has space in second `at`.
    pub fn unblock(&mut self, at: u32) {
        if self.blocked_since != NEVER {
            self.wake = self.wake.min(at);
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
        state.write(u64::from(self.blocked_since) | u64::from(self.yielding_since) << 32);
        state.write(u64::from(self.yield_until.saturating_sub(now)));
        state.write(self.passed.cars.into());
        state.write(self.passed.waited);
        state.write(self.queue.len() as u64);
        for slot in &self.queue {
            state.write(u64::from(slot.car) | u64::from(slot.exit_time) << 32);
            state.write(u64::from(slot.cursor) | u64::from(slot.exit) << 32 | u64::from(slot.early) << 40);
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
