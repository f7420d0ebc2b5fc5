//! The scheduler's account of a thread: for how long it ran, and for how long it waited for a core.

#[cfg(any(target_os = "linux", target_os = "android"))]
use std::{fs::File, os::unix::fs::FileExt};

/// How long a thread ran, and how long it waited for a core although it could have run; in
/// nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Waited {
    pub(crate) ran: u64,
    pub(crate) waited: u64,
}

/// The account of the thread that opened it; nothing where the system keeps none.
pub(crate) struct SchedulerAccount {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    file: Option<File>,
}

#[cfg(any(target_os = "linux", target_os = "android"))]
impl SchedulerAccount {
    pub(crate) fn open() -> Self {
        Self { file: File::open("/proc/thread-self/schedstat").ok() }
    }

    pub(crate) fn read(&self) -> Option<Waited> {
        let mut text = [0; 64];
        let length = self.file.as_ref()?.read_at(&mut text, 0).ok()?;
        let mut numbers = std::str::from_utf8(&text[..length]).ok()?.split_ascii_whitespace();
        let mut next = || numbers.next()?.parse().ok();
        Some(Waited { ran: next()?, waited: next()? })
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
impl SchedulerAccount {
    pub(crate) fn open() -> Self {
        Self {}
    }

    pub(crate) fn read(&self) -> Option<Waited> {
        None
    }
}
