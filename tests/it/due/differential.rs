//! Two worlds in which the same happens: one visits due rows, the other all rows with a condition,
//! in plain Bevy.

use bevy::{
    ecs::{entity_disabling::Disabled, system::RunSystemOnce},
    prelude::*,
};
use bevy_affinity::prelude::*;
use proptest::{collection::vec, prelude::*};

use crate::due::{Now, chain};
use crate::{common::Scheduling, mix::mix_slowly};

/// A second agenda.
#[derive(Debug)]
struct Other;

/// What a row has gone through.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
struct State(u64);

#[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
struct OtherState(u64);

/// The times of the plain world.
#[derive(Component)]
struct At(u64);

#[derive(Component)]
struct OtherAt(u64);

/// Moves a row to another table.
#[derive(Component)]
struct Moved;

/// A filter that tells by archetype.
#[derive(Component)]
#[component(storage = "SparseSet")]
struct Sparse;

/// A filter on rows.
#[derive(Component)]
struct Poked;

/// When a row is due next, and whether it is worth a look: sometimes in the past, now, or never.
fn next(state: u64, now: u64) -> Option<u64> {
    match state % 7 {
        0 => None,
        1 => Some(now.saturating_sub(3)),
        2 => Some(now),
        3 => Some(u64::MAX),
        more => Some(now.saturating_add(more * 2)),
    }
}

fn visit(state: &mut u64, now: u64) -> Option<u64> {
    *state = chain(mix_slowly(*state), now);
    next(*state, now)
}

fn due(mut rows: AffineQuery<&mut State, Without<Poked>>, mut agenda: Agenda, now: Res<Now>) {
    rows.par_iter_mut().due(&mut agenda, now.0).for_each(|mut state| visit(&mut state.0, now.0));
}

fn due_sparsely(mut rows: AffineQuery<&mut OtherState, With<Sparse>>, mut agenda: Agenda<Other>, now: Res<Now>) {
    rows.par_iter_mut().due(&mut agenda, now.0).for_each(|mut state| visit(&mut state.0, now.0));
}

/// Of the rows of `due_sparsely` those that a filter on rows lets through.
fn due_changed(mut rows: AffineQuery<&mut OtherState, Changed<State>>, mut agenda: Agenda<Other>, now: Res<Now>) {
    rows.par_iter_mut().due(&mut agenda, now.0).for_each(|mut state| visit(&mut state.0, now.0));
}

/// Rows that sleep are not due at the end of time either.
fn is_due(time: u64, now: u64) -> bool {
    time <= now && time < u64::MAX
}

fn plain(mut rows: Query<(&mut At, &mut State), Without<Poked>>, now: Res<Now>) {
    for (mut at, mut state) in rows.iter_mut().filter(|(at, _)| is_due(at.0, now.0)) {
        at.0 = visit(&mut state.0, now.0).unwrap_or(u64::MAX);
    }
}

fn plain_sparsely(mut rows: Query<(&mut OtherAt, &mut OtherState), With<Sparse>>, now: Res<Now>) {
    for (mut at, mut state) in rows.iter_mut().filter(|(at, _)| is_due(at.0, now.0)) {
        at.0 = visit(&mut state.0, now.0).unwrap_or(u64::MAX);
    }
}

fn plain_changed(mut rows: Query<(&mut OtherAt, &mut OtherState), Changed<State>>, now: Res<Now>) {
    for (mut at, mut state) in rows.iter_mut().filter(|(at, _)| is_due(at.0, now.0)) {
        at.0 = visit(&mut state.0, now.0).unwrap_or(u64::MAX);
    }
}

/// Which rows changed, of either state.
#[derive(Resource, Default, PartialEq, Debug)]
struct Changes(Vec<(Entity, bool, bool)>);

fn note_changes(rows: Query<(Entity, Ref<State>, Ref<OtherState>)>, mut changes: ResMut<Changes>) {
    changes.0.clear();
    changes.0.extend(rows.iter().map(|(row, state, other)| (row, state.is_changed(), other.is_changed())));
}

/// What happens between two calls, to the row of a number (modulo the rows there are).
#[derive(Clone, Debug)]
enum Event {
    Spawn(u64),
    Despawn(usize),
    Toggle(Kind, usize),
    Set(usize, u64),
    SetOther(usize, u64),
    Unset(usize),
    Wake(Vec<(usize, u64)>),
    /// The clock shows this, later or earlier.
    Clock(u64),
    AskForNext,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Moved,
    Sparse,
    Poked,
    Disabled,
}

fn time() -> impl Strategy<Value = u64> {
    prop_oneof![8 => 0..60_u64, 1 => Just(u64::MAX), 1 => Just(u64::MAX - 1)]
}

fn event() -> impl Strategy<Value = Event> {
    let row = 0..200_usize;
    let kind = prop_oneof![Just(Kind::Moved), Just(Kind::Sparse), Just(Kind::Poked), Just(Kind::Disabled)];
    prop_oneof![
        2 => time().prop_map(Event::Spawn),
        1 => row.clone().prop_map(Event::Despawn),
        4 => (kind, row.clone()).prop_map(|(kind, row)| Event::Toggle(kind, row)),
        1 => (row.clone(), time()).prop_map(|(row, time)| Event::Set(row, time)),
        1 => (row.clone(), time()).prop_map(|(row, time)| Event::SetOther(row, time)),
        1 => row.clone().prop_map(Event::Unset),
        2 => vec((row, time()), 0..6).prop_map(Event::Wake),
        1 => prop_oneof![0..60_u64, Just(u64::MAX)].prop_map(Event::Clock),
        1 => Just(Event::AskForNext),
    ]
}

/// One of the two worlds.
struct Twin {
    app: App,
    plain: bool,
    rows: Vec<Entity>,
}

impl Twin {
    fn new(scheduling: Option<Scheduling>) -> Self {
        let mut app = scheduling.map_or_else(App::new, Scheduling::app);
        app.init_resource::<Now>().init_resource::<Changes>();
        match scheduling {
            Some(_) => app.add_systems(Update, (due, due_sparsely, due_changed).affine().chain()),
            None => app.add_systems(Update, (plain, plain_sparsely, plain_changed).chain()),
        };
        app.add_systems(PostUpdate, note_changes);
        Self { app, plain: scheduling.is_none(), rows: Vec::new() }
    }

    fn row(&self, number: usize) -> Option<Entity> {
        (!self.rows.is_empty()).then(|| self.rows[number % self.rows.len()])
    }

    fn set(&mut self, row: Entity, time: u64) {
        let mut row = self.app.world_mut().entity_mut(row);
        if self.plain {
            row.insert(At(time))
        } else {
            row.insert(Due::<()>::at(time))
        };
    }

    fn set_other(&mut self, row: Entity, time: u64) {
        let mut row = self.app.world_mut().entity_mut(row);
        if self.plain {
            row.insert(OtherAt(time))
        } else {
            row.insert(Due::<Other>::at(time))
        };
    }

    /// All times: of the first agenda, then of the other one.
    fn times(&self, row: Entity) -> (Option<u64>, Option<u64>) {
        let row = self.app.world().entity(row);
        match self.plain {
            true => (row.get::<At>().map(|at| at.0), row.get::<OtherAt>().map(|at| at.0)),
            false => (row.get::<Due>().map(Due::time), row.get::<Due<Other>>().map(Due::time)),
        }
    }

    fn wake(&mut self, wakes: &[(Entity, u64)]) {
        if self.plain {
            for &(row, time) in wakes {
                if let Ok(mut row) = self.app.world_mut().get_entity_mut(row)
                    && let Some(mut at) = row.get_mut::<At>()
                {
                    at.0 = at.0.min(time);
                }
            }
        } else {
            let wakes = wakes.to_vec();
            let wake =
                move |agenda: Agenda| wakes.iter().map(|&(row, time)| agenda.wake(row, time)).collect::<Vec<_>>();
            self.app.world_mut().run_system_once(wake).expect("it has what it needs");
        }
    }

    fn next(&mut self) -> Option<u64> {
        if self.plain {
            let earliest = self.rows.iter().filter_map(|&row| self.times(row).0).min();
            return earliest.filter(|&time| time < u64::MAX);
        }
        self.app.world_mut().run_system_once(|mut agenda: Agenda| agenda.next_time()).expect("it has what it needs")
    }

    fn happen(&mut self, event: &Event) -> Option<u64> {
        match event {
            Event::Spawn(time) => {
                let row = self.app.world_mut().spawn((State(*time), OtherState(*time))).id();
                self.rows.push(row);
                self.set(row, *time);
                self.set_other(row, time / 2);
            }
            Event::Clock(now) => self.app.world_mut().resource_mut::<Now>().0 = *now,
            Event::AskForNext => return self.next(),
            Event::Wake(wakes) => {
                let wakes: Vec<_> = wakes.iter().filter_map(|&(row, time)| Some((self.row(row)?, time))).collect();
                self.wake(&wakes);
            }
            Event::Despawn(row)
            | Event::Toggle(_, row)
            | Event::Set(row, _)
            | Event::SetOther(row, _)
            | Event::Unset(row) => {
                if let Some(row) = self.row(*row) {
                    self.happen_to(row, event);
                }
            }
        }
        None
    }

    fn happen_to(&mut self, row: Entity, event: &Event) {
        match event {
            Event::Despawn(_) => {
                self.app.world_mut().despawn(row);
                self.rows.retain(|&other| other != row);
            }
            Event::Toggle(kind, _) => {
                let row = &mut self.app.world_mut().entity_mut(row);
                match kind {
                    Kind::Moved => toggle(row, Moved),
                    Kind::Sparse => toggle(row, Sparse),
                    Kind::Poked => toggle(row, Poked),
                    Kind::Disabled => toggle(row, Disabled),
                }
            }
            Event::Set(_, time) => self.set(row, *time),
            Event::SetOther(_, time) => self.set_other(row, *time),
            Event::Unset(_) => {
                self.app.world_mut().entity_mut(row).remove::<(Due, At)>();
            }
            _ => {}
        }
    }
}

fn toggle<C: Component>(row: &mut EntityWorldMut, component: C) {
    if row.contains::<C>() {
        row.remove::<C>();
    } else {
        row.insert(component);
    }
}

/// Steps of the same story in both worlds.
fn compare(scheduling: Scheduling, rows: u64, story: &[Vec<Event>]) {
    let (mut ours, mut plain) = (Twin::new(Some(scheduling)), Twin::new(None));
    // The first rows are there before the agenda.
    for number in 0..rows {
        let event = Event::Spawn(number % 50);
        ours.happen(&event);
        plain.happen(&event);
    }
    // A plain world has fewer entities of the app's own: the numbers differ, the order does not.
    for (step, events) in story.iter().enumerate() {
        for event in events {
            assert_eq!(ours.happen(event), plain.happen(event), "step {step}, {event:?}, {scheduling:?}");
        }
        for twin in [&mut ours, &mut plain] {
            let mut now = twin.app.world_mut().resource_mut::<Now>();
            now.0 = now.0.saturating_add(1);
            twin.app.update();
        }
        for (&row, &model) in ours.rows.iter().zip(&plain.rows) {
            let states = |twin: &Twin, row: Entity| {
                let entity = twin.app.world().entity(row);
                (entity.get::<State>().copied(), entity.get::<OtherState>().copied(), twin.times(row))
            };
            assert_eq!(states(&ours, row), states(&plain, model), "step {step}, {row}, {scheduling:?}");
        }
        let changes = |twin: &Twin| {
            let place = |row: Entity| twin.rows.iter().position(|&known| known == row).expect("rows are known");
            let changes = &twin.app.world().resource::<Changes>().0;
            let mut changes: Vec<_> = changes.iter().map(|&(row, first, other)| (place(row), first, other)).collect();
            changes.sort_unstable();
            changes
        };
        assert_eq!(changes(&ours), changes(&plain), "changes of step {step}, {scheduling:?}");
    }
}

proptest! {
    // Fewer cases than usual: most of their time goes into new apps.
    #![proptest_config(ProptestConfig::with_cases((ProptestConfig::default().cases / 16).max(1)))]

    #[test]
    fn as_a_sweep_with_a_condition(rows in 0..300_u64, story in vec(vec(event(), 0..5), 1..25)) {
        Scheduling::all().for_each(|scheduling| compare(scheduling, rows, &story));
    }

    /// Long stories of few rows, in which times are found and not swept.
    #[test]
    fn long_stories(rows in 0..40_u64, story in vec(vec(event(), 0..4), 80..120)) {
        for scheduling in [Scheduling::SERIAL, Scheduling::lock_step(2), Scheduling::heartbeat(3)] {
            compare(scheduling, rows, &story);
        }
    }
}
