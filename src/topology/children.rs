//! Threads that a pinned thread has started: on Linux and Android they are kept to its cores from
//! their birth, which the program that starts them did not ask for.

use std::time::Duration;

use bevy_platform::time::Instant;

use super::{
    CoreId, ThreadNumber,
    tasks::{for_each_number, name_of_thread},
};

/// How far looks are apart. One takes 10 us, and half a microsecond for each new thread.
const INTERVAL: Duration = Duration::from_secs(1);

/// Looks for threads that pinned ones have started. It keeps its memory.
///
/// A thread is looked at when it was there at the look before, too: by then one that lets itself go
/// has done so, and one that came for a moment is gone.
#[derive(Debug)]
pub(crate) struct Children {
    looked: Option<Instant>,
    /// Whether the system has refused to list the threads: some note each try.
    refused: bool,
    /// At the last look, in the order of their numbers: all threads, and those that were new.
    known: Vec<ThreadNumber>,
    new: Vec<ThreadNumber>,
    listed: Vec<ThreadNumber>,
}

impl Children {
    pub(crate) const fn new() -> Self {
        Self { looked: None, refused: false, known: Vec::new(), new: Vec::new(), listed: Vec::new() }
    }

    /// Whether it is time for a look, by `now`.
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        !self.refused && self.looked.is_none_or(|before| now.saturating_duration_since(before) >= INTERVAL)
    }

    /// Looks: the cores of a thread, fewer than `all`, that one of the `pinned` has started, and
    /// that stays there. It is told by its name: it was given none, so it has that of the thread
    /// which started it. One with a name may have been pinned on purpose.
    pub(crate) fn look(
        &mut self,
        now: Instant,
        all: usize,
        pinned: impl FnOnce() -> Vec<ThreadNumber>,
    ) -> Option<Vec<CoreId>> {
        self.looked = Some(now);
        self.listed.clear();
        self.refused = for_each_number(|thread| self.listed.push(thread)).is_none();
        self.listed.sort_unstable();
        let Self { known, new, listed, .. } = self;
        let pinned = if new.is_empty() { Vec::new() } else { pinned() };
        let old_enough = new.iter().filter(|thread| !pinned.contains(thread));
        let found = old_enough.copied().find_map(|thread| kept_like(thread, &pinned, all));
        new.clear();
        new.extend(listed.iter().filter(|thread| known.binary_search(thread).is_err()));
        std::mem::swap(known, listed);
        found
    }
}

/// The cores that `thread` is kept to, fewer than `all`, if one of the `pinned` has started it.
fn kept_like(thread: ThreadNumber, pinned: &[ThreadNumber], all: usize) -> Option<Vec<CoreId>> {
    let cores = cores_of(thread).filter(|cores| cores.len() < all)?;
    let parent = pinned.iter().find(|&&parent| cores_of(parent).as_ref() == Some(&cores))?;
    (name_of_thread(thread)? == name_of_thread(*parent)?).then_some(cores)
}

/// The cores that `thread` may run on; `None` if it has ended.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn cores_of(thread: ThreadNumber) -> Option<Vec<CoreId>> {
    use rustix::thread::{CpuSet, sched_getaffinity};
    let mask = sched_getaffinity(Some(thread.as_pid()?)).ok()?;
    Some((0..CpuSet::MAX_CPU).filter(|&core| mask.is_set(core)).map(CoreId).collect())
}

/// The cores that a thread may run on: not told here.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn cores_of(_thread: ThreadNumber) -> Option<Vec<CoreId>> {
    None
}

#[cfg(all(test, any(target_os = "linux", target_os = "android")))]
mod tests {
    use std::{
        sync::mpsc::{self, Receiver, Sender},
        thread,
    };

    use super::*;
    use crate::topology::{Topology, current_thread, pin_current_thread, unpin_current_thread};

    /// Starts a thread that does `first`, and then waits until what this returns is dropped.
    fn start(name: Option<&str>, first: impl FnOnce() + Send + 'static) -> Sender<()> {
        let (end, ended): (_, Receiver<()>) = mpsc::channel();
        let (done, is_done) = mpsc::channel();
        let named = name.map_or_else(thread::Builder::new, |name| thread::Builder::new().name(name.to_owned()));
        let body = move || {
            first();
            done.send(()).expect("it is waited for");
            _ = ended.recv();
        };
        named.spawn(body).expect("a thread starts");
        is_done.recv().expect("it says so");
        end
    }

    /// Does `work` on a pinned thread of that name; nothing where there is only one core, or
    /// pinning is forbidden.
    fn on_pinned_thread(name: &str, work: impl FnOnce(ThreadNumber, CoreId) + Send) {
        let Some(core) = Topology::get().cores.get(1).map(|core| core.id) else { return };
        let body = || {
            if pin_current_thread(core).is_ok() {
                work(current_thread().expect("the system tells"), core);
            }
        };
        let named = thread::Builder::new().name(name.to_owned());
        thread::scope(|scope| named.spawn_scoped(scope, body).expect("a thread starts").join()).expect("no panic");
    }

    fn look(children: &mut Children, parent: ThreadNumber) -> Option<Vec<CoreId>> {
        children.look(Instant::now(), Topology::get().cores.len(), || vec![parent])
    }

    #[test]
    fn looks_are_a_second_apart() {
        let (mut children, begin) = (Children::new(), Instant::now());
        let due = [0, 10, 999, 1_000, 1_999, 2_000].map(|passed| {
            let now = begin + Duration::from_millis(passed);
            let due = children.is_due(now);
            if due {
                children.look(now, 2, Vec::new);
            }
            due
        });
        assert_eq!(due, [true, false, false, true, false, true]);
    }

    #[test]
    fn threads_without_a_name_are_found_once_they_stay() {
        on_pinned_thread("parent", |parent, core| {
            let mut children = Children::new();
            let before = start(None, || ());
            assert_eq!(look(&mut children, parent), None);
            assert_eq!(look(&mut children, parent), Some(vec![core]));
            drop(before);
            assert_eq!(look(&mut children, parent), None, "once, and not the parent");
            let _child = start(None, || ());
            assert_eq!([(); 3].map(|()| look(&mut children, parent)), [None, Some(vec![core]), None]);
        });
    }

    #[test]
    fn others_are_not() {
        on_pinned_thread("other parent", |parent, _| {
            let elsewhere = Topology::get().cores[0].id;
            let mut children = Children::new();
            look(&mut children, parent);
            let _threads = [
                start(Some("with a name"), || ()),
                start(None, || _ = unpin_current_thread()),
                start(None, move || pin_current_thread(elsewhere).expect("it is ours")),
            ];
            assert!((0..3).all(|_| look(&mut children, parent).is_none()));
        });
    }

    /// No system has as many threads.
    #[test]
    fn a_thread_that_is_gone_is_kept_nowhere() {
        assert_eq!(cores_of(ThreadNumber(i32::MAX as u32)), None);
    }
}
