//! Group `changed`: a sweep that visits the rows that have changed, of rows in a table and of rows
//! that have something in a sparse set too.

use bevy::ecs::query::QueryFilter;
use bevy::prelude::*;
use bevy_affinity::prelude::*;

use crate::race::{Race, Turn};
use crate::setup::Setup;
use crate::shared::stopwatch::Stopwatch;
use crate::{ours, report};

const SIZES: [usize; 4] = [1_000, 10_000, 100_000, 1_000_000];

/// One row in so many changes before each call, at random; 0 for none.
const ONE_IN: [u64; 5] = [0, 1_000, 100, 20, 1];

/// Makes the race of a table's line.
type Races = fn(&Setup, Rows) -> Race<'static, ()>;

pub fn run(setup: &Setup) -> Result<(), String> {
    for one_in in ONE_IN {
        let which = match one_in {
            0 => "none".into(),
            1 => "every row".into(),
            _ => format!("one row in {}", report::grouped(one_in as usize)),
        };
        let tables: [(&str, Races); 2] = [
            ("in a table", race::<Changed<Alarm>>),
            ("with a marker in a sparse set", race::<(Changed<Alarm>, With<Mark>)>),
        ];
        for (place, race) in tables {
            let title = format!("`Changed`, {which} has changed, rows {place}, x the serial sweep to the left");
            let mut table = report::SizeTable::new(&title);
            for count in SIZES {
                table.push(count, &race(setup, Rows { count, one_in }).run(setup.rounds)?);
            }
            table.print();
        }
    }
    Ok(())
}

#[derive(Clone, Copy)]
struct Rows {
    count: usize,
    one_in: u64,
}

#[derive(Component)]
struct Alarm(u32);

#[derive(Component)]
struct State(u64);

#[derive(Component)]
#[component(storage = "SparseSet")]
struct Mark;

/// Who visits.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Contest {
    IterMut,
    ParIterMut,
    Affine(SchedulerMode),
}

impl Contest {
    const ALL: [Self; 5] = [
        Self::IterMut,
        Self::ParIterMut,
        Self::Affine(SchedulerMode::Serial),
        Self::Affine(SchedulerMode::Auto),
        Self::Affine(SchedulerMode::LockStep),
    ];

    fn name(self) -> String {
        match self {
            Self::IterMut => "Bevy `iter_mut`".into(),
            Self::ParIterMut => "Bevy `par_iter_mut`".into(),
            Self::Affine(mode) => format!("affine, {mode:?}"),
        }
    }
}

/// Each contender has a world of its own: what has changed is what has since its own last call.
fn race<F: QueryFilter + 'static>(setup: &Setup, rows: Rows) -> Race<'static, ()> {
    let mut race = Race::new((), |_, _| None);
    for contest in Contest::ALL {
        let mut app = app::<F>(setup.workers, contest, rows);
        let play = move |(): &mut (), turn: &mut Turn| {
            turn.repeat_timed(|| {
                app.update();
                app.world().resource::<Stopwatch>().0
            })
        };
        if contest == Contest::IterMut {
            race.enter_baseline(contest.name(), play);
        } else {
            race.enter(contest.name(), play);
        }
    }
    race
}

fn app<F: QueryFilter + 'static>(workers: usize, contest: Contest, Rows { count, one_in }: Rows) -> App {
    let mut app = ours::app(workers);
    app.init_resource::<Stopwatch>();
    let change = change_one_in(one_in);
    match contest {
        Contest::IterMut => app.add_systems(Update, (change, iter_mut::<F>, check).chain()),
        Contest::ParIterMut => app.add_systems(Update, (change, par_iter_mut::<F>, check).chain()),
        Contest::Affine(mode) => {
            app.insert_resource(mode).add_systems(Update, (change, affine::<F>.affine(), check).chain())
        }
    };
    app.world_mut().spawn_batch((0..count).map(|_| (Alarm(0), State(0), Mark)));
    app
}

/// Changes rows as the same dice fall in each world.
fn change_one_in(one_in: u64) -> impl FnMut(Query<&mut Alarm>) {
    let mut dice = 88_172_645_463_325_252_u64;
    move |mut alarms| {
        if one_in == 0 {
            return;
        }
        for mut alarm in &mut alarms {
            dice ^= dice << 13;
            dice ^= dice >> 7;
            dice ^= dice << 17;
            if dice.is_multiple_of(one_in) {
                alarm.0 += 1;
            }
        }
    }
}

/// Now and then: each row was visited in the first call, and as often as it has changed since.
fn check(rows: Query<(&Alarm, &State)>, mut calls: Local<u32>) {
    *calls += 1;
    if calls.is_power_of_two() {
        let is_right = |(alarm, state): (&Alarm, &State)| (0..=1).contains(&(state.0 - u64::from(alarm.0)));
        assert!(rows.iter().all(is_right), "a row was visited too seldom or too often");
    }
}

fn visit((mut state, _): (Mut<'_, State>, &Alarm)) {
    state.0 += 1;
}

fn iter_mut<F: QueryFilter>(mut rows: Query<(&mut State, &Alarm), F>, mut stopwatch: ResMut<Stopwatch>) {
    stopwatch.time(|| rows.iter_mut().for_each(visit));
}

fn par_iter_mut<F: QueryFilter>(mut rows: Query<(&mut State, &Alarm), F>, mut stopwatch: ResMut<Stopwatch>) {
    stopwatch.time(|| rows.par_iter_mut().for_each(visit));
}

fn affine<F: QueryFilter + 'static>(
    mut rows: AffineQuery<(&'static mut State, &'static Alarm), F>,
    mut stopwatch: ResMut<Stopwatch>,
) {
    stopwatch.time(|| rows.par_iter_mut().for_each(visit));
}
