//! Filters that look at each row: whichever rows pass, they are visited once, in order.

use std::mem::take;

use bevy::{
    ecs::{
        query::{QueryFilter, Spawned},
        schedule::ScheduleLabel,
    },
    prelude::*,
};
use bevy_affinity::prelude::*;
use proptest::{collection::vec, prelude::*};

use crate::common::Scheduling;

#[derive(Component)]
struct Number(u32);

#[derive(Component, Default, Debug, PartialEq)]
struct Visits(u32);

#[derive(Component)]
struct A(u32);

#[derive(Component)]
struct B(u32);

#[derive(Component)]
struct InATable;

#[derive(Component)]
#[component(storage = "SparseSet")]
struct InASet(u32);

/// The schedule of what is compared.
#[derive(ScheduleLabel, Clone, Debug, PartialEq, Eq, Hash)]
struct Visit;

/// The numbers of the rows that passed, one list for each system.
#[derive(Resource, Default)]
struct Passed(Vec<Vec<u32>>);

/// Which rows change in a frame: of each stretch of rows so many, one in so many.
type Changes = Vec<(u32, u32)>;

fn frames() -> impl Strategy<Value = Vec<Changes>> {
    let one_in = prop_oneof![Just(0_u32), Just(1), Just(2), Just(7), Just(40), Just(300)];
    vec(vec((prop_oneof![1..40_u32, 1..600_u32], one_in), 1..6), 1..4)
}

/// Changes `A` of some rows, and `B` or what is in the set of every third and fourth of those.
fn change(world: &mut World, changes: &Changes) {
    let stretches = changes.iter().flat_map(|&(rows, one_in)| (0..rows).map(move |row| (one_in, row)));
    let changed: Vec<bool> = stretches.map(|(one_in, row)| one_in > 0 && row % one_in == 0).collect();
    let changed = |number: u32| changed[number as usize % changed.len()];
    let mut rows = world.query::<(&Number, &mut A, &mut B, Option<&mut InASet>)>();
    for (number, mut a, mut b, set) in rows.iter_mut(world).filter(|(number, ..)| changed(number.0)) {
        match number.0 % 4 {
            0 => b.0 += 1,
            3 => set.into_iter().for_each(|mut set| set.0 += 1),
            _ => a.0 += 1,
        }
    }
}

fn affine<F: QueryFilter + 'static>(
    mut rows: AffineQuery<(&'static Number, &'static mut Visits), F>,
    mut passed: ResMut<Passed>,
) {
    rows.par_iter_mut().for_each(|(_, mut visits)| visits.0 += 1);
    let list = rows.par_iter_mut().fold_reduce(
        Vec::new,
        |list, (number, mut visits)| {
            visits.0 += 1;
            list.push(number.0);
        },
        |mut list, mut more| {
            list.append(&mut more);
            list
        },
    );
    passed.0.push(list);
}

fn plain<F: QueryFilter + 'static>(mut rows: Query<(&Number, &mut Visits), F>, mut passed: ResMut<Passed>) {
    let list = rows.iter_mut().map(|(number, mut visits)| {
        visits.0 += 2;
        number.0
    });
    passed.0.push(list.collect());
}

/// Adds a system for each filter.
macro_rules! add_systems {
    ($app:ident, $sweep:ident, $tag:expr) => {
        $app.add_systems(
            Visit,
            (
                $tag($sweep::<Changed<A>>),
                $tag($sweep::<Added<A>>),
                $tag($sweep::<Or<(Changed<A>, Changed<B>)>>),
                $tag($sweep::<(Changed<B>, With<InATable>)>),
                $tag($sweep::<(Changed<A>, With<InASet>)>),
                $tag($sweep::<Or<(Changed<B>, Changed<InASet>)>>),
                $tag($sweep::<Spawned>),
            )
                .chain(),
        )
    };
}

/// Rows in four tables; every fifth has something in a sparse set, so that rows of one archetype
/// lie between those of another.
fn app(mut app: App, rows: u32) -> App {
    app.init_resource::<Passed>();
    (0..rows).for_each(|number| spawn(app.world_mut(), number, rows));
    app
}

/// Spawns the row of that number, of `rows` rows and others behind them.
fn spawn(world: &mut World, number: u32, rows: u32) {
    let mut row = world.spawn((Number(number), Visits(0), A(0), B(0)));
    if number * 4 > rows {
        row.insert(InATable);
    }
    if number.is_multiple_of(5) || number * 3 > rows * 2 {
        row.insert(InASet(0));
    }
}

/// What passed in a frame, and how often each row was visited so far.
fn run(app: &mut App, changes: &Changes) -> (Vec<Vec<u32>>, Vec<u32>) {
    change(app.world_mut(), changes);
    app.update();
    app.world_mut().run_schedule(Visit);
    let passed = take(&mut app.world_mut().resource_mut::<Passed>().0);
    let mut all = app.world_mut().query::<(&Number, &Visits)>();
    let mut visits: Vec<_> = all.iter(app.world()).map(|(number, visits)| (number.0, visits.0)).collect();
    visits.sort_unstable();
    (passed, visits.into_iter().map(|(_, visits)| visits).collect())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn rows_that_pass_are_visited_once_and_in_order(rows in prop_oneof![0..70_u32, 500..3_000_u32], frames in frames()) {
        let mut without = app(App::new(), rows);
        add_systems!(without, plain, std::convert::identity);
        let expected: Vec<_> = frames.iter().map(|changes| run(&mut without, changes)).collect();
        let mut in_order: Vec<Option<Vec<Vec<u32>>>> = vec![None; frames.len()];
        for scheduling in Scheduling::all() {
            let mut with = app(scheduling.app(), rows);
            add_systems!(with, affine, IntoAffine::affine);
            for ((changes, (passed, visits)), in_order) in frames.iter().zip(&expected).zip(&mut in_order) {
                let (ours, ours_visited) = run(&mut with, changes);
                prop_assert_eq!(sorted(&ours), sorted(passed), "{:?}", scheduling);
                prop_assert_eq!(&ours_visited, visits, "{:?}", scheduling);
                // Bevy may visit archetypes in another order.
                prop_assert_eq!(in_order.get_or_insert_with(|| ours.clone()), &ours, "{:?}", scheduling);
            }
        }
    }
}

fn sorted(lists: &[Vec<u32>]) -> Vec<Vec<u32>> {
    let mut lists = lists.to_vec();
    lists.iter_mut().for_each(|list| list.sort_unstable());
    lists
}

/// True in every third frame.
fn now_and_then(mut frames: Local<u32>) -> bool {
    *frames += 1;
    frames.is_multiple_of(3)
}

/// Adds a system for some filters, each of which runs now and then.
macro_rules! add_seldom_systems {
    ($app:ident, $sweep:ident, $tag:expr) => {
        $app.add_systems(
            Visit,
            (
                $tag($sweep::<Changed<A>>).run_if(now_and_then),
                $tag($sweep::<Added<A>>).run_if(now_and_then),
                $tag($sweep::<Or<(Changed<B>, Changed<InASet>)>>).run_if(now_and_then),
            )
                .chain(),
        )
    };
}

/// Whichever modes it ran in, and whichever there were in between.
#[test]
fn who_runs_now_and_then_sees_what_changed_since() {
    const ROWS: u32 = 3_000;
    const FRAMES: u32 = 45;
    for workers in 1..=3 {
        let mut with = app(Scheduling::auto(workers).app(), ROWS);
        add_seldom_systems!(with, affine, IntoAffine::affine);
        let mut without = app(App::new(), ROWS);
        add_seldom_systems!(without, plain, std::convert::identity);
        for (frame, &mode) in (1..=FRAMES).zip(SchedulerMode::ALL.iter().cycle()) {
            with.insert_resource(mode);
            let changes = vec![(300, frame % 4), (40, 7), (frame, 1), (900, 0)];
            let frame_of = |app: &mut App| {
                (0..4).for_each(|more| spawn(app.world_mut(), ROWS + 4 * frame + more, ROWS));
                run(app, &changes)
            };
            let ((ours, ours_visited), (passed, visits)) = (frame_of(&mut with), frame_of(&mut without));
            assert_eq!(ours.len(), if frame.is_multiple_of(3) { 3 } else { 0 }, "frame {frame}");
            assert!(ours.iter().all(|list| !list.is_empty()), "frame {frame}, {mode:?}, {workers} workers");
            assert_eq!(sorted(&ours), sorted(&passed), "frame {frame}, {mode:?}, {workers} workers");
            assert_eq!(ours_visited, visits, "frame {frame}, {mode:?}, {workers} workers");
        }
    }
}
