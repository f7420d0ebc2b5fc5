//! What tasks take.

use bevy_ecs::schedule::FixedBitSet;

/// A new time counts as one part in this many, and as twice the mean at most.
const SMOOTHING: f32 = 8.0;

/// What each task of a schedule takes, and which lead rounds.
pub(super) struct Costs {
    /// Nanoseconds by task.
    means: Vec<f32>,
    observed: u32,
    leads: FixedBitSet,
}

impl Costs {
    pub(super) fn new(tasks: usize) -> Self {
        Self { means: vec![0.0; tasks], observed: 0, leads: FixedBitSet::with_capacity(tasks) }
    }

    /// Nanoseconds by task.
    pub(super) fn all(&self) -> &[f32] {
        &self.means
    }

    /// Learns what each task took in a run. The first one fetches everything into the caches: it
    /// counts for nothing once there is another.
    pub(super) fn observe(&mut self, took: impl Iterator<Item = u64>) {
        self.observed += 1;
        for (mean, took) in self.means.iter_mut().zip(took) {
            let took = took as f32;
            *mean = match self.observed {
                1 | 2 => took,
                // A system that its conditions kept from running until now may take any time.
                _ if *mean < 1.0 => took,
                _ => *mean + (took.min(*mean * 2.0) - *mean) / SMOOTHING,
            };
        }
    }

    /// Notes whether a task led rounds of the gang in a run on one thread.
    pub(super) fn leads_rounds(&mut self, task: usize, leads: bool) {
        self.leads.set(task, leads || self.leads.contains(task));
    }

    pub(super) fn led_rounds(&self, task: usize) -> bool {
        self.leads.contains(task)
    }
}
