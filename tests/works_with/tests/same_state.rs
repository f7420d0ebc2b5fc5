//! Plugins of others beside tagged systems: the same state to the bit as without our plugin, in
//! every mode.

use bevy::prelude::App;
use bevy_affinity::SchedulerMode;
use bevy_affinity_works_with::{
    Scenario, Way, physics::Physics, replication::Replication, rows_of_followers, space::Space,
};

/// The state is compared every so many frames.
const FRAMES: usize = 20;
const COMPARISONS: usize = 10;

#[test]
fn avian() {
    same_in_every_way::<Physics>();
}

#[test]
fn replicon() {
    same_in_every_way::<Replication>();
}

#[test]
fn big_space() {
    same_in_every_way::<Space>();
}

fn same_in_every_way<S: Scenario>() {
    let expected = states::<S>(Way::Plain);
    assert!(expected.windows(2).all(|pair| pair[0] != pair[1]), "{}: the state changes all the time", S::NAME);
    assert_eq!(expected, states::<S>(Way::Plain), "{}: not even the same when it runs twice without us", S::NAME);
    for way in Way::tagged() {
        assert_eq!(expected, states::<S>(way), "{}: {way:?}", S::NAME);
    }
}

fn states<S: Scenario>(way: Way) -> Vec<u64> {
    let mut scenario = S::new(way);
    let states = (0..COMPARISONS).map(|_| after_frames(&mut scenario)).collect();
    if way == Way::Tagged(SchedulerMode::LockStep) {
        let had_work = |app: &App| rows_of_followers(app.world().resource()) > 0;
        assert!(scenario.apps().into_iter().all(had_work), "{}: the gang had no work", S::NAME);
    }
    states
}

fn after_frames(scenario: &mut impl Scenario) -> u64 {
    for _ in 0..FRAMES {
        scenario.frame();
    }
    scenario.state_hash()
}
