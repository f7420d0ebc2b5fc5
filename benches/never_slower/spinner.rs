//! Processes that keep a core busy, as other programs do: this program once more, with a hidden
//! argument.

use std::env;
use std::hint::black_box;
use std::io::{self, Read};
use std::process::{self, Child, Command, ExitCode, Stdio};
use std::thread;

use core_affinity::CoreId;

/// A busy process. It ends when this is dropped, and when this program ends in whatever way: it
/// reads from a pipe that closes then.
pub struct Spinner(Child);

impl Spinner {
    pub fn start(core: CoreId) -> Result<Self, String> {
        let program = env::current_exe().map_err(|error| format!("this program's path: {error}"))?;
        let child = Command::new(program).arg("--spin-on").arg(core.id.to_string()).stdin(Stdio::piped()).spawn();
        child.map(Self).map_err(|error| format!("cannot start a busy process: {error}"))
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        // It may have ended by itself; there is nothing left to do then.
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// What the busy process does.
pub fn spin_until_orphaned(core: usize) -> ExitCode {
    thread::spawn(|| {
        // Until the end of what never sends anything.
        io::stdin().read_to_end(&mut Vec::new()).ok();
        process::exit(0);
    });
    core_affinity::set_for_current(CoreId { id: core });
    let mut spins = 0_u64;
    loop {
        spins = black_box(spins.wrapping_add(1));
    }
}
