//! Tests in processes of their own: this test binary once more, with nothing but the one test.

use std::{
    any::type_name,
    env,
    io::{BufRead, BufReader, Read, Write, stderr, stdin, stdout},
    os::unix::process::ExitStatusExt,
    process::{self, Child, ChildStderr, Command, ExitStatus, Stdio},
    sync::{
        Mutex, MutexGuard, PoisonError,
        mpsc::{Receiver, RecvTimeoutError, channel},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use nix::{
    sys::{
        resource::{Resource, setrlimit},
        signal::Signal,
    },
    unistd::Pid,
};

/// Set in a process that runs one test.
const ALONE: &str = "AFFINITY_TEST_ALONE";

/// With this code the process ends when the test's body has returned: a harness that found no such
/// test ends with 0.
const DONE: i32 = 42;

/// How long a test may take: a guard against hangs, not a measurement.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// How what is skipped begins.
const SKIPPED: &str = "skipped: ";

/// The process of one test.
pub struct Alone {
    child: Child,
    lines: Receiver<String>,
    stderr: Option<JoinHandle<String>>,
    began: Instant,
    /// One at a time: they look at the cores that all share.
    _turn: MutexGuard<'static, ()>,
}

/// How the process of a test ended.
pub struct Ended {
    pub status: ExitStatus,
    pub stderr: String,
}

impl Alone {
    /// Runs `body`, a closure or function written in the test itself, in a process of its own. In
    /// that process this does not return.
    pub fn start<F: FnOnce()>(body: F) -> Self {
        static TURN: Mutex<()> = Mutex::new(());
        if env::var_os(ALONE).is_some() {
            run(body);
        }
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let mut child = Command::new(env::current_exe().expect("a test knows its binary"))
            .args(["--exact", test_of::<F>(), "--nocapture"])
            .env(ALONE, "1")
            // Else new threads set address space aside at times of their own, which a limit of it
            // would count.
            .env("MALLOC_ARENA_MAX", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("a test binary can be run");
        let (sender, lines) = channel();
        let stdout = BufReader::new(child.stdout.take().expect("it is piped"));
        thread::spawn(move || stdout.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
        let stderr = child.stderr.take().map(|stderr| thread::spawn(|| read(stderr)));
        Self { child, lines, stderr, began: Instant::now(), _turn: turn }
    }

    pub fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id() as i32)
    }

    /// Waits until the process [says](say) something that begins with `word`, and returns what
    /// follows. Nothing if it ended before.
    pub fn hear(&self, word: &str) -> Option<String> {
        loop {
            match self.lines.recv_timeout(PATIENCE.saturating_sub(self.began.elapsed())) {
                // The harness writes on the same line, before the test runs.
                Ok(line) => match line.split_once(word) {
                    Some((_, rest)) => return Some(rest.trim().to_owned()),
                    None => continue,
                },
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => panic!("the test never said '{word}'"),
            }
        }
    }

    /// Whether the process has said by now what begins with `word`, and nothing before it.
    pub fn has_said(&self, word: &str) -> bool {
        self.lines.try_recv().is_ok_and(|line| line.contains(word))
    }

    /// Sends a line to the process, which [waits for](wait_for_word) it.
    pub fn tell(&mut self, word: &str) {
        let stdin = self.child.stdin.as_mut().expect("it is piped");
        // If the process has ended, `end` says why.
        _ = writeln!(stdin, "{word}");
    }

    /// Waits for the process to end, and repeats what it skipped.
    pub fn end(mut self) -> Ended {
        let status = loop {
            match self.child.try_wait().expect("a child can be waited for") {
                Some(status) => break status,
                None if self.began.elapsed() > PATIENCE => {
                    _ = self.child.kill();
                    panic!("the test hangs: {}", self.stderr());
                }
                None => thread::sleep(Duration::from_millis(5)),
            }
        };
        let stderr = self.stderr();
        stderr.lines().filter(|line| line.starts_with(SKIPPED)).for_each(tell_user);
        Ended { status, stderr }
    }

    fn stderr(&mut self) -> String {
        self.stderr.take().and_then(|reader| reader.join().ok()).unwrap_or_default()
    }
}

impl Drop for Alone {
    fn drop(&mut self) {
        // Both fail if it has ended, as it mostly has.
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

impl Ended {
    /// Fails unless the test's body returned.
    pub fn assert_done(&self) {
        assert!(self.status.code() == Some(DONE), "{}: {}", self.status, self.stderr);
    }

    /// Fails unless the process aborted, and said why in one line with `words`.
    pub fn assert_aborted(&self, words: &str) {
        assert_eq!(self.status.signal(), Some(Signal::SIGABRT as i32), "{}: {}", self.status, self.stderr);
        assert!(self.stderr.lines().any(|line| line.contains(words)), "no '{words}' in: {}", self.stderr);
    }
}

/// Runs the body of a test in a process of its own, in which it must return.
pub fn alone<F: FnOnce()>(body: F) {
    Alone::start(body).end().assert_done();
}

/// Says, past the harness, what a test cannot do here.
pub fn skip(reason: &str) {
    tell_user(&format!("{SKIPPED}{}: {reason}", thread::current().name().unwrap_or("a test")));
}

/// In the process of a test: tells the one that started it.
pub fn say(words: &str) {
    println!("{words}");
    _ = stdout().flush();
}

/// In the process of a test: waits for a line of the one that started it.
pub fn wait_for_word() {
    _ = stdin().read_line(&mut String::new());
}

fn run(body: impl FnOnce()) -> ! {
    // Aborts are expected: nobody wants their core files.
    _ = setrlimit(Resource::RLIMIT_CORE, 0, 0);
    body();
    process::exit(DONE);
}

/// The path of the test that a closure was written in.
fn test_of<F>() -> &'static str {
    let name = type_name::<F>();
    let path = name.split_once("::").map_or(name, |(_, path)| path);
    path.split("::{{closure}}").next().unwrap_or(path)
}

fn tell_user(line: &str) {
    // Not `eprintln`, which the harness keeps from the user.
    _ = writeln!(stderr(), "{line}");
}

fn read(mut from: ChildStderr) -> String {
    let mut text = Vec::new();
    _ = from.read_to_end(&mut text);
    String::from_utf8_lossy(&text).into_owned()
}
