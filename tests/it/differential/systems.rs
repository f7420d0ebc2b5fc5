//! The same systems twice: over plain `Query`, one row after another, and over `AffineQuery`, in
//! parallel.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use bevy::{
    ecs::{query::ReadOnlyQueryData, schedule::ScheduleConfigs, system::ScheduleSystem},
    prelude::*,
};
use bevy_affinity::prelude::*;

use super::{
    population::{A, B, S, Z},
    shapes::*,
};
use crate::mix::mix_slowly;

/// What the closures of one app saw: for each query in the order of systems, the visits ordered by
/// entity.
#[derive(Clone, Default)]
pub struct Visits(Arc<Mutex<Vec<Vec<Visit>>>>);

impl Visits {
    fn record(&self, mut visits: Vec<Visit>) {
        visits.sort();
        self.0.lock().expect("recorded").push(visits);
    }

    pub fn take(&self) -> Vec<Vec<Visit>> {
        std::mem::take(&mut self.0.lock().expect("recorded"))
    }
}

/// Visits from several threads.
#[derive(Default)]
struct Visitors(Mutex<Vec<Visit>>);

impl Visitors {
    fn push(&self, visit: Visit) {
        self.0.lock().expect("no closure panicked").push(visit);
    }

    fn into_visits(self) -> Vec<Visit> {
        self.0.into_inner().expect("no closure panicked")
    }
}

type Configs = ScheduleConfigs<ScheduleSystem>;

/// The data of `for_each_chunk`: contiguous slices, and the same components row by row.
type Chunked = (Entity, &'static mut A, Option<&'static mut B>, Option<&'static Z>);

/// A way to visit the rows of a query.
pub trait Visiting {
    fn write<T: Shape>(visits: &Visits) -> Configs;
    fn write_with_scratch<T: Shape>(visits: &Visits) -> Configs;
    fn read<T: Shape<Data: ReadOnlyQueryData>>(visits: &Visits) -> Configs;
    fn read_writable(visits: &Visits) -> Configs;
    fn chunks(visits: &Visits) -> Configs;
    fn read_chunks(visits: &Visits) -> Configs;
}

/// Through Bevy's `Query`. Tagged as well, so that a world's ticks are counted alike.
pub struct RowByRow;

impl Visiting for RowByRow {
    fn write<T: Shape>(visits: &Visits) -> Configs {
        let visits = visits.clone();
        (move |mut query: Query<T::Data, T::Filter>| visits.record(query.iter_mut().map(T::visit).collect())).affine()
    }

    fn write_with_scratch<T: Shape>(visits: &Visits) -> Configs {
        Self::write::<T>(visits)
    }

    fn read<T: Shape<Data: ReadOnlyQueryData>>(visits: &Visits) -> Configs {
        Self::write::<T>(visits)
    }

    fn read_writable(visits: &Visits) -> Configs {
        let visits = visits.clone();
        (move |query: Query<(Entity, &mut A, &mut S)>| {
            visits.record(query.iter().map(|(entity, a, s)| visit(entity, [mix_slowly(a.0), s.0])).collect());
        })
        .affine()
    }

    fn chunks(visits: &Visits) -> Configs {
        let visits = visits.clone();
        (move |mut query: Query<Chunked>| {
            let rows = query.iter_mut().map(|(entity, mut a, mut b, z)| {
                if let Some(b) = &mut b {
                    b.0 += 1;
                }
                write_chunk_row(entity, &mut a, b.as_deref(), z.is_some())
            });
            visits.record(rows.collect());
        })
        .affine()
    }

    fn read_chunks(visits: &Visits) -> Configs {
        let visits = visits.clone();
        (move |query: Query<(Entity, &A), Without<Z>>| {
            visits.record(query.iter().map(|(entity, a)| visit(entity, [a.0])).collect());
        })
        .affine()
    }
}

/// Through `AffineQuery`'s parallel calls.
pub struct InParallel;

impl Visiting for InParallel {
    fn write<T: Shape>(visits: &Visits) -> Configs {
        let visits = visits.clone();
        (move |mut query: AffineQuery<T::Data, T::Filter>| {
            let visitors = Visitors::default();
            query.par_iter_mut().for_each(|item| visitors.push(T::visit(item)));
            visits.record(visitors.into_visits());
        })
        .affine()
    }

    fn write_with_scratch<T: Shape>(visits: &Visits) -> Configs {
        let visits = visits.clone();
        (move |mut query: AffineQuery<T::Data, T::Filter>| {
            let visitors = Visitors::default();
            let (made, used) = (AtomicUsize::new(0), AtomicUsize::new(0));
            let make = || {
                made.fetch_add(1, Ordering::Relaxed);
                0_usize
            };
            query.par_iter_mut().for_each_init(make, |rows, item| {
                *rows += 1;
                // The first row that a scratch value is used for.
                used.fetch_add(usize::from(*rows == 1), Ordering::Relaxed);
                visitors.push(T::visit(item));
            });
            assert!(used.into_inner() <= made.into_inner(), "a scratch value was reset or shared");
            visits.record(visitors.into_visits());
        })
        .affine()
    }

    fn read<T: Shape<Data: ReadOnlyQueryData>>(visits: &Visits) -> Configs {
        let visits = visits.clone();
        (move |query: AffineQuery<T::Data, T::Filter>| {
            let visitors = Visitors::default();
            query.par_iter().for_each(|item| visitors.push(T::visit(item)));
            visits.record(visitors.into_visits());
        })
        .affine()
    }

    fn read_writable(visits: &Visits) -> Configs {
        let visits = visits.clone();
        (move |query: AffineQuery<(Entity, &mut A, &mut S)>| {
            let visitors = Visitors::default();
            query.par_iter().for_each(|(entity, a, s)| visitors.push(visit(entity, [mix_slowly(a.0), s.0])));
            visits.record(visitors.into_visits());
        })
        .affine()
    }

    fn chunks(visits: &Visits) -> Configs {
        let visits = visits.clone();
        (move |mut query: AffineQuery<Chunked>| {
            let visitors = Visitors::default();
            query.par_iter_mut().for_each_chunk(|(entities, a, mut b, z)| {
                for (row, (&entity, a)) in entities.iter().zip(a).enumerate() {
                    let b = b.as_deref_mut().map(|b| {
                        b[row].0 += 1;
                        &b[row]
                    });
                    visitors.push(write_chunk_row(entity, a, b, z.is_some_and(|z| z[row] == Z)));
                }
            });
            visits.record(visitors.into_visits());
        })
        .affine()
    }

    fn read_chunks(visits: &Visits) -> Configs {
        let visits = visits.clone();
        (move |query: AffineQuery<(Entity, &A), Without<Z>>| {
            let visitors = Visitors::default();
            query.par_iter().for_each_chunk(|(entities, a)| {
                assert_eq!(entities.len(), a.len());
                entities.iter().zip(a).for_each(|(&entity, a)| visitors.push(visit(entity, [a.0])));
            });
            visits.record(visitors.into_visits());
        })
        .affine()
    }
}

fn write_chunk_row(entity: Entity, a: &mut A, b: Option<&B>, has_z: bool) -> Visit {
    a.0 = mix_slowly(a.0 + u64::from(has_z));
    visit(entity, [a.0, b.map_or(u64::MAX, |b| b.0)])
}

/// All systems, one after another. The chunked ones only where every row is contiguous.
pub fn systems<V: Visiting>(visits: &Visits, contiguous: bool) -> Configs {
    let by_row = (
        (V::write::<WriteTable>(visits), V::write::<WriteOptional>(visits), V::write::<WriteByArchetype>(visits))
            .chain(),
        (V::write::<WriteSparse>(visits), V::write::<WriteMixed>(visits), V::write::<WriteEither>(visits)).chain(),
        (V::read::<ReadTicks>(visits), V::read::<ReadAdded>(visits), V::read::<ReadOnlyDisabled>(visits)).chain(),
        (V::write::<WriteIfDifferent>(visits), V::write::<WriteChanged>(visits), V::write::<WriteAdded>(visits))
            .chain(),
        (V::write::<WriteAny>(visits), V::write::<WriteUnsized>(visits), V::write::<WriteDisabled>(visits)).chain(),
        (V::write_with_scratch::<WriteTable>(visits), V::write::<WriteEntity>(visits), V::read_writable(visits))
            .chain(),
    )
        .chain();
    match contiguous {
        true => (by_row, V::chunks(visits), V::read_chunks(visits)).chain(),
        false => by_row,
    }
}
