//! CPU quotas in parts of a core, as Linux's control groups state them:
//! [`std::thread::available_parallelism`] rounds them down.

use std::{fs, path::Path};

/// A part of a core that is left over is worth another thread if together they then do so much
/// more. They use up the quota before its period (mostly 100 ms) is over and stand still for the
/// rest: that is worth it for a half to one core and a half, and not for a half to ten.
const WORTH_A_THREAD: f64 = 0.25;

/// How many threads are worth running on `cores` cores where the system says that `available`
/// are.
pub(super) fn worth_running(available: usize, cores: usize) -> usize {
    if available >= cores {
        return available;
    }
    let own_groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    match smallest(Path::new("/sys/fs/cgroup"), &own_groups) {
        Some(quota) => round(available, quota),
        None => available,
    }
}

fn round(available: usize, quota: f64) -> usize {
    let rest = quota - available as f64;
    // Where it is not this quota that allows so few there is nothing to round.
    let is_worth_it = rest < 1.0 && rest >= WORTH_A_THREAD * available as f64;
    available + usize::from(is_worth_it)
}

/// The smallest quota, in cores, of all control groups that a process is in, which it reads as
/// `own_groups`; groups are folders below `mounts`.
fn smallest(mounts: &Path, own_groups: &str) -> Option<f64> {
    let groups = own_groups.lines().filter_map(|line| line.split_once(':')?.1.split_once(':'));
    let quotas = groups.filter_map(|(controllers, path)| {
        // The second version has one hierarchy without a name, the first one for each set of
        // controllers.
        let mount = mounts.join(controllers);
        let group = mount.join(path.trim_start_matches('/'));
        group.ancestors().take_while(|folder| folder.starts_with(&mount)).filter_map(quota_of).min_by(f64::total_cmp)
    });
    quotas.min_by(f64::total_cmp)
}

/// The quota of one control group in cores; nothing if it has none.
fn quota_of(group: &Path) -> Option<f64> {
    let read = |file| fs::read_to_string(group.join(file)).ok();
    let text = read("cpu.max").or_else(|| Some(read("cpu.cfs_quota_us")? + &read("cpu.cfs_period_us")?))?;
    let mut numbers = text.split_ascii_whitespace().map_while(|number| number.parse::<f64>().ok());
    let (quota, period) = (numbers.next()?, numbers.next()?);
    (quota > 0.0 && period > 0.0).then_some(quota / period)
}

#[cfg(test)]
mod tests {
    use std::{env, process};

    use super::*;

    #[test]
    fn half_a_core_is_worth_a_thread_beside_few_others() {
        assert_eq!([(1, 1.5), (2, 2.5), (3, 3.9)].map(|(available, quota)| round(available, quota)), [2, 3, 4]);
        assert_eq!([(1, 1.2), (3, 3.5), (10, 10.9)].map(|(available, quota)| round(available, quota)), [1, 3, 10]);
        assert_eq!([(1, 0.5), (1, 1.0), (2, 7.5)].map(|(available, quota)| round(available, quota)), [1, 1, 2]);
    }

    #[test]
    fn the_smallest_quota_of_all_groups_counts() {
        let mounts = env::temp_dir().join(format!("bevy-affinity-quota-{}", process::id()));
        let write = |file: &str, text: &str| {
            let path = mounts.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, format!("{text}\n")).unwrap();
        };
        write("pod/cpu.max", "150000 100000");
        write("pod/container/cpu.max", "max 100000");
        write("cpu,cpuacct/cpu.cfs_quota_us", "-1");
        write("cpu,cpuacct/cpu.cfs_period_us", "100000");
        write("cpu,cpuacct/game/cpu.cfs_quota_us", "50000");
        write("cpu,cpuacct/game/cpu.cfs_period_us", "20000");
        let quota = |own: &str| smallest(&mounts, own);
        assert_eq!(quota("0::/pod/container"), Some(1.5), "an outer group's");
        assert_eq!(quota("4:cpu,cpuacct:/game\n3:memory:/game"), Some(2.5));
        assert_eq!(quota("4:cpu,cpuacct:/game\n0::/pod"), Some(1.5));
        assert_eq!(quota("4:cpu,cpuacct:/"), None, "no limit");
        assert_eq!(quota("0::/nowhere"), None);
        assert_eq!(quota("nonsense"), None);
        fs::remove_dir_all(&mounts).unwrap();
    }
}
