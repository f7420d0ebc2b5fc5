//! Tagged systems that workers run, several at a time.

use std::{
    hint,
    time::{Duration, Instant},
};

use bevy_affinity::{AffinityExecutor, AffinitySchedules, Forced, ScheduleWay};

use super::*;

/// Systems in each frame.
const SYSTEMS: u64 = 6;
const FRAMES: usize = 30;

fn busy() {
    let start = Instant::now();
    while start.elapsed() < Duration::from_micros(200) {
        hint::spin_loop();
    }
}

/// An app in which the gang deals out systems, after [`FRAMES`] that are recorded, and some before.
/// The gang has one round at a time: while all are those of other tests this goes on.
fn app_that_ran() -> App {
    let mut app = Scheduling::auto(2).bare_app();
    app.insert_resource(AffinitySchedules::all().except(Update)).add_plugins(AffinityParallelPlugin);
    app.add_systems(Update, (busy, busy, busy, busy, busy, busy).affine());
    app.edit_schedule(Update, |schedule| {
        AffinityExecutor::install_forced(schedule, Forced::Always(ScheduleWay::OnTheGang))
    });
    timeline_mut(&mut app).record(true);
    app.update();
    for _ in 0..100 {
        timeline_mut(&mut app).clear();
        (0..FRAMES).for_each(|_| app.update());
        if by_worker(&app, 1) > 0 {
            return app;
        }
    }
    panic!("the worker never took part");
}

/// How many runs of systems are spans of this worker.
fn by_worker(app: &App, worker: usize) -> usize {
    spans_of(app, SpanKind::System).iter().filter(|span| span.worker == worker && span.share_of == worker).count()
}

#[test]
fn each_run_is_a_span_on_the_worker_that_ran_it() {
    let app = app_that_ran();
    let spans = spans_of(&app, SpanKind::System);
    assert_eq!(spans.len(), FRAMES * SYSTEMS as usize);
    assert_eq!(by_worker(&app, 0) + by_worker(&app, 1), spans.len());
    let overlap = |a: &Span, b: &Span| a.worker == b.worker && a.begin < b.end && b.begin < a.end;
    let pairs = spans.iter().enumerate().flat_map(|(at, a)| spans[..at].iter().map(move |b| (a, b)));
    assert!(pairs.into_iter().all(|(a, b)| !overlap(a, b)), "a worker runs one after another");
}

#[test]
fn what_runs_at_a_time_does_not_count_twice() {
    let app = app_that_ran();
    let frames: Vec<_> = timeline(&app).frames().collect();
    assert!(frames.iter().all(|frame| frame.calls == SYSTEMS));
    for frame in frames {
        let extent = frame.tagged_end - frame.tagged_begin;
        assert!(frame.tagged <= extent, "{} of {extent}", frame.tagged);
        assert!(frame.tagged_begin >= frame.begin && frame.tagged_end <= frame.end);
    }
    let systems = &diagnostics(&app).systems;
    assert_eq!(systems.len() as u64, SYSTEMS);
    let frames = diagnostics(&app).frames;
    assert!(systems.iter().all(|system| system.calls == frames), "{systems:?}");
}
