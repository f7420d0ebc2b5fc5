//! Where the queue of a link, or of one of its lanes, waits to cross: its flow credit, and since
//! when its head is held up.

use super::NEVER;
use crate::hash::SequenceHash;

/// Credit that one car costs: seconds in an hour, because a green second earns vehicles an hour.
pub const CAR_COST: u32 = 3_600;

/// Seconds after which a driver who has given way all the time takes the next small gap.
const IMPATIENT_AFTER: u32 = 30;

/// What lets cars cross a stop line.
pub trait Light {
    /// The first green second that is not before `second`.
    fn next_green(&self, second: u32) -> u32;

    /// How many of the seconds `0..second` were green, up to a constant: only differences mean
    /// anything.
    fn greens_before(&self, second: u32) -> u32;
}

#[derive(Clone, Debug)]
pub struct StopLine {
    /// No car can cross before this second, unless a blocked one hears of space: spares a look at
    /// the queue.
    pub wake: u32,
    /// Vehicles an hour of green.
    flow: u32,
    credit: u32,
    /// Up to this second `credit` has been earned; the rest is added when somebody asks.
    earned_until: u32,
    /// Since when the head could have left but for a full link ahead, or [`NEVER`].
    blocked_since: u32,
    /// Since when the head has given way, or [`NEVER`].
    yielding_since: u32,
}

impl StopLine {
    pub fn new(flow: u32) -> Self {
        Self { wake: NEVER, flow, credit: 0, earned_until: 0, blocked_since: NEVER, yielding_since: NEVER }
    }

    /// Whether a head may cross in second `now` that has come at `exit_time` and gives way before
    /// second `yield_until`; else `wake` says when to ask again.
    pub fn may_cross(&mut self, light: &impl Light, exit_time: u32, yield_until: u32, now: u32) -> bool {
        self.wake = light.next_green(exit_time.max(now));
        if self.wake > now {
            return false;
        }
        self.earn(light, now + 1);
        if self.credit < CAR_COST {
            self.wake = now + (CAR_COST - self.credit).div_ceil(self.flow);
            return false;
        }
        self.takes_the_gap(yield_until, now)
    }

    /// Whether nobody who drives first is in the way of the head, or it has waited for too long, or
    /// stands in the crossing already because the link ahead was full.
    fn takes_the_gap(&mut self, yield_until: u32, now: u32) -> bool {
        if yield_until <= now || self.blocked_since != NEVER {
            return true;
        }
        if self.yielding_since == NEVER {
            self.yielding_since = now;
        }
        let impatient = self.yielding_since + IMPATIENT_AFTER;
        self.wake = yield_until.min(impatient);
        impatient <= now
    }

    /// The head has given way in vain: its green is over, and its patience begins anew.
    pub fn stop_yielding(&mut self) {
        self.yielding_since = NEVER;
    }

    pub fn is_yielding(&self) -> bool {
        self.yielding_since != NEVER
    }

    /// A car crosses.
    pub fn pay(&mut self) {
        self.credit -= CAR_COST;
    }

    /// Another car is the head.
    pub fn next_head(&mut self) {
        (self.blocked_since, self.yielding_since) = (NEVER, NEVER);
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

    /// Adds the credit of all green seconds before `until` that have not been counted.
    pub fn earn(&mut self, light: &impl Light, until: u32) {
        self.credit = self.credit_at(light, until);
        self.earned_until = until;
    }

    /// Passes so many vehicles an hour from now on.
    pub fn change_flow(&mut self, flow: u32) {
        (self.flow, self.yielding_since) = (flow, NEVER);
        self.credit = self.credit.min(flow + CAR_COST - 1);
    }

    /// The part of the state that needs a light, and so a head where lights differ by head.
    pub fn write_credit(&self, light: &impl Light, now: u32, state: &mut SequenceHash) {
        state.write(u64::from(self.credit_at(light, now)));
    }

    /// The same where no car waits: what is earned until one comes depends on that one.
    pub fn write_idle_credit(&self, state: &mut SequenceHash) {
        state.write(u64::from(self.credit) | u64::from(self.earned_until) << 32);
    }

    pub fn write_state(&self, state: &mut SequenceHash) {
        state.write(u64::from(self.blocked_since) | u64::from(self.yielding_since) << 32);
    }

    /// The cap lets a link that flows slower than a car a second carry a remainder from one car to
    /// the next, and one that flows faster keep its last fraction.
    fn credit_at(&self, light: &impl Light, until: u32) -> u32 {
        let greens = light.greens_before(until) - light.greens_before(self.earned_until);
        let earned = self.flow.saturating_mul(greens);
        self.credit.saturating_add(earned).min(self.flow + CAR_COST - 1)
    }
}
