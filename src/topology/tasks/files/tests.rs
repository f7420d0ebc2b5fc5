//! Folders of threads as a machine showed them.

use std::{env, ffi::CString, fs, path::PathBuf, process};

use super::*;

/// A thread of Bevy's that works, on core 1.
const WORKING: &str = "4711 (Compute Task Po) R 4243 4242 4242 34816 4242 4194368 12 0 0 0 812 3 0 0 20 0 9 0 71723 \
    311345152 2361 18446744073709551615 94358270824448 94358270844329 140731986360752 0 0 0 0 4096 1088 0 0 0 -1 1 0 0 \
    0 0 0 94358270860336 94358270861952 94358524473344 140731986369162 140731986369182 140731986369182 140731986370539 0";

/// One that sleeps, whose name its owner chose.
const ODD_NAME: &str = "4712 (a) R 1 (b 2) S 4243 4242 4242 34816 4242 4194368 0 0 0 0 0 0 0 0 20 0 9 0 71723 311345152 \
    2361 18446744073709551615 1 1 0 0 0 0 0 4096 1088 0 0 0 -1 63 0 0 0 0 0 0 0 0 0 0 0 0 0";

/// A folder like `/proc/self/task`, removed when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = env::temp_dir().join(format!("bevy-affinity-tasks-{}-{name}", process::id()));
        fs::create_dir_all(&folder).expect("the temporary folder is there to write to");
        Self(folder)
    }

    fn thread(&self, name: &str, schedstat: &str, stat: impl AsRef<[u8]>) {
        let folder = self.0.join(name);
        fs::create_dir_all(&folder).expect("as above");
        fs::write(folder.join("schedstat"), schedstat).expect("as above");
        fs::write(folder.join("stat"), stat).expect("as above");
    }

    fn tasks(&self) -> Option<Vec<Task>> {
        let path = CString::new(self.0.to_str()?).ok()?;
        let mut tasks = Vec::new();
        for_each_in(&path, |task| tasks.push(task))?;
        tasks.sort_by_key(|task| task.thread);
        Some(tasks)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A folder left behind is no reason to fail a test.
        fs::remove_dir_all(&self.0).ok();
    }
}

#[test]
fn reads_what_threads_did_and_where_they_are() {
    let folder = Folder::new("two");
    folder.thread("4711", "8150003456 20017 311\n", WORKING);
    folder.thread("4712", "17 0 1\n", ODD_NAME);
    let working = Task { thread: ThreadNumber(4711), ran: 8_150_003_456, core: CoreId(1), is_runnable: true };
    let asleep = Task { thread: ThreadNumber(4712), ran: 17, core: CoreId(63), is_runnable: false };
    assert_eq!(folder.tasks(), Some(vec![working, asleep]));
}

/// The system cuts names after 15 bytes, whatever these are.
#[test]
fn names_need_not_be_text() {
    let folder = Folder::new("cut");
    let cut = [b"4712 (\xd0\xb8\xd0\xb3\xd1".as_slice(), ODD_NAME.trim_start_matches("4712 (a").as_bytes()].concat();
    folder.thread("4712", "17 0 1\n", cut);
    let asleep = Task { thread: ThreadNumber(4712), ran: 17, core: CoreId(63), is_runnable: false };
    assert_eq!(folder.tasks(), Some(vec![asleep]));
}

#[test]
fn leaves_out_what_is_no_thread_or_has_just_ended() {
    let folder = Folder::new("odd");
    folder.thread("4711", "8150003456 20017 311\n", WORKING);
    folder.thread("4713", "", "");
    folder.thread("4714", "12 0 1\n", "4714 (cut off");
    folder.thread("no-number", "12 0 1\n", WORKING);
    fs::create_dir_all(folder.0.join("4715")).expect("as above");
    assert_eq!(folder.tasks().map(|tasks| tasks.len()), Some(1));
}

#[test]
fn says_so_where_there_is_no_folder() {
    assert_eq!(for_each_in(c"/proc/self/no-such-folder", |_| ()), None);
}

#[test]
fn finds_the_calling_thread() {
    let mut found = Vec::new();
    let listed = super::super::for_each_of_ours(|task| found.push(task));
    // Sandboxes without these files are told apart by the first read.
    if listed.is_some() && !found.is_empty() {
        let me = super::super::current_thread();
        assert!(found.iter().any(|task| Some(task.thread) == me && task.is_runnable), "{found:?}");
    }
}
