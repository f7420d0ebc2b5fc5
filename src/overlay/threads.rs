//! How long the other threads of the process had a core in each frame: Bevy's pools, drivers,
//! audio. By the system's account; when in the frame that was, it does not tell.

use std::mem;

use bevy_platform::collections::HashMap;

use crate::{
    pool::now,
    record::Ring,
    topology::{ThreadNumber, for_each_thread, is_main_thread, name_of_thread},
};

/// What is kept: 30 groups of threads for 136 frames. 160 KiB, from the first look on.
const KEPT: usize = 1 << 12;

/// Letters of a name that the system keeps.
const KEPT_LETTERS: usize = 15;

/// Names of which it keeps the begin.
const LONG_NAMES: [&str; 3] = ["Compute Task Pool", "Async Compute Task Pool", "IO Task Pool"];

/// Threads that have lanes of their own, by the begins of their names.
const SHOWN_OTHERWISE: [&str; 2] = ["affinity worker", "Render thread"];

/// The threads of one name, in one frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OnCore {
    /// Which name, as an index into [`Threads::names`].
    pub(super) group: usize,
    /// From the begin of the frame to that of the next.
    pub(super) begin: u64,
    pub(super) end: u64,
    /// How long they had a core, all together.
    pub(super) ran: u64,
    /// How many had one.
    pub(super) threads: u32,
}

/// What is known of the threads.
#[derive(Debug, Default)]
pub(super) struct Threads {
    names: Vec<String>,
    known: HashMap<ThreadNumber, Known>,
    /// When they were last looked at.
    looked: u64,
    /// How often.
    looks: u64,
    frames: Ring<OnCore>,
    /// Of the frame that ends, by group.
    sums: Vec<(u64, u32)>,
}

#[derive(Clone, Copy, Debug)]
struct Known {
    /// `None` for those that have lanes of their own.
    group: Option<usize>,
    /// How long it ran so far.
    ran: u64,
    /// The last look at which it was there: numbers are given again.
    look: u64,
}

impl Threads {
    /// Notes what the threads did since the last call, which is the begin of the last frame. Does
    /// nothing where the system does not tell.
    pub(super) fn end_frame(&mut self) {
        let begin = mem::replace(&mut self.looked, now());
        self.looks += 1;
        self.sums.clear();
        self.frames.reserve(KEPT);
        for_each_thread(|thread, ran| self.look_at(thread, ran));
        let is_there = self.looks;
        self.known.retain(|_, known| known.look == is_there);
        for (group, &(ran, threads)) in self.sums.iter().enumerate().filter(|(_, sum)| sum.0 > 0) {
            self.frames.push(OnCore { group, begin, end: self.looked, ran, threads });
        }
    }

    /// Nothing is known of the time in which it was not looked at.
    pub(super) fn forget(&mut self) {
        self.known.clear();
    }

    fn look_at(&mut self, thread: ThreadNumber, ran: u64) {
        let look = self.looks;
        let before = match self.known.get(&thread).copied() {
            Some(known) => known,
            // What it did before it was first seen is of no frame.
            None => Known { group: self.group_of(thread), ran, look },
        };
        self.known.insert(thread, Known { ran, look, ..before });
        let spent = ran.saturating_sub(before.ran);
        if let Some(group) = before.group.filter(|_| spent > 0) {
            self.sums.resize(self.sums.len().max(group + 1), (0, 0));
            let (sum, threads) = &mut self.sums[group];
            (*sum, *threads) = (*sum + spent, *threads + 1);
        }
    }

    fn group_of(&mut self, thread: ThreadNumber) -> Option<usize> {
        let name = name_of_thread(thread).filter(|_| !is_main_thread(thread))?;
        if SHOWN_OTHERWISE.iter().any(|other| name.starts_with(other)) {
            return None;
        }
        let name = group_name(&name);
        let known = self.names.iter().position(|known| *known == name);
        Some(known.unwrap_or_else(|| {
            self.names.push(name);
            self.names.len() - 1
        }))
    }

    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// What was noted of the frames of which a part lies between `begin` and `end`.
    pub(super) fn between(&self, begin: u64, end: u64) -> impl Iterator<Item = &OnCore> {
        self.frames.values().iter().filter(move |frame| frame.end > begin && frame.begin < end)
    }
}

/// `llvmpipe-3` and `llvmpipe-4` are `llvmpipe`.
fn group_name(name: &str) -> String {
    if let Some(long) =
        LONG_NAMES.iter().find(|long| name.len() >= KEPT_LETTERS.min(long.len()) && long.starts_with(name))
    {
        return (*long).to_string();
    }
    let name = name.split('(').next().unwrap_or_default();
    let name = name.trim_end_matches(|letter: char| letter.is_ascii_digit() || "-_:# ".contains(letter));
    if name.is_empty() { "others".to_string() } else { name.to_string() }
}

#[cfg(test)]
mod tests {
    use std::{
        hint,
        sync::atomic::{AtomicBool, Ordering},
        thread,
        time::{Duration, Instant},
    };

    use super::*;

    #[test]
    fn threads_of_one_pool_are_one_group() {
        let groups = [
            ("Compute Task Po", "Compute Task Pool"),
            ("Async Compute T", "Async Compute Task Pool"),
            ("IO Task Pool (0", "IO Task Pool"),
            // Where names are kept whole.
            ("Compute Task Pool (3)", "Compute Task Pool"),
            ("llvmpipe-12", "llvmpipe"),
            ("tokio-runtime-w", "tokio-runtime-w"),
            ("Compute", "Compute"),
            ("Async", "Async"),
            ("7", "others"),
        ];
        groups.into_iter().for_each(|(name, group)| assert_eq!(group_name(name), group));
    }

    /// Where the system tells of threads at all.
    #[test]
    fn what_another_thread_did_is_found_by_its_name() {
        let mut threads = Threads::default();
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            let busy = || {
                while !is_over.load(Ordering::Relaxed) {
                    hint::spin_loop();
                }
            };
            thread::Builder::new().name("busy bee 3".to_string()).spawn_scoped(scope, busy).expect("a thread");
            let began = Instant::now();
            let found = loop {
                thread::sleep(Duration::from_millis(5));
                threads.end_frame();
                let bee = threads.names().iter().position(|name| name == "busy bee");
                let found = threads.between(0, u64::MAX).find(|frame| Some(frame.group) == bee).copied();
                if found.is_some() || began.elapsed() > Duration::from_secs(60) {
                    break found;
                }
            };
            is_over.store(true, Ordering::Relaxed);
            if !threads.names().is_empty() {
                let found = found.expect("it was busy all the time");
                assert!(found.threads == 1 && found.begin < found.end, "{found:?}");
            }
        });
    }
}
