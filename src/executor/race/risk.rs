//! What a trial may cost.

use super::{GangPlan, Race};
use crate::executor::{cycles::CYCLES, times::HOPELESS, trial::RUNS, way::ScheduleWay};

/// What a run on Bevy's threads may take longer before any was timed: 50 us for 100 empty systems
/// on two cores, twice that while they wake up.
const UNKNOWN_OF_THREADS: f32 = 100_000.0;

/// What a first run on the gang may take longer than it is expected to: its workers wake up, and
/// what each has in its caches is another's.
const UNKNOWN_OF_GANG: f32 = 100_000.0;

/// Systems of a schedule seldom keep more threads than this busy at a time beside the one that runs
/// it, so one thread takes hardly longer than that many times what they take.
const BUSIEST: usize = 4;

/// The system adds up the work of a thread that goes on running only so often, in nanoseconds. So
/// much may be missing when a run ends.
const TICK: f32 = 4_000_000.0;

/// Runs on one thread that tell what each system takes. The first one fetches
/// everything into the caches and counts for nothing once there is another.
pub(super) const LESSONS: u32 = 3;

/// What a trial may cost, in nanoseconds.
pub(super) struct Risk {
    /// How much longer a single run may take.
    pub(super) largest: f32,
    /// And all of them.
    pub(super) cost: f32,
}

impl Risk {
    /// Of lessons, where the current way takes `time`: they run on one thread.
    pub(super) fn of_lessons(time: f32, on_one_thread: Option<f32>) -> Self {
        let largest = (on_one_thread.unwrap_or(time * BUSIEST as f32) - time).max(0.0);
        Self { largest, cost: largest * LESSONS as f32 }
    }
}

impl Race {
    /// What a trial of `rival` may cost, where the current way takes `time` on average.
    pub(super) fn risk(&self, rival: ScheduleWay, time: f32, on_one_thread: impl Fn() -> f32) -> Risk {
        if self.is_to_be_learned(rival) {
            return Risk::of_lessons(time, self.mean(ScheduleWay::OneThread));
        }
        let (risk, runs) = self.risk_of_run(rival, time, on_one_thread);
        match self.times.heavy_fraction() {
            Some(fraction) => {
                let of_heavy = self.risk_of_heavy(rival).max(0.0);
                let cycles = CYCLES as f32;
                Risk { largest: risk.max(of_heavy), cost: cycles * (risk / fraction + of_heavy) }
            }
            None => Risk { largest: risk, cost: risk * runs as f32 },
        }
    }

    /// How much longer a run by the rival may take, and how many do in a trial in turns.
    fn risk_of_run(&self, rival: ScheduleWay, time: f32, on_one_thread: impl Fn() -> f32) -> (f32, usize) {
        let known = |other: f32| match other {
            other if other >= time * HOPELESS => (other - time, 1),
            other => ((other - time).max(0.0), RUNS),
        };
        match (self.mean(rival), rival, self.gang) {
            (Some(other), ..) => known(other),
            (None, ScheduleWay::OnTheGang, GangPlan::Planned(span)) => ((span - time).max(0.0) + UNKNOWN_OF_GANG, 1),
            (None, ScheduleWay::OneThread, _) => (on_one_thread() - time, 1),
            (None, ..) => (UNKNOWN_OF_THREADS, 1),
        }
    }

    /// How much longer a heavy run by the rival may take.
    fn risk_of_heavy(&self, rival: ScheduleWay) -> f32 {
        let Some(current) = self.times.times(self.current).heavy else { return 0.0 };
        match (self.times.times(rival).heavy, rival) {
            (Some(other), _) => other - current,
            (None, ScheduleWay::OneThread) => current * BUSIEST as f32,
            (None, _) => 0.0,
        }
    }

    /// Whether a trial of `rival` takes lessons first: it is the gang, which has no plan yet.
    pub(super) fn is_to_be_learned(&self, rival: ScheduleWay) -> bool {
        rival == ScheduleWay::OnTheGang && !matches!(self.gang, GangPlan::Planned(_))
    }
}

/// What a run takes on one thread at most, that takes so long on this many threads: no longer than
/// all of them worked. A chain of systems that goes back and forth between two threads takes mostly
/// their wake-ups, and no work.
pub(super) fn most_on_one_thread(time: f32, work: Option<u64>, threads: usize) -> f32 {
    let all_work = time * (1 + threads.clamp(1, BUSIEST)) as f32;
    let unseen = TICK.min(time / 2.0);
    work.map_or(all_work, |work| all_work.min(work as f32)).max(time + unseen)
}
