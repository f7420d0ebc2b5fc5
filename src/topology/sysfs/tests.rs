//! Trees of files as real machines show them.

use std::env;
use std::path::PathBuf;
use std::process;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

/// A folder like `/sys/devices`, removed when dropped.
struct FakeDevices(PathBuf);

impl FakeDevices {
    fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("bevy-affinity-sysfs-{}-{number}", process::id());
        let folder = env::temp_dir().join(name);
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.0.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{text}\n")).unwrap();
    }

    fn core(&self, cpu: usize, file: &str, text: &str) {
        self.write(&format!("system/cpu/cpu{cpu}/{file}"), text);
    }

    fn cache(&self, cpu: usize, index: usize, level: &str, kind: &str, shared_by: &str) {
        let folder = format!("cache/index{index}");
        self.core(cpu, &format!("{folder}/level"), level);
        self.core(cpu, &format!("{folder}/type"), kind);
        self.core(cpu, &format!("{folder}/shared_cpu_list"), shared_by);
    }

    /// A core with private first-level caches and the given siblings and last level.
    fn usual_core(&self, cpu: usize, siblings: &str, last_level_shared_by: &str) {
        self.core(cpu, "topology/physical_package_id", "0");
        self.core(cpu, "topology/thread_siblings_list", siblings);
        self.cache(cpu, 0, "1", "Data", siblings);
        self.cache(cpu, 1, "1", "Instruction", siblings);
        self.cache(cpu, 2, "3", "Unified", last_level_shared_by);
    }

    /// The described cores in the order in which workers take them.
    fn ordered(&self, cpus: impl IntoIterator<Item = usize>) -> Vec<Core> {
        let ids: Vec<_> = cpus.into_iter().map(CoreId).collect();
        let mut cores = describe(&self.0, &ids);
        cores.sort_by_key(Core::worker_order);
        cores
    }
}

impl Drop for FakeDevices {
    fn drop(&mut self) {
        // A folder left behind in the temporary folder is no reason to fail a test.
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn column<T>(cores: &[Core], value: impl Fn(&Core) -> T) -> Vec<T> {
    cores.iter().map(value).collect()
}

fn indices(cores: &[Core]) -> Vec<usize> {
    column(cores, |core| core.id.index())
}

/// Two clusters of two physical cores; thread `n + 4` is the sibling of thread `n`.
fn two_clusters_with_smt() -> FakeDevices {
    let devices = FakeDevices::new();
    for cpu in 0..8 {
        let first = cpu % 4;
        let cluster = if first < 2 { "0-1,4-5" } else { "2-3,6-7" };
        devices.usual_core(cpu, &format!("{first},{}", first + 4), cluster);
    }
    devices
}

#[test]
fn empty_tree_counts_all_cores_as_alike() {
    let cores = FakeDevices::new().ordered([2, 3, 9]);
    let expected = |(physical, index)| Core {
        id: CoreId(index),
        sibling_rank: 0,
        physical,
        cache_domain: 0,
        efficiency: 0,
        package: 0,
    };
    let expected: Vec<_> = [2, 3, 9].into_iter().enumerate().map(expected).collect();
    assert_eq!(cores, expected);
}

#[test]
fn no_cores_give_no_cores() {
    assert_eq!(FakeDevices::new().ordered([]), []);
}

#[test]
fn physical_cores_come_first_and_fill_one_cluster_before_the_next() {
    let cores = two_clusters_with_smt().ordered(0..8);
    assert_eq!(indices(&cores), [0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(column(&cores, |c| c.sibling_rank), [0, 0, 0, 0, 1, 1, 1, 1]);
    assert_eq!(column(&cores, |c| c.cache_domain), [0, 0, 1, 1, 0, 0, 1, 1]);
    assert_eq!(column(&cores, |c| c.physical), [0, 1, 2, 3, 0, 1, 2, 3]);
}

#[test]
fn neighbouring_numbers_may_be_siblings() {
    let devices = FakeDevices::new();
    for cpu in 0..4 {
        let first = cpu - cpu % 2;
        devices.usual_core(cpu, &format!("{first}-{}", first + 1), "0-3");
    }
    assert_eq!(indices(&devices.ordered(0..4)), [0, 2, 1, 3]);
}

#[test]
fn a_sibling_whose_first_thread_is_not_ours_is_a_physical_core() {
    let cores = two_clusters_with_smt().ordered([3, 4, 5, 7]);
    assert_eq!(indices(&cores), [4, 5, 3, 7]);
    assert_eq!(column(&cores, |c| c.sibling_rank), [0, 0, 0, 1]);
    assert_eq!(column(&cores, |c| c.cache_domain), [0, 0, 1, 1]);
}

#[test]
fn hybrid_takes_performance_then_efficiency_cores_then_siblings() {
    let devices = FakeDevices::new();
    for cpu in 0..4 {
        let first = cpu - cpu % 2;
        devices.usual_core(cpu, &format!("{first}-{}", first + 1), "0-5");
    }
    for cpu in 4..6 {
        devices.usual_core(cpu, &cpu.to_string(), "0-5");
    }
    // Two more without a third level, as on processors with low-power cores off the ring.
    for cpu in 6..8 {
        devices.cache(cpu, 0, "2", "Unified", "6-7");
    }
    devices.write("cpu_core/cpus", "0-3");
    let cores = devices.ordered(0..8);
    assert_eq!(indices(&cores), [0, 2, 4, 5, 6, 7, 1, 3]);
    assert_eq!(column(&cores, |c| c.efficiency), [0, 0, 1, 1, 1, 1, 0, 0]);
    assert_eq!(column(&cores, |c| c.cache_domain), [0, 0, 0, 0, 1, 1, 0, 0]);
}

#[test]
fn capacity_ranks_three_kinds_of_core() {
    let devices = FakeDevices::new();
    let capacities = ["290", "290", "290", "290", "860", "860", "860", "1024"];
    for (cpu, capacity) in capacities.into_iter().enumerate() {
        devices.core(cpu, "cpu_capacity", capacity);
        devices.core(cpu, "topology/physical_package_id", "-1");
    }
    let cores = devices.ordered(0..8);
    assert_eq!(indices(&cores), [7, 4, 5, 6, 0, 1, 2, 3]);
    assert_eq!(column(&cores, |c| c.efficiency), [0, 1, 1, 1, 2, 2, 2, 2]);
    assert!(cores.iter().all(|core| core.package == 0));
}

#[test]
fn frequency_decides_where_capacities_are_equal() {
    let devices = FakeDevices::new();
    for (cpu, khz) in ["3300000", "5100000", "5000000", "3300000"].iter().enumerate() {
        devices.core(cpu, "cpu_capacity", "1024");
        devices.core(cpu, "cpufreq/cpuinfo_max_freq", khz);
    }
    let cores = devices.ordered(0..4);
    assert_eq!(indices(&cores), [1, 2, 0, 3]);
}

#[test]
fn favoured_cores_are_no_kind_of_their_own() {
    assert_eq!(kinds_by_speed(&[5100, 4700, 4300, 3900]), [0, 0, 0, 0]);
    assert_eq!(kinds_by_speed(&[100, 85, 72]), [0, 0, 1]);
    assert_eq!(kinds_by_speed(&[0, u64::MAX]), [1, 0]);
}

#[test]
fn a_speed_that_one_core_lacks_says_nothing() {
    let devices = FakeDevices::new();
    devices.core(0, "cpu_capacity", "300");
    devices.core(1, "cpu_capacity", "fast");
    assert_eq!(column(&devices.ordered(0..2), |c| c.efficiency), [0, 0]);
}

#[test]
fn sockets_are_filled_one_after_the_other() {
    let devices = FakeDevices::new();
    for cpu in 0..4 {
        devices.core(cpu, "topology/physical_package_id", &(cpu % 2).to_string());
    }
    let cores = devices.ordered(0..4);
    assert_eq!(indices(&cores), [0, 2, 1, 3]);
    assert_eq!(column(&cores, |c| c.cache_domain), [0, 0, 1, 1]);
}

#[test]
fn garbage_in_files_counts_as_missing() {
    let devices = FakeDevices::new();
    for file in ["topology/thread_siblings_list", "topology/physical_package_id", "cache/index0/level", "cpu_capacity"]
    {
        devices.core(0, file, "3-,?");
    }
    assert_eq!(devices.ordered([0]), FakeDevices::new().ordered([0]));
}
