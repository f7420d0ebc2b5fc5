//! Tests in a process of their own: for what ends the process, and for what depends on nobody else
//! leading the gang.

use std::{
    env,
    io::{self, Read},
    process::{Child, Command, ExitStatus, Stdio},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

/// Set in the child: the name of its test.
const CHILD: &str = "BEVY_AFFINITY_CHILD";

/// A child that runs longer hangs.
const PATIENCE: Duration = Duration::from_secs(240);

/// How a child ended.
pub struct Ended {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

impl Ended {
    /// Asserts that the child's test passed: a child that found no such test is content too.
    pub fn assert_passed(&self) {
        assert!(self.status.success(), "{}: {}", self.status, self.stderr);
        assert!(self.stdout.contains("test result: ok. 1 passed;"), "not one test: {}", self.stdout);
    }

    /// Asserts that the child aborted.
    pub fn assert_aborted(&self) {
        #[cfg(unix)]
        {
            use std::os::unix::process::ExitStatusExt;
            const SIGABRT: i32 = 6;
            assert_eq!(self.status.signal(), Some(SIGABRT), "{}: {}", self.status, self.stderr);
        }
        assert!(!self.status.success(), "{}", self.stderr);
    }

    /// Asserts that the child aborted with this crate's line on stderr.
    pub fn assert_aborted_with(&self, line: &str) {
        self.assert_aborted();
        let is_ours =
            |said: &str| said.contains("bevy_affinity: ") && said.contains(line) && said.ends_with("aborting");
        assert!(self.stderr.lines().any(is_ours), "no line with {line:?}: {}", self.stderr);
    }
}

/// Runs the test of that name in a child; nothing if this is the child, which goes on with the
/// test.
pub fn run(test: &str) -> Option<Ended> {
    run_by(test, Command::new(this_program()))
}

/// As [`run`], by a shell that first runs `setup`.
#[cfg(unix)]
pub fn run_after(test: &str, setup: &str) -> Option<Ended> {
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("{setup}; exec \"$0\" \"$@\"")]).arg(this_program());
    run_by(test, shell)
}

fn run_by(test: &str, mut command: Command) -> Option<Ended> {
    let mut child = start(test, command.stdout(Stdio::piped()).stderr(Stdio::piped()))?;
    let (stdout, stderr) = (read(child.stdout.take()), read(child.stderr.take()));
    let status = wait(&mut child);
    let [stdout, stderr] = [stdout, stderr].map(|reader| reader.join().expect("reading does not panic"));
    Some(Ended { status: status.unwrap_or_else(|| panic!("the child hung: {stderr}")), stdout, stderr })
}

/// Reads all that comes out of a pipe, however much that is.
fn read(pipe: Option<impl Read + Send + 'static>) -> JoinHandle<String> {
    let mut pipe = pipe.expect("a pipe");
    thread::spawn(move || {
        let mut text = Vec::new();
        let _ = pipe.read_to_end(&mut text);
        String::from_utf8_lossy(&text).into_owned()
    })
}

/// As [`run`], in a child whose stderr cannot be written to: nobody reads it any more.
pub fn run_without_stderr(test: &str) -> Option<Ended> {
    let (reader, writer) = io::pipe().expect("a pipe");
    drop(reader);
    let mut child = start(test, Command::new(this_program()).stdout(Stdio::null()).stderr(writer))?;
    let status = wait(&mut child).expect("the child hung");
    Some(Ended { status, stdout: String::new(), stderr: String::new() })
}

fn this_program() -> std::path::PathBuf {
    env::current_exe().expect("this program has a path")
}

fn start(test: &str, command: &mut Command) -> Option<Child> {
    if env::var_os(CHILD).is_some() {
        return None;
    }
    let command = command.args(["--exact", test, "--nocapture", "--test-threads=1"]);
    Some(command.env(CHILD, test).stdin(Stdio::null()).spawn().expect("a process can be started"))
}

/// How the child ended; nothing if it had to be killed.
fn wait(child: &mut Child) -> Option<ExitStatus> {
    let began = Instant::now();
    while began.elapsed() < PATIENCE {
        if let Some(status) = child.try_wait().expect("it is our child") {
            return Some(status);
        }
        thread::sleep(Duration::from_millis(20));
    }
    child.kill().expect("it is our child");
    child.wait().expect("it is our child");
    None
}
