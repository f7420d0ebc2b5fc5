//! What public types print with `{:?}`: no more than one would read in a log.

use std::{fmt::Debug, sync::Mutex};

use bevy::prelude::*;
use bevy_affinity::{AffinityExecutor, prelude::*};

#[derive(Component)]
struct Load(u32);

#[derive(Component)]
struct Inbox;

#[derive(Resource, Default)]
struct Printed(Vec<String>);

fn print(
    mut loads: AffineQuery<&mut Load>,
    mut inboxes: AffineQuery<&Inbox>,
    tree: AffineTree<&Inbox>,
    mut agenda: Agenda,
    mut calendar: ResMut<Calendar<u32>>,
    mut printed: ResMut<Printed>,
) {
    let mut note = |what: String| printed.0.push(what);
    note(format!("{:?}", loads.par_iter()));
    note(format!("{:?}", loads.contiguous_par_iter().unwrap()));
    note(format!("{:?}", loads.par_iter_mut().due(&mut agenda, 7)));
    note(format!("{tree:?}"));
    let sent = Mutex::new(Vec::new());
    loads.par_iter().scatter(
        &mut inboxes,
        |outbox, load| {
            outbox.send(Entity::PLACEHOLDER, load.0);
            sent.lock().unwrap().push(format!("{outbox:?}"));
        },
        |_, _| (),
    );
    loads.par_iter().scatter_timed(
        &mut calendar,
        3,
        &mut inboxes,
        |outbox, load| {
            outbox.send(Entity::PLACEHOLDER, load.0);
            sent.lock().unwrap().push(format!("{outbox:?}"));
        },
        |_, _| (),
    );
    sent.into_inner().unwrap().into_iter().for_each(note);
}

/// Compiles if `T` can be printed.
fn is_printed<T: Debug>() {}

#[test]
fn what_a_system_asks_for_and_what_a_program_keeps_can_be_printed() {
    is_printed::<AffineQuery<&Load>>();
    is_printed::<AffineCommands>();
    is_printed::<Agenda>();
    is_printed::<AffinityPool>();
    is_printed::<AffinityTimeline>();
    is_printed::<BatchedCalls<u32>>();
    is_printed::<Calendar<u32>>();
    is_printed::<Due>();
    is_printed::<PerWorker<u32>>();
    is_printed::<Scope>();
    is_printed::<Worker>();
}

#[test]
fn iterators_name_their_place_and_outboxes_what_went_wrong() {
    let mut app = App::new();
    app.add_plugins(AffinityParallelPlugin)
        .init_resource::<Calendar<u32>>()
        .init_resource::<Printed>()
        .add_systems(Update, print.affine());
    app.world_mut().spawn(Load(1));
    app.update();
    let printed = app.world_mut().remove_resource::<Printed>().unwrap().0.join("\n");
    let expected = [
        "AffineParIter { place: tests/it/printed.rs:",
        "AffineContiguousParIter(AffineParIter { place: tests/it/printed.rs:",
        "DueParIter { place: tests/it/printed.rs:",
        "now: 7, .. }",
        "AffineTree { nodes: AffineQuery(Query {",
        "Outbox { report: ScatterReport {",
        "TimedOutbox { now: 3, outbox: Outbox { report: ScatterReport {",
        "despawned: 1",
    ];
    for part in expected {
        assert!(printed.contains(part), "{part} in:\n{printed}");
    }
    let executor = format!("{:?}", AffinityExecutor::new());
    assert_eq!(executor, "AffinityExecutor { way: BevysThreads, runs: 0, .. }");
}
