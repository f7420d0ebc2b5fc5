//! The ways in which a parallel call can run.

use crate::settings::SchedulerMode;

/// How one parallel call runs. Each is a [`SchedulerMode`]; the mode `Auto` decides among the first
/// three.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Strategy {
    /// On the calling thread.
    Serial,
    /// On the gang, each worker its own rows.
    LockStep,
    /// On the gang, by fork/join.
    Heartbeat,
    /// On Bevy's compute threads.
    Bevy,
}

impl Strategy {
    /// Those that `Auto` decides among. Their number is their place in what it keeps of each.
    pub(crate) const MEASURED: [Self; Self::MEASURED_COUNT] = [Self::Serial, Self::LockStep, Self::Heartbeat];
    pub(crate) const MEASURED_COUNT: usize = 3;

    /// Whether it is the gang that runs a call so.
    pub(crate) fn is_the_gangs(self) -> bool {
        matches!(self, Self::LockStep | Self::Heartbeat)
    }

    /// The mode that runs every call so.
    pub(crate) fn mode(self) -> SchedulerMode {
        match self {
            Self::Serial => SchedulerMode::Serial,
            Self::LockStep => SchedulerMode::LockStep,
            Self::Heartbeat => SchedulerMode::Heartbeat,
            Self::Bevy => SchedulerMode::Bevy,
        }
    }
}

const _: () = {
    let mut place = 0;
    while place < Strategy::MEASURED_COUNT {
        assert!(Strategy::MEASURED[place] as usize == place, "a strategy's number is its place");
        place += 1;
    }
};
