//! The context of a world, which follows its settings and the cores.

use std::sync::{
    Arc, Mutex, MutexGuard,
    atomic::{AtomicUsize, Ordering},
};

use bevy_ecs::prelude::Resource;

use super::Context;
use crate::{settings::AffinitySettings, sync::lock, topology::Topology};

/// The context of one world, made anew whenever the settings or the cores differ from those it was
/// made with.
#[derive(Resource)]
pub(crate) struct WorldContext {
    context: Mutex<Arc<Context>>,
    /// Where the context is: a system that holds one finds out without the lock whether it is still
    /// the one, on a line that is seldom written. Only ever compared, so all accesses are relaxed.
    address: AtomicUsize,
}

impl WorldContext {
    pub(crate) fn new(settings: &AffinitySettings, topology: Arc<Topology>) -> Self {
        let context = Arc::new(Context::new(settings, topology, Arc::default(), Arc::default(), Arc::default()));
        Self { address: AtomicUsize::new(Arc::as_ptr(&context).addr()), context: Mutex::new(context) }
    }

    /// Whether `known` is the context for `settings`; where there are none the last ones hold.
    #[inline]
    pub(super) fn is(&self, known: &Arc<Context>, settings: Option<&AffinitySettings>) -> bool {
        Arc::as_ptr(known).addr() == self.address.load(Ordering::Relaxed)
            && settings.is_none_or(|settings| known.settings == *settings)
    }

    /// The context for `settings`; the old one lives on until the calls that use it are over.
    pub(crate) fn for_settings(&self, settings: &AffinitySettings) -> Arc<Context> {
        self.follow(settings, None)
    }

    /// The context for `settings` on the cores of `topology`.
    pub(crate) fn for_cores(&self, settings: &AffinitySettings, topology: &Arc<Topology>) -> Arc<Context> {
        self.follow(settings, Some(topology))
    }

    fn follow(&self, settings: &AffinitySettings, topology: Option<&Arc<Topology>>) -> Arc<Context> {
        let mut context = self.lock();
        if context.settings != *settings
            || topology.is_some_and(|topology| context.pool.is_outdated(settings, topology))
        {
            let topology = topology.unwrap_or(context.pool.topology()).clone();
            let (systems, recorder, sites) = (context.systems.clone(), context.recorder.clone(), context.sites.clone());
            *context = Arc::new(Context::new(settings, topology, systems, recorder, sites));
            self.address.store(Arc::as_ptr(&context).addr(), Ordering::Relaxed);
        }
        context.clone()
    }

    pub(crate) fn current(&self) -> Arc<Context> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Arc<Context>> {
        lock(&self.context)
    }
}

#[cfg(test)]
mod tests;
