//! What Bevy's own thread pools get of the machine: the cores that the gang leaves.

use bevy_app::{TaskPoolOptions, TaskPoolPlugin};

use crate::{pool::wanted_workers, settings::AffinitySettings, topology::Topology};

impl AffinitySettings {
    /// Bevy's task pools, with as many threads together as a gang with these settings leaves cores,
    /// and with one thread each where it leaves fewer than three.
    ///
    /// Bevy starts as many threads as there are cores, whatever else uses them. In a game that does
    /// most of its work in tagged systems these get in the way of the workers, which are pinned and
    /// cannot step aside. Where other systems do a large part of the work Bevy's default is the
    /// better choice: with one compute thread Bevy's own `par_iter`, and so
    /// [`SchedulerMode::Bevy`](crate::SchedulerMode::Bevy), is serial.
    ///
    /// Bevy keeps the first pools of a process; they do not follow later changes of the settings or
    /// of the cores.
    ///
    /// ```
    /// use bevy::prelude::*;
    /// use bevy_affinity::prelude::*;
    ///
    /// let settings = AffinitySettings { spare_cores: SpareCores::Exactly(1), ..default() };
    /// let pools = settings.task_pool_plugin();
    /// App::new()
    ///     .insert_resource(settings)
    ///     .add_plugins((DefaultPlugins.set(pools), AffinityParallelPlugin));
    /// ```
    pub fn task_pool_plugin(&self) -> TaskPoolPlugin {
        TaskPoolPlugin {
            task_pool_options: TaskPoolOptions::with_num_threads(self.left_of(Topology::get().parallelism())),
        }
    }

    /// How many of `cores` cores Bevy's pools share; at least 1.
    fn left_of(&self, cores: usize) -> usize {
        cores.saturating_sub(wanted_workers(self, cores)).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{SpareCores, WorkerCount};

    #[test]
    fn bevy_gets_what_the_gang_leaves() {
        let left = |workers, spare_cores, cores| {
            AffinitySettings { workers, spare_cores, ..Default::default() }.left_of(cores)
        };
        let (auto, exactly) = (WorkerCount::Auto, WorkerCount::Exactly);
        assert_eq!([2, 4, 8, 16, 64].map(|cores| left(auto, SpareCores::Auto, cores)), [1, 1, 1, 2, 2]);
        assert_eq!(left(auto, SpareCores::Exactly(5), 16), 5);
        assert_eq!(left(exactly(4), SpareCores::Auto, 16), 12);
        assert_eq!(left(exactly(20), SpareCores::Auto, 16), 1);
    }

    #[test]
    fn the_pools_get_exactly_that_many_threads() {
        let settings = AffinitySettings { workers: WorkerCount::Exactly(1), ..Default::default() };
        let options = settings.task_pool_plugin().task_pool_options;
        assert_eq!(options.min_total_threads, options.max_total_threads);
        assert_eq!(options.max_total_threads, (Topology::get().parallelism() - 1).max(1));
    }
}
