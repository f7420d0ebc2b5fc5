//! What is wrong with the settings: the log says it once, the panel as long as it holds.

use crate::{
    settings::{AffinitySettings, Pinning, WorkerCount},
    topology::Topology,
};

/// A line for each thing that makes rounds slower than they need be.
pub(super) fn of(settings: &AffinitySettings) -> impl Iterator<Item = String> + use<> {
    let cores = Topology::get().parallelism();
    let workers = match settings.workers {
        WorkerCount::Exactly(workers) => workers,
        WorkerCount::Auto => 0,
    };
    let too_many = (workers > cores).then(|| {
        format!(
            "{workers} workers for {cores} of the cores: they take turns, and rounds wait for the last. Settings, workers: auto"
        )
    });
    let unpinned = (settings.pinning == Pinning::Off && cores > 1)
        .then(|| "workers are not pinned: they lose their caches whenever the system moves them".to_string());
    too_many.into_iter().chain(unpinned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_right_and_too_many_workers_are_not() {
        let settings = AffinitySettings::default();
        assert_eq!(of(&settings).count(), 0);
        let workers = WorkerCount::Exactly(Topology::get().parallelism() + 1);
        assert_eq!(of(&AffinitySettings { workers, ..settings }).count(), 1);
    }
}
