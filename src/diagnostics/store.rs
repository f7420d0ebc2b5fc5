//! The numbers in Bevy's [`DiagnosticsStore`].

use std::mem;

use bevy_diagnostic::{Diagnostic, DiagnosticMeasurement, DiagnosticPath, DiagnosticsStore};
use bevy_ecs::{
    prelude::{Local, ResMut},
    system::SystemParam,
};
use bevy_platform::{collections::HashSet, time::Instant};

use super::AffinityDiagnostics;

/// Where the numbers are in Bevy's [`DiagnosticsStore`], if the app has one (`DefaultPlugins` bring
/// it). Those of workers and systems are measured some times a second, the others in every frame.
///
/// ```
/// use bevy::{diagnostic::DiagnosticsStore, prelude::*};
/// use bevy_affinity::{paths, prelude::*};
///
/// fn show(store: Res<DiagnosticsStore>) {
///     if let Some(busy) = store.get(&paths::worker_busy(1)).and_then(|diagnostic| diagnostic.smoothed()) {
///         println!("worker 1 is busy for {busy:.0} % of the time");
///     }
/// }
/// # let mut app = App::new();
/// # app.init_resource::<DiagnosticsStore>().add_plugins(AffinityParallelPlugin).add_systems(Update, show).update();
/// ```
pub mod paths {
    use super::DiagnosticPath;

    /// Milliseconds from one frame's begin to the next one's.
    pub const FRAME: DiagnosticPath = DiagnosticPath::const_new("affinity/frame");
    /// Milliseconds in tagged systems, each frame.
    pub const TAGGED: DiagnosticPath = DiagnosticPath::const_new("affinity/tagged");
    /// How much busier than the mean the busiest worker is, in percent.
    pub const IMBALANCE: DiagnosticPath = DiagnosticPath::const_new("affinity/imbalance");
    /// Rows swept on the core that swept them last time, in percent, since the settings changed
    /// last.
    pub const SAME_CORE: DiagnosticPath = DiagnosticPath::const_new("affinity/same_core");
    /// Rows that changed owner, since the settings changed last.
    pub const MIGRATED_ROWS: DiagnosticPath = DiagnosticPath::const_new("affinity/migrated_rows");

    /// How much of the last second a worker spent inside closures, in percent.
    pub fn worker_busy(worker: usize) -> DiagnosticPath {
        DiagnosticPath::new(format!("affinity/worker/{worker}/busy"))
    }

    /// How much of the last second a worker spent in rounds outside closures, in percent.
    pub fn worker_wait(worker: usize) -> DiagnosticPath {
        DiagnosticPath::new(format!("affinity/worker/{worker}/wait"))
    }

    /// How much of the last second a worker spent outside rounds, in percent.
    pub fn worker_idle(worker: usize) -> DiagnosticPath {
        DiagnosticPath::new(format!("affinity/worker/{worker}/idle"))
    }

    /// Milliseconds that a tagged system takes, on average over its recent runs. The name is the
    /// one in [`SystemDiagnostics`](crate::SystemDiagnostics::name). Taken out of the store when
    /// the system is gone. Paths have no empty parts: in place of one between slashes, or at either
    /// end, is `_`.
    pub fn system(name: &str) -> DiagnosticPath {
        let mut path = String::from("affinity/system");
        for part in name.split('/') {
            path.push('/');
            path.push_str(if part.is_empty() { "_" } else { part });
        }
        DiagnosticPath::new(path)
    }
}

/// The paths of what there is one of for each worker and each system: made once.
#[derive(Default)]
pub(super) struct Paths {
    /// Busy, waiting and idle, by worker.
    workers: Vec<[DiagnosticPath; 3]>,
    /// By place, with the number of the system that has it.
    systems: Vec<Option<(usize, DiagnosticPath)>>,
}

impl Paths {
    /// Takes over which workers and systems there are, and returns the paths of those that are
    /// gone.
    fn follow(&mut self, diagnostics: &AffinityDiagnostics) -> HashSet<DiagnosticPath> {
        for worker in self.workers.len()..diagnostics.workers.len() {
            self.workers.push([paths::worker_busy(worker), paths::worker_wait(worker), paths::worker_idle(worker)]);
        }
        let left = diagnostics.workers.len().min(self.workers.len());
        let mut gone: HashSet<_> = self.workers.drain(left..).flatten().collect();
        let places = self.systems.len().max(diagnostics.systems.len());
        self.systems.resize(places, None);
        for (place, known) in self.systems.iter_mut().enumerate() {
            let system = diagnostics.systems.get(place).and_then(|system| Some((system.number?, &system.name)));
            if known.as_ref().map(|(number, _)| *number) != system.map(|(number, _)| number) {
                let path = system.map(|(number, name)| (number, paths::system(name)));
                gone.extend(mem::replace(known, path).map(|(_, path)| path));
            }
        }
        self.systems.truncate(diagnostics.systems.len());
        gone
    }
}

/// The store, if the app has one. Not a system of its own: another one in each frame would cost
/// more than what it does.
#[derive(SystemParam)]
pub(super) struct Mirror<'w, 's> {
    store: Option<ResMut<'w, DiagnosticsStore>>,
    paths: Local<'s, Paths>,
}

impl Mirror<'_, '_> {
    /// Copies the numbers to the store: those of the frame always, the others when they are new.
    pub(super) fn update(&mut self, diagnostics: &AffinityDiagnostics) {
        let Some(store) = &mut self.store else { return };
        let gone = self.paths.follow(diagnostics);
        if !gone.is_empty() {
            forget(store, &gone);
        }
        let mut measurements = Measurements { store, time: Instant::now() };
        measurements.add_totals(diagnostics);
        let workers = diagnostics.workers.iter().zip(&self.paths.workers);
        for (worker, paths) in workers.filter(|_| diagnostics.refreshed) {
            let recent = worker.recent;
            for (path, share) in paths.iter().zip([recent.busy, recent.wait, recent.idle]) {
                measurements.add(path, "%", share * 100.0);
            }
        }
        let systems = diagnostics.systems.iter().zip(&self.paths.systems);
        for (system, known) in systems.filter(|(system, _)| system.is_fresh) {
            if let Some((_, path)) = known {
                measurements.add(path, "ms", system.recent_mean.as_secs_f64() * 1e3);
            }
        }
    }
}

/// Takes the diagnostics at `gone` out of `store`. It has no method for that, so all others move to
/// a new one.
fn forget(store: &mut DiagnosticsStore, gone: &HashSet<DiagnosticPath>) {
    let mut kept = DiagnosticsStore::default();
    for diagnostic in store.iter_mut().filter(|diagnostic| !gone.contains(diagnostic.path())) {
        let left = Diagnostic::new(diagnostic.path().clone());
        kept.add(mem::replace(diagnostic, left));
    }
    *store = kept;
}

/// The store, and the time of what is added to it.
struct Measurements<'a> {
    store: &'a mut DiagnosticsStore,
    time: Instant,
}

impl Measurements<'_> {
    fn add_totals(&mut self, diagnostics: &AffinityDiagnostics) {
        if let Some(frame) = diagnostics.history().next_back() {
            self.add(&paths::FRAME, "ms", frame.delta().as_secs_f64() * 1e3);
            self.add(&paths::TAGGED, "ms", frame.tagged_time().as_secs_f64() * 1e3);
        }
        if let Some(imbalance) = diagnostics.imbalance() {
            self.add(&paths::IMBALANCE, "%", imbalance * 100.0);
        }
        if let Some(share) = diagnostics.same_core_share() {
            self.add(&paths::SAME_CORE, "%", share * 100.0);
        }
        self.add(&paths::MIGRATED_ROWS, "", diagnostics.migrated_rows as f64);
    }

    fn add(&mut self, path: &DiagnosticPath, suffix: &'static str, value: f64) {
        if self.store.get(path).is_none() {
            self.store.add(Diagnostic::new(path.clone()).with_suffix(suffix));
        }
        if let Some(diagnostic) = self.store.get_mut(path).filter(|diagnostic| diagnostic.is_enabled) {
            diagnostic.add_measurement(DiagnosticMeasurement { time: self.time, value });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{AffinityDiagnostics, Paths, paths};
    use crate::diagnostics::WorkerDiagnostics;

    #[test]
    fn workers_that_are_gone_leave_the_store() {
        let (mut diagnostics, mut known) = (AffinityDiagnostics::default(), Paths::default());
        diagnostics.workers = vec![WorkerDiagnostics::default(); 3];
        assert!(known.follow(&diagnostics).is_empty());
        diagnostics.workers.truncate(1);
        let gone = known.follow(&diagnostics);
        assert!(gone.len() == 6 && gone.contains(&paths::worker_busy(2)), "{gone:?}");
        assert!(known.follow(&diagnostics).is_empty());
    }

    #[test]
    fn any_name_makes_a_path() {
        let names =
            [("", "_"), ("/begin", "_/begin"), ("end/", "end/_"), ("a//b", "a/_/b"), ("/", "_/_"), ("a::b", "a::b")];
        for (name, path) in names {
            assert_eq!(paths::system(name).as_str(), format!("affinity/system/{path}"));
        }
    }
}
