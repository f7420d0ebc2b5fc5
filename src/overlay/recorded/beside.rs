//! The lanes beside the workers': schedules, rendering, and the process's other threads.

use std::ops::Range;

use super::{Bar, BarKind, Lane, Source};
use crate::record::{FrameSpan, StageLane};

/// A group of threads gets a lane if it had a core for more than this part of the stretch that was
/// copied: what sleeps would only take room.
const LEAST_SHARE: f64 = 0.005;

/// The lanes of schedules and of rendering; the latter is empty where nothing is rendered.
pub(super) fn stages(source: &Source, window: Range<u64>, origin: u64) -> [Lane; 2] {
    let mut lanes = [Lane::named("main thread", "schedules"), Lane::named("rendering", "prepare, draw, present")];
    for stage in source.timeline.stages_in(window.clone()) {
        let lane = match stage.lane {
            StageLane::Main => 0,
            StageLane::Rendering => 1,
        };
        lanes[lane].bars.push(Bar::stage(stage, origin));
    }
    for lane in &mut lanes {
        lane.sort();
        lane.nest();
    }
    add_time_between(&mut lanes[0], source.timeline.frames(), window, origin);
    lanes
}

fn add_time_between<'a>(lane: &mut Lane, frames: impl Iterator<Item = &'a FrameSpan>, window: Range<u64>, origin: u64) {
    let frames: Vec<_> = frames.filter(|frame| frame.end > window.start && frame.begin < window.end).collect();
    let since = |time: u64| time as f64 - origin as f64;
    for pair in frames.windows(2).filter(|pair| pair[1].follows(pair[0])) {
        let (begin, end) = (since(pair[0].end), since(pair[1].begin));
        if begin < end {
            lane.bars.push(Bar { kind: BarKind::Between, begin, end, ..Bar::default() });
        }
    }
    lane.sort();
}

/// A lane for each group of threads that did something.
pub(super) fn threads(source: &Source, window: Range<u64>, origin: u64) -> Vec<Lane> {
    let since = |time: u64| time as f64 - origin as f64;
    let span = (window.end - window.start) as f64;
    let mut lanes: Vec<_> = source.threads.names().iter().map(|name| Lane::named(name, "")).collect();
    let mut ran = vec![0; lanes.len()];
    for frame in source.threads.between(window.start, window.end) {
        // Together they may have had a core for longer than the frame lasted.
        let length = frame.ran as f64 / f64::from(frame.threads.max(1));
        let begin = since(frame.begin);
        let end = begin + length.min((frame.end - frame.begin) as f64);
        let helpers = frame.threads;
        let bar = Bar { kind: BarKind::OnCore, begin, end, helpers, ..Bar::default() };
        lanes[frame.group].bars.push(bar);
        ran[frame.group] += frame.ran;
    }
    let mut shares = ran.iter().map(|&ran| ran as f64 / span.max(1.0));
    lanes.retain(|_| shares.next().is_some_and(|share| share >= LEAST_SHARE));
    for lane in &mut lanes {
        let threads = lane.bars.iter().map(|bar| bar.helpers).max().unwrap_or(0);
        let plural = if threads == 1 { "" } else { "s" };
        lane.place = format!("{threads} thread{plural}, time on a core");
    }
    lanes
}
