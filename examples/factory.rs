//! A factory town in which nearly everything waits: mines, smelters, trucks on the road, and crews
//! that sleep until there is something to do. What a step costs follows what happens in it, not how
//! large the town is.
//!
//! `cargo run --release --example factory`
//!
//! Three things to copy:
//!
//! - machines that finish: `due(..).for_each`, or `.scatter..`, returns when the row is due next;
//! - items that arrive: `outbox.send_at`, and a `Calendar` in which they wait;
//! - workers that wake: a message's `receive` returns when its receiver wants to be visited.

use std::time::{Duration, Instant};

use bevy::prelude::*;
use bevy_affinity::prelude::*;

/// Lines of a mine, a smelter and a crew.
const LINES: usize = 100_000;

/// Seconds that are simulated.
const SECONDS: u64 = 600;

/// Second of the day.
#[derive(Resource, Default)]
struct Clock(u64);

/// What is on the road.
#[derive(Clone, Copy)]
enum Cargo {
    Ore(u32),
    /// A smelter has broken down: it is its crew's.
    Call(Entity),
    /// It is repaired.
    Repaired,
}

/// Digs ore and sends it off by truck.
#[derive(Component)]
struct Mine {
    smelter: Entity,
    seconds_a_load: u64,
    road: u64,
}

/// Melts what it has in stock, one load at a time.
#[derive(Component)]
struct Smelter {
    crew: Entity,
    ore: u32,
    ingots: u32,
    state: Furnace,
}

#[derive(Clone, Copy, PartialEq)]
enum Furnace {
    Cold,
    Melting,
    Broken,
}

/// Repairs what breaks down. Sleeps otherwise.
#[derive(Component, Default)]
struct Crew {
    calls: Vec<Entity>,
    repairs: u32,
    /// Until then it repairs; a call that comes meanwhile waits.
    busy_until: u64,
}

/// Each kind of row has an agenda of its own, so that a call looks only at rows that it visits.
struct Mining;
struct Smelting;
struct Repairs;

const MELTING: u64 = 40;
const REPAIR: u64 = 90;
const WAY_TO_WORK: u64 = 15;
const ORE_A_LOAD: u32 = 3;

/// Mines that have dug a load send it off; it arrives when the truck does.
fn dig(
    mut mines: AffineQuery<&Mine>,
    mut smelters: AffineQuery<(Entity, &mut Smelter)>,
    mut agenda: Agenda<Mining>,
    smelting: Agenda<Smelting>,
    mut road: ResMut<Calendar<Cargo>>,
    clock: Res<Clock>,
) {
    let now = clock.0;
    mines.par_iter_mut().due(&mut agenda, now).scatter_timed(
        &mut road,
        &mut smelters,
        |outbox, mine| {
            outbox.send_at(mine.smelter, now + mine.road, Cargo::Ore(ORE_A_LOAD));
            Some(now + mine.seconds_a_load)
        },
        |(entity, mut smelter), cargo| {
            match cargo {
                Cargo::Ore(ore) => smelter.ore += ore,
                Cargo::Repaired => smelter.state = Furnace::Cold,
                Cargo::Call(_) => {}
            }
            // Another agenda than that of this call: woken by hand.
            if smelter.state == Furnace::Cold {
                smelting.wake(entity, now);
            }
            None
        },
    );
}

/// Furnaces that are done begin anew if there is ore; some break down and call their crew.
fn smelt(
    mut smelters: AffineQuery<(Entity, &mut Smelter)>,
    mut crews: AffineQuery<(Entity, &mut Crew)>,
    mut agenda: Agenda<Smelting>,
    repairs: Agenda<Repairs>,
    clock: Res<Clock>,
) {
    let now = clock.0;
    smelters.par_iter_mut().due(&mut agenda, now).scatter(
        &mut crews,
        |outbox, (entity, mut smelter)| {
            if smelter.state == Furnace::Melting {
                smelter.ingots += 1;
                smelter.state = Furnace::Cold;
                if smelter.ingots.is_multiple_of(5) {
                    smelter.state = Furnace::Broken;
                    outbox.send(smelter.crew, Cargo::Call(entity));
                }
            }
            // Without ore, or broken, it sleeps until something arrives.
            if smelter.state != Furnace::Cold || smelter.ore == 0 {
                return None;
            }
            smelter.ore -= 1;
            smelter.state = Furnace::Melting;
            Some(now + MELTING)
        },
        |(entity, mut crew), cargo| {
            if let Cargo::Call(smelter) = cargo {
                crew.calls.push(smelter);
                repairs.wake(entity, (now + WAY_TO_WORK).max(crew.busy_until));
            }
            None
        },
    );
}

/// Crews repair one furnace after another, and go to sleep.
fn repair(
    mut crews: AffineQuery<&mut Crew>,
    mut smelters: AffineQuery<(Entity, &mut Smelter)>,
    mut agenda: Agenda<Repairs>,
    mut road: ResMut<Calendar<Cargo>>,
    clock: Res<Clock>,
) {
    let now = clock.0;
    crews.par_iter_mut().due(&mut agenda, now).scatter_timed(
        &mut road,
        &mut smelters,
        |outbox, mut crew| {
            let smelter = crew.calls.pop()?;
            crew.repairs += 1;
            crew.busy_until = now + REPAIR;
            outbox.send_at(smelter, crew.busy_until, Cargo::Repaired);
            (!crew.calls.is_empty()).then_some(crew.busy_until)
        },
        // What had arrived by now was delivered when mines were visited.
        |_, _| None,
    );
}

fn found_town(world: &mut World) {
    for line in 0..LINES as u64 {
        let crew = world.spawn((Crew::default(), Due::<Repairs>::never())).id();
        let smelter = Smelter { crew, ore: 0, ingots: 0, state: Furnace::Cold };
        let smelter = world.spawn((smelter, Due::<Smelting>::never())).id();
        let mine = Mine { smelter, seconds_a_load: 120 + line % 60, road: 20 + line % 200 };
        world.spawn((mine, Due::<Mining>::at(line % 180)));
    }
}

fn main() {
    let mut app = App::new();
    app.add_plugins(AffinityParallelPlugin)
        .init_resource::<Clock>()
        .init_resource::<Calendar<Cargo>>()
        .add_systems(Update, (dig, smelt, repair).affine().chain());
    found_town(app.world_mut());
    println!("{} entities; second, ingots, repairs, trucks on the road, milliseconds a second", 3 * LINES);
    let (mut began, mut last) = (Instant::now(), 0);
    for second in 0..SECONDS {
        app.world_mut().resource_mut::<Clock>().0 = second;
        app.update();
        if (second + 1).is_multiple_of(100) {
            report(&mut app, second + 1, began.elapsed() / (second + 1 - last) as u32);
            (began, last) = (Instant::now(), second + 1);
        }
    }
}

fn report(app: &mut App, second: u64, step: Duration) {
    let world = app.world_mut();
    let ingots: u32 = world.query::<&Smelter>().iter(world).map(|smelter| smelter.ingots).sum();
    let repairs: u32 = world.query::<&Crew>().iter(world).map(|crew| crew.repairs).sum();
    let trucks = world.resource::<Calendar<Cargo>>().len();
    println!("{second:>6} {ingots:>9} {repairs:>8} {trucks:>8} {:>8.3}", step.as_secs_f64() * 1e3);
}
