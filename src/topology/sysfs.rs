//! What Linux tells about cores in its `/sys/devices` folder.
//!
//! Every file may be missing: virtual machines, containers and phones hide many of them. A core of
//! which nothing is known counts as a physical core of its own, as fast as the others, sharing its
//! last-level cache with its package.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::str::FromStr;

use super::cpulist::CpuList;
use super::{Core, CoreId};

/// Two neighbours in a ranking of speeds belong to different kinds of core if the slower has less
/// than this percentage of the faster's speed. The fastest and the slowest core of one kind differ
/// by less: favoured cores are clocked a few percent higher than the rest.
const SAME_KIND_PERCENT: u64 = 85;

/// Describes the cores `ids`, given in ascending order, by the files below `devices`.
pub(super) fn describe(devices: &Path, ids: &[CoreId]) -> Vec<Core> {
    let sysfs = Sysfs { devices };
    let packages: Vec<_> = ids.iter().map(|id| sysfs.package(*id)).collect();
    let physical = numbered(ids.iter().map(|id| sysfs.first_sibling(*id)));
    let caches = ids.iter().map(|id| sysfs.last_level_cache(*id));
    let cache_domains = numbered(packages.iter().zip(caches));
    let efficiency = sysfs.efficiency(ids);
    let describe_nth = |n: usize| Core {
        id: ids[n],
        sibling_rank: physical[..n].iter().filter(|p| **p == physical[n]).count(),
        physical: physical[n],
        cache_domain: cache_domains[n],
        efficiency: efficiency[n],
        package: packages[n],
    };
    (0..ids.len()).map(describe_nth).collect()
}

/// Replaces each label by its rank among the distinct labels.
fn numbered<L: Ord>(labels: impl Iterator<Item = L>) -> Vec<usize> {
    let labels: Vec<L> = labels.collect();
    let mut distinct: Vec<&L> = labels.iter().collect();
    distinct.sort();
    distinct.dedup();
    labels.iter().map(|label| distinct.partition_point(|other| *other < label)).collect()
}

struct Sysfs<'a> {
    devices: &'a Path,
}

impl Sysfs<'_> {
    fn read<T: FromStr>(&self, file: &str) -> Option<T> {
        let text = fs::read_to_string(self.devices.join(file)).ok()?;
        text.trim().parse().ok()
    }

    fn read_list(&self, file: &str) -> Option<CpuList> {
        let text = fs::read_to_string(self.devices.join(file)).ok()?;
        CpuList::parse(&text)
    }

    fn package(&self, id: CoreId) -> usize {
        // Some ARM boards say -1, meaning that they do not know.
        self.read(&format!("system/cpu/cpu{id}/topology/physical_package_id")).unwrap_or(0)
    }

    /// The lowest hardware thread of the physical core that `id` belongs to.
    fn first_sibling(&self, id: CoreId) -> usize {
        self.read_list(&format!("system/cpu/cpu{id}/topology/thread_siblings_list"))
            .and_then(|siblings| siblings.lowest())
            .unwrap_or(id.index())
    }

    /// The lowest core that shares the last-level cache of `id`.
    fn last_level_cache(&self, id: CoreId) -> Option<usize> {
        let (_level, folder) = (0..)
            .map(|index| format!("system/cpu/cpu{id}/cache/index{index}"))
            .map_while(|folder| Some((self.read::<u32>(&format!("{folder}/level"))?, folder)))
            .filter(|(_level, folder)| self.holds_data(folder))
            .max_by_key(|(level, _folder)| *level)?;
        self.read_list(&format!("{folder}/shared_cpu_list"))?.lowest()
    }

    fn holds_data(&self, cache: &str) -> bool {
        self.read::<String>(&format!("{cache}/type")).is_some_and(|kind| kind != "Instruction")
    }

    /// [`Core::efficiency`] of each core, by the first source that tells them apart.
    fn efficiency(&self, ids: &[CoreId]) -> Vec<usize> {
        let sources = [Self::hybrid_kind, Self::capacity, Self::max_frequency];
        sources
            .iter()
            .filter_map(|source| ids.iter().map(|id| source(self, *id)).collect())
            .map(|speeds: Vec<u64>| kinds_by_speed(&speeds))
            .find(|kinds| kinds.iter().any(|kind| *kind > 0))
            .unwrap_or_else(|| vec![0; ids.len()])
    }

    /// On Intel's hybrid processors, 1 for a performance core and 0 for others.
    fn hybrid_kind(&self, id: CoreId) -> Option<u64> {
        self.read_list("cpu_core/cpus").map(|performance| u64::from(performance.contains(id.index())))
    }

    /// Relative speed, the fastest core of the system having 1024.
    fn capacity(&self, id: CoreId) -> Option<u64> {
        self.read(&format!("system/cpu/cpu{id}/cpu_capacity"))
    }

    /// In kHz.
    fn max_frequency(&self, id: CoreId) -> Option<u64> {
        self.read(&format!("system/cpu/cpu{id}/cpufreq/cpuinfo_max_freq"))
    }
}

/// Groups cores by clear gaps between their speeds; the fastest group is 0.
fn kinds_by_speed(speeds: &[u64]) -> Vec<usize> {
    let distinct: BTreeSet<u64> = speeds.iter().copied().collect();
    let descending: Vec<u64> = distinct.into_iter().rev().collect();
    let slowest_of_kinds: Vec<u64> =
        descending.windows(2).filter(|pair| is_other_kind(pair[0], pair[1])).map(|pair| pair[0]).collect();
    speeds.iter().map(|speed| slowest_of_kinds.iter().filter(|s| speed < s).count()).collect()
}

fn is_other_kind(faster: u64, slower: u64) -> bool {
    u128::from(slower) * 100 < u128::from(faster) * u128::from(SAME_KIND_PERCENT)
}

#[cfg(test)]
mod tests;
