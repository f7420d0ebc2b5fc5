//! What the timeline says of other numbers of workers.

use std::time::Duration;

use super::*;

/// Frames that are recorded, after as many that settle.
const FRAMES: usize = 60;

/// Runs frames with `workers` workers; returns the forecast from them.
fn forecast_with(workers: usize) -> Forecast {
    let mut app = app(Scheduling::lock_step(workers));
    (0..FRAMES).for_each(|_| app.update());
    timeline_mut(&mut app).clear();
    (0..FRAMES).for_each(|_| app.update());
    timeline(&app).forecast().expect("frames were recorded")
}

#[test]
fn a_forecast_knows_all_systems_and_what_they_take() {
    let forecast = forecast_with(2);
    assert_eq!(forecast.systems().collect::<Vec<_>>(), [0, 1]);
    assert!(forecast.tagged() > Duration::ZERO && forecast.tagged() <= forecast.frame_time());
    let halved = forecast.with_faster(0, 2.0) + forecast.with_faster(1, 2.0);
    // Half of one and half of the other are half of both.
    assert!(halved.abs_diff(forecast.tagged() * 3 / 2) < Duration::from_nanos(10));
    assert!(forecast.with_workers(1) > forecast.with_workers(4));
}

#[test]
fn rounds_for_which_two_of_four_were_enough_gain_nothing_by_all() {
    #[derive(Component, Clone)]
    struct Slow;
    fn slow(rows: AffineQuery<&Slow>) {
        rows.par_iter().for_each(|_| std::thread::sleep(Duration::from_millis(1)));
    }
    let mut app = Scheduling::lock_step(4).app();
    app.world_mut().spawn_batch(vec![Slow; 2]);
    app.add_systems(Update, slow.affine());
    timeline_mut(&mut app).record(true);
    (0..FRAMES).for_each(|_| app.update());
    timeline_mut(&mut app).clear();
    (0..FRAMES).for_each(|_| app.update());
    let forecast = timeline(&app).forecast().expect("frames were recorded");
    assert!(forecast.with_workers(4) >= forecast.tagged() * 9 / 10, "{forecast:?}");
    // Both rows, whether two workers slept or one.
    assert!(forecast.with_workers(1) >= Duration::from_micros(1_900), "{forecast:?}");
}

#[test]
fn a_frame_that_is_not_recorded_from_its_begin_does_not_count() {
    let mut app = Scheduling::lock_step(2).app();
    app.world_mut().spawn_batch((0..ROWS as u64).map(Seed));
    let record = |mut timeline: ResMut<AffinityTimeline>, mut frame: Local<u32>| {
        *frame += 1;
        timeline.record(*frame >= 3);
    };
    app.add_systems(Update, (mix.affine(), record).chain());
    (0..3).for_each(|_| app.update());
    assert_eq!(timeline(&app).forecast(), None);
    app.update();
    let forecast = timeline(&app).forecast().expect("a frame was recorded");
    assert_eq!(forecast.systems().collect::<Vec<_>>(), [0]);
    // Nor one that is not recorded to its end.
    app.add_systems(PreUpdate, |mut timeline: ResMut<AffinityTimeline>| timeline.record(false));
    app.update();
    assert_eq!(timeline(&app).forecast(), Some(forecast));
}

#[test]
fn without_a_recording_there_is_no_forecast() {
    let mut app = app(Scheduling::lock_step(2));
    timeline_mut(&mut app).record(false);
    timeline_mut(&mut app).clear();
    (0..3).for_each(|_| app.update());
    assert_eq!(timeline(&app).forecast(), None);
}

/// What a forecast from two workers says of one, against one worker. Times are not for tests:
/// `cargo test --release --test diagnostics forecasts_come_true -- --ignored --nocapture` prints
/// them.
#[test]
#[ignore = "prints times"]
fn forecasts_come_true() {
    for _ in 0..5 {
        let (two, one) = (forecast_with(2), forecast_with(1));
        let (said, measured) = (two.with_workers(1), one.tagged());
        let back = (one.with_workers(2), two.tagged());
        println!(
            "one worker: {said:?} forecast from two, {measured:?} measured ({:.2} x); two: {:?} forecast from one, {:?} measured ({:.2} x)",
            said.div_duration_f64(measured),
            back.0,
            back.1,
            back.0.div_duration_f64(back.1),
        );
    }
}
