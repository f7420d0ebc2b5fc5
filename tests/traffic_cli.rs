//! The traffic example from outside: its command line, its output, and how it says no.

use std::fs;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::{self, Command, Output};
use std::sync::LazyLock;

use bevy_affinity::topology::Topology;
use serde_json::Value;

/// The example, built once for all tests of this file: `cargo test` itself builds only its unit
/// tests.
fn example() -> &'static Path {
    static EXAMPLE: LazyLock<PathBuf> = LazyLock::new(build_example);
    &EXAMPLE
}

fn build_example() -> PathBuf {
    let test = std::env::current_exe().expect("a test knows where it is");
    let profile = test.parent().and_then(Path::parent).expect("tests lie in the folder `deps` of a profile");
    let target = profile.parent().expect("a profile lies in the target folder");
    let release = profile.ends_with("release").then_some("--release");
    let built = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--example", "traffic", "--target-dir"])
        .arg(target)
        .args(release)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status()
        .expect("cargo starts");
    assert!(built.success(), "the example does not build");
    profile.join("examples").join(format!("traffic{}", std::env::consts::EXE_SUFFIX))
}

/// A folder that this test alone writes to, in this run alone.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let scratch = Self(in_build_folder(&format!("traffic-{name}-{}", process::id())));
        // Of a process of that number that was killed.
        scratch.remove();
        fs::create_dir_all(&scratch.0).expect("the build folder can be written to");
        scratch
    }

    /// Links are removed, not what they lead to.
    fn remove(&self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl Deref for Scratch {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Of a test that fails one wants to see what it wrote.
        if !std::thread::panicking() {
            self.remove();
        }
    }
}

fn in_build_folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// Where the program keeps what takes long to prepare: one for all tests, and for later runs.
fn cache() -> PathBuf {
    let folder = in_build_folder("traffic-cache");
    fs::create_dir_all(&folder).expect("the build folder can be written to");
    folder
}

fn run(arguments: &str) -> Output {
    let cache = cache();
    Command::new(example())
        .args(arguments.split_whitespace())
        .envs([("XDG_CACHE_HOME", &cache), ("LOCALAPPDATA", &cache)])
        .output()
        .expect("the example starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Expects one line on standard error that has all of `parts`, nothing on standard output, and exit
/// code 2.
fn refused(arguments: &str, parts: &[&str]) {
    let output = run(arguments);
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{arguments}: {told}");
    assert_eq!((told.lines().count(), text(&output.stdout).as_str()), (1, ""), "{arguments}: {told}");
    for part in parts {
        assert!(told.contains(part), "{arguments}: {part:?} is not in {told}");
    }
}

/// Writes a map of one road and its way back, with the given text in the place of its length.
fn small_map(folder: &Path, length: &str) -> PathBuf {
    let graph = folder.join("small.gr");
    fs::write(&graph, format!("p sp 2 2\na 1 2 1000\na 2 1 {length}\n")).expect("the folder can be written to");
    fs::write(folder.join("small.co"), "p aux sp co 2\nv 1 -74000000 40000000\nv 2 -74001000 40001000\n")
        .expect("the folder can be written to");
    graph
}

#[test]
fn wrong_options_are_refused() {
    refused("--headless --cars 0", &["--cars", "'0'"]);
    refused("--headless --workers 0", &["--workers", "'0'"]);
    refused("--headless --mode fast", &["--mode", "'fast'", "auto", "lock-step"]);
    refused("--headless --city 1", &["city", "1"]);
}

#[test]
fn numbers_that_no_machine_has_are_refused() {
    refused("--headless --cars 18446744073709551615", &["--cars", "18446744073709551615"]);
    refused("--headless --cars 4294967295", &["--cars", "4294967295"]);
    refused("--headless --cars -1", &["-1"]);
    refused("--headless --city 0", &["--city", "0 is not in 2..=2048"]);
    refused("--headless --city -3", &["--city", "-3 is not in 2..=2048"]);
    refused("--headless --city 4294967296", &["--city"]);
    refused("--headless --steps 0", &["--steps", "'0'"]);
    refused("--headless --workers 65535 --mode bevy", &["--workers", "65535 is not in 1..=1024"]);
    refused("--headless --seed 18446744073709551616", &["--seed"]);
}

/// With an address space of half a gigabyte: a reader that believes a file about sizes dies of it.
#[cfg(target_os = "linux")]
fn refused_in_little_memory(map: &Path, parts: &[&str]) {
    let limited = "ulimit -v 500000 && exec \"$0\" --headless --workers 64 --map \"$1\"";
    let output = Command::new("sh").args(["-c", limited]).arg(example()).arg(map).output().expect("a shell starts");
    let told = text(&output.stderr);
    assert_eq!((output.status.code(), told.lines().count()), (Some(2), 1), "{told}");
    assert!(output.stdout.is_empty(), "{}", text(&output.stdout));
    for part in parts {
        assert!(told.contains(part), "{part:?} is not in {told}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn hostile_maps_are_refused_in_one_line() {
    let folder = Scratch::new("hostile-maps");
    let write = |name: &str, content: &[u8]| {
        fs::write(folder.join(name), content).expect("the folder can be written to");
        folder.join(name)
    };
    write("counts.co", b"p aux sp co 50000000\nv 1 0 0\n");
    refused_in_little_memory(&write("counts.gr", b"p sp 50000000 1\na 1 2 3\n"), &["counts.co, line 1", "50000000"]);

    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    std::io::Write::write_all(&mut encoder, &vec![0; 64 << 20]).expect("memory can be written to");
    let bomb = write("bomb.gr.gz", &encoder.finish().expect("memory can be written to"));
    refused_in_little_memory(&bomb, &["bomb.gr.gz, line 1: longer than"]);

    refused_in_little_memory(&write("two\nlines.gr", b"\x1b[2J"), &["two\\nlines.gr, line 1: ", "\\u{1b}[2J"]);
    refused_in_little_memory(&write("empty.osm.pbf", b""), &["empty.osm.pbf: not an OpenStreetMap extract"]);
    refused_in_little_memory(&write("long.osm.pbf", &[0xFF; 9]), &["long.osm.pbf, byte 0: ", "4294967295 bytes"]);

    let endless = folder.join("endless.osm.pbf");
    std::os::unix::fs::symlink("/dev/zero", &endless).expect("the folder can be written to");
    refused_in_little_memory(&endless, &["endless.osm.pbf: not a regular file"]);
}

#[cfg(unix)]
#[test]
fn a_reader_that_has_gone_is_one_line() {
    for arguments in ["--json", "", "--json --mode all"] {
        let arguments = format!("--headless --city 4 --cars 10 --steps 5 --warmup 1 --workers 1 {arguments}");
        let (reader, writer) = std::io::pipe().expect("a pipe can be made");
        drop(reader);
        let mut command = Command::new(example());
        command.args(arguments.split_whitespace()).env("XDG_CACHE_HOME", cache()).stdout(writer);
        let output = command.output().expect("the example starts");
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{arguments}: {told}");
        assert!(told.starts_with("error: standard output: ") && told.lines().count() == 1, "{arguments}: {told}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn help_that_cannot_be_written_is_one_line() {
    for arguments in ["--help", "--version"] {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").expect("Linux has it");
        let output = Command::new(example()).arg(arguments).stdout(full).output().expect("the example starts");
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{arguments}: {told}");
        assert!(told.starts_with("error: standard output: ") && told.lines().count() == 1, "{arguments}: {told}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_relative_folder_for_caches_is_none() {
    let folder = Scratch::new("relative-cache");
    let mut command = Command::new(example());
    command.args("--headless --city 4 --cars 1 --steps 1 --warmup 0 --workers 1".split_whitespace());
    let output = command.env("XDG_CACHE_HOME", "relative").env("HOME", &*folder).current_dir(&*folder).output();
    let output = output.expect("the example starts");
    let (table, told) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success() && told.is_empty(), "{told}");
    assert!(table.contains(" 1 car: ") && table.contains(" after 1 measured step\n"), "{table}");
    assert!(folder.join(".cache/bevy_affinity").is_dir() && !folder.join("relative").exists());
}

#[cfg(unix)]
#[test]
fn a_mode_whose_comparison_has_gone_ends_without_a_word() {
    let (reader, writer) = std::io::pipe().expect("a pipe can be made");
    drop(reader);
    let arguments = "--headless --city 4 --cars 10 --steps 5 --warmup 1 --mode plain --paced";
    let mut command = Command::new(example());
    command.args(arguments.split_whitespace()).env("XDG_CACHE_HOME", cache()).stdout(writer);
    let output = command.output().expect("the example starts");
    assert_eq!(text(&output.stderr), "");
}

#[cfg(target_os = "linux")]
#[test]
fn a_mode_that_is_killed_is_one_line() {
    use nix::sys::signal::{Signal, kill};
    use std::process::Stdio;
    use std::time::{Duration, Instant};

    let arguments = "--headless --city 4 --cars 10 --steps 1000000000 --warmup 0 --mode plain-and-gang";
    let mut command = Command::new(example());
    command.args(arguments.split_whitespace()).env("XDG_CACHE_HOME", cache());
    let comparison = command.stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the example starts");
    let (id, start) = (comparison.id(), Instant::now());
    let mode = loop {
        let children = fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap_or_default();
        match children.split_whitespace().next().and_then(|child| child.parse().ok()) {
            Some(mode) => break mode,
            None => assert!(start.elapsed() < Duration::from_secs(60), "no mode is started"),
        }
    };
    kill(nix::unistd::Pid::from_raw(mode), Signal::SIGKILL).expect("it is ours");
    let output = comparison.wait_with_output().expect("it ends");
    let told = "error: plain: ended before it was done (signal: 9 (SIGKILL))\n";
    assert_eq!((text(&output.stderr).as_str(), output.status.code()), (told, Some(1)));
}

/// Starts a run that would take days, interrupts it after so long, and returns what it leaves.
#[cfg(unix)]
fn interrupted_after(arguments: &str, wait: std::time::Duration) -> Output {
    use nix::sys::signal::{Signal, kill};
    use std::process::Stdio;

    let mut command = Command::new(example());
    command.args(arguments.split_whitespace()).env("XDG_CACHE_HOME", cache());
    let run = command.stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the example starts");
    std::thread::sleep(wait);
    kill(nix::unistd::Pid::from_raw(run.id() as i32), Signal::SIGINT).expect("it is ours");
    run.wait_with_output().expect("it ends")
}

#[cfg(target_os = "linux")]
#[test]
fn a_run_that_is_interrupted_leaves_what_it_has() {
    let folder = Scratch::new("interrupted");
    let arguments =
        format!("--headless --city 4 --cars 10 --steps 1000000000 --warmup 1 --workers 1 --out {}", folder.display());
    // Too early there is nothing to leave.
    let mut waits = (0..7).map(|doublings| std::time::Duration::from_millis(200 << doublings));
    let left = waits.find_map(|wait| {
        let output = interrupted_after(&arguments, wait);
        output.status.code().filter(|&code| code == 130).map(|_| output)
    });
    let output = left.expect("it is interrupted in its steps");
    let (table, told) = (text(&output.stdout), text(&output.stderr));
    assert!(table.contains("steps/s") && table.contains("measured steps"), "{table}");
    assert!(told.starts_with("note: interrupted: the run ends here") && told.lines().count() == 1, "{told}");
    let trips = fs::read_to_string(folder.join("trips.csv")).expect("the files have their names");
    assert!(trips.ends_with('\n') && !folder.join("trips.csv.part").exists());
}

/// Who starts it by `nohup` may log out.
#[cfg(target_os = "linux")]
#[test]
fn a_hangup_that_is_ignored_ends_nothing() {
    use nix::sys::signal::{Signal, kill};
    use std::process::Stdio;

    let mut command = Command::new("sh");
    command.args(["-c", "trap '' HUP; exec \"$@\"", "sh"]).arg(example()).env("XDG_CACHE_HOME", cache());
    command.args("--headless --city 4 --cars 10 --steps 1000000000 --warmup 1 --workers 1".split_whitespace());
    let mut run = command.stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a shell starts");
    let pid = nix::unistd::Pid::from_raw(run.id() as i32);
    // Once it is measuring, Ctrl-C has a handler, and hangups have been kept away for long.
    let is_in = |status: &str, set: &str, signal: Signal| {
        let set = status.lines().find_map(|line| line.strip_prefix(set)).map(str::trim);
        set.is_some_and(|set| u64::from_str_radix(set, 16).expect("a mask") >> (signal as i32 - 1) & 1 == 1)
    };
    let is_measuring =
        |status: &str| is_in(status, "SigCgt:", Signal::SIGINT) && is_in(status, "SigBlk:", Signal::SIGHUP);
    while !is_measuring(&fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs")) {
        assert!(run.try_wait().expect("it can be asked").is_none(), "it goes on");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    kill(pid, Signal::SIGHUP).expect("it is ours");
    std::thread::sleep(std::time::Duration::from_millis(500));
    assert!(run.try_wait().expect("it can be asked").is_none(), "it goes on");
    kill(pid, Signal::SIGINT).expect("it is ours");
    let told = text(&run.wait_with_output().expect("it ends").stderr);
    assert!(told.lines().filter(|line| line.starts_with("note: interrupted")).count() == 1, "{told}");
}

#[test]
fn trips_after_the_end_are_told_of() {
    let folder = Scratch::new("late-trips");
    let trips = folder.join("trips.csv");
    fs::write(&trips, "depart,from,to\n00:00:10,0,5\n06:30:00,0,5\n").expect("the folder can be written to");
    let output = run(&format!("--headless --city 4 --steps 60 --workers 1 --trips {}", trips.display()));
    let told = text(&output.stderr);
    assert_eq!(told, "note: 1 of 2 trips are for after the end, second 60\n");
}

#[test]
fn what_a_run_reads_it_does_not_write_over() {
    let folder = Scratch::new("own-trips");
    let (out, trips) = (folder.join("out"), folder.join("out/trips.csv"));
    fs::create_dir_all(&out).expect("the folder can be written to");
    let drawn = "depart,from,to\n00:00:10,0,5\n";
    fs::write(&trips, drawn).expect("the folder can be written to");
    let orders = folder.join("out/../out/links.csv.part");
    fs::write(&orders, "at,order,where,cycle,green,offset\n").expect("the folder can be written to");
    for (option, file) in [("trips", &trips), ("orders", &orders)] {
        let run = format!("--headless --city 4 --steps 5 --workers 1 --{option} {}", file.display());
        let named = format!("{}: --out would write over it", file.display());
        refused(&format!("{run} --out {}", out.display()), &[&named]);
    }
    assert_eq!(fs::read_to_string(&trips).expect("the file is there"), drawn);
    fs::remove_file(&orders).expect("the file is there");
    let elsewhere = format!("--out {} --trips {}", folder.join("elsewhere").display(), trips.display());
    let output = run(&format!("--headless --city 4 --steps 5 --workers 1 {elsewhere}"));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

/// Figures of one moment: where no car is on the road no road is the busiest one.
#[test]
fn roads_are_told_of_as_they_are_at_the_end() {
    let folder = Scratch::new("empty-roads");
    let trips = folder.join("trips.csv");
    let all_at_once = (0..40).map(|number| format!("0,{},24\n", number % 5)).collect::<String>();
    fs::write(&trips, format!("depart,from,to\n{all_at_once}")).expect("the folder can be written to");
    let table = |steps| text(&run(&format!("--headless --city 5 --steps {steps} --trips {}", trips.display())).stdout);
    let under_way = table(30);
    assert!(under_way.contains("the busiest (number "), "{under_way}");
    // Each road was sampled last while they drove.
    let over = (1..40).map(|minutes| table(60 * minutes)).find(|table| table.contains(": 0 on the road"));
    let over = over.expect("they arrive");
    assert!(over.contains("\n0.0% of the roads congested\n"), "{over}");
}

#[test]
fn a_comparison_tells_each_note_once() {
    let output = run("--headless --steps 2 --warmup 0 --workers 1 --mode plain-and-gang --verbose");
    let told = text(&output.stderr);
    let mut lines: Vec<_> = told.lines().collect();
    let count = lines.len();
    lines.sort_unstable();
    lines.dedup();
    assert!(count > 1 && lines.len() == count, "{told}");
}

#[test]
fn arguments_may_end_in_two_dashes() {
    let output = run("--headless --city 4 --cars 10 --steps 20 --warmup 1 --workers 1 --mode plain-and-gang --");
    assert!(output.status.success(), "{}", text(&output.stderr));
}

#[test]
fn broken_maps_are_refused() {
    let folder = Scratch::new("broken-maps");
    refused("--headless --map nowhere.osm.pbf", &["nowhere.osm.pbf", "cannot open"]);

    let isle = fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/assets/maps/isle-of-man.osm.pbf")).expect("it is here");
    let truncated = folder.join("truncated.osm.pbf");
    fs::write(&truncated, &isle[..isle.len() / 2]).expect("the folder can be written to");
    refused(&format!("--headless --map {}", truncated.display()), &["truncated.osm.pbf"]);

    let lonely = folder.join("lonely.gr");
    fs::write(&lonely, "p sp 2 2\na 1 2 1000\na 2 1 1000\n").expect("the folder can be written to");
    refused(&format!("--headless --map {}", lonely.display()), &["lonely.co"]);

    let malformed = small_map(&folder, "1o00");
    refused(&format!("--headless --map {}", malformed.display()), &["small.gr", "line 3", "1o00"]);

    let empty = folder.join("empty.gr");
    fs::write(&empty, "p sp 0 0\n").expect("the folder can be written to");
    fs::write(folder.join("empty.co"), "p aux sp co 0\n").expect("the folder can be written to");
    refused(&format!("--headless --map {}", empty.display()), &["empty.gr"]);
}

#[test]
fn orders_that_a_city_does_not_take_are_refused_with_their_line() {
    let folder = Scratch::new("orders");
    let file = folder.join("orders.csv");
    let write = |lines: &str| {
        let text = format!("at,order,where,cycle,green,offset\n{lines}");
        fs::write(&file, text).expect("the folder can be written to");
        format!("--headless --city 4 --cars 10 --steps 30 --warmup 0 --workers 1 --orders {}", file.display())
    };
    let late = write("# works\n20,signals,5,60,30,0\n10,remove-signals,5,,,\n");
    for mode in ["auto", "plain-and-gang", "all"] {
        let parts = ["orders.csv, line 3: intersection 5 has no signals in second 20"];
        refused(&format!("{late} --mode {mode}"), &parts);
    }
    let output = run(&write("20,signals,5,60,30,0\n10,add-signals,5,,,\n5,remove-signals,5,,,\n"));
    assert!(output.status.success(), "{}", text(&output.stderr));
}

#[test]
fn json_is_one_object_for_each_mode() {
    let output = run("--headless --city 8 --cars 200 --steps 60 --warmup 20 --workers 2 --mode all --json");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let lines = text(&output.stdout);
    let objects: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).expect("an object a line")).collect();
    let modes: Vec<_> = objects.iter().map(|object| object["mode"].as_str().unwrap_or_default()).collect();
    assert_eq!(modes, ["serial", "bevy-default", "bevy", "lock-step", "heartbeat", "auto"]);
    for object in &objects {
        check_figures(object);
        assert_eq!(object["state_hash"], objects[0]["state_hash"]);
    }
    for (object, workers) in [(&objects[0], 1), (&objects[2], 2), (&objects[3], 2), (&objects[4], 2), (&objects[5], 2)]
    {
        assert_eq!(object["workers"], workers, "{object}");
    }
}

fn check_figures(figures: &Value) {
    let number = |name: &str| figures[name].as_u64().unwrap_or_else(|| panic!("{name} in {figures}"));
    assert_eq!((number("intersections"), number("cars"), number("steps")), (64, 200, 60));
    assert_eq!(number("on_road") + number("arrived") + number("waiting"), 200, "every car is somewhere: {figures}");
    assert!(number("roads") > 0);
    let (seconds, rate) = (figures["seconds"].as_f64(), figures["steps_per_second"].as_f64());
    assert!(seconds.zip(rate).is_some_and(|(seconds, rate)| (seconds * rate - 60.0).abs() < 1e-6), "{figures}");
    let hash = figures["state_hash"].as_str().expect("a string");
    assert!(hash.len() == 16 && hash.bytes().all(|digit| digit.is_ascii_hexdigit()), "{hash}");
    let shares = figures["busy_share"].as_array().expect("a list");
    assert!(shares.is_empty() || shares.len() as u64 == number("workers"), "{figures}");
    let is_share = |share: &Value| share.as_f64().is_some_and(|share| (0.0..=1.0).contains(&share));
    assert!(shares.iter().all(is_share), "{figures}");
    let same_core = &figures["same_core_share"];
    assert!(same_core.is_null() || is_share(same_core), "{figures}");
}

#[test]
fn a_number_of_workers_changes_nothing_but_the_time() {
    let mut hashes = Vec::new();
    for workers in [1, 2, 3, 64] {
        let output = run(&format!("--headless --city 8 --cars 200 --steps 60 --workers {workers} --json"));
        assert!(output.status.success(), "{}", text(&output.stderr));
        let object: Value = serde_json::from_slice(&output.stdout).expect("one object");
        assert_eq!((&object["mode"], &object["workers"]), (&"auto".into(), &workers.into()));
        hashes.push(object["state_hash"].clone());
        // As the program counts them.
        let cores = Topology::get().parallelism();
        assert_eq!(text(&output.stderr).starts_with("warning: "), workers > cores, "{}", text(&output.stderr));
    }
    assert!(hashes.iter().all(|hash| *hash == hashes[0]), "{hashes:?}");
}

#[test]
fn the_table_compares_all_modes() {
    let output = run("--headless --city 8 --cars 200 --steps 60 --mode all");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let table = text(&output.stdout);
    let modes = ["serial", "bevy-default", "bevy", "lock-step", "heartbeat", "auto"];
    for word in modes.into_iter().chain(["speed-up", "steps/s", "64 intersections"]) {
        assert!(table.contains(word), "{word:?} is not in\n{table}");
    }
}

#[test]
fn a_comparison_of_a_few_steps_has_figures() {
    let output = run("--headless --city 4 --cars 10 --steps 3 --warmup 1 --workers 1 --mode plain-and-gang");
    let table = text(&output.stdout);
    assert!(output.status.success() && table.contains("1.00") && !table.contains("NaN"), "{table}");
}

#[test]
fn help_tells_the_modes_and_what_is_built_in() {
    let output = run("--help");
    assert!(output.status.success());
    let help = text(&output.stdout);
    for word in
        ["--headless", "--map", "auto", "lock-step", "heartbeat", "bevy-default", "remove-signals", "Isle of Man"]
    {
        assert!(help.contains(word), "{word:?} is not in\n{help}");
    }
}
