//! Times are saved and loaded by reflection, exactly: what goes on from a save is what would have
//! been.

use bevy::{
    ecs::reflect::ReflectComponent,
    prelude::*,
    reflect::{
        TypeRegistry,
        serde::{ReflectDeserializer, ReflectSerializer},
    },
};
use bevy_affinity::prelude::*;
use serde::de::DeserializeSeed;

use crate::common::Scheduling;
use crate::due::{Now, chain};

/// An agenda with a name of its own in a save.
#[derive(TypePath)]
struct Meals;

#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct State(u64);

fn eat(mut rows: AffineQuery<&mut State>, mut agenda: Agenda<Meals>, mut now: ResMut<Now>) {
    let step = now.0;
    rows.par_iter_mut().due(&mut agenda, step).for_each(|mut state| {
        state.0 = chain(state.0, step);
        (!state.0.is_multiple_of(9)).then_some(step + state.0 % 40)
    });
    now.0 += 1;
}

fn app(scheduling: Scheduling) -> App {
    let mut app = scheduling.app();
    app.init_resource::<Now>().add_systems(Update, eat.affine()).register_type::<Due<Meals>>();
    app
}

fn states(app: &mut App) -> Vec<(State, u64)> {
    let mut rows = app.world_mut().query::<(&State, &Due<Meals>)>();
    rows.iter(app.world()).map(|(state, due)| (*state, due.time())).collect()
}

fn registry(app: &App) -> AppTypeRegistry {
    app.world().resource::<AppTypeRegistry>().clone()
}

fn save(due: &Due<Meals>, registry: &TypeRegistry) -> String {
    serde_json::to_string(&ReflectSerializer::new(due, registry)).expect("a time can be written")
}

/// Puts what was saved into an entity, as scenes do.
fn load(entity: &mut EntityWorldMut, saved: &str, registry: &TypeRegistry) {
    let mut reader = serde_json::Deserializer::from_str(saved);
    let value = ReflectDeserializer::new(registry).deserialize(&mut reader).expect("a time can be read");
    let component = registry.get_type_data::<ReflectComponent>(std::any::TypeId::of::<Due<Meals>>());
    component.expect("it is registered").insert(entity, value.as_partial_reflect(), registry);
}

#[test]
fn a_loaded_world_goes_on_as_the_saved_one() {
    for scheduling in Scheduling::all() {
        let mut played = app(scheduling);
        played.world_mut().spawn_batch((0..500).map(|row| (State(row), Due::<Meals>::at(row % 50)))).for_each(drop);
        // By then few rows are due, and some sleep for good.
        (0..100).for_each(|_| played.update());
        let mut loaded = app(scheduling);
        // An agenda that knows other rows already.
        (0..20).for_each(|_| loaded.update());
        loaded.insert_resource(Now(played.world().resource::<Now>().0));
        let registry = registry(&played);
        let registry = registry.read();
        let mut rows = played.world_mut().query::<(&State, &Due<Meals>)>();
        for (&state, due) in rows.iter(played.world()) {
            let saved = save(due, &registry);
            load(&mut loaded.world_mut().spawn(state), &saved, &registry);
        }
        for step in 0..60 {
            assert_eq!(states(&mut loaded), states(&mut played), "{step} steps after the save, {scheduling:?}");
            loaded.update();
            played.update();
        }
    }
}

#[test]
fn a_saved_time_can_be_read() {
    let app = app(Scheduling::SERIAL);
    let registry = registry(&app);
    let saved = save(&Due::at(17), &registry.read());
    assert_eq!(saved, r#"{"bevy_affinity::Due<it::due::saves::Meals>":{"time":17}}"#);
}
