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
    pub(crate) const MEASURED: [Self; 3] = [Self::Serial, Self::LockStep, Self::Heartbeat];

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
