//! Contiguous runs of rows, as Bevy's `contiguous_par_iter` gives them, on the gang.

use std::{fmt, ops::Range};

use super::{AffineQuery, par_iter::AffineParIter};
use crate::{
    auto::Strategy,
    context::in_bevys_batches,
    placement::Storage,
    sweep::{Plan, Sweep, SweepSpan, split_by_length},
};
use bevy_ecs::{
    batching::BatchingStrategy,
    query::{ArchetypeFilter, ContiguousQueryData, QueryData, QueryFilter, QueryNotDenseError},
    storage::TableId,
};

/// Bevy 0.20.1 asserts, where assertions for debugging are on, that `&T` is asked for a whole
/// table; its own parallel iteration does not keep to that either.
const ONLY_WHOLE_TABLES: bool = cfg!(debug_assertions);

const IS_CONTIGUOUS: &str = "it was asked whether rows are contiguous";

impl<'w, 's, D: QueryData, F: QueryFilter> AffineQuery<'w, 's, D, F> {
    /// Parallel iteration over contiguous runs of read-only components.
    ///
    /// ```
    /// # use bevy::prelude::*;
    /// # use bevy_affinity::prelude::*;
    /// use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    ///
    /// # #[derive(Component)] struct Health(u32);
    /// fn count_wounded(healths: AffineQuery<&Health>) -> Result {
    ///     let wounded = AtomicUsize::new(0);
    ///     healths.contiguous_par_iter()?.for_each(|healths| {
    ///         let some = healths.iter().filter(|health| health.0 < 100).count();
    ///         wounded.fetch_add(some, Relaxed);
    ///     });
    ///     assert_eq!(wounded.into_inner(), 2);
    ///     Ok(())
    /// }
    /// # let mut app = App::new();
    /// # app.add_plugins(AffinityParallelPlugin).add_systems(Update, count_wounded.affine());
    /// # app.world_mut().spawn_batch([Health(100), Health(70), Health(1)]);
    /// # app.update();
    /// ```
    ///
    /// # Errors
    /// If the rows are not contiguous: a component of the query, or of a filter that applies to all
    /// queries, is in a sparse set.
    #[track_caller]
    pub fn contiguous_par_iter(&self) -> Result<AffineContiguousParIter<'_, 's, D::ReadOnly, F>, QueryNotDenseError>
    where
        D::ReadOnly: ContiguousQueryData,
        F: ArchetypeFilter,
    {
        // Bevy's own says whether it can be.
        self.query.contiguous_par_iter()?;
        Ok(AffineContiguousParIter { rows: self.par_iter() })
    }

    /// Parallel iteration over contiguous runs of components that can be written, and that are
    /// marked as changed when they are.
    ///
    /// ```
    /// # use bevy::prelude::*;
    /// # use bevy_affinity::prelude::*;
    /// # #[derive(Component)] struct Position(f32);
    /// # #[derive(Component)] struct Velocity(f32);
    /// fn drive(mut cars: AffineQuery<(&mut Position, &Velocity)>) -> Result {
    ///     cars.contiguous_par_iter_mut()?.for_each(|(mut positions, velocities)| {
    ///         for (position, velocity) in positions.iter_mut().zip(velocities) {
    ///             position.0 += velocity.0;
    ///         }
    ///     });
    ///     Ok(())
    /// }
    /// # App::new().add_plugins(AffinityParallelPlugin).add_systems(Update, drive.affine()).update();
    /// ```
    ///
    /// # Errors
    /// As [`contiguous_par_iter`](Self::contiguous_par_iter).
    #[track_caller]
    pub fn contiguous_par_iter_mut(&mut self) -> Result<AffineContiguousParIter<'_, 's, D, F>, QueryNotDenseError>
    where
        D: ContiguousQueryData,
        F: ArchetypeFilter,
    {
        self.query.contiguous_par_iter_mut()?;
        Ok(AffineContiguousParIter { rows: self.par_iter_mut() })
    }

    /// As [`contiguous_par_iter_mut`](Self::contiguous_par_iter_mut), of a query that is used up.
    ///
    /// # Errors
    /// As [`contiguous_par_iter`](Self::contiguous_par_iter).
    #[track_caller]
    pub fn contiguous_par_iter_inner(mut self) -> Result<AffineContiguousParIter<'w, 's, D, F>, QueryNotDenseError>
    where
        D: ContiguousQueryData,
        F: ArchetypeFilter,
    {
        self.query.contiguous_par_iter_mut()?;
        Ok(AffineContiguousParIter { rows: self.par_iter_inner() })
    }
}

/// A parallel iterator over contiguous runs of rows, each at most
/// [`chunk_rows`](crate::AffinitySettings::chunk_rows) long.
///
/// In mode [`Bevy`](crate::SchedulerMode::Bevy), and in systems that are not tagged, Bevy says how
/// long they are. In builds with debug
/// assertions each run is a whole table and all run on the calling thread, since Bevy 0.20.1
/// asserts that; [`for_each_chunk`](AffineParIter::for_each_chunk) has no such limit.
///
/// How long a run is depends on mode, workers and measurements, and Bevy marks it as changed as a
/// whole when it is dereferenced mutably. So dereference each run or none: one that does so only
/// where some row asks for it marks other rows in each mode. `for_each` marks row by row, and
/// `for_each_chunk` all rows.
///
/// # Panics
/// Each method panics with the payload of the first closure that panicked, after all other workers
/// have finished. Where Bevy's threads sweep (in mode [`Bevy`](crate::SchedulerMode::Bevy), and in
/// systems that are not tagged) it is as with Bevy's scopes: of several payloads that of the first
/// task, and tasks that have not begun are cancelled.
///
/// ```
/// use bevy::prelude::*;
/// use bevy_affinity::prelude::*;
///
/// #[derive(Component)]
/// struct Heat(f32);
///
/// fn cool(mut heats: AffineQuery<&mut Heat>) -> Result {
///     heats.contiguous_par_iter_mut()?.for_each(|mut heats| heats.iter_mut().for_each(|heat| heat.0 *= 0.9));
///     Ok(())
/// }
/// # App::new().add_plugins(AffinityParallelPlugin).add_systems(Update, cool.affine()).update();
/// ```
#[must_use = "a parallel iterator does nothing until one of its methods is called"]
pub struct AffineContiguousParIter<'w, 's, D: ContiguousQueryData, F: ArchetypeFilter> {
    rows: AffineParIter<'w, 's, D, F>,
}

impl<D: ContiguousQueryData, F: ArchetypeFilter> fmt::Debug for AffineContiguousParIter<'_, '_, D, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AffineContiguousParIter").field(&self.rows).finish()
    }
}

impl<'w, 's, D: ContiguousQueryData, F: ArchetypeFilter> AffineContiguousParIter<'w, 's, D, F> {
    /// As [`AffineParIter::batching_strategy`].
    pub fn batching_strategy(mut self, strategy: BatchingStrategy) -> Self {
        self.rows = self.rows.batching_strategy(strategy);
        self
    }

    /// Calls `f` with each run of rows, on as many workers as pay.
    ///
    /// ```
    /// # use bevy::prelude::*;
    /// # use bevy_affinity::prelude::*;
    /// # #[derive(Component)] struct Speed(f32);
    /// # #[derive(Component)] struct Brake;
    /// fn slow_down(mut cars: AffineQuery<(&mut Speed, Has<Brake>)>) -> Result {
    ///     cars.contiguous_par_iter_mut()?.for_each(|(mut speeds, have_brakes)| {
    ///         // All cars of a run, or none: asked once.
    ///         if have_brakes {
    ///             speeds.iter_mut().for_each(|speed| speed.0 *= 0.5);
    ///         }
    ///     });
    ///     Ok(())
    /// }
    /// # let mut app = App::new();
    /// # app.add_plugins(AffinityParallelPlugin).add_systems(Update, slow_down.affine());
    /// # let cars = [app.world_mut().spawn(Speed(8.0)).id(), app.world_mut().spawn((Speed(8.0), Brake)).id()];
    /// # app.update();
    /// # assert_eq!(cars.map(|car| app.world().get::<Speed>(car).unwrap().0), [8.0, 4.0]);
    /// ```
    #[inline]
    pub fn for_each(self, f: impl Fn(D::Contiguous<'w, 's>) + Send + Sync) {
        let plan = Plan::new(self.rows.sweep.rows, self.rows.site);
        self.sweep_by(&plan, || (), |(), run| f(run));
    }

    /// Calls `f` with each run of rows and a value that `init` makes; see
    /// [`AffineParIter::for_each_init`].
    pub fn for_each_init<T>(
        self,
        init: impl Fn() -> T + Send + Sync,
        f: impl Fn(&mut T, D::Contiguous<'w, 's>) + Send + Sync,
    ) {
        let plan = Plan::new(self.rows.sweep.rows, self.rows.site);
        self.sweep_by(&plan, init, f);
    }

    #[inline]
    fn sweep_by<T>(
        self,
        plan: &Plan<'_>,
        init: impl Fn() -> T + Send + Sync,
        f: impl Fn(&mut T, D::Contiguous<'w, 's>) + Send + Sync,
    ) {
        let AffineParIter { query, sweep, batching, longest_chunk, .. } = self.rows;
        if ONLY_WHOLE_TABLES {
            return plan.here(move || {
                let mut local = init();
                let runs = query.contiguous_iter_inner().expect(IS_CONTIGUOUS);
                runs.for_each(move |run| f(&mut local, run));
            });
        }
        if plan.strategy == Strategy::Bevy {
            let _span = SweepSpan::begin(&sweep.rows);
            let runs = query.contiguous_par_iter_inner().expect(IS_CONTIGUOUS);
            return runs
                .batching_strategy(batching)
                .for_each_init(in_bevys_batches(&init), |(local, _), run| f(local, run));
        }
        plan.run(move |part| {
            let mut local = init();
            part.for_each_range(|_, storage, rows| {
                for run in split_by_length(rows, longest_chunk) {
                    // SAFETY: 'access' on `Sweep`; 'parts' on `Part`; and this call consumes the
                    // iterator.
                    if let Some(run) = unsafe { sweep.contiguous(storage, run) } {
                        f(&mut local, run);
                    }
                }
            });
        });
    }
}

impl<'w, 's, D: ContiguousQueryData, F: ArchetypeFilter> Sweep<'w, 's, D, F> {
    /// The components of `rows`, which are not empty.
    ///
    /// # Safety
    /// As for [`Sweep::visit`], for as long as what this returns lives.
    unsafe fn contiguous(&self, storage: Storage, rows: Range<u32>) -> Option<D::Contiguous<'w, 's>> {
        let Storage::Table(table) = storage else { unreachable!("{IS_CONTIGUOUS}") };
        let table = self.rows.table(TableId::from_u32(table))?;
        // SAFETY: the storage matches: the caller's promise.
        let mut data = unsafe { self.fetch_storage(storage) }?.data;
        // SAFETY: the table was entered, the entities are its own and the rows in it; the access is
        // the caller's promise.
        Some(unsafe { D::fetch_contiguous(self.data, &mut data, table.entities(), rows) })
    }
}
