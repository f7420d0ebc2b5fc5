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

/// For a process of a comparison: the one that started it decides.
pub fn ignore() {
    let _ = ctrlc::set_handler(|| ());
}

/// Whether the run is to end.
pub fn is_asked() -> bool {
    IS_ASKED.load(Ordering::Relaxed)
}
