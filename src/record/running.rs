//! Which tagged system runs on a thread.

use std::cell::Cell;

use super::SystemTiming;

thread_local! {
    /// The number of the tagged system that runs on this thread.
    static RUNNING: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Makes a system the one that runs on this thread; restores the one before when it is dropped,
/// also by a panic.
pub(crate) struct Running {
    before: Option<usize>,
    #[cfg(feature = "trace")]
    _named: named::Named,
}

impl Running {
    #[inline]
    pub(crate) fn enter(system: &SystemTiming) -> Self {
        Self {
            before: RUNNING.replace(Some(system.number())),
            #[cfg(feature = "trace")]
            _named: named::Named::enter(system.name.clone()),
        }
    }
}

impl Drop for Running {
    #[inline]
    fn drop(&mut self) {
        RUNNING.set(self.before);
    }
}

/// The number of the tagged system that runs on this thread, if one does. The diagnostics know its
/// place by that.
#[inline]
pub(crate) fn running_number() -> Option<usize> {
    RUNNING.get()
}

/// The name of the tagged system that runs on this thread, for tracing spans.
#[cfg(feature = "trace")]
pub(crate) mod named {
    use std::{cell::RefCell, mem::ManuallyDrop, sync::Arc};

    thread_local! {
        /// None when the thread ends. Not dropped by the thread: so it is there to the last, for a
        /// round in the destructor of another thread-local.
        static NAME: RefCell<ManuallyDrop<Option<Arc<str>>>> = const { RefCell::new(ManuallyDrop::new(None)) };
    }

    fn replace(name: Option<Arc<str>>) -> Option<Arc<str>> {
        ManuallyDrop::into_inner(NAME.replace(ManuallyDrop::new(name)))
    }

    /// Restores the name before when it is dropped.
    pub(super) struct Named(Option<Arc<str>>);

    impl Named {
        pub(super) fn enter(name: Arc<str>) -> Self {
            Self(replace(Some(name)))
        }
    }

    impl Drop for Named {
        fn drop(&mut self) {
            drop(replace(self.0.take()));
        }
    }

    /// The name of the tagged system that runs on this thread, if one does.
    pub(crate) fn running_name() -> Option<Arc<str>> {
        NAME.with_borrow(|name| (**name).clone())
    }
}
