//! What the tagged system that runs on this thread was given.

use std::{cell::RefCell, mem::ManuallyDrop, sync::Arc};

use super::{Context, WorldContext};
use crate::{
    record::{Running, SystemTiming},
    settings::{AffinitySettings, SchedulerMode},
};

/// What the running tagged system was given.
pub(crate) struct SystemContext {
    pub(crate) mode: SchedulerMode,
    pub(crate) context: Arc<Context>,
}

thread_local! {
    /// Set while a tagged system runs on this thread, and nothing when the thread ends. Not dropped
    /// by the thread: so it is there to the last, for an app that runs in the destructor of another
    /// thread-local.
    static SYSTEM: RefCell<ManuallyDrop<Option<SystemContext>>> = const { RefCell::new(ManuallyDrop::new(None)) };
}

/// Reads what the tagged system that runs on this thread was given, if one does. `read` calls no
/// code of users.
#[inline]
pub(crate) fn with_system<R>(read: impl FnOnce(&SystemContext) -> R) -> Option<R> {
    SYSTEM.with_borrow(|entered| entered.as_ref().map(read))
}

/// Makes `entered` the context of this thread, and returns what was.
fn replace_system(entered: Option<SystemContext>) -> Option<SystemContext> {
    ManuallyDrop::into_inner(SYSTEM.replace(ManuallyDrop::new(entered)))
}

/// Makes the context of `world` that of this thread, which has the one of the last run of its
/// system: where that is the same its counter of references, which all workers share, stays as it
/// is.
pub(crate) fn enter(mode: SchedulerMode, world: &WorldContext, settings: Option<&AffinitySettings>) {
    let is_known = SYSTEM.with_borrow_mut(|entered| match &mut **entered {
        Some(entered) if world.is(&entered.context, settings) => {
            entered.mode = mode;
            true
        }
        _ => false,
    });
    if !is_known {
        let context = settings.map_or_else(|| world.current(), |settings| world.for_settings(settings));
        drop(replace_system(Some(SystemContext { mode, context })));
    }
}

/// Makes nothing the context of this thread: the world has none.
pub(crate) fn enter_nothing() {
    drop(replace_system(None));
}

/// Restores the context that this thread had when the scope was opened, also when the system
/// panics.
pub(crate) struct SystemScope {
    /// Until it is restored.
    before: Option<Option<SystemContext>>,
    _running: Running,
}

impl SystemScope {
    /// To be opened around a run of `system`, with what it was given in its last run.
    #[inline]
    pub(crate) fn open(system: &SystemTiming, given: Option<SystemContext>) -> Self {
        Self { before: Some(replace_system(given)), _running: Running::enter(system) }
    }

    /// Ends the scope; returns what the system was given.
    #[inline]
    pub(crate) fn close(mut self) -> Option<SystemContext> {
        self.before.take().and_then(replace_system)
    }
}

impl Drop for SystemScope {
    fn drop(&mut self) {
        if let Some(before) = self.before.take() {
            drop(replace_system(before));
        }
    }
}
