//! With the feature `trace`: a span for each run of a tagged system, and inside it one for each
//! worker's share of a round.
#![cfg(feature = "trace")]

use std::{
    fmt::Debug,
    sync::{Arc, Mutex},
};

use bevy::prelude::*;
use bevy_affinity::prelude::*;
use tracing::{
    Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id},
};
use tracing_subscriber::{
    Layer,
    layer::{Context, SubscriberExt},
    registry::LookupSpan,
    util::SubscriberInitExt,
};

/// What one span said of itself.
#[derive(Clone, Debug)]
struct Seen {
    id: Id,
    parent: Option<Id>,
    name: &'static str,
    system: String,
    worker: Option<u64>,
}

impl Visit for Seen {
    fn record_u64(&mut self, field: &Field, value: u64) {
        if field.name() == "worker" {
            self.worker = Some(value);
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        if matches!(field.name(), "name" | "system") {
            value.clone_into(&mut self.system);
        }
    }

    fn record_debug(&mut self, _: &Field, _: &dyn Debug) {}
}

/// Keeps every span of this crate.
#[derive(Clone, Default)]
struct Keeper(Arc<Mutex<Vec<Seen>>>);

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Keeper {
    fn on_new_span(&self, span: &Attributes<'_>, id: &Id, _: Context<'_, S>) {
        if span.metadata().target().starts_with("bevy_affinity") {
            let (id, parent, name) = (id.clone(), span.parent().cloned(), span.metadata().name());
            let mut seen = Seen { id, parent, name, system: String::new(), worker: None };
            span.record(&mut seen);
            self.0.lock().unwrap().push(seen);
        }
    }
}

fn three_rounds(pool: Res<AffinityPool>) {
    (0..3).for_each(|_| pool.run(|_| {}));
}

#[test]
fn systems_and_shares_are_spans_with_names() {
    let keeper = Keeper::default();
    tracing_subscriber::registry().with(keeper.clone()).init();
    let mut app = App::new();
    app.insert_resource(AffinitySettings { workers: WorkerCount::Exactly(3), ..default() })
        .add_plugins(AffinityParallelPlugin)
        .add_systems(Update, three_rounds.affine());
    app.update();

    let spans = keeper.0.lock().unwrap();
    let named = |name| spans.iter().filter(move |seen| seen.name == name);
    let systems: Vec<_> = named("affine_system").collect();
    let [system] = systems[..] else { panic!("{systems:?}") };
    for worker in 0..3 {
        assert_eq!(named("affine_share").filter(|seen| seen.worker == Some(worker)).count(), 3, "worker {worker}");
    }
    assert_eq!(named("affine_share").count(), 9);
    assert!(named("affine_share").all(|seen| seen.parent.as_ref() == Some(&system.id)), "{spans:?}");
    assert!(spans.iter().all(|seen| seen.system.contains("three_rounds")), "{spans:?}");
}
