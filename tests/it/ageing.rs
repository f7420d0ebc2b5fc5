//! Worlds that live long: when change ticks come of age, tagged systems, kernels and conditions see
//! the changes that they see in plain Bevy, each way and in each mode.

use bevy::{
    ecs::{
        change_detection::{CHECK_TICK_THRESHOLD, MAX_CHANGE_AGE},
        query::QueryFilter,
        schedule::ScheduleLabel,
    },
    prelude::*,
};
use bevy_affinity::{Forced, prelude::*};

use crate::{
    common::Scheduling,
    ways::{app_going, ways_and_modes},
};

#[derive(Component)]
struct Id(u64);

#[derive(Component)]
struct Watched;

/// How often a system saw that something of its row was new.
#[derive(Component)]
struct Seen<const N: usize>(u64);

#[derive(Resource)]
struct Frame(u64);

#[derive(Resource, Default)]
struct Switch;

/// How often a system ran.
#[derive(Resource, Default)]
struct Runs<const N: usize>(u64);

#[derive(SystemSet, Clone, Debug, PartialEq, Eq, Hash)]
struct Switched;

const ROWS: u64 = 800;
const FRAMES: u64 = 22;

/// Ticks between two frames. In each frame all ticks are looked through, those of five frames ago
/// are too old to be told from older ones, and in seven frames the counter wraps around.
const JUMP: u32 = 700_000_000;
const _: () = assert!(JUMP > CHECK_TICK_THRESHOLD && JUMP > MAX_CHANGE_AGE / 5 && JUMP > u32::MAX / 7);

/// Lets ticks pass that take days. As tests are optimised the loop is one addition.
fn age(world: &mut World) {
    (0..JUMP).for_each(|_| _ = world.increment_change_tick());
}

fn see<const N: usize, F: QueryFilter + 'static>(mut rows: AffineQuery<&mut Seen<N>, F>) {
    rows.par_iter_mut().for_each(|mut seen| seen.0 += 1);
}

fn kernel<const N: usize, F: QueryFilter + 'static>(Row(mut seen): Row<&mut Seen<N>, F>) {
    seen.0 += 1;
}

fn see_plainly<const N: usize, F: QueryFilter + 'static>(mut rows: Query<&mut Seen<N>, F>) {
    rows.iter_mut().for_each(|mut seen| seen.0 += 1);
}

fn count<const N: usize>(mut runs: ResMut<Runs<N>>) {
    runs.0 += 1;
}

fn fifth(frame: Res<Frame>) -> bool {
    frame.0.is_multiple_of(5)
}

/// Two, three and seven frames apart.
fn seldom(frame: Res<Frame>) -> bool {
    [0, 2, 9, 12, 19, 21].contains(&frame.0)
}

fn add_systems(app: &mut App, is_plain: bool) {
    if is_plain {
        let kernels = (
            see_plainly::<3, Changed<Seen<5>>>,
            see_plainly::<4, Changed<Watched>>,
            see_plainly::<5, Changed<Seen<4>>>,
        );
        let seldom_run = (see_plainly::<1, Changed<Watched>>, see_plainly::<2, Added<Watched>>, kernels.chain());
        app.add_systems(Update, (see_plainly::<0, Changed<Watched>>, seldom_run.run_if(seldom)));
    } else {
        let kernels =
            fused((kernel::<3, Changed<Seen<5>>>, kernel::<4, Changed<Watched>>, kernel::<5, Changed<Seen<4>>>));
        let seldom_run = (see::<1, Changed<Watched>>, see::<2, Added<Watched>>, kernels).affine();
        app.add_systems(Update, (see::<0, Changed<Watched>>.affine(), seldom_run.run_if(seldom)));
    }
    app.configure_sets(Update, Switched.run_if(resource_changed::<Switch>)).add_systems(
        Update,
        (
            count::<0>.run_if(resource_changed::<Switch>),
            count::<1>.run_if(fifth.and_then(resource_changed::<Switch>)),
            count::<2>.in_set(Switched),
            count::<3>.run_if(resource_added::<Switch>),
        ),
    );
    app.init_resource::<Switch>();
    app.init_resource::<Runs<0>>().init_resource::<Runs<1>>().init_resource::<Runs<2>>().init_resource::<Runs<3>>();
}

fn spawn_row(world: &mut World, id: u64) -> Entity {
    let seen = (Seen::<0>(0), Seen::<1>(0), Seen::<2>(0), Seen::<3>(0), Seen::<4>(0), Seen::<5>(0));
    world.spawn((Id(id), Watched, seen)).id()
}

/// All that was seen, such that it matters of which rows.
fn seen<const N: usize>(world: &mut World) -> u64 {
    world.query::<(&Id, &Seen<N>)>().iter(world).map(|(id, seen)| (id.0 + 1) * seen.0).sum()
}

/// What systems have seen, and how often their conditions held, by the end of each frame.
fn observed(runner: Option<(Scheduling, Forced)>) -> Vec<[u64; 10]> {
    let mut app = app_going(runner, &[Update.intern()], |app| add_systems(app, runner.is_none()));
    let mut rows: Vec<_> = (0..ROWS).map(|id| spawn_row(app.world_mut(), id)).collect();
    let frames = (0..FRAMES).map(|frame| {
        let world = app.world_mut();
        age(world);
        world.insert_resource(Frame(frame));
        for &row in rows.iter().skip(frame as usize).step_by(23) {
            world.get_mut::<Watched>(row).expect("it is there").set_changed();
        }
        match frame {
            3 | 9 | 11 | 16 => world.resource_mut::<Switch>().set_changed(),
            10 | 17 => rows.extend((0..20).map(|id| spawn_row(world, ROWS + id))),
            // The schedule is built anew, once with systems whose last run is of age.
            8 | 13 => _ = app.add_systems(Update, || {}),
            _ => {}
        }
        app.update();
        let world = app.world_mut();
        [
            seen::<0>(world),
            seen::<1>(world),
            seen::<2>(world),
            seen::<3>(world),
            seen::<4>(world),
            seen::<5>(world),
            world.resource::<Runs<0>>().0,
            world.resource::<Runs<1>>().0,
            world.resource::<Runs<2>>().0,
            world.resource::<Runs<3>>().0,
        ]
    });
    frames.collect()
}

#[test]
fn changes_are_seen_as_in_plain_bevy_when_ticks_come_of_age() {
    let expected = observed(None);
    let last = expected.last().expect("there were frames");
    // Of what changed long before its run a system that runs seldom sees nothing.
    assert!(last.iter().all(|&seen| seen > 0) && last[1] < last[0], "{last:?}");
    for (scheduling, forced) in ways_and_modes() {
        assert_eq!(observed(Some((scheduling, forced))), expected, "{scheduling:?}, {forced:?}");
    }
}
