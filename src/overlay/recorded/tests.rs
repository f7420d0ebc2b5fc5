use super::*;

fn span(worker: usize, times: Range<u64>, round: Range<u64>) -> Span {
    let work = Span::of_caller(SpanKind::Share, Some(0), times);
    Span { worker, share_of: worker, core: None, called: round.start, released: round.end, rows: 10, ..work }
}

fn lanes(workers: usize) -> Recorded {
    let mut recorded = Recorded::default();
    recorded.workers.resize_with(workers + 1, Lane::default);
    recorded
}

fn kinds(lane: &Lane) -> Vec<(BarKind, f64, f64)> {
    lane.bars.iter().map(|bar| (bar.kind, bar.begin, bar.end)).collect()
}

#[test]
fn a_share_has_its_waits_on_either_side() {
    let mut recorded = lanes(2);
    recorded.add([&span(1, 1_020..1_080, 1_000..1_100)], 1_000);
    recorded.finish_lanes(2, Duration::ZERO);
    let expected = [(BarKind::Wait, 0.0, 20.0), (BarKind::Work, 20.0, 80.0), (BarKind::Wait, 80.0, 100.0)];
    assert_eq!(kinds(&recorded.workers[1]), expected);
}

#[test]
fn workers_are_parked_once_they_have_spun_long_enough() {
    let mut recorded = lanes(2);
    for (worker, begin) in [(0, 1_000), (1, 1_000), (0, 1_050), (1, 1_050), (0, 2_000), (1, 2_000)] {
        recorded.add([&span(worker, begin..begin + 20, begin..begin + 20)], 1_000);
    }
    recorded.finish_lanes(2, Duration::from_nanos(100));
    let parked: Vec<_> = kinds(&recorded.workers[1]).into_iter().filter(|bar| bar.0 == BarKind::Parked).collect();
    assert_eq!(parked, [(BarKind::Parked, 170.0, 1_000.0)]);
    assert!(kinds(&recorded.workers[0]).iter().all(|bar| bar.0 != BarKind::Parked), "the leader never parks");
}

#[test]
fn systems_that_were_dealt_out_lie_in_a_round() {
    let mut recorded = lanes(2);
    let of = |kind, system, times: Range<u64>| Span { kind, system, ..span(0, times.clone(), times) };
    // As they are written: a round when it is over.
    let spans = [
        of(SpanKind::System, Some(1), 10..40),
        of(SpanKind::System, Some(2), 50..90),
        of(SpanKind::Jobs, None, 0..100),
        of(SpanKind::Share, Some(3), 120..180),
        of(SpanKind::System, Some(3), 110..200),
    ];
    recorded.add(&spans, 0);
    recorded.finish_lanes(2, Duration::ZERO);
    let expected = [
        (BarKind::Work, 0.0, 100.0),
        (BarKind::DealtOut, 10.0, 40.0),
        (BarKind::DealtOut, 50.0, 90.0),
        (BarKind::System, 110.0, 200.0),
        (BarKind::Work, 120.0, 180.0),
    ];
    assert_eq!(kinds(&recorded.workers[0]), expected);
}

#[test]
fn what_the_leader_took_over_is_marked() {
    let mut recorded = lanes(3);
    recorded.add([&Span { share_of: 2, ..span(0, 0..50, 0..50) }], 0);
    recorded.finish_lanes(3, Duration::ZERO);
    assert_eq!(recorded.workers[0].bars[0].taken_from, Some(2));
}

/// Its own share, then that of a worker that slept, then nothing: for ten nanoseconds.
#[test]
fn the_leader_waits_once_in_a_round() {
    let mut recorded = lanes(3);
    let taken_over = Span { share_of: 2, ..span(0, 50..90, 0..100) };
    recorded.add(&[taken_over, span(0, 0..50, 0..100), span(1, 0..60, 0..100)], 0);
    recorded.finish_lanes(3, Duration::ZERO);
    let waits = |lane: usize| -> Vec<_> {
        let waits = recorded.workers[lane].bars.iter().filter(|bar| bar.kind == BarKind::Wait);
        waits.map(|bar| (bar.begin, bar.end)).collect()
    };
    assert_eq!((waits(0), waits(1)), (vec![(90.0, 100.0)], vec![(60.0, 100.0)]));
}

#[test]
fn stolen_rows_are_marked_where_they_were_swept() {
    let mut recorded = lanes(2);
    recorded.add([&Span { stolen_rows: 4, ..span(1, 100..200, 100..200) }], 0);
    recorded.add([&span(0, 100..200, 100..200)], 0);
    recorded.add([&Span { share_of: 1, ..span(0, 300..400, 300..400) }], 0);
    recorded.finish_lanes(2, Duration::ZERO);
    let begins = |lane: usize| recorded.workers[lane].bars.iter().map(Bar::help_begins).collect::<Vec<_>>();
    assert_eq!(begins(1), [Some(160.0)], "four of ten rows, at the end");
    assert_eq!(begins(0), [None, Some(300.0)]);
}

#[test]
fn the_workers_of_a_session_are_summed_up_on_a_lane_of_its_own() {
    let mut recorded = lanes(3);
    for (worker, jobs_taken) in [(0, 0), (1, 4), (2, 3)] {
        let part = span(worker, 10..90, 0..100);
        recorded.add([&Span { kind: SpanKind::Session, jobs_taken, joins_published: 5, ..part }], 0);
    }
    recorded.finish_lanes(3, Duration::ZERO);
    let [session] = &recorded.workers[3].bars[..] else { panic!("{:?}", recorded.workers[3]) };
    assert_eq!((session.promotions, session.joins, session.helpers), (7, 15, 2));
    assert_eq!((session.kind, session.begin, session.end), (BarKind::Session, 0.0, 100.0));
}

#[test]
fn without_sessions_there_is_no_lane_for_them_and_old_gangs_are_left_out() {
    let mut recorded = lanes(1);
    recorded.add([&span(0, 0..10, 0..10)], 0);
    recorded.add([&span(7, 0..10, 0..10)], 0);
    recorded.finish_lanes(1, Duration::ZERO);
    assert_eq!(recorded.workers.len(), 1);
    assert_eq!(recorded.workers[0].bars.len(), 1);
}
