//! Where and when the figures were made.

use std::fs;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Readings for [`clock_cost`]: about a millisecond.
const CLOCK_READINGS: u32 = 20_000;

/// The first lines of a report: the machine, when and how `bench` was called. `cores` are those
/// that this process may use.
pub fn describe(bench: &str, cores: usize) -> Vec<String> {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let features = if cfg!(feature = "rivals") { " --features rivals" } else { "" };
    let command = format!("cargo bench --bench {bench}{features} -- {}", arguments.join(" "));
    vec![
        format!("Processor: {}, {cores} cores usable", processor()),
        format!("Caches: {}", caches()),
        format!("Load average at the start: {}", load()),
        format!("Command: `{}`, {}", command.trim_end_matches([' ', '-']), today()),
    ]
}

/// Lines as a markdown list.
pub fn list(lines: &[String]) -> String {
    lines.iter().map(|line| format!("- {line}\n")).collect()
}

fn processor() -> String {
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpuinfo.lines().find(|line| line.starts_with("model name"));
    let name = model.and_then(|line| line.split_once(": "));
    name.map_or_else(|| std::env::consts::ARCH.to_owned(), |(_, name)| name.to_owned())
}

/// The caches of the first core, such as `L1 Data 32K, L2 Unified 1024K`.
fn caches() -> String {
    let read = |index: usize, file: &str| {
        let path = format!("/sys/devices/system/cpu/cpu0/cache/index{index}/{file}");
        fs::read_to_string(path).map(|text| text.trim().to_owned()).ok()
    };
    let cache = |index| {
        let (level, kind, size) = (read(index, "level")?, read(index, "type")?, read(index, "size")?);
        Some(format!("L{level} {kind} {size}"))
    };
    let caches: Vec<String> = (0..).map_while(cache).collect();
    if caches.is_empty() { "not known".to_owned() } else { caches.join(", ") }
}

fn load() -> String {
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    load.split(' ').next().filter(|load| !load.is_empty()).unwrap_or("not known").to_owned()
}

/// Nanoseconds of one clock reading.
pub fn clock_cost() -> u128 {
    let start = Instant::now();
    for _ in 0..CLOCK_READINGS {
        std::hint::black_box(Instant::now());
    }
    start.elapsed().as_nanos() / u128::from(CLOCK_READINGS)
}

/// Today's date in UTC as year-month-day.
fn today() -> String {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let (year, month, day) = civil_date(since_epoch.as_secs() / (24 * 60 * 60));
    format!("{year}-{month:02}-{day:02}")
}

/// Year, month and day of a day counted from 1970-01-01, in the Gregorian calendar.
fn civil_date(mut day: u64) -> (u64, usize, u64) {
    let leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let mut year = 1970;
    while day >= 365 + u64::from(leap(year)) {
        day -= 365 + u64::from(leap(year));
        year += 1;
    }
    let february = 28 + u64::from(leap(year));
    let lengths = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 0;
    while day >= lengths[month] {
        day -= lengths[month];
        month += 1;
    }
    (year, month + 1, day + 1)
}
