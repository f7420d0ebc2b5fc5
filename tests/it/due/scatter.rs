//! Messages from due rows, for now and for later, against a model in plain Bevy on one thread.

use std::collections::BTreeMap;

use bevy::{ecs::system::RunSystemOnce, prelude::*};
use bevy_affinity::prelude::*;
use proptest::{collection::vec, prelude::*};

use crate::due::{Now, chain};
use crate::{common::Scheduling, mix::mix_slowly};

/// What a row has sent and received.
#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct State(u64);

/// Whom a row writes to.
#[derive(Component)]
struct Targets(Vec<Entity>);

/// Another table.
#[derive(Component)]
struct Left;

/// Does not receive.
#[derive(Component)]
struct Deaf;

/// The time of a row, in the model.
#[derive(Component)]
struct At(u64);

#[derive(Resource, Default)]
struct Reports(Vec<ScatterReport>);

/// The model's calendar.
#[derive(Resource, Default)]
struct Waiting(BTreeMap<u64, Vec<(Entity, u64)>>);

/// What a due row does: it sends to each of its targets, now or later, and says when it is due
/// next.
fn send(state: &mut State, targets: &[Entity], now: u64, mut send_at: impl FnMut(Entity, u64, u64)) -> Option<u64> {
    state.0 = chain(mix_slowly(state.0), now);
    for (number, &target) in (0..).zip(targets) {
        let message = state.0.wrapping_add(number);
        send_at(target, (now + message % 5).saturating_sub(1), message);
    }
    (!state.0.is_multiple_of(3)).then_some(now + state.0 % 4)
}

/// What a message does, and when its receiver is due because of it.
fn receive(state: &mut State, message: u64, now: u64) -> Option<u64> {
    state.0 = chain(state.0, message);
    message.is_multiple_of(3).then_some(now + message % 6)
}

fn due_timed(
    mut rows: AffineQuery<(&mut State, &Targets), Without<Deaf>>,
    mut agenda: Agenda,
    mut calendar: ResMut<Calendar<u64>>,
    now: Res<Now>,
    mut reports: ResMut<Reports>,
) {
    let now = now.0;
    reports.0.push(rows.par_iter_mut().due(&mut agenda, now).scatter_timed_within(
        &mut calendar,
        |outbox, (mut state, targets)| {
            send(&mut state, &targets.0, now, |target, time, message| outbox.send_at(target, time, message))
        },
        |(mut state, _), message| receive(&mut state, message, now),
    ));
}

fn plain_timed(world: &mut World) {
    let now = world.resource::<Now>().0;
    let mut report = ScatterReport::default();
    let mut waiting = world.remove_resource::<Waiting>().expect("it is there");
    let mut sent = Vec::new();
    let mut senders = world.query_filtered::<(&mut State, &Targets, &mut At), Without<Deaf>>();
    let mut due = world.query_filtered::<(Entity, &At), Without<Deaf>>();
    let mut due: Vec<_> = due.iter(world).filter(|(_, at)| at.0 <= now).map(|(row, _)| row).collect();
    due.sort_by_key(|&row| {
        let location = world.entity(row).location();
        (location.table_id.as_usize(), location.table_row.index())
    });
    for row in due {
        let (mut state, targets, mut at) = senders.get_mut(world, row).expect("it was found");
        let next = send(&mut state, &targets.0, now, |target, time, message| sent.push((target, time, message)));
        at.0 = next.unwrap_or(u64::MAX);
    }
    let later = waiting.0.split_off(&(now + 1));
    let mut arrived: Vec<_> = std::mem::replace(&mut waiting.0, later).into_values().flatten().collect();
    arrived.extend(sent.iter().filter(|(_, time, _)| *time <= now).map(|&(target, _, message)| (target, message)));
    for (target, time, message) in sent.into_iter().filter(|(_, time, _)| *time > now) {
        waiting.0.entry(time).or_default().push((target, message));
    }
    for (target, message) in arrived {
        let exists = world.get_entity(target).is_ok();
        match senders.get_mut(world, target) {
            Ok((mut state, _, mut at)) => {
                let time = receive(&mut state, message, now);
                at.0 = at.0.min(time.unwrap_or(u64::MAX));
                report.delivered += 1;
            }
            Err(_) if !exists => report.despawned += 1,
            Err(_) => report.unmatched += 1,
        }
    }
    world.insert_resource(waiting);
    world.resource_mut::<Reports>().0.push(report);
}

/// A random row: another table, deaf, its first time, and the numbers of its targets.
type Origin = (bool, bool, u64, Vec<usize>);

fn app(scheduling: Option<Scheduling>, origins: &[Origin]) -> (App, Vec<Entity>) {
    let mut app = scheduling.map_or_else(App::new, Scheduling::app);
    app.init_resource::<Now>().init_resource::<Reports>();
    match scheduling {
        Some(_) => app.init_resource::<Calendar<u64>>().add_systems(Update, due_timed.affine()),
        None => app.init_resource::<Waiting>().add_systems(Update, plain_timed),
    };
    let rows: Vec<_> = origins.iter().map(|_| app.world_mut().spawn_empty().id()).collect();
    for ((number, (left, deaf, time, targets)), &row) in (0..).zip(origins).zip(&rows) {
        let targets = targets.iter().map(|target| rows[target % rows.len()]).collect();
        let mut row = app.world_mut().entity_mut(row);
        row.insert((State(number), Targets(targets)));
        left.then(|| row.insert(Left));
        deaf.then(|| row.insert(Deaf));
        if scheduling.is_some() {
            row.insert(Due::<()>::at(*time))
        } else {
            row.insert(At(*time))
        };
    }
    (app, rows)
}

fn compare(scheduling: Scheduling, origins: &[Origin], despawned: &[usize]) {
    let (mut ours, our_rows) = app(Some(scheduling), origins);
    let (mut plain, plain_rows) = app(None, origins);
    for now in 0..30 {
        for (app, rows) in [(&mut ours, &our_rows), (&mut plain, &plain_rows)] {
            app.world_mut().resource_mut::<Now>().0 = now;
            // In the middle of the story some rows go, and others move into their places.
            let gone = despawned.iter().filter(|_| now == 10).map(|row| rows[row % rows.len()]);
            // Some are named twice.
            gone.for_each(|row| _ = app.world_mut().try_despawn(row));
            app.update();
        }
        let states = |app: &App, rows: &[Entity]| -> Vec<_> {
            rows.iter()
                .map(|&row| app.world().get_entity(row).ok().and_then(|row| row.get::<State>().copied()))
                .collect()
        };
        assert!(states(&ours, &our_rows) == states(&plain, &plain_rows), "step {now}, {scheduling:?}");
        let reports = |app: &App| app.world().resource::<Reports>().0.last().copied();
        assert_eq!(reports(&ours), reports(&plain), "step {now}, {scheduling:?}");
        let waiting: usize = plain.world().resource::<Waiting>().0.values().map(Vec::len).sum();
        assert_eq!(ours.world().resource::<Calendar<u64>>().len(), waiting, "step {now}, {scheduling:?}");
    }
}

fn origins() -> impl Strategy<Value = Vec<Origin>> {
    vec((any::<bool>(), prop::bool::weighted(0.1), 0..20_u64, vec(0..200_usize, 0..4)), 1..150)
}

proptest! {
    // Fewer cases than usual: most of their time goes into new apps.
    #![proptest_config(ProptestConfig::with_cases((ProptestConfig::default().cases / 32).max(1)))]

    #[test]
    fn timed_messages_of_due_rows(origins in origins(), despawned in vec(0..200_usize, 0..9)) {
        Scheduling::all().for_each(|scheduling| compare(scheduling, &origins, &despawned));
    }
}

/// Enough for all workers.
#[test]
fn thousands_of_senders() {
    let origins: Vec<_> = (0..3_000_usize)
        .map(|row| (row.is_multiple_of(3), row.is_multiple_of(17), row as u64 % 20, vec![row * 31, row % 7]))
        .collect();
    Scheduling::all().for_each(|scheduling| compare(scheduling, &origins, &[5, 700, 2_999]));
}

/// From rows of one agenda to rows of another, which are woken by hand.
#[test]
fn messages_to_rows_of_another_agenda() {
    struct Towers;
    #[derive(Component)]
    struct Tower;

    fn shout(
        mut rows: AffineQuery<(Entity, &mut State), Without<Tower>>,
        mut towers: AffineQuery<(Entity, &mut State), With<Tower>>,
        mut agenda: Agenda,
        tower_agenda: Agenda<Towers>,
        now: Res<Now>,
        tower: Single<Entity, With<Tower>>,
    ) {
        rows.par_iter_mut().due(&mut agenda, now.0).scatter(
            &mut towers,
            |outbox, (row, mut state)| {
                state.0 += 1;
                outbox.send(*tower, row.to_bits());
                Some(now.0 + 10)
            },
            |(tower, _), _| {
                assert!(tower_agenda.wake(tower, now.0 + 1));
                None
            },
        );
    }

    fn answer(mut towers: AffineQuery<&mut State, With<Tower>>, mut agenda: Agenda<Towers>, now: Res<Now>) {
        towers.par_iter_mut().due(&mut agenda, now.0).for_each(|mut state| {
            state.0 += 1;
            None
        });
    }

    for scheduling in Scheduling::all() {
        let mut app = scheduling.app();
        app.init_resource::<Now>().add_systems(Update, (shout, answer).affine().chain());
        let tower = app.world_mut().spawn((State(0), Tower, Due::<Towers>::never())).id();
        app.world_mut().spawn_batch((0..500).map(|row| (State(0), Due::<()>::at(3 + row % 2)))).for_each(drop);
        let answers = (0..20).map(|now| {
            app.world_mut().resource_mut::<Now>().0 = now;
            app.update();
            app.world().get::<State>(tower).unwrap().0
        });
        let changes: Vec<_> = answers.collect();
        assert_eq!(changes, [0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2], "{scheduling:?}");
    }
}

/// Messages sent by all rows, not only by due ones; and delivered by another call.
#[test]
fn all_rows_send_for_later() {
    fn post(
        rows: AffineQuery<(Entity, &Targets)>,
        mut houses: AffineQuery<&mut State>,
        mut calendar: ResMut<Calendar<u64>>,
        now: Res<Now>,
    ) {
        let now = now.0;
        if now == 0 {
            rows.par_iter().scatter_timed(
                &mut calendar,
                now,
                &mut houses,
                |outbox, (row, targets)| {
                    targets.0.iter().for_each(|&target| outbox.send_at(target, 5 - u64::from(row.index_u32()) % 5, 1));
                },
                |mut house, message| house.0 += message,
            );
        } else {
            houses.par_iter_mut().deliver(&mut calendar, now, |mut house, message| house.0 += message);
        }
    }
    for scheduling in Scheduling::all() {
        let mut app = scheduling.app();
        app.init_resource::<Now>().init_resource::<Calendar<u64>>().add_systems(Update, post.affine());
        let house = app.world_mut().spawn(State(0)).id();
        app.world_mut().spawn_batch((0..1_000).map(move |_| Targets(vec![house]))).for_each(drop);
        let arrived: Vec<_> = (0..8)
            .map(|now| {
                app.world_mut().resource_mut::<Now>().0 = now;
                app.update();
                app.world().get::<State>(house).unwrap().0
            })
            .collect();
        assert_eq!(arrived, [0, 200, 400, 600, 800, 1_000, 1_000, 1_000], "{scheduling:?}");
        assert_eq!(app.world().resource::<Calendar<u64>>().next_time(), None);
    }
}

/// What a calendar says of itself is enough to make another one.
#[test]
fn a_calendar_is_saved_and_loaded() {
    let mut app = Scheduling::SERIAL.app();
    let rows = [(); 3].map(|()| app.world_mut().spawn(State(0)).id());
    let mut calendar = Calendar::default();
    for number in 0..20_u64 {
        calendar.send_at(rows[number as usize % 3], number * 7 % 5, number);
    }
    let saved: Vec<_> = calendar.iter().map(|(time, row, &message)| (time, row, message)).collect();
    assert!(saved.is_sorted_by_key(|&(time, _, _)| time));
    let mut loaded = Calendar::default();
    saved.iter().for_each(|&(time, row, message)| loaded.send_at(row, time, message));
    let states = [calendar, loaded].map(|mut calendar| {
        for row in rows {
            app.world_mut().get_mut::<State>(row).unwrap().0 = 0;
        }
        let deliver = move |mut rows: AffineQuery<&mut State>| {
            rows.par_iter_mut().deliver(&mut calendar, 4, |mut row, message| row.0 = chain(row.0, message));
        };
        app.world_mut().run_system_once(deliver).expect("it has what it needs");
        rows.map(|row| app.world().get::<State>(row).unwrap().0)
    });
    assert_eq!(states[0], states[1]);
}
