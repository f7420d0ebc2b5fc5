//! Group `ports`: programs written for Bevy, with one type name and one word changed, in every
//! mode. They are those of `tests/it/query/ports`, which compares their results to the bit.

use bevy::ecs::schedule::ScheduleLabel;
use bevy::prelude::*;
use bevy_affinity::prelude::*;

use crate::ours;
use crate::race::{Race, Turn};
use crate::report::SizeTable;
use crate::setup::Setup;

#[path = "../../tests/it/query/ports/components.rs"]
mod components;
#[path = "../../tests/it/query/ports/world.rs"]
mod world;

mod bevys {
    use bevy::prelude::Query;
    include!("../../tests/it/query/ports/systems.rs");
}

mod affine {
    use bevy_affinity::AffineQuery as Query;
    include!("../../tests/it/query/ports/systems.rs");
}

const ROWS: u32 = 50_000;

/// One of the schedules of a program: Bevy's, or ours in a mode.
#[derive(ScheduleLabel, Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Contest(Option<SchedulerMode>);

impl Contest {
    fn play(self) -> impl FnMut(&mut App, &mut Turn) {
        move |app, turn| {
            if let Some(mode) = self.0 {
                app.insert_resource(mode);
            }
            turn.repeat(|| app.world_mut().run_schedule(self));
        }
    }
}

/// Ours, as far as they differ in who sweeps.
const MODES: [SchedulerMode; 5] = [
    SchedulerMode::Serial,
    SchedulerMode::Bevy,
    SchedulerMode::LockStep,
    SchedulerMode::Heartbeat,
    SchedulerMode::Auto,
];

pub fn run(setup: &Setup) -> Result<(), String> {
    let mut table = SizeTable::new(&format!(
        "programs of Bevy's example and benches, {ROWS} rows: whole schedules, x the one with Bevy's `Query`, to the left"
    ));
    for (name, add) in PROGRAMS {
        let mut race = Race::new(app(setup.workers, *add), fault);
        race.enter_baseline("Bevy's `Query`", Contest(None).play());
        for mode in MODES {
            race.enter(format!("{mode:?}"), Contest(Some(mode)).play());
        }
        table.push_program(name, &race.run(setup.rounds)?);
    }
    table.print();
    Ok(())
}

/// Values grow without end in so many calls; that no row is lost can be told.
fn fault(app: &mut App, _: u64) -> Option<String> {
    let mut rows = app.world_mut().query::<&world::Row>();
    let sum: u64 = rows.iter(app.world()).map(|row| u64::from(row.0)).sum();
    let expected = u64::from(ROWS) * u64::from(ROWS - 1) / 2;
    (sum != expected).then(|| format!("the numbers of all rows are {sum} together, not {expected}"))
}

fn app(workers: usize, add: fn(&mut App)) -> App {
    let mut app = ours::app(workers);
    world::spawn(app.world_mut(), ROWS);
    add(&mut app);
    for contest in std::iter::once(None).chain(MODES.map(Some)).map(Contest) {
        // All run on the calling thread, as they would alone in a schedule.
        ours::run_on_one_thread(&mut app, contest);
    }
    app
}

/// Adds a program to the schedule of each contest.
type Add = fn(&mut App);

macro_rules! programs {
    ($($name:ident),*) => {
        const PROGRAMS: &[(&str, Add)] = &[$((stringify!($name), |app| {
            app.add_systems(Contest(None), bevys::$name);
            MODES.into_iter().for_each(|mode| _ = app.add_systems(Contest(Some(mode)), affine::$name.affine()));
        })),*];
    };
}

programs!(
    move_sprites,
    bounce_sprites,
    simple,
    simple_loop,
    simple_parallel,
    simple_contiguous,
    sparse,
    wide,
    fragmented,
    fragmented_parallel,
    heavy,
    heavy_with_scratch,
    pairs
);
