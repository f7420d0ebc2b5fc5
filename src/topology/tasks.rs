//! The threads of this process as the scheduler keeps account of them: the files that it shows in
//! `/proc/self/task`. Elsewhere than on Linux and Android nothing is told.
//!
//! Nothing here allocates but the list of threads while it grows: workers ask in rounds.

use super::CoreId;

/// The system's number of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ThreadNumber(pub(super) u32);

#[cfg(any(target_os = "linux", target_os = "android"))]
impl ThreadNumber {
    /// As system calls want it.
    pub(super) fn as_pid(self) -> Option<rustix::thread::Pid> {
        i32::try_from(self.0).ok().and_then(rustix::thread::Pid::from_raw)
    }
}

/// One thread at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Task {
    pub(super) thread: ThreadNumber,
    /// For how long it ran so far, in nanoseconds.
    pub(super) ran: u64,
    /// The core that it is on, or was on last.
    pub(super) core: CoreId,
    /// It runs, or would if it had a core.
    pub(super) is_runnable: bool,
}

/// The number of the calling thread; `None` where the system keeps no account by it.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) fn current_thread() -> Option<ThreadNumber> {
    u32::try_from(rustix::thread::gettid().as_raw_nonzero().get()).ok().map(ThreadNumber)
}

/// The number of the calling thread; `None` where the system keeps no account by it.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(crate) fn current_thread() -> Option<ThreadNumber> {
    None
}

/// How long all threads of this process ran so far, also those that have ended; in nanoseconds.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) fn process_ran() -> Option<u64> {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    let [seconds, nanoseconds] = [time.tv_sec, time.tv_nsec].map(|part| u64::try_from(part).unwrap_or(0));
    Some(seconds * 1_000_000_000 + nanoseconds)
}

/// How long all threads of this process ran so far: not told here.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(crate) fn process_ran() -> Option<u64> {
    None
}

/// Calls `found` with each thread of this process and how long it ran so far, in nanoseconds; never
/// where the system does not tell.
#[cfg(feature = "overlay")]
pub(crate) fn for_each_thread(mut found: impl FnMut(ThreadNumber, u64)) {
    let _ = for_each_of_ours(|task| found(task.thread, task.ran));
}

/// Whether it is the thread that the process began with.
#[cfg(feature = "overlay")]
pub(crate) fn is_main_thread(thread: ThreadNumber) -> bool {
    thread.0 == std::process::id()
}

/// A thread's name, as far as the system keeps it: 15 letters. One that is given none has that of
/// the thread that started it.
pub(crate) fn name_of_thread(thread: ThreadNumber) -> Option<String> {
    let name = std::fs::read_to_string(format!("/proc/self/task/{}/comm", thread.0)).ok()?;
    Some(name.trim_end().to_string())
}

/// Calls `found` with the number of each thread of this process; `None` where the system does not
/// tell.
pub(super) fn for_each_number(found: impl FnMut(ThreadNumber)) -> Option<()> {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    return files::for_each_number_in(rustix::cstr!("/proc/self/task"), found);
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    return Some(found).and(None);
}

/// Calls `found` with each thread of this process; `None` where the system does not tell.
pub(super) fn for_each_of_ours(found: impl FnMut(Task)) -> Option<()> {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    return files::for_each_in(rustix::cstr!("/proc/self/task"), found);
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    return Some(found).and(None);
}

#[cfg(any(target_os = "linux", target_os = "android"))]
mod files {
    use std::{ffi::CStr, mem::MaybeUninit};

    use rustix::{
        fd::{AsFd, BorrowedFd},
        fs::{CWD, Mode, OFlags, RawDir, openat},
    };

    use super::{CoreId, Task, ThreadNumber};

    /// Where the core stands in `stat`, counted from the state, which follows the name.
    const STATE_TO_CORE: usize = 36;

    /// Calls `found` with each thread that has a folder in `folder`. Those that end meanwhile are
    /// left out.
    pub(super) fn for_each_in(folder: &CStr, mut found: impl FnMut(Task)) -> Option<()> {
        for_each_name_in(folder, |folder, name| task(folder, name).into_iter().for_each(&mut found))
    }

    /// Calls `found` with the number of each thread that has a folder in `folder`.
    pub(super) fn for_each_number_in(folder: &CStr, mut found: impl FnMut(ThreadNumber)) -> Option<()> {
        for_each_name_in(folder, |_, name| number(name).into_iter().for_each(&mut found))
    }

    /// Calls `found` with `folder` and the name of each thing in it.
    fn for_each_name_in(folder: &CStr, mut found: impl FnMut(BorrowedFd, &CStr)) -> Option<()> {
        let folder = openat(CWD, folder, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).ok()?;
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut entries = RawDir::new(&folder, &mut buffer);
        while let Some(entry) = entries.next() {
            found(folder.as_fd(), entry.ok()?.file_name());
        }
        Some(())
    }

    fn number(name: &CStr) -> Option<ThreadNumber> {
        name.to_str().ok()?.parse().map(ThreadNumber).ok()
    }

    fn task(folder: BorrowedFd, name: &CStr) -> Option<Task> {
        let thread = number(name)?;
        let mut buffer = [0; 1024];
        let ran = ran(read(folder, name, "/schedstat", &mut buffer)?)?;
        let (is_runnable, core) = state(read(folder, name, "/stat", &mut buffer)?)?;
        Some(Task { thread, ran, core, is_runnable })
    }

    /// What the file in the thread's folder says, as far as it fits.
    fn read<'b>(folder: BorrowedFd, thread: &CStr, file: &str, buffer: &'b mut [u8]) -> Option<&'b [u8]> {
        let mut path = [0; 32];
        let (thread, file) = (thread.to_bytes(), file.as_bytes());
        let length = thread.len() + file.len();
        path.get_mut(..thread.len())?.copy_from_slice(thread);
        path.get_mut(thread.len()..length)?.copy_from_slice(file);
        let path = CStr::from_bytes_until_nul(&path).ok()?;
        let file = openat(folder, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()?;
        let length = rustix::io::read(&file, &mut *buffer).ok()?;
        Some(&buffer[..length])
    }

    /// The first number of `schedstat`: nanoseconds.
    fn ran(schedstat: &[u8]) -> Option<u64> {
        str::from_utf8(schedstat).ok()?.split_ascii_whitespace().next()?.parse().ok()
    }

    /// Whether the thread would run, and the core that it is on, by `stat`. The name, in brackets,
    /// may hold spaces and brackets, and end amid a letter.
    fn state(stat: &[u8]) -> Option<(bool, CoreId)> {
        let name_end = stat.iter().rposition(|&byte| byte == b')')?;
        let after_name = str::from_utf8(&stat[name_end + 1..]).ok()?;
        let mut fields = after_name.split_ascii_whitespace();
        let is_runnable = fields.next()? == "R";
        let core = fields.nth(STATE_TO_CORE - 1)?.parse().map(CoreId).ok()?;
        Some((is_runnable, core))
    }

    #[cfg(test)]
    mod tests;
}
