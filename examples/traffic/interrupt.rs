//! Ctrl-C, and the system's wish that the program ends: a run ends early, with what it has.

use std::process;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::say;

/// The exit code of a program that Ctrl-C has ended, as shells have it.
pub const INTERRUPTED: u8 = 130;

static IS_ASKED: AtomicBool = AtomicBool::new(false);

/// From now on the first wish is noted, and the second one ends the program at once. Before, each
/// does. `when` tells the user when the run ends.
pub fn heed(when: &'static str) {
    let heed = move || {
        if IS_ASKED.swap(true, Ordering::Relaxed) {
            process::exit(INTERRUPTED.into());
        }
        say(&format!("note: interrupted: the run ends {when}; once more to end at once"));
    };
    // Where the system takes no handler the program ends at once, as ever.
    let _ = ctrlc::set_handler(heed);
}

/// Where hangups are ignored, as under `nohup`, it stays so: a handler would take them too. To be
/// called before the first thread is started.
#[cfg(target_os = "linux")]
pub fn keep_ignoring_hangups() {
    use nix::sys::signal::{SigSet, Signal};

    let status = std::fs::read_to_string("/proc/self/status");
    if status.is_ok_and(|status| ignores_hangups(&status)) {
        // Refused or not, the run goes on.
        let _ = SigSet::from(Signal::SIGHUP).thread_block();
    }
}

#[cfg(not(target_os = "linux"))]
pub fn keep_ignoring_hangups() {}

/// By the system's account of a process.
#[cfg(target_os = "linux")]
fn ignores_hangups(status: &str) -> bool {
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    // The first bit is the first signal, SIGHUP.
    ignored.and_then(|signals| u64::from_str_radix(signals.trim(), 16).ok()).is_some_and(|signals| signals & 1 == 1)
}

/// For a process of a comparison: the one that started it decides.
pub fn ignore() {
    let _ = ctrlc::set_handler(|| ());
}

/// Whether the run is to end.
pub fn is_asked() -> bool {
    IS_ASKED.load(Ordering::Relaxed)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn only_hangups_that_are_ignored_are_kept_away() {
        assert!(ignores_hangups("Name:\ttraffic\nSigIgn:\t0000000000001001\nSigCgt:\t0000000000000000\n"));
        assert!(!ignores_hangups("Name:\ttraffic\nSigIgn:\t0000000000001000\nSigCgt:\t0000000000000001\n"));
        assert!(!ignores_hangups("SigIgn:\tnone\n") && !ignores_hangups(""));
    }
}
