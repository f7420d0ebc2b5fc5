//! The trace file, read back.

use std::collections::BTreeMap;

use serde_json::Value;

use super::*;

/// The events of everything that was recorded.
fn events(app: &App) -> Vec<Value> {
    let mut file = Vec::new();
    let everything = timeline(app).extent().expect("spans were recorded");
    timeline(app).write_trace(everything, diagnostics(app), &mut file).expect("memory can be written");
    serde_json::from_slice(&file).expect("it is JSON")
}

fn number(event: &Value, field: &str) -> f64 {
    event[field].as_f64().unwrap_or_else(|| panic!("no number {field}: {event}"))
}

fn text<'a>(event: &'a Value, field: &str) -> &'a str {
    event[field].as_str().unwrap_or_else(|| panic!("no text {field}: {event}"))
}

fn slices<'a>(events: &'a [Value], category: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["ph"] == "X" && event["cat"] == category).collect()
}

fn traced(scheduling: Scheduling) -> (App, Vec<Value>) {
    let mut app = app(scheduling);
    (0..3).for_each(|_| app.update());
    let events = events(&app);
    (app, events)
}

#[test]
fn every_event_is_complete() {
    for scheduling in [Scheduling::SERIAL, Scheduling::lock_step(3), Scheduling::heartbeat(3)] {
        let (_, events) = traced(scheduling);
        for event in &events {
            assert!(!text(event, "name").is_empty());
            assert!(number(event, "ts") >= 0.0 && number(event, "pid") == 1.0 && number(event, "tid") >= 0.0);
            match text(event, "ph") {
                "X" => assert!(number(event, "dur") >= 0.0),
                "M" | "C" => assert!(event["args"].as_object().is_some_and(|args| !args.is_empty())),
                other => panic!("no reader knows of {other}"),
            }
        }
    }
}

#[test]
fn lanes_are_named_and_every_span_is_on_the_lane_of_its_worker() {
    let (app, events) = traced(Scheduling::lock_step(3));
    let lanes: BTreeMap<u64, &str> = events
        .iter()
        .filter(|event| event["name"] == "thread_name")
        .map(|event| (number(event, "tid") as u64, text(&event["args"], "name")))
        .collect();
    let [(0, "frames"), (1, leader), (2, first), (3, second), (_, "main schedules")] =
        lanes.into_iter().collect::<Vec<_>>()[..]
    else {
        panic!("a lane for the frames, one for each worker, and one of schedules")
    };
    assert!(leader.starts_with("leader") && first.starts_with("worker 1") && second.starts_with("worker 2"));

    let spans: Vec<_> = timeline(&app).spans().collect();
    let written: Vec<_> =
        ["system", "share", "taken over"].iter().flat_map(|category| slices(&events, category)).collect();
    assert_eq!(written.len(), spans.len());
    for event in written {
        let begin = (number(event, "ts") * 1e3).round() as u64;
        let matches = |span: &&&Span| span.begin == begin && span.worker + 1 == number(event, "tid") as usize;
        let span = spans.iter().filter(matches).find(|span| event["args"]["rows"] == span.rows);
        let span = span.unwrap_or_else(|| panic!("a span for {event}"));
        assert_eq!(event["args"]["stolen_rows"], span.stolen_rows);
        assert_eq!(text(event, "name"), diagnostics(&app).systems[span.system.unwrap()].name);
        assert_eq!((number(event, "dur") * 1e3).round() as u64, span.end - span.begin);
    }
}

#[test]
fn slices_of_a_lane_are_nested() {
    for scheduling in [Scheduling::BEVY, Scheduling::lock_step(4), Scheduling::heartbeat(3)] {
        let (_, events) = traced(scheduling);
        let mut lanes = BTreeMap::<u64, Vec<(u64, u64)>>::new();
        for event in events.iter().filter(|event| event["ph"] == "X") {
            let nanoseconds = |field| (number(event, field) * 1e3).round() as u64;
            let begin = nanoseconds("ts");
            lanes.entry(number(event, "tid") as u64).or_default().push((begin, begin + nanoseconds("dur")));
        }
        for (lane, mut slices) in lanes {
            slices.sort_by_key(|&(begin, end)| (begin, std::cmp::Reverse(end)));
            let mut open: Vec<u64> = Vec::new();
            for (begin, end) in slices {
                open.retain(|&outer| outer > begin);
                assert!(open.iter().all(|&outer| end <= outer), "{scheduling:?}, lane {lane}");
                open.push(end);
            }
        }
    }
}

#[test]
fn schedules_are_stages_that_lie_inside_of_frames() {
    let (app, events) = traced(Scheduling::lock_step(3));
    let stages = slices(&events, "stage");
    let updates: Vec<_> = stages.iter().filter(|event| text(event, "name") == "Update").collect();
    assert_eq!(updates.len(), 3);
    for (event, frame) in updates.iter().zip(timeline(&app).frames()) {
        let (begin, lasts) = (number(event, "ts") * 1e3, number(event, "dur") * 1e3);
        assert!(begin >= frame.begin as f64 && begin + lasts <= frame.end as f64 + 1.0, "{event} in {frame:?}");
        assert!(lasts >= frame.tagged as f64, "tagged systems run in it");
        assert!(text(&event["args"], "ran").starts_with("on "), "{event}");
    }
}

#[test]
fn frames_have_their_mode_and_their_imbalance() {
    let (app, events) = traced(Scheduling::lock_step(3));
    let frames = slices(&events, "frame");
    assert_eq!(frames.len(), 3);
    for (event, frame) in frames.iter().zip(timeline(&app).frames()) {
        assert_eq!(text(event, "name"), format!("frame {}", frame.number));
        assert_eq!(event["args"]["mode"], "LockStep");
        assert_eq!(event["args"]["calls"], 2);
    }
    let imbalances: Vec<_> = events.iter().filter(|event| event["ph"] == "C").collect();
    assert_eq!(imbalances.len(), 3);
    assert!(imbalances.iter().all(|event| number(&event["args"], "percent") >= 0.0));
}

#[test]
fn a_disk_that_is_full_is_an_error() {
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    let (app, _) = traced(Scheduling::lock_step(2));
    let error = timeline(&app).write_trace(0..u64::MAX, diagnostics(&app), Full).expect_err("nothing was written");
    assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
}
