//! Steps the city: how many seconds of its time pass in a frame.

use std::time::{Duration, Instant};

use bevy::prelude::*;

use super::score::Minute;
use super::shared::{Clock, Frame, FrameParts};
use crate::simulation::{self, Now};

/// Speeds to choose from, as seconds of the city's time in one of the player's. The last is as fast
/// as it goes.
pub const SPEEDS: [u32; 9] = [1, 2, 4, 8, 16, 32, 64, 256, FASTEST];

/// [`MOST_STEPS`] in each of 60 frames a second: reached in small cities only.
pub const FASTEST: u32 = MOST_STEPS * 60;

/// Steps in a frame: more than four minutes of traffic at a glance.
const MOST_STEPS: u32 = 256;

/// No further step begins when the frame has spent as much on them: the rest of a 60th of a second
/// is for drawing.
const BUDGET: Duration = Duration::from_millis(12);

/// The most seconds of the city's time that pass in one of the player's while cars are drawn
/// between steps: faster, every second frame or more brings a step.
const FASTEST_SMOOTH: u32 = 16;

/// How long the achieved speed is averaged, in seconds.
const AVERAGED: f32 = 0.7;

/// How the city's time goes on.
#[derive(Resource, Default)]
pub struct Pace {
    /// Seconds of the city's time in one of the player's, of late.
    pub achieved: f32,
    /// Steps asked for by hand while paused.
    pub single_steps: u32,
    /// The next step needs ways around a closed road that are still being searched.
    pub is_held: bool,
    /// Steps that the speed calls for and that were not made.
    due: f32,
    /// What of them was due after the last frame.
    due_before: f32,
}

pub(super) fn plugin(app: &mut App) {
    app.init_resource::<Clock>().init_resource::<Pace>().add_systems(Update, advance.in_set(Frame::Simulate));
}

fn advance(world: &mut World) {
    let start = Instant::now();
    let clock = *world.resource::<Clock>();
    let seconds = world.resource::<Time<Real>>().delta_secs();
    let wanted = world.resource_mut::<Pace>().wanted(&clock, seconds);
    let (steps, is_held) = take_steps(world, wanted, start);
    let mut pace = world.resource_mut::<Pace>();
    pace.is_held = is_held;
    pace.note(&clock, steps, seconds);
    let alpha = pace.alpha(&clock, steps);
    world.resource_mut::<Clock>().alpha = alpha;
    world.resource_mut::<FrameParts>().simulate = if steps > 0 { start.elapsed() } else { Duration::ZERO };
}

/// Makes as many steps as are wanted and fit the budget, one at least; returns how many, and
/// whether the next one waits for a search.
fn take_steps(world: &mut World, wanted: u32, start: Instant) -> (u32, bool) {
    for step in 0..wanted {
        if !simulation::is_ready(world) {
            return (step, true);
        }
        if step > 0 && start.elapsed() >= BUDGET {
            return (step, false);
        }
        simulation::step(world);
        if world.resource::<Now>().0.is_multiple_of(60) {
            world.run_schedule(Minute);
        }
    }
    (wanted, false)
}

impl Pace {
    /// How many steps the frame should make.
    fn wanted(&mut self, clock: &Clock, seconds: f32) -> u32 {
        if clock.paused {
            return std::mem::take(&mut self.single_steps);
        }
        self.due_before = self.due;
        self.due += seconds * clock.speed as f32;
        (self.due as u32).min(MOST_STEPS)
    }

    /// What was not reached is not made up for later. The part of a step that is due counts as time
    /// that has passed: it is drawn, and at real time 59 of 60 frames bring no whole one.
    fn note(&mut self, clock: &Clock, steps: u32, seconds: f32) {
        let mut passed = steps as f32;
        if !clock.paused {
            self.due = (self.due - steps as f32).clamp(0.0, 1.0);
            passed += self.due - self.due_before;
        }
        let rest = (-seconds / AVERAGED).exp();
        let now = if seconds > 0.0 { passed / seconds } else { self.achieved };
        self.achieved = now + (self.achieved - now) * rest;
    }

    /// Where the picture is between the last two steps.
    fn alpha(&self, clock: &Clock, steps: u32) -> f32 {
        if clock.paused && steps == 0 {
            clock.alpha
        } else if clock.paused || clock.speed > FASTEST_SMOOTH {
            1.0
        } else {
            self.due
        }
    }
}

/// The next faster or slower of the [`SPEEDS`].
pub fn change_speed(speed: u32, by: isize) -> u32 {
    let place = SPEEDS.partition_point(|&other| other < speed);
    SPEEDS[place.saturating_add_signed(by).min(SPEEDS.len() - 1)]
}

/// How a speed is written on its button.
pub fn name(speed: u32) -> String {
    if speed == FASTEST { "max".to_owned() } else { format!("×{speed}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLOCK: Clock = Clock { paused: false, speed: 1, alpha: 0.0 };

    #[test]
    fn real_time_is_one_step_a_second() {
        let mut pace = Pace::default();
        let mut steps = 0;
        for _ in 0..640 {
            let wanted = pace.wanted(&CLOCK, 1.0 / 64.0);
            pace.note(&CLOCK, wanted, 1.0 / 64.0);
            steps += wanted;
            assert!((0.0..=1.0).contains(&pace.alpha(&CLOCK, wanted)));
        }
        assert_eq!(steps, 10);
        assert!((pace.achieved - 1.0).abs() < 0.01, "{}", pace.achieved);
    }

    #[test]
    fn a_slow_frame_is_not_made_up_for() {
        let mut pace = Pace::default();
        let fast = Clock { speed: 64, ..CLOCK };
        assert_eq!(pace.wanted(&fast, 2.0), 128);
        pace.note(&fast, 3, 2.0);
        assert!(pace.wanted(&fast, 1.0 / 64.0) <= 2);
        assert_eq!(pace.wanted(&Clock { speed: FASTEST, ..CLOCK }, 1.0), MOST_STEPS);
    }

    #[test]
    fn a_paused_city_moves_by_single_steps_only() {
        let mut pace = Pace { single_steps: 1, ..Pace::default() };
        let paused = Clock { paused: true, alpha: 0.4, ..CLOCK };
        assert_eq!((pace.wanted(&paused, 1.0), pace.wanted(&paused, 1.0)), (1, 0));
        assert_eq!((pace.alpha(&paused, 0), pace.alpha(&paused, 1)), (0.4, 1.0));
    }

    #[test]
    fn speeds_have_neighbours() {
        assert_eq!((change_speed(1, 1), change_speed(1, -1), change_speed(FASTEST, 1)), (2, 1, FASTEST));
        assert_eq!((change_speed(64, 1), change_speed(64, -1)), (256, 32));
    }
}
