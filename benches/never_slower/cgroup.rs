//! A control group of this process alone, whose share of the processors can be limited while it
//! runs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process;

/// How long a quota lasts before it is given out anew; the kernel's default.
const PERIOD_US: u64 = 100_000;

/// Its directory's name begins with this, and what was left over of a run that was killed is found
/// by it.
const NAME: &str = "never_slower_";

#[derive(Clone, Copy)]
enum Version {
    One,
    Two,
}

/// A group below that of this process, which moves into it and back when this is dropped.
pub struct OwnGroup {
    version: Version,
    parent: PathBuf,
    directory: PathBuf,
    /// Whether the parent lets its children be limited only because of this.
    enabled: bool,
}

impl OwnGroup {
    /// Moves this process into a group of its own, without a limit; else says why that cannot be.
    pub fn enter() -> Result<Self, String> {
        let (version, parent) = current()?;
        remove_left_over(&parent);
        let enabled = match version {
            Version::One => false,
            Version::Two => let_children_be_limited(&parent)?,
        };
        let directory = parent.join(format!("{NAME}{}", process::id()));
        let group = Self { version, parent, directory, enabled };
        fs::create_dir(&group.directory).map_err(|error| explain(&group.directory, &error))?;
        group.limit(None)?;
        move_to(&group.directory)?;
        Ok(group)
    }

    /// Gives the process so many hundredths of one core, or all that there is.
    pub fn limit(&self, percent: Option<u64>) -> Result<(), String> {
        let quota = percent.map(|percent| percent * PERIOD_US / 100);
        match self.version {
            Version::One => {
                write(&self.directory.join("cpu.cfs_period_us"), &PERIOD_US.to_string())?;
                let quota = quota.map_or("-1".into(), |quota| quota.to_string());
                write(&self.directory.join("cpu.cfs_quota_us"), &quota)
            }
            Version::Two => {
                let quota = quota.map_or("max".into(), |quota| quota.to_string());
                write(&self.directory.join("cpu.max"), &format!("{quota} {PERIOD_US}"))
            }
        }
    }
}

impl Drop for OwnGroup {
    fn drop(&mut self) {
        let left = move_to(&self.parent);
        let removed = fs::remove_dir(&self.directory).map_err(|error| explain(&self.directory, &error));
        if let Err(error) = left.and(removed) {
            eprintln!("the control group stays behind: {error}");
        }
        if self.enabled {
            // As it was; in use by others meanwhile it stays, which is no harm.
            write(&self.parent.join("cgroup.subtree_control"), "-cpu").ok();
        }
    }
}

/// The group of this process that has to do with processors.
fn current() -> Result<(Version, PathBuf), String> {
    let own = Path::new("/proc/self/cgroup");
    let groups = fs::read_to_string(own).map_err(|error| explain(own, &error))?;
    let path_of = |controller: &str| {
        groups.lines().find_map(|line| {
            let (_, line) = line.split_once(':')?;
            let (controllers, path) = line.split_once(':')?;
            controllers.split(',').any(|name| name == controller).then(|| path.trim_start_matches('/'))
        })
    };
    let roots = [(Version::One, "cpu", "cpu"), (Version::One, "cpu", "cpu,cpuacct"), (Version::Two, "", "")];
    let directories = roots.into_iter().filter_map(|(version, controller, root)| {
        Some((version, Path::new("/sys/fs/cgroup").join(root).join(path_of(controller)?)))
    });
    directories
        .into_iter()
        .find(|(_, directory)| directory.join("cgroup.procs").exists())
        .ok_or_else(|| "no control group for processors is mounted".into())
}

/// Returns whether that was not so before.
fn let_children_be_limited(parent: &Path) -> Result<bool, String> {
    let file = parent.join("cgroup.subtree_control");
    let controllers = fs::read_to_string(&file).map_err(|error| explain(&file, &error))?;
    if controllers.split_whitespace().any(|name| name == "cpu") {
        return Ok(false);
    }
    write(&file, "+cpu").map(|()| true)
}

/// Removes groups of runs that were killed. Those in which a process still is cannot be removed.
fn remove_left_over(parent: &Path) {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    let ours = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(NAME));
    ours.for_each(|entry| drop(fs::remove_dir(entry.path())));
}

fn move_to(group: &Path) -> Result<(), String> {
    write(&group.join("cgroup.procs"), &process::id().to_string())
}

fn write(file: &Path, text: &str) -> Result<(), String> {
    fs::write(file, text).map_err(|error| explain(file, &error))
}

fn explain(path: &Path, error: &std::io::Error) -> String {
    format!("{}: {error}", path.display())
}
