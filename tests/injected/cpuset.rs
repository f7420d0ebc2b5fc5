//! The cpuset of a running process changes, as when a container's limits do.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process, thread,
    time::{Duration, Instant},
};

use bevy::prelude::*;
use bevy_affinity::{prelude::*, topology::Topology};

use crate::{
    alone::{PATIENCE, alone, skip},
    assert_frames,
    common::Scheduling,
    cores::{allowed, may_pin},
    counting, gang, workers,
};

/// A cpuset of this process alone, below the one that it was in.
struct Cpuset {
    parent: PathBuf,
    directory: PathBuf,
}

impl Cpuset {
    /// Moves this process into a cpuset of its own, with all cores that it had.
    fn enter() -> io::Result<Self> {
        let parent = parent()?;
        let directory = parent.join(format!("affinity_test_{}", process::id()));
        fs::create_dir(&directory)?;
        let set = Self { parent, directory };
        for file in ["cpuset.cpus", "cpuset.mems"] {
            // Version 2 has what the parent has unless told otherwise.
            if let Ok(all) = fs::read(set.parent.join(file)) {
                fs::write(set.directory.join(file), all)?;
            }
        }
        move_to(&set.directory)?;
        Ok(set)
    }

    fn allow(&self, cores: &[usize]) -> io::Result<()> {
        let list: Vec<_> = cores.iter().map(usize::to_string).collect();
        fs::write(self.directory.join("cpuset.cpus"), list.join(","))
    }
}

impl Drop for Cpuset {
    fn drop(&mut self) {
        // Without it the set stays behind, empty: no harm to others.
        _ = move_to(&self.parent).and_then(|()| fs::remove_dir(&self.directory));
    }
}

/// The cpuset of this process: of version 1, or of version 2 if its children may have sets of their
/// own.
fn parent() -> io::Result<PathBuf> {
    let groups = fs::read_to_string("/proc/self/cgroup")?;
    let path_of = |controller: &str| groups.lines().find_map(|line| line.split_once(':')?.1.strip_prefix(controller));
    let below = |root: &str, path: &str| Path::new(root).join(path.trim_start_matches('/'));
    let first = path_of("cpuset:").map(|path| below("/sys/fs/cgroup/cpuset", path));
    let second = path_of(":").map(|path| below("/sys/fs/cgroup", path)).filter(|group| {
        let controllers = fs::read_to_string(group.join("cgroup.subtree_control")).unwrap_or_default();
        controllers.split_whitespace().any(|name| name == "cpuset")
    });
    first.or(second).ok_or_else(|| io::Error::other("no cpusets are mounted"))
}

fn move_to(group: &Path) -> io::Result<()> {
    fs::write(group.join("cgroup.procs"), process::id().to_string())
}

/// Runs frames until the pool has so many workers, each that is a thread where `there` says it
/// belongs.
fn run_until(app: &mut App, expected: usize, there: impl Fn(&[gang::Thread]) -> bool) {
    let began = Instant::now();
    while workers(app) != expected || !there(&gang::threads()) {
        assert_frames(app, 1);
        assert!(began.elapsed() < PATIENCE / 2, "{} workers, {:?}", workers(app), gang::threads());
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_cpuset_that_shrinks_and_grows() {
    alone(|| {
        let all = allowed();
        let [.., last] = *all else { return };
        if all.len() < 2 {
            return skip("needs two cores");
        }
        if Topology::get().parallelism() < all.len() {
            return skip("needs leave to keep all cores busy");
        }
        if !may_pin() {
            return skip("needs leave to pin threads");
        }
        let set = match Cpuset::enter() {
            Ok(set) => set,
            Err(error) => return skip(&format!("needs a cpuset that may be changed ({error})")),
        };
        let mut app = counting(Scheduling::lock_step(1).app());
        app.insert_resource(AffinitySettings { spare_cores: SpareCores::Exactly(0), ..default() });
        let pinned = |threads: &[gang::Thread]| threads.iter().all(gang::Thread::is_pinned);
        run_until(&mut app, all.len(), pinned);

        set.allow(&[last]).expect("a core of ours");
        run_until(&mut app, 1, |threads| threads.iter().all(|thread| thread.cores == last.to_string()));
        // Still on one core, as many workers as there were.
        app.insert_resource(Scheduling::lock_step(all.len()).settings());
        assert_frames(&mut app, 50);
        app.insert_resource(AffinitySettings { spare_cores: SpareCores::Exactly(0), ..default() });

        set.allow(&all).expect("what was allowed before");
        run_until(&mut app, all.len(), |threads| pinned(threads) && are_apart(threads));
        assert_frames(&mut app, 50);
    });
}

/// Whether no two threads are kept to the same core.
fn are_apart(threads: &[gang::Thread]) -> bool {
    let mut cores: Vec<_> = threads.iter().map(|thread| &thread.cores).collect();
    cores.sort();
    cores.windows(2).all(|pair| pair[0] != pair[1])
}
