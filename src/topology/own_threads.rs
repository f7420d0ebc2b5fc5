//! What the other threads of this process did on a core: a thread that waits for its core asks
//! whether they were it.

use std::time::Instant;

use smallvec::SmallVec;

use super::{
    CoreId, ThreadNumber, current_core, current_thread,
    tasks::{Task, for_each_of_ours, process_ran},
};

/// All threads of this process at one time.
#[derive(Debug, Default)]
struct Snapshot {
    /// In the order of their numbers.
    tasks: Vec<Task>,
    /// For how long all together ran so far, also those that have ended; in nanoseconds.
    process: u64,
}

impl Snapshot {
    /// Takes one anew; `None` where the system does not tell.
    fn take(&mut self) -> Option<()> {
        self.tasks.clear();
        for_each_of_ours(|task| self.tasks.push(task))?;
        // Some systems list the threads and tell no more of them.
        (!self.tasks.is_empty()).then_some(())?;
        self.process = process_ran()?;
        self.tasks.sort_unstable_by_key(|task| task.thread);
        Some(())
    }

    fn find(&self, thread: ThreadNumber) -> Option<&Task> {
        self.tasks.binary_search_by_key(&thread, |task| task.thread).ok().map(|place| &self.tasks[place])
    }
}

/// What the threads of this process do between two looks. One for each thread that asks; it keeps
/// its memory.
#[derive(Debug, Default)]
pub(crate) struct OwnThreads {
    before: Snapshot,
    after: Snapshot,
    /// The question that `after` was taken for, if it was one of [`are_before`](Self::are_before).
    asked_at: Option<u64>,
    /// The cores that the thread that asks was seen on since `before`.
    cores: SmallVec<[CoreId; 4]>,
    cost: u64,
}

/// Says what other threads of the process did on the core of the calling one.
pub(crate) trait Witness {
    /// Looks for the first time; `None` where the system does not tell.
    fn begin(&mut self) -> Option<()>;

    /// For how many nanoseconds, at most, they ran on the cores of the calling thread since
    /// [`begin`](Self::begin); `None` where the system does not tell.
    fn ran_here(&mut self) -> Option<u64>;

    /// The last look of [`ran_here`](Self::ran_here) is the first one from now on.
    fn renew(&mut self);

    /// How long the last look took, in nanoseconds.
    fn cost(&self) -> u64;
}

impl Witness for OwnThreads {
    fn begin(&mut self) -> Option<()> {
        self.begin_here();
        timed(&mut self.cost, || self.before.take())
    }

    fn ran_here(&mut self) -> Option<u64> {
        let me = current_thread()?;
        self.note_core();
        self.look_again()?;
        Some(ran_beside(&self.before, &self.after, me, &self.cores))
    }

    fn renew(&mut self) {
        std::mem::swap(&mut self.before, &mut self.after);
        self.asked_at = None;
        self.begin_here();
    }

    fn cost(&self) -> u64 {
        self.cost
    }
}

impl OwnThreads {
    /// Notes which core the calling thread is on: it may be moved before it looks again, from one
    /// on which it waited for other threads.
    pub(crate) fn note_core(&mut self) {
        let here = current_core().filter(|here| !self.cores.contains(here));
        self.cores.extend(here);
    }

    fn begin_here(&mut self) {
        self.cores.clear();
        self.note_core();
    }

    /// Whether `thread`, of this process, waits for a core that another thread of this process has
    /// or waits for too; `None` where the system does not tell. One look answers for all threads
    /// that are asked about at the same time `now`.
    pub(crate) fn are_before(&mut self, thread: ThreadNumber, now: u64) -> Option<bool> {
        if self.asked_at != Some(now) {
            self.look_again()?;
            self.asked_at = Some(now);
        }
        Some(is_behind(&self.after, thread))
    }

    fn look_again(&mut self) -> Option<()> {
        self.asked_at = None;
        timed(&mut self.cost, || self.after.take())
    }
}

/// Takes a look, and notes what it costs in nanoseconds.
fn timed(cost: &mut u64, look: impl FnOnce() -> Option<()>) -> Option<()> {
    let began = Instant::now();
    let told = look();
    *cost = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
    told
}

/// For how long threads other than `me` ran between two looks on `cores`, in nanoseconds. At most:
/// where a thread was between the looks is not known, so all that it ran counts if it was on one of
/// them at either look; and all that ended threads ran, which may have been anywhere.
fn ran_beside(before: &Snapshot, after: &Snapshot, me: ThreadNumber, cores: &[CoreId]) -> u64 {
    let (mut all, mut beside) = (0_u64, 0_u64);
    for task in &after.tasks {
        let earlier = before.find(task.thread);
        let ran = task.ran.saturating_sub(earlier.map_or(0, |earlier| earlier.ran));
        all += ran;
        let was_here = cores.contains(&task.core) || earlier.is_some_and(|earlier| cores.contains(&earlier.core));
        if task.thread != me && was_here {
            beside += ran;
        }
    }
    beside + after.process.saturating_sub(before.process).saturating_sub(all)
}

fn is_behind(now: &Snapshot, thread: ThreadNumber) -> bool {
    let Some(waiting) = now.find(thread).filter(|task| task.is_runnable) else { return false };
    let in_its_way = |task: &&Task| task.is_runnable && task.core == waiting.core && task.thread != thread;
    now.tasks.iter().any(|task| in_its_way(&task))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::{Topology, account::SchedulerAccount, pin_current_thread};

    const MS: u64 = 1_000_000;

    fn task(thread: u32, ran: u64, core: usize) -> Task {
        Task { thread: ThreadNumber(thread), ran: ran * MS, core: CoreId(core), is_runnable: false }
    }

    /// Threads that ended are in `process`, in milliseconds.
    fn snapshot(process: u64, tasks: impl IntoIterator<Item = Task>) -> Snapshot {
        Snapshot { tasks: tasks.into_iter().collect(), process: process * MS }
    }

    fn beside(before: &Snapshot, after: &Snapshot) -> u64 {
        ran_beside(before, after, ThreadNumber(2), &[CoreId(1)]) / MS
    }

    #[test]
    fn threads_that_were_here_at_one_of_the_looks_count() {
        let before = snapshot(100, [task(1, 10, 0), task(2, 20, 1), task(3, 30, 1), task(4, 40, 0)]);
        let after = snapshot(130, [task(1, 15, 0), task(2, 26, 1), task(3, 37, 0), task(4, 52, 1)]);
        assert_eq!(beside(&before, &after), 7 + 12, "neither this thread nor what stayed elsewhere");
    }

    #[test]
    fn threads_that_came_and_went_count() {
        let before = snapshot(100, [task(2, 20, 1)]);
        let after = snapshot(150, [task(2, 26, 1), task(9, 4, 1), task(10, 30, 0)]);
        assert_eq!(beside(&before, &after), 4 + (50 - 6 - 4 - 30), "the new one, and those that have ended");
    }

    #[test]
    fn a_thread_that_moved_meets_others_on_both_cores() {
        let before = snapshot(0, [task(1, 0, 0), task(2, 0, 0)]);
        let after = snapshot(13, [task(1, 6, 0), task(2, 7, 1)]);
        assert_eq!(ran_beside(&before, &after, ThreadNumber(2), &[CoreId(0), CoreId(1)]) / MS, 6);
    }

    #[test]
    fn strangers_leave_no_trace_here() {
        let before = snapshot(100, [task(1, 10, 0), task(2, 20, 1), task(3, 30, 1)]);
        let after = snapshot(109, [task(1, 15, 0), task(2, 24, 1), task(3, 30, 1)]);
        assert_eq!(beside(&before, &after), 0);
    }

    #[test]
    fn a_thread_is_behind_those_that_run_or_wait_on_its_core() {
        let runnable = |task: Task| Task { is_runnable: true, ..task };
        let behind = |tasks: [Task; 3]| is_behind(&snapshot(0, tasks), ThreadNumber(2));
        assert!(behind([task(1, 1, 0), runnable(task(2, 1, 1)), runnable(task(3, 1, 1))]));
        assert!(!behind([runnable(task(1, 1, 0)), runnable(task(2, 1, 1)), task(3, 1, 1)]), "elsewhere, or asleep");
        assert!(!behind([task(1, 1, 0), task(2, 1, 1), runnable(task(3, 1, 1))]), "asleep itself");
    }

    /// Many workers may be away in the same round.
    #[test]
    fn one_look_answers_for_all_threads_of_a_round() {
        let mut own = OwnThreads::default();
        let Some(me) = current_thread().filter(|_| own.begin().is_some()) else { return };
        let mut look = |now| {
            own.cost = 0;
            assert_eq!(own.are_before(me, now).is_some(), own.are_before(ThreadNumber(u32::MAX), now).is_some());
            let first = std::mem::take(&mut own.cost);
            own.are_before(me, now);
            (first > 0, own.cost > 0)
        };
        assert_eq!([look(7), look(8)], [(true, false); 2]);
        own.renew();
        own.cost = 0;
        own.are_before(me, 8);
        assert!(own.cost > 0, "what was swapped away is not an answer");
    }

    /// Has this thread run for 20 ms on a core, if the system lets it and tells.
    fn work(core: CoreId) -> Option<()> {
        pin_current_thread(core).ok()?;
        let account = SchedulerAccount::open();
        let began = account.read()?.ran;
        while account.read()?.ran < began + 20 * MS {}
        Some(())
    }

    /// Where the system tells anything, it tells of threads that work here.
    #[test]
    fn work_of_another_thread_on_this_core_is_found() {
        let mut own = OwnThreads::default();
        let Some(here) = current_core().filter(|_| own.begin().is_some()) else { return };
        let worked = std::thread::scope(|scope| scope.spawn(|| work(here)).join().ok().flatten());
        // What has ended counts wherever this thread is by now.
        if worked.is_some() {
            assert!(own.ran_here().is_some_and(|ran| ran >= MS));
        }
    }

    #[test]
    fn threads_on_a_core_that_was_left_meanwhile_count() {
        let topology = Topology::get();
        let [first, second, ..] = &topology.cores[..] else { return };
        let worked = std::thread::scope(|scope| {
            let look = || {
                pin_current_thread(first.id).ok()?;
                let mut own = OwnThreads::default();
                own.begin()?;
                pin_current_thread(second.id).ok()?;
                let done = std::sync::Barrier::new(2);
                std::thread::scope(|scope| {
                    // Of a thread that has ended all counts.
                    scope.spawn(|| {
                        work(second.id);
                        done.wait();
                        done.wait();
                    });
                    own.note_core();
                    done.wait();
                    pin_current_thread(first.id).ok();
                    let ran = own.ran_here();
                    done.wait();
                    ran
                })
            };
            scope.spawn(look).join().ok().flatten()
        });
        assert!(worked.is_none_or(|ran| ran >= MS), "{worked:?}");
    }
}
