//! [`Mark`]: how a schedule is known again that an executor was installed in.

use std::{
    any::Any,
    sync::atomic::{AtomicU32, Ordering},
};

use bevy_ecs::{
    prelude::SystemSet,
    schedule::{InternedSystemSet, Schedule},
};

/// A set without systems, in a schedule that an executor was installed in. It stays there whichever
/// label, world or executor the schedule has later.
#[derive(SystemSet, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Mark(u32);

impl Mark {
    /// A new one, as far as can be: Bevy never forgets a set, so they come again. Interned, as
    /// schedules know their sets: to intern it takes longer than to look for it in one.
    pub(super) fn next() -> InternedSystemSet {
        const MARKS: u32 = 4096;
        static NEXT: AtomicU32 = AtomicU32::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed) % MARKS).intern()
    }

    /// The one of a schedule, if it has any. Looks at all its sets.
    pub(crate) fn of(schedule: &Schedule) -> Option<InternedSystemSet> {
        let mut sets = schedule.graph().system_sets.iter();
        sets.find_map(|(_, set, _)| Some((set as &dyn Any).downcast_ref::<Self>()?.intern()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AffinityExecutor;

    #[test]
    fn a_schedule_is_known_again() {
        let mut schedule = Schedule::default();
        schedule.add_systems(|| {});
        assert_eq!(Mark::of(&schedule), None);
        let installed = AffinityExecutor::install_for(&mut schedule, None);
        assert_eq!(Mark::of(&schedule), Some(installed.mark));
        assert!(installed.was_in(&schedule) && !installed.was_in(&Schedule::default()));
    }
}
