//! Whether the core of a thread is taken by other processes: a thread that is pinned cannot leave
//! it.
//!
//! How long a thread was ready to run and did not is counted by the system: no guess from times,
//! which rows that became dearer would fool. Who had the core meanwhile the system does not say.
//! So a thread that has waited for long looks at what the other threads of its process do
//! ([`OwnThreads`]): what they did not take, strangers took, or the hypervisor.
//!
//! Of the thread that leads only what it waits in rounds, and shortly before them, counts. In the
//! rest of a frame it may wait on any core for any thread of its process, and to find out takes
//! longer than many a sweep.

use std::cell::RefCell;

use crate::{
    pool::words::Taken,
    topology::{OwnThreads, SchedulerAccount, ThreadNumber, Waited, Witness},
};

/// How often at most a thread asks, in nanoseconds: a system call of some 600 ns.
const INTERVAL: u64 = 1_000_000;

/// So much time, running and waiting together, makes a verdict; in nanoseconds. A process that
/// takes turns on the core has it for 3 or 4 ms at a time: two turns are seen, and a thread that
/// passes by once is none.
const WINDOW: u64 = 16_000_000;

/// As above for a core that was taken when it was looked at last: one turn of the other process
/// confirms that it still is.
const NEXT_WINDOW: u64 = 4_000_000;

/// A core is shared if one part in this many of the time went to waiting for it, and taken for the
/// most part if no more than one went to running: with one busy process a thread that pauses has
/// its half, with three a quarter.
const LARGEST_PART: u64 = 3;

/// A thread that has waited for this many nanoseconds looks at the other threads of the process,
/// and again after it has waited as long once more. A look takes about 5 us for each thread of the
/// process.
const SUSPICIOUS: u64 = 2_000_000;

/// The rest after a dear look, in multiples of its time: looks take at most a hundredth of the
/// thread's time.
const REST_AFTER_DEAR: u64 = 100;

/// A look that takes this many nanoseconds is dear: one in each window would take more than that
/// part of it. Those of processes with some thirty threads or more.
const DEAR_LOOK: u64 = WINDOW / REST_AFTER_DEAR;

/// The same of looks at who keeps a worker away: while they rest it counts as excused, so they rest
/// seldom. Those of processes with some hundred threads.
const VERY_DEAR_LOOK: u64 = 1_000_000;

/// Where rounds are further apart, in nanoseconds, and a worker sleeps meanwhile, the leader does
/// something else, or sleeps too: what it waits for there is of no interest. To skip that takes a
/// system call of 1 us.
const PAUSE: u64 = 500_000;

/// A thread that neither ran nor waited for this many nanoseconds between two questions slept.
const SLEEP: u64 = 1_000_000;

/// So often a witness that has seen own threads begins anew, because the thread slept meanwhile. In
/// frames that are mostly Bevy's, each time may be one of these.
const RESTARTS: u8 = 4;

/// After the process's own threads were found to have the core, they are not looked at again for
/// this many nanoseconds.
const ACQUITTAL: u64 = 100_000_000;

/// What a thread that waits for its core knows of those who have it.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Suspicion {
    /// It does not wait, or not for long.
    #[default]
    Nobody,
    /// The witness looked first when the thread had waited for so long in all.
    Since {
        waited: u64,
        /// Whether the thread slept since: what the others did here then kept it from nothing.
        slept: bool,
        /// How often the witness may still begin anew for that.
        restarts_left: u8,
    },
    /// The system does not tell: any thread that has the core counts as a stranger.
    Untold,
}

/// How long a thread waited for its core, and what that means.
#[derive(Default)]
struct Judge {
    last: Waited,
    /// When that was.
    asked: u64,
    window: Waited,
    suspicion: Suspicion,
    /// The last verdict.
    taken: Option<Taken>,
    /// Until when the process's own threads are known to have the core.
    acquitted_until: u64,
    /// The end of the rest after a dear look.
    resting_until: u64,
}

impl Judge {
    /// How much of the core strangers have, as far as the time since the last verdict tells.
    fn judge(&mut self, total: Waited, now: u64, witness: &mut impl Witness) -> Option<Taken> {
        self.add(total, now);
        let Waited { ran, waited } = self.window;
        // Before a look that may turn out to be dear: that one still counts.
        let is_resting = now < self.resting_until;
        if waited >= SUSPICIOUS && self.suspicion == Suspicion::Nobody && now >= self.acquitted_until && !is_resting {
            self.suspicion = witness.begin().map_or(Suspicion::Untold, |()| self.since_now(false, RESTARTS));
            self.rest_if_dear(now, witness);
        }
        if ran + waited < if self.taken.is_some() { NEXT_WINDOW } else { WINDOW } {
            return None;
        }
        let part = (ran + waited) / LARGEST_PART;
        if waited < part || self.suspicion == Suspicion::Nobody {
            self.close(None, Suspicion::Nobody);
            return None;
        }
        if is_resting {
            return None;
        }
        let by_strangers = self.by_strangers(witness)?;
        self.rest_if_dear(now, witness);
        let taken = match by_strangers {
            few if few < part => None,
            some if some <= ran + waited - part => Some(Taken::Partly),
            // A single turn of the other process says that it is still there, and no more.
            _ if ran + waited < WINDOW => self.taken,
            _ => Some(Taken::Mostly),
        };
        self.conclude(taken, now, witness);
        taken
    }

    /// Ends the window with a verdict, or goes on where one cannot be had yet.
    fn conclude(&mut self, taken: Option<Taken>, now: u64, witness: &mut impl Witness) {
        match self.suspicion {
            Suspicion::Untold => self.close(taken, Suspicion::Nobody),
            _ if taken.is_some() => {
                witness.renew();
                // It may rest from now on, or be left out.
                self.close(taken, self.since_now(true, RESTARTS));
            }
            // What the others did may have been while this thread slept.
            Suspicion::Since { slept: true, restarts_left: left @ 1.., .. } => {
                witness.renew();
                self.suspicion = self.since_now(false, left - 1);
            }
            _ => {
                self.acquitted_until = now + ACQUITTAL;
                self.close(None, Suspicion::Nobody);
            }
        }
    }

    /// Leaves out what the thread did since its account was read last, but for its first rounds of
    /// `in_rounds` nanoseconds, in which it ran for all that is known.
    fn skip(&mut self, total: Waited, now: u64, in_rounds: u64) {
        self.window.ran += in_rounds;
        if let Suspicion::Since { waited, slept, .. } = &mut self.suspicion {
            *waited += total.waited.saturating_sub(self.last.waited);
            *slept = true;
        }
        (self.last, self.asked) = (total, now);
    }

    fn rest_if_dear(&mut self, now: u64, witness: &impl Witness) {
        if let Some(until) = rest_after(witness.cost(), DEAR_LOOK, now) {
            self.resting_until = until;
        }
    }

    fn add(&mut self, total: Waited, now: u64) {
        let first = self.last == Waited::default();
        let ran = total.ran.saturating_sub(self.last.ran);
        let waited = total.waited.saturating_sub(self.last.waited);
        (self.window.ran, self.window.waited) = (self.window.ran + ran, self.window.waited + waited);
        if let Suspicion::Since { slept, .. } = &mut self.suspicion {
            *slept |= now.saturating_sub(self.asked) >= ran + waited + SLEEP;
        }
        (self.last, self.asked) = (total, now);
        if first {
            // What was before the first round belongs to no round.
            self.window = Waited::default();
        }
    }

    fn close(&mut self, taken: Option<Taken>, suspicion: Suspicion) {
        (self.window, self.taken, self.suspicion) = (Waited::default(), taken, suspicion);
    }

    fn since_now(&self, slept: bool, restarts_left: u8) -> Suspicion {
        Suspicion::Since { waited: self.last.waited, slept, restarts_left }
    }

    /// How much of what the thread waited in this window it waited for strangers: the same part as
    /// since the witness looked first. `None` if that was not long enough.
    fn by_strangers(&self, witness: &mut impl Witness) -> Option<u64> {
        let Suspicion::Since { waited: then, .. } = self.suspicion else { return Some(self.window.waited) };
        let since = self.last.waited.saturating_sub(then);
        if since < SUSPICIOUS {
            return None;
        }
        let strangers = witness.ran_here().map_or(since, |own| since.saturating_sub(own));
        Some((u128::from(self.window.waited) * u128::from(strangers) / u128::from(since)) as u64)
    }
}

/// The end of the rest after a look that is over `now`, if it was `dear`.
fn rest_after(cost: u64, dear: u64, now: u64) -> Option<u64> {
    (cost >= dear).then(|| now.saturating_add(cost.saturating_mul(REST_AFTER_DEAR)))
}

/// By whom a core is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::pool) enum CoreTaken {
    /// By other processes, or the hypervisor.
    ByStrangers(Taken),
    /// For the most part by other threads of this process.
    ByOwnThreads,
}

/// What a thread knows of itself.
#[derive(Default)]
struct Watch {
    account: Option<SchedulerAccount>,
    asked: u64,
    /// The end of its last round that was timed, or of the pause before one.
    last_round: u64,
    judge: Judge,
    own_threads: OwnThreads,
    /// The end of the rest after a very dear look at who keeps a worker away.
    excused_until: u64,
}

impl Watch {
    fn ask(&mut self, now: u64) -> Option<CoreTaken> {
        self.asked = now;
        self.note_core();
        let waited = self.read()?;
        let acquitted = self.judge.acquitted_until;
        if let Some(taken) = self.judge.judge(waited, now, &mut self.own_threads) {
            return Some(CoreTaken::ByStrangers(taken));
        }
        (self.judge.acquitted_until > acquitted).then_some(CoreTaken::ByOwnThreads)
    }

    fn skip_pause(&mut self, now: u64) {
        let in_rounds = self.last_round.saturating_sub(self.asked);
        (self.asked, self.last_round) = (now, now);
        if let Some(waited) = self.read() {
            self.judge.skip(waited, now, in_rounds);
        }
    }

    fn read(&mut self) -> Option<Waited> {
        self.account.get_or_insert_with(SchedulerAccount::open).read()
    }

    /// Which cores it was on matters once the witness has begun.
    fn note_core(&mut self) {
        if matches!(self.judge.suspicion, Suspicion::Since { .. }) {
            self.own_threads.note_core();
        }
    }
}

thread_local! {
    /// How long this thread waited for its core so far, and what was made of it. Each thread asks
    /// for itself; the leader also looks here whether a worker that is away waits for threads of
    /// this process.
    static WATCH: RefCell<Watch> = RefCell::default();
}

/// By whom the core of this thread was found to be taken at `now`, if it was; asks the system once
/// in a millisecond at most.
#[inline]
pub(in crate::pool) fn finds_core_taken(now: u64) -> Option<CoreTaken> {
    let look = |watch: &RefCell<Watch>| {
        let mut watch = watch.borrow_mut();
        watch.last_round = now;
        if now.saturating_sub(watch.asked) >= INTERVAL { watch.ask(now) } else { None }
    };
    // A thread that is ending may have forgotten already what it knew: rounds of a thread-local's
    // destructor.
    WATCH.try_with(look).ok().flatten()
}

/// To be called before a round that this thread leads, if a worker sleeps: leaves out what this
/// thread did since the last one that was timed, if that was long ago.
pub(super) fn skip_pause(now: u64) {
    let skip = |watch: &RefCell<Watch>| {
        let mut watch = watch.borrow_mut();
        if now.saturating_sub(watch.last_round) >= PAUSE {
            watch.skip_pause(now);
        }
    };
    // See `finds_core_taken`.
    _ = WATCH.try_with(skip);
}

/// To be called before this thread is moved to another core: those that it waited for were here.
#[cold]
pub(super) fn note_core() {
    // See `finds_core_taken`.
    _ = WATCH.try_with(|watch| watch.borrow_mut().note_core());
}

/// Whether `thread` waits at `now` for a core that other threads of this process have: no evidence
/// of other processes. Asks the system for each thread of the process, once for all that are asked
/// about at the same time. During the rest after a very dear look the answer is yes.
#[cold]
pub(in crate::pool) fn waits_for_own_threads(thread: ThreadNumber, now: u64) -> bool {
    let look = |watch: &RefCell<Watch>| {
        let Watch { own_threads, excused_until, .. } = &mut *watch.borrow_mut();
        if now < *excused_until {
            return Some(true);
        }
        let waits = own_threads.are_before(thread, now);
        if let Some(until) = rest_after(own_threads.cost(), VERY_DEAR_LOOK, now) {
            *excused_until = until;
        }
        waits
    };
    WATCH.try_with(look).ok().flatten().unwrap_or(false)
}

#[cfg(test)]
mod tests;
