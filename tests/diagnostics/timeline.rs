//! The timeline: complete, in order, bounded, and empty while nobody records.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::{AtomicBool, Ordering},
};

use super::*;

const FRAMES: usize = 5;

fn recorded(scheduling: Scheduling) -> App {
    let mut app = app(scheduling);
    (0..FRAMES).for_each(|_| app.update());
    app
}

/// Spans of rounds or sessions, those of one call together.
fn rounds(app: &App, kind: SpanKind) -> Vec<Vec<Span>> {
    let mut spans = spans_of(app, kind);
    spans.sort_by_key(|span| span.called);
    spans.chunk_by(|a, b| a.called == b.called).map(<[Span]>::to_vec).collect()
}

/// Asserts that each share of each round is there once, and all rows with them.
fn assert_complete(app: &App, kind: SpanKind, workers: usize) {
    let rounds = rounds(app, kind);
    assert_eq!(rounds.len(), 2 * FRAMES);
    for mut round in rounds {
        round.sort_by_key(|span| span.share_of);
        assert_eq!(round.iter().map(|span| span.share_of).collect::<Vec<_>>(), (0..workers).collect::<Vec<_>>());
        assert_eq!(round.iter().map(|span| span.rows).sum::<u64>(), ROWS as u64, "{round:#?}");
        assert!(round.iter().all(|span| span.is_taken_over() == (span.worker != span.share_of)));
    }
    let swept = swept_rows(app).iter().sum::<u64>();
    assert_eq!(spans_of(app, kind).iter().map(|span| span.rows).sum::<u64>(), swept);
}

/// Asserts that every span lies inside its frame, and inside the span of its system.
fn assert_nested(app: &App) {
    let (systems, frames) = (spans_of(app, SpanKind::System), timeline(app).frames());
    assert_eq!((systems.len(), frames.len()), (2 * FRAMES, FRAMES));
    for span in timeline(app).spans() {
        assert!(span.called <= span.begin && span.begin <= span.end && span.end <= span.released, "{span:?}");
        assert!(span.idle <= span.end - span.begin, "{span:?}");
        let inside = |begin, end| begin <= span.called && span.released <= end;
        assert!(timeline(app).frames().any(|frame| inside(frame.tagged_begin, frame.tagged_end)), "{span:?}");
        assert!(
            systems.iter().any(|system| inside(system.begin, system.end) && system.system == span.system),
            "{span:?}"
        );
    }
    let names = &diagnostics(app).systems;
    let name = |span: &Span| &names[span.system.expect("all rounds are called by systems")].name;
    assert!(systems.chunks(2).all(|pair| name(&pair[0]).contains("mix") && name(&pair[1]).contains("mix_again")));
}

#[test]
fn lock_step_leaves_a_span_for_each_worker_and_round() {
    for scheduling in Scheduling::all().filter(|scheduling| scheduling.is_parallel()) {
        let app = recorded(scheduling);
        assert_complete(&app, SpanKind::Share, scheduling.workers);
        assert_nested(&app);
        assert!(timeline(&app).spans().map(|span| span.released).is_sorted());
        assert!(spans_of(&app, SpanKind::Sweep).is_empty());
    }
}

#[test]
fn heartbeat_leaves_a_span_for_each_worker_and_session() {
    // While another test leads the gang a session is the leader's alone: try until all were led.
    let is_led = |app: &App| rounds(app, SpanKind::Session).iter().all(|session| session.len() > 1);
    let apps = (0..100).map(|_| recorded(Scheduling::heartbeat(3)));
    let app = apps.into_iter().find(is_led).expect("the gang is free now and then");
    assert_complete(&app, SpanKind::Session, 3);
    assert_nested(&app);
    let workers = &diagnostics(&app).workers;
    let spans = spans_of(&app, SpanKind::Session);
    assert_eq!(
        spans.iter().map(|span| span.joins_published).sum::<u64>(),
        workers.iter().map(|worker| worker.joins_published).sum::<u64>()
    );
    assert_eq!(
        spans.iter().map(|span| span.jobs_taken).sum::<u64>(),
        workers.iter().map(|worker| worker.jobs_taken).sum::<u64>()
    );
}

#[test]
fn sweeps_without_the_gang_are_on_the_leader() {
    for scheduling in Scheduling::all().filter(|scheduling| scheduling.workers == 1) {
        let app = recorded(scheduling);
        let sweeps = spans_of(&app, SpanKind::Sweep);
        assert_eq!(sweeps.len(), 2 * FRAMES, "{scheduling:?}");
        assert!(sweeps.iter().all(|sweep| sweep.rows == ROWS as u64 && sweep.worker == 0));
        assert_nested(&app);
    }
}

#[test]
fn a_window_has_what_overlaps_it() {
    let app = recorded(Scheduling::lock_step(3));
    for frame in timeline(&app).frames() {
        let window: Vec<_> = timeline(&app).spans_in(frame.begin..frame.end).copied().collect();
        let all = timeline(&app).spans().filter(|span| span.released >= frame.begin && span.called < frame.end);
        assert_eq!(window, all.copied().collect::<Vec<_>>());
        assert_eq!(window.iter().filter(|span| span.kind == SpanKind::System).count(), 2);
        assert!(timeline(&app).imbalance_in(frame.begin..frame.end).is_some_and(|imbalance| imbalance >= 0.0));
    }
    let end = timeline(&app).extent().expect("spans were recorded").end;
    assert_eq!(timeline(&app).spans_in(end + 1..u64::MAX).count(), 0);
}

#[test]
fn nothing_is_recorded_unless_asked_for() {
    let mut app = app(Scheduling::lock_step(3));
    timeline_mut(&mut app).record(false);
    app.update();
    assert_eq!((timeline(&app).spans().len(), timeline(&app).frames().len()), (0, 0));
    timeline_mut(&mut app).record(true);
    app.update();
    // What was swept before is not in the first spans.
    assert_eq!(spans_of(&app, SpanKind::Share).iter().map(|span| span.rows).sum::<u64>(), 2 * ROWS as u64);
    timeline_mut(&mut app).record(false);
    app.update();
    assert_eq!(timeline(&app).frames().len(), 1);
    timeline_mut(&mut app).record(true);
    app.update();
    assert_eq!(spans_of(&app, SpanKind::Share).iter().map(|span| span.rows).sum::<u64>(), 4 * ROWS as u64);
    timeline_mut(&mut app).clear();
    assert_eq!((timeline(&app).spans().len(), timeline(&app).extent()), (0, None));
}

#[test]
fn memory_is_bounded_and_the_newest_are_kept() {
    fn many_rounds(pool: Res<AffinityPool>) {
        (0..2000).for_each(|_| pool.run(|_| {}));
    }

    let mut app = Scheduling::lock_step(3).app();
    app.add_systems(Update, many_rounds.affine());
    timeline_mut(&mut app).record(true);
    (0..15).for_each(|_| app.update());
    assert_eq!(timeline(&app).spans().len(), 65_536);
    let last = timeline(&app).frames().next_back().expect("frames were recorded");
    assert_eq!(timeline(&app).spans_in(last.begin..last.end).count(), 6001);
}

#[test]
fn settings_that_change_do_not_disturb_it() {
    let mut app = app(Scheduling::lock_step(2));
    for workers in [2, 4, 1, 3] {
        app.world_mut().resource_mut::<AffinitySettings>().workers = WorkerCount::Exactly(workers);
        timeline_mut(&mut app).clear();
        app.update();
        let spans = timeline(&app).spans().filter(|span| span.kind != SpanKind::System);
        assert_eq!(spans.map(|span| span.rows).sum::<u64>(), 2 * ROWS as u64, "{workers} workers");
    }
}

#[test]
fn rounds_outside_of_tagged_systems_have_no_system() {
    let mut app = Scheduling::lock_step(2).app();
    timeline_mut(&mut app).record(true);
    app.add_systems(Update, |pool: Res<AffinityPool>| pool.run(|_| {}));
    app.update();
    let spans = spans_of(&app, SpanKind::Share);
    assert_eq!(spans.len(), 2);
    assert!(spans.iter().all(|span| span.system.is_none()));
}

#[test]
fn a_leader_without_its_gang_has_all_spans() {
    let (busy, done) = (AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let pool = AffinityPool::new(&Scheduling::lock_step(2).settings());
            // If a test beside this one has the gang, that does as well.
            pool.run(|_| {
                busy.store(true, Ordering::Relaxed);
                while !done.load(Ordering::Relaxed) {
                    std::thread::sleep(std::time::Duration::from_micros(100));
                }
            });
        });
        while !busy.load(Ordering::Relaxed) {
            std::thread::yield_now();
        }
        let app = recorded(Scheduling::lock_step(3));
        done.store(true, Ordering::Relaxed);
        assert_complete(&app, SpanKind::Share, 3);
        assert_nested(&app);
        assert!(timeline(&app).spans().map(|span| span.released).is_sorted());
    });
}

#[test]
fn a_round_that_panics_is_left_out() {
    fn panic_in_the_second_round(seeds: AffineQuery<&Seed>) {
        for round in 0..3 {
            let sweep = || seeds.par_iter().for_each(|seed| assert!(round != 1 || seed.0 % 1000 != 7, "expected"));
            assert_eq!(catch_unwind(AssertUnwindSafe(sweep)).is_err(), round == 1);
        }
    }

    let mut app = Scheduling::lock_step(3).app();
    app.add_systems(Update, panic_in_the_second_round.affine());
    app.world_mut().spawn_batch((0..ROWS as u64).map(Seed));
    timeline_mut(&mut app).record(true);
    app.update();
    let [first, .., last] = &rounds(&app, SpanKind::Share)[..] else { panic!("two rounds ended well") };
    for round in [first, last] {
        assert_eq!(round.iter().map(|span| span.rows).sum::<u64>(), ROWS as u64);
    }
    assert_eq!(spans_of(&app, SpanKind::System).len(), 1);
}

#[test]
fn what_waits_for_the_frames_end_is_cleared_too() {
    let mut app = app(Scheduling::lock_step(2));
    app.world_mut().resource_mut::<AffinityTimeline>().record(true);
    app.update();
    let pool = app.world().resource::<AffinityPool>().clone();
    pool.run(|_| {});
    let mut timeline = app.world_mut().resource_mut::<AffinityTimeline>();
    timeline.record(false);
    timeline.clear();
    app.update();
    assert_eq!(app.world().resource::<AffinityTimeline>().spans().count(), 0);
}
