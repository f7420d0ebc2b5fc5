//! Parameters and queries of every kind find what they find in plain Bevy, each way and in each
//! mode.

use std::{
    mem,
    sync::atomic::{AtomicU64, AtomicUsize, Ordering},
    thread::{self, ThreadId},
};

use bevy::{
    ecs::{
        resource::IsResource,
        schedule::MainThreadExecutor,
        system::{ParamBuilder, SystemChangeTick},
        world::{EntityMutExcept, EntityRefExcept},
    },
    prelude::*,
};
use bevy_affinity::{Forced, ScheduleWay, prelude::*};

use crate::{Executor, Tags, compare_with_bevy, forced_schedule_and_world, tag, ways_modes_and_tags};

const FRAMES: u64 = 12;

/// Enough rows for a first sweep, whose cost is not known yet, to go parallel.
const ROWS: u64 = 5_000;

#[derive(Component)]
struct Id(u64);

#[derive(Component)]
struct Value(u64);

/// Of no row, of one or of two.
#[derive(Component)]
struct One;

/// Of some rows or of none.
#[derive(Component)]
struct Rare;

#[derive(Component)]
struct Spawned(u64);

#[derive(Message)]
struct Said(u64);

#[derive(Resource)]
struct Frame(u64);

/// What a system found.
#[derive(Resource, Default)]
struct Found<const N: usize>(Vec<u64>);

/// What it found since this was last called. Rows may be visited in any order.
fn take<const N: usize>(world: &mut World) -> Vec<u64> {
    let mut found = mem::take(&mut world.resource_mut::<Found<N>>().0);
    found.sort_unstable();
    found
}

fn mark(rows: Query<(Entity, &Id)>, frame: Res<Frame>, mut commands: Commands) {
    let ones = [0, 1, 2, 1][frame.0 as usize % 4];
    for (row, id) in rows.iter().filter(|(_, id)| id.0 < 20) {
        let mut row = commands.entity(row);
        match id.0 < ones {
            true => row.insert(One),
            false => row.remove::<One>(),
        };
        match id.0 % 5 == frame.0 % 10 {
            true => row.insert(Rare),
            false => row.remove::<Rare>(),
        };
    }
}

fn populated(mut rows: Populated<(&Id, &mut Value), With<Rare>>, mut found: ResMut<Found<0>>) {
    for (id, mut value) in &mut *rows {
        value.0 += id.0 + 1;
        found.0.push(value.0);
    }
}

type Ones<'w, 's> = Query<'w, 's, &'static mut Value, With<One>>;

fn param_set(mut sets: ParamSet<(Ones, Query<(&Id, &Value)>)>, mut found: ResMut<Found<1>>) {
    sets.p0().iter_mut().for_each(|mut value| value.0 = 3 * value.0 + 1);
    found.0.push(sets.p1().iter().map(|(id, value)| id.0 ^ value.0).sum());
}

fn say(frame: Res<Frame>, mut said: MessageWriter<Said>) {
    (0..frame.0 % 3).for_each(|number| _ = said.write(Said(10 * frame.0 + number)));
}

fn optional(one: Option<Single<&Id, With<One>>>, mut found: ResMut<Found<2>>) {
    found.0.push(one.map_or(u64::MAX, |one| one.0));
}

/// What changed while it was skipped is new to it.
fn single(one: Single<(&Id, Ref<Value>), With<One>>, mut found: ResMut<Found<3>>) {
    let (id, value) = one.into_inner();
    found.0.push(2 * id.0 + u64::from(value.is_changed()));
}

fn removed(mut removed: RemovedComponents<One>, ids: Query<&Id>, mut found: ResMut<Found<4>>) {
    found.0.extend(removed.read().filter_map(|row| Some(ids.get(row).ok()?.0)));
}

fn hear(mut said: MessageReader<Said>, mut found: ResMut<Found<5>>) {
    found.0.extend(said.read().map(|said| said.0));
}

fn ticks(values: Query<Ref<Value>>, ticks: SystemChangeTick, mut found: ResMut<Found<6>>) {
    let is_newer = |value: &Ref<Value>| value.last_changed().is_newer_than(ticks.last_run(), ticks.this_run());
    let by_tick = values.iter().filter(is_newer).count() as u64;
    let by_bevy = values.iter().filter(Ref::is_changed).count() as u64;
    found.0.extend([by_tick, by_bevy]);
}

fn parallel(rows: AffineQuery<&Id>, frame: Res<Frame>, commands: ParallelCommands) {
    rows.par_iter().for_each(|id| {
        if id.0 % 500 == frame.0 {
            commands.command_scope(|mut commands| _ = commands.spawn(Spawned(id.0)));
        }
    });
}

/// What each system finds in each frame, and what was spawned by its end.
fn parameters(mut schedule: Schedule, mut world: World, tags: Tags) -> Vec<[Vec<u64>; 8]> {
    schedule.add_systems(
        (
            (tag(tags(0), mark), tag(tags(1), populated), tag(tags(2), param_set), tag(tags(3), say)).chain(),
            (
                (tag(tags(4), optional), tag(tags(5), single), tag(tags(6), removed)),
                (tag(tags(7), hear), tag(tags(8), ticks), tag(tags(9), parallel)),
            ),
        )
            .chain(),
    );
    world.init_resource::<Messages<Said>>();
    world.init_resource::<Found<0>>();
    world.init_resource::<Found<1>>();
    world.init_resource::<Found<2>>();
    world.init_resource::<Found<3>>();
    world.init_resource::<Found<4>>();
    world.init_resource::<Found<5>>();
    world.init_resource::<Found<6>>();
    world.spawn_batch((0..ROWS).map(|id| (Id(id), Value(id)))).for_each(drop);
    let frames = (0..FRAMES).map(|frame| {
        world.insert_resource(Frame(frame));
        world.resource_mut::<Messages<Said>>().update();
        schedule.run(&mut world);
        world.clear_trackers();
        let mut spawned: Vec<_> = world.query::<&Spawned>().iter(&world).map(|spawned| spawned.0).collect();
        spawned.sort_unstable();
        [
            take::<0>(&mut world),
            take::<1>(&mut world),
            take::<2>(&mut world),
            take::<3>(&mut world),
            take::<4>(&mut world),
            take::<5>(&mut world),
            take::<6>(&mut world),
            spawned,
        ]
    });
    frames.collect()
}

#[test]
fn parameters_find_what_they_find_in_plain_bevy() {
    let found = compare_with_bevy(parameters);
    let ever = |number: usize| found.iter().any(|frame| !frame[number].is_empty());
    assert!((0..8).all(ever), "{found:?}");
    // Both are skipped now and then.
    assert!([0, 3].iter().all(|&number| found.iter().any(|frame| frame[number].is_empty())), "{found:?}");
}

/// Who runs systems.
#[derive(Resource)]
struct Threads {
    leader: ThreadId,
    /// How many systems ran elsewhere than on the leader and on the gang.
    elsewhere: AtomicUsize,
}

impl Threads {
    fn note(&self) {
        let thread = thread::current();
        let is_ours = thread.id() == self.leader || thread.name().is_some_and(|name| name.starts_with("affinity"));
        self.elsewhere.fetch_add(usize::from(!is_ours), Ordering::Relaxed);
    }
}

/// What systems found that read all resources.
#[derive(Resource, Default)]
struct Sums([AtomicU64; 3]);

fn write_all_but_ids(
    mut rows: Query<EntityMutExcept<Id>, (With<Id>, Without<IsResource>)>,
    frame: Res<Frame>,
    threads: Res<Threads>,
) {
    threads.note();
    for mut row in &mut rows {
        assert!(row.get::<Id>().is_none());
        let Some(mut value) = row.get_mut::<Value>() else { continue };
        if !(value.0 + frame.0).is_multiple_of(3) {
            value.0 = 5 * value.0 + 3;
        }
    }
}

fn read_all_but_values(rows: Query<EntityRefExcept<Value>, With<Id>>, sums: Res<Sums>, threads: Res<Threads>) {
    threads.note();
    assert!(rows.iter().all(|row| row.get::<Value>().is_none()));
    let ids = rows.iter().filter_map(|row| row.get::<Id>()).map(|id| id.0);
    sums.0[0].store(ids.sum(), Ordering::Relaxed);
}

fn read_all_but_ids(rows: Query<EntityRefExcept<(Id, One)>, With<Id>>, sums: Res<Sums>, threads: Res<Threads>) {
    threads.note();
    let changed = rows.iter().filter_map(|row| row.get_ref::<Value>().filter(Ref::is_changed));
    sums.0[1].store(changed.map(|value| value.0).sum(), Ordering::Relaxed);
}

/// Adds a system that reads all resources.
#[expect(deprecated, reason = "programs have it still")]
fn read_all_resources(schedule: &mut Schedule, world: &mut World, tagged: bool) {
    use bevy::ecs::system::FilteredResourcesParamBuilder;

    fn read(resources: FilteredResources, sums: Res<Sums>, threads: Res<Threads>) {
        threads.note();
        let frame = resources.get::<Frame>().map_or(0, |frame| 2 * frame.0 + u64::from(frame.is_changed()));
        sums.0[2].store(frame, Ordering::Relaxed);
    }

    let all = FilteredResourcesParamBuilder::new(|builder| {
        builder.add_read_all();
    });
    let system = (all, ParamBuilder, ParamBuilder).build_state(world).build_system(read);
    schedule.add_systems(tag(tagged, system));
}

/// What systems find in each frame, and how many ran elsewhere than on the leader and on the gang.
fn nearly_everything(mut schedule: Schedule, mut world: World, tags: Tags) -> (Vec<[u64; 3]>, usize) {
    world.insert_resource(MainThreadExecutor::new());
    world.insert_resource(Threads { leader: thread::current().id(), elsewhere: AtomicUsize::new(0) });
    world.init_resource::<Sums>();
    world.spawn_batch((0..20).map(|id| (Id(id), Value(id)))).for_each(drop);
    let readers = (tag(tags(1), read_all_but_values), tag(tags(2), read_all_but_ids));
    schedule.add_systems((tag(tags(0), write_all_but_ids), readers).chain());
    read_all_resources(&mut schedule, &mut world, tags(3));
    let frames = (0..FRAMES).map(|frame| {
        world.insert_resource(Frame(frame));
        schedule.run(&mut world);
        world.resource::<Sums>().0.each_ref().map(|sum| sum.load(Ordering::Relaxed))
    });
    let frames = frames.collect();
    (frames, world.resource::<Threads>().elsewhere.load(Ordering::Relaxed))
}

/// Who reads the main thread's executor among all else need not wait for what it does there. A
/// schedule that were bound to Bevy's threads for that would have its systems run elsewhere.
#[test]
fn queries_over_nearly_everything_leave_each_way_open() {
    let (schedule, world) = Executor::Single.schedule_and_world();
    let (expected, _) = nearly_everything(schedule, world, |_| false);
    for (scheduling, forced, tags) in ways_modes_and_tags() {
        let (schedule, world) = forced_schedule_and_world(scheduling, forced);
        let (found, elsewhere) = nearly_everything(schedule, world, tags);
        assert_eq!(found, expected, "{scheduling:?}, {forced:?}, tags: {:?}", [0, 1].map(tags));
        if let Forced::Always(ScheduleWay::OneThread | ScheduleWay::OnTheGang) = forced {
            assert_eq!(elsewhere, 0, "{scheduling:?}, {forced:?}");
        }
    }
}
