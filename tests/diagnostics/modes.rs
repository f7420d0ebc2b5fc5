//! Numbers of each mode, of frames and of systems.

use std::time::Duration;

use bevy_affinity::FrameSpan;

use super::*;

fn run_in(app: &mut App, mode: SchedulerMode, frames: usize) {
    app.insert_resource(mode);
    (0..frames).for_each(|_| app.update());
}

fn assert_is_mean(smoothed: Duration, frames: &[FrameSpan], nanoseconds: impl Fn(&FrameSpan) -> u64) {
    let mean = frames.iter().map(nanoseconds).sum::<u64>() / frames.len() as u64;
    // Each smoothing step drops less than a nanosecond.
    let dropped = frames.len() as u128 + 1;
    assert!(smoothed.as_nanos().abs_diff(u128::from(mean)) <= dropped, "{smoothed:?} against {mean} ns");
}

#[test]
fn a_mode_keeps_its_numbers_when_another_is_on() {
    let mut app = app(Scheduling::lock_step(3));
    run_in(&mut app, SchedulerMode::Serial, 5);
    let serial = *diagnostics(&app).mode(SchedulerMode::Serial).expect("frames ran in it");
    // The first frame of a mode is left out: the mode may have changed in the middle of it.
    assert_eq!(serial.frames, 4);
    // Compared with the frames themselves: a frame's delta is the length of the one before, so the
    // two averages are of frames one apart.
    let frames: Vec<FrameSpan> = diagnostics(&app).history().skip(1).copied().collect();
    assert_eq!(frames.len(), 4);
    assert_is_mean(serial.frame_time, &frames, |frame| frame.delta);
    assert_is_mean(serial.tagged_time, &frames, |frame| frame.tagged);
    assert_is_mean(serial.call_time, &frames, |frame| frame.tagged / frame.calls);
    assert!(serial.tagged_time > Duration::ZERO);
    assert_eq!(diagnostics(&app).speed_up(SchedulerMode::Serial), Some(1.0));
    assert_eq!(diagnostics(&app).speed_up(SchedulerMode::LockStep), None);

    run_in(&mut app, SchedulerMode::LockStep, 5);
    assert_eq!(diagnostics(&app).mode(SchedulerMode::Serial), Some(&serial));
    assert!(diagnostics(&app).speed_up(SchedulerMode::LockStep).is_some_and(|speed_up| speed_up > 0.0));

    run_in(&mut app, SchedulerMode::Serial, 5);
    assert_eq!(diagnostics(&app).mode(SchedulerMode::Serial).map(|mode| mode.frames), Some(8));
    assert_eq!(diagnostics(&app).modes.len(), 2);
}

#[test]
fn history_is_the_last_frames() {
    let mut app = app(Scheduling::lock_step(2));
    (0..600).for_each(|_| app.update());
    let history: Vec<FrameSpan> = diagnostics(&app).history().copied().collect();
    assert_eq!(history.len(), 512);
    assert_eq!(history.last().map(|frame| frame.number), Some(600));
    for pair in history.windows(2) {
        assert_eq!(pair[1].number, pair[0].number + 1);
        assert_eq!(pair[1].delta, pair[1].begin - pair[0].begin);
        assert!(pair[0].end <= pair[1].begin);
        assert_eq!(pair[1].calls, 2);
        assert!(pair[1].tagged > 0 && pair[1].tagged <= pair[1].tagged_end - pair[1].tagged_begin);
    }
}

#[test]
fn systems_have_all_their_numbers() {
    let mut app = app(Scheduling::lock_step(2));
    // As many as until the recent numbers are computed anew.
    (0..17).for_each(|_| app.update());
    let systems = &diagnostics(&app).systems;
    assert_eq!(systems.len(), 2);
    for system in systems {
        assert_eq!(system.calls, 17);
        assert_eq!(system.mean, system.total / 17);
        assert_eq!(system.recent_mean.as_micros(), system.mean.as_micros());
        assert!(system.mean <= system.max && system.recent_mean <= system.max && system.p95 <= system.max);
    }
}

#[test]
fn a_frame_in_which_the_mode_changes_and_changes_back_is_of_none() {
    let mut app = app(Scheduling { mode: SchedulerMode::Serial, workers: 2 });
    app.add_systems(First, |mut mode: ResMut<SchedulerMode>| *mode = SchedulerMode::LockStep);
    app.add_systems(PostUpdate, |mut mode: ResMut<SchedulerMode>| *mode = SchedulerMode::Serial);
    (0..10).for_each(|_| app.update());
    assert_eq!(diagnostics(&app).modes.iter().map(|mode| mode.frames).sum::<u64>(), 0);
}

#[derive(bevy::ecs::schedule::ScheduleLabel, Clone, Debug, PartialEq, Eq, Hash)]
struct Step;

fn run_a_step(world: &mut World) {
    world.run_schedule(Step);
}

#[test]
fn what_runs_inside_of_another_system_is_a_part_of_it() {
    let mut app = Scheduling::lock_step(2).app();
    app.add_systems(Step, mix.affine()).add_systems(Update, run_a_step.affine());
    app.world_mut().spawn_batch((0..ROWS as u64).map(Seed));
    (0..10).for_each(|_| app.update());
    for frame in diagnostics(&app).history() {
        assert_eq!(frame.calls, 2);
        assert!(frame.tagged > 0 && frame.tagged <= frame.tagged_end - frame.tagged_begin, "{frame:?}");
    }
    let of_systems: Duration = diagnostics(&app).systems.iter().map(|system| system.total).sum();
    let tagged: u64 = diagnostics(&app).history().map(|frame| frame.tagged).sum();
    assert!(of_systems.as_nanos() > u128::from(tagged), "each system knows all of its own time");
}

#[test]
fn a_frame_begins_before_its_tagged_systems() {
    let mut app = app(Scheduling::lock_step(2));
    app.add_systems(Step, mix.affine());
    for _ in 0..10 {
        app.update();
        app.world_mut().run_schedule(Step);
    }
    for frame in diagnostics(&app).history() {
        assert!(frame.begin <= frame.tagged_begin && frame.tagged_begin <= frame.tagged_end, "{frame:?}");
    }
}
