//! The gang's threads, as the system sees them.

use std::{
    fs,
    path::PathBuf,
    thread,
    time::{Duration, Instant},
};

use nix::unistd::Pid;

use crate::alone::PATIENCE;

/// A worker thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread {
    pub id: Pid,
    /// The cores that it may run on, in the kernel's notation.
    pub cores: String,
    /// `S` while it sleeps.
    pub state: char,
}

impl Thread {
    fn read(task: PathBuf) -> Option<Self> {
        let id = Pid::from_raw(task.file_name()?.to_str()?.parse().ok()?);
        // A thread may end while it is looked at.
        let status = fs::read_to_string(task.join("status")).ok()?;
        let line = |name: &str| Some(status.lines().find_map(|line| line.strip_prefix(name))?.trim().to_owned());
        let is_worker = line("Name:")?.starts_with("affinity worker");
        let (cores, state) = (line("Cpus_allowed_list:")?, line("State:")?.chars().next()?);
        is_worker.then_some(Self { id, cores, state })
    }

    /// Whether it is kept to one core.
    pub fn is_pinned(&self) -> bool {
        self.cores.parse::<usize>().is_ok()
    }
}

/// All worker threads of this process.
pub fn threads() -> Vec<Thread> {
    let tasks = fs::read_dir("/proc/self/task").expect("Linux lists the threads").flatten();
    tasks.filter_map(|task| Thread::read(task.path())).collect()
}

/// Waits until the workers are as `expected`: a thread that was joined is listed for a moment
/// still.
pub fn wait_until(what: &str, expected: impl Fn(&[Thread]) -> bool) {
    let began = Instant::now();
    while !expected(&threads()) {
        assert!(began.elapsed() < PATIENCE / 2, "{what}: {:?}", threads());
        thread::sleep(Duration::from_millis(1));
    }
}

/// Waits until there are just so many worker threads: one that was just started has no name yet.
pub fn wait_for(workers: usize) {
    wait_until("other than so many threads", |threads| threads.len() == workers);
}

/// Waits until all worker threads sleep.
pub fn wait_until_parked() {
    wait_until("a worker stays awake", |threads| threads.iter().all(|thread| thread.state == 'S'));
}

/// Fails unless all worker threads end.
pub fn assert_ended() {
    wait_until("a worker's thread is left", |threads| threads.is_empty());
}
