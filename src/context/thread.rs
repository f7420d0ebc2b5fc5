//! What holds of this thread: what the tagged system that runs on it was given, whether it is
//! inside a parallel call, and whether sweeps are to stay on it.

use std::{
    cell::{Cell, RefCell},
    mem::ManuallyDrop,
    sync::Arc,
    thread::LocalKey,
};

use super::{Context, WorldContext};
use crate::{
    pool::in_round,
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
#[inline]
fn replace_system(entered: Option<SystemContext>) -> Option<SystemContext> {
    ManuallyDrop::into_inner(SYSTEM.replace(ManuallyDrop::new(entered)))
}

/// Makes the context of `world` that of this thread, which has the one of the last run of its
/// system: where that is the same its counter of references, which all workers share, stays as it
/// is.
#[inline]
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
    #[inline]
    fn drop(&mut self) {
        if let Some(before) = self.before.take() {
            drop(replace_system(before));
        }
    }
}

thread_local! {
    /// Set while this thread visits rows of a call that runs on Bevy's threads.
    static IN_BEVYS_BATCH: Cell<bool> = const { Cell::new(false) };
    /// Set while a task of a schedule runs on this thread whose sweeps are not to be rounds.
    static BY_ITSELF: Cell<bool> = const { Cell::new(false) };
}

/// Keeps a flag of this thread set; then the flag is as it was before.
pub(crate) struct Raised {
    flag: &'static LocalKey<Cell<bool>>,
    before: bool,
}

impl Raised {
    fn new(flag: &'static LocalKey<Cell<bool>>) -> Self {
        Self { flag, before: flag.replace(true) }
    }

    /// While a thread visits rows of a call that runs on Bevy's threads: parallel calls inside run
    /// on the spot, as they do inside a round.
    pub(crate) fn in_bevys_batch() -> Self {
        Self::new(&IN_BEVYS_BATCH)
    }

    /// While a tagged system runs whose sweeps were found to take less on one thread.
    pub(crate) fn by_itself() -> Self {
        Self::new(&BY_ITSELF)
    }
}

impl Drop for Raised {
    fn drop(&mut self) {
        self.flag.set(self.before);
    }
}

/// Whether this thread is inside a parallel call, the gang's or Bevy's.
#[inline]
pub(crate) fn is_inside_call() -> bool {
    in_round() || IN_BEVYS_BATCH.get()
}

/// Whether the sweeps of the tagged system that runs on this thread stay on it.
#[inline]
pub(crate) fn is_by_itself() -> bool {
    BY_ITSELF.get()
}

/// For Bevy's `for_each_init`: a value that `init` makes, and with it the flag of
/// [`Raised::in_bevys_batch`]. The value is dropped inside the batch, too: it stands first.
pub(crate) fn in_bevys_batches<T>(init: &impl Fn() -> T) -> impl Fn() -> (T, Raised) + Clone {
    || {
        let in_batch = Raised::in_bevys_batch();
        (init(), in_batch)
    }
}
