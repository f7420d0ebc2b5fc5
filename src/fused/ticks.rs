//! Change ticks of kernels, as if each were a system of its own.

use bevy_ecs::{change_detection::Tick, world::unsafe_world_cell::UnsafeWorldCell};

/// Which runs of the whole system its kernels have seen.
#[derive(Default)]
pub(super) struct SeenRuns {
    /// The system's `last_run` when it was last given its parameters.
    before: Tick,
    /// Its `this_run` then.
    latest: Option<Tick>,
}

/// What becomes of the kernels' `last_run`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastRun {
    /// It stays: the run before did not end, or not even begin.
    Stays,
    /// It becomes the kernel's `this_run` of the run before.
    Advances,
    /// It becomes the system's: this is the first run, or the system's was set, as Bevy
    /// does when it is too old.
    Follows(Tick),
}

/// The ticks of the kernels of one run: the system's own for the first, new ones for the others.
pub(super) fn ticks(world: UnsafeWorldCell<'_>, first: Tick) -> impl Iterator<Item = Tick> {
    std::iter::once(first).chain(std::iter::repeat_with(move || world.increment_change_tick()))
}

impl SeenRuns {
    /// To be called once a run, with the system's ticks.
    pub(super) fn next(&mut self, last_run: Tick, this_run: Tick) -> LastRun {
        let latest = self.latest.replace(this_run);
        let before = std::mem::replace(&mut self.before, last_run);
        match latest {
            Some(latest) if latest == last_run => LastRun::Advances,
            Some(_) if before == last_run => LastRun::Stays,
            _ => LastRun::Follows(last_run),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_advance_with_runs_that_end() {
        let tick = Tick::new;
        let mut runs = SeenRuns::default();
        assert_eq!(runs.next(tick(7), tick(10)), LastRun::Follows(tick(7)));
        assert_eq!(runs.next(tick(10), tick(20)), LastRun::Advances);
        // The run at 20 panicked, or a parameter of it was missing: Bevy leaves `last_run` as it
        // was.
        assert_eq!(runs.next(tick(10), tick(30)), LastRun::Stays);
        assert_eq!(runs.next(tick(30), tick(40)), LastRun::Advances);
        // It was set.
        assert_eq!(runs.next(tick(35), tick(50)), LastRun::Follows(tick(35)));
    }
}
