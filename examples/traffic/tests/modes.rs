//! The Bevy systems compute what the plain program computes, whoever sweeps which rows.

use std::sync::Arc;

use bevy_affinity::prelude::*;

use super::{crowded, planned};
use crate::city::City;
use crate::measure::Simulation;
use crate::plain::Plain;
use crate::simulation::CityApp;

/// Long enough for cars to arrive and to depart again.
const STEPS: u32 = 300;

fn state_after(mut simulation: impl Simulation) -> u64 {
    (0..STEPS).for_each(|_| simulation.step());
    simulation.state_hash()
}

fn on_gang(city: &Arc<City>, mode: SchedulerMode, workers: usize, chunk_rows: usize) -> CityApp {
    let settings =
        AffinitySettings { workers: WorkerCount::Exactly(workers), chunk_rows, ..AffinitySettings::default() };
    CityApp::on_gang(Arc::clone(city), mode, settings)
}

/// The ways to share rows between workers, and to choose between them.
const SHARING: [SchedulerMode; 3] = [SchedulerMode::LockStep, SchedulerMode::Heartbeat, SchedulerMode::Auto];

#[test]
fn no_mode_changes_the_state() {
    let city = Arc::new(crowded());
    let expected = state_after(Plain::new(Arc::clone(&city)));
    for &mode in SchedulerMode::ALL {
        let app = CityApp::on_gang(Arc::clone(&city), mode, AffinitySettings::default());
        assert_eq!(state_after(app), expected, "{mode:?}");
    }
    assert_eq!(state_after(CityApp::on_compute_threads(Arc::clone(&city), Some(2))), expected, "without the plugin");
}

#[test]
fn programmes_of_signals_are_the_same_in_every_mode() {
    let city = Arc::new(planned());
    let expected = state_after(Plain::new(Arc::clone(&city)));
    for &mode in SchedulerMode::ALL {
        for (workers, chunk_rows) in [(1, 4096), (2, 7), (3, 64)] {
            assert_eq!(state_after(on_gang(&city, mode, workers, chunk_rows)), expected, "{mode:?}, {workers} workers");
        }
    }
    let app = CityApp::on_compute_threads(Arc::clone(&city), Some(2));
    assert_eq!(state_after(app), expected, "without the plugin");
    let mut plain = Plain::new(city);
    (0..STEPS).for_each(|_| plain.step());
    assert!(plain.totals().trips_arrived > 500, "traffic flows: {:?}", plain.totals());
}

#[test]
fn neither_the_number_of_workers_nor_the_size_of_chunks_changes_the_state() {
    let city = Arc::new(crowded());
    let expected = state_after(Plain::new(Arc::clone(&city)));
    for mode in SHARING {
        for workers in 1..=4 {
            assert_eq!(state_after(on_gang(&city, mode, workers, 4096)), expected, "{mode:?}, {workers} workers");
        }
        for chunk_rows in [1, 7, 64] {
            assert_eq!(
                state_after(on_gang(&city, mode, 2, chunk_rows)),
                expected,
                "{mode:?}, {chunk_rows} rows a chunk"
            );
        }
    }
}

#[test]
fn many_steps_in_a_frame_end_where_single_steps_end() {
    let city = Arc::new(crowded());
    let [mut frames, mut fast] = [(); 2].map(|()| on_gang(&city, SchedulerMode::LockStep, 2, 4096));
    for _ in 0..STEPS / 60 {
        for _ in 0..60 {
            frames.frame();
            frames.step();
        }
        (0..60).for_each(|_| fast.step());
        assert_eq!(frames.state_hash(), fast.state_hash());
    }
}

#[test]
fn no_car_is_lost_in_any_step() {
    let city = Arc::new(crowded());
    for mode in SHARING {
        let mut app = on_gang(&city, mode, 2, 4096);
        for now in 0..STEPS {
            app.step();
            assert_eq!(app.totals().cars(), u64::from(city.cars), "after second {now}, {mode:?}");
        }
    }
}
