//! Jobs that wait for each other, and which worker takes which. `README.md` beside this file has
//! the protocol with a proof sketch; `tests/loom/jobs.rs` checks this very file.

use std::{ops::Range, time::Duration};

use crossbeam_utils::CachePadded;
use smallvec::SmallVec;

use super::{clock::now, parker::Parker, spin::spin_until, unwind::AbortOnUnwind};
use crate::sync::{AtomicU64, Ordering, handshake_fence, needed, planted};

/// For how long a worker without a job looks for one before it sleeps. About what it takes to wake
/// up. Longer would keep its core from threads that a system has set to work meanwhile.
const SPIN: Duration = Duration::from_micros(30);

/// A job, as the board knows it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Job {
    /// How many others have to be done before it.
    pub(crate) predecessors: u64,
    /// Those that it has to be done before.
    pub(crate) successors: Vec<usize>,
    /// Whose list it is in.
    pub(crate) home: usize,
    /// Whether only its home may take it.
    pub(crate) bound: bool,
}

/// What changes of a job. Counts go on from one round to the next, so that nothing has to be put
/// back to its beginning.
#[derive(Default)]
struct State {
    /// The last round in which it was claimed.
    claimed: AtomicU64,
    /// How often a predecessor was done, in all rounds.
    arrived: AtomicU64,
}

/// The jobs of one round.
///
/// # Invariant (jobs)
/// In each round every job is claimed once, by one worker, and only when all its predecessors are
/// done, whose effects that worker sees: `arrived` is raised with Release after a predecessor has
/// run, and a job is claimed after it was read with Acquire and found to be complete. So of two
/// jobs of which one is before the other, directly or not, no two run at a time.
pub(crate) struct JobBoard {
    jobs: Vec<Job>,
    /// By job, in the order of the lists: what a worker writes to is together.
    states: Vec<State>,
    /// Where in `states` a job is.
    places: Vec<usize>,
    /// The jobs of each worker, in the order in which it takes them.
    lists: Vec<Vec<usize>>,
    /// Where workers sleep that find no job.
    benches: Vec<CachePadded<Parker>>,
    round: u64,
}

/// What a worker has not found to be claimed yet: a range of each list. On the stack for as many
/// workers as most machines have.
type Left = SmallVec<[Range<usize>; 32]>;

/// What a worker finds when it looks for a job.
enum Found {
    Claimed(usize),
    /// Some are left, and none of them is ready.
    NoneReady,
    /// None is left that it could take.
    Over,
}

impl JobBoard {
    /// A board with these lists, by worker. Each job is in the list of its home, and no circle of
    /// them wait for each other.
    pub(crate) fn new(jobs: Vec<Job>, lists: Vec<Vec<usize>>) -> Self {
        let mut places = vec![0; jobs.len()];
        for (place, &job) in lists.iter().flatten().enumerate() {
            places[job] = place;
        }
        Self {
            states: jobs.iter().map(|_| State::default()).collect(),
            benches: lists.iter().map(|_| CachePadded::default()).collect(),
            places,
            jobs,
            lists,
            round: 0,
        }
    }

    /// Begins the next round. The last one is over.
    pub(crate) fn begin(&mut self) {
        self.round += 1;
    }

    /// After a panic that left the round that was begun: either all its jobs were done, or none was
    /// claimed and the round counts as not begun.
    pub(crate) fn abandon(&mut self) {
        if self.states.iter().all(|state| state.claimed.load(Ordering::Relaxed) < self.round) {
            self.round -= 1;
        }
    }

    /// Whether `worker` has jobs of its own.
    pub(crate) fn has_jobs(&self, worker: usize) -> bool {
        self.lists.get(worker).is_some_and(|list| !list.is_empty())
    }

    /// Takes jobs and calls `run` with each until none is left that `worker` could take. Returns
    /// for how many nanoseconds it had none. `run` does not panic. Index 0 has to take part; one
    /// index is run by one thread at a time.
    pub(crate) fn take_part(&self, worker: usize, mut run: impl FnMut(usize)) -> u64 {
        if worker >= self.lists.len() {
            return 0;
        }
        let guard = AbortOnUnwind::because("a panic would leave jobs that others wait for");
        let mut left: Left = self.lists.iter().map(|list| 0..list.len()).collect();
        let mut idle = 0;
        while let Some(job) = self.next(worker, &mut left, &mut idle) {
            run(job);
            self.finish(job, worker);
        }
        self.leave(worker);
        guard.defuse();
        idle
    }

    /// The next job for `worker`, which waits until there is one; nothing if none is left.
    fn next(&self, worker: usize, left: &mut Left, idle: &mut u64) -> Option<usize> {
        let mut look = || match self.look(worker, left) {
            Found::Claimed(job) => Some(Some(job)),
            Found::Over => Some(None),
            Found::NoneReady => None,
        };
        if let Some(found) = look() {
            return found;
        }
        let began = now();
        let found = spin_until(SPIN, &mut look).unwrap_or_else(|| self.benches[worker].park(look));
        *idle += now().saturating_sub(began);
        found
    }

    /// Looks for a job: in the worker's own list from its front, then in the others' from their
    /// ends, where jobs are that fewest wait for.
    fn look(&self, worker: usize, left: &mut Left) -> Found {
        let workers = self.lists.len();
        let mut over = true;
        for list in (0..workers).map(|step| (worker + step) % workers) {
            match self.look_in(list, worker, &mut left[list]) {
                Found::NoneReady => over = false,
                Found::Over => {}
                claimed @ Found::Claimed(_) => return claimed,
            }
        }
        if over { Found::Over } else { Found::NoneReady }
    }

    /// Looks for a job in one list, of which only `left` may still be unclaimed.
    fn look_in(&self, list: usize, worker: usize, left: &mut Range<usize>) -> Found {
        let jobs = &self.lists[list];
        while left.start < left.end && self.is_taken(jobs[left.start], worker) {
            left.start += 1;
        }
        while left.start < left.end && self.is_taken(jobs[left.end - 1], worker) {
            left.end -= 1;
        }
        if left.start >= left.end {
            return Found::Over;
        }
        let mut left = jobs[left.clone()].iter().copied();
        let claims = |&job: &usize| self.try_claim(job, worker);
        let claimed = if list == worker { left.find(claims) } else { left.rfind(claims) };
        claimed.map_or(Found::NoneReady, Found::Claimed)
    }

    fn state(&self, job: usize) -> &State {
        &self.states[self.places[job]]
    }

    /// Whether there is nothing left of a job for `worker`.
    fn is_taken(&self, job: usize, worker: usize) -> bool {
        self.is_bound_elsewhere(job, worker) || self.state(job).claimed.load(Ordering::Relaxed) == self.round
    }

    fn is_bound_elsewhere(&self, job: usize, worker: usize) -> bool {
        let Job { bound, home, .. } = self.jobs[job];
        bound && home != worker && !planted("bound_taken_elsewhere")
    }

    /// Claims a job that is ready. Relaxed: being one read-modify-write makes the claim unique, and
    /// `is_ready` orders what the job sees.
    fn try_claim(&self, job: usize, worker: usize) -> bool {
        if self.is_taken(job, worker) || !self.is_ready(job) {
            return false;
        }
        let claimed = &self.state(job).claimed;
        if planted("job_claimed_in_two_steps") {
            claimed.store(self.round, Ordering::Relaxed);
            return true;
        }
        claimed.compare_exchange(self.round - 1, self.round, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// Whether all predecessors are done. Acquire: pairs with the release of each of them, as each
    /// raised the count by a read-modify-write.
    fn is_ready(&self, job: usize) -> bool {
        let predecessors = self.jobs[job].predecessors;
        let complete = self.round * predecessors;
        predecessors == 0
            || planted("job_not_awaited")
            || self.state(job).arrived.load(needed(Ordering::Acquire, "job_arrived_load")) == complete
    }

    /// Says that a job is done, and wakes the homes of those that are ready by that. This worker
    /// looks at all of them before it sleeps or leaves, so only a bound one needs its home.
    fn finish(&self, job: usize, worker: usize) {
        let mut woken = 0_u64;
        for &next in &self.jobs[job].successors {
            let arrived = &self.state(next).arrived;
            let before = arrived.fetch_add(1, needed(Ordering::Release, "job_arrived_store"));
            let Job { predecessors, home, .. } = self.jobs[next];
            if before + 1 == self.round * predecessors && home != worker {
                woken |= 1 << (home % 64);
            }
        }
        if woken != 0 && !planted("finish_wakes_nobody") {
            handshake_fence("finish_fence");
            self.wake(|home| woken & (1 << (home % 64)) != 0);
        }
    }

    /// Who finds nothing left says so to those that sleep: they may have waited for this.
    fn leave(&self, worker: usize) {
        if !planted("leaver_wakes_nobody") {
            handshake_fence("leave_fence");
            self.wake(|other| other != worker);
        }
    }

    /// The sleep handshake of `Parker`, behind the caller's fence: counts and claims are the
    /// condition.
    fn wake(&self, whom: impl Fn(usize) -> bool) {
        let benches = self.benches.iter().enumerate().filter(|&(worker, _)| whom(worker));
        benches.for_each(|(_, bench)| _ = bench.unpark_after_fence());
    }
}

impl std::fmt::Debug for JobBoard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JobBoard").field("lists", &self.lists).field("round", &self.round).finish_non_exhaustive()
    }
}
