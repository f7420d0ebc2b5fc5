//! Contiguous slices of components, so that a loop over them vectorises.

use std::ops::Range;

use bevy_ecs::{
    change_detection::{MaybeLocation, Tick},
    component::{Mutable, StorageType},
    prelude::{Component, Entity},
    query::{ArchetypeFilter, IterQueryData, QueryFilter},
    storage::{Table, TableId},
};
use variadics_please::all_tuples;

use super::par_iter::AffineParIter;
use crate::{
    placement::Storage,
    sweep::{Plan, Sweep, split_by_length},
};

/// Query data whose rows lie next to each other in a table: `&T`, `&mut T`, `Option<&T>`,
/// `Option<&mut T>`, `Entity`, and tuples of these. In the place of a struct of query data, derived
/// or not, write a tuple.
///
/// # Sealed
/// [`chunk`](Self::chunk) takes a type that no other crate can name, so that the trait cannot be
/// implemented outside of this one.
///
/// # Safety
/// [`chunk`](Self::chunk) touches only the rows it is told, and only columns whose access the data
/// registers.
///
/// ```
/// use bevy::prelude::*;
/// use bevy_affinity::prelude::*;
///
/// #[derive(Component)]
/// struct Heat(f32);
/// #[derive(Component)]
/// struct Source(f32);
///
/// /// Tables without sources have no slice of them.
/// fn warm(mut query: AffineQuery<(&mut Heat, Option<&Source>)>) {
///     query.par_iter_mut().for_each_chunk(|(heats, sources)| match sources {
///         Some(sources) => heats.iter_mut().zip(sources).for_each(|(heat, source)| heat.0 += source.0),
///         None => heats.iter_mut().for_each(|heat| heat.0 *= 0.9),
///     });
/// }
/// # App::new().add_plugins(AffinityParallelPlugin).add_systems(Update, warm.affine()).update();
/// ```
#[diagnostic::on_unimplemented(
    message = "`for_each_chunk` has no slices of `{Self}`",
    note = "slices are of `&T`, `&mut T`, `Option` of these two, `Entity`, and tuples: use `for_each` for all other data"
)]
pub unsafe trait ChunkData: IterQueryData {
    /// What a closure gets: `&[T]`, `&mut [T]`, `&[Entity]`, an `Option` or a tuple of these.
    type Chunk<'w>;

    /// The slices of `rows` of `table`.
    ///
    /// # Safety
    /// The table matches, `rows` are in range, the caller has the access that the data registered,
    /// and no other chunk of these rows is alive.
    unsafe fn chunk<'w>(state: &Self::State, table: &'w Table, rows: Range<usize>, change: Change) -> Self::Chunk<'w>;
}

/// When and by whom the components of a mutable chunk are marked as changed.
#[derive(Clone, Copy)]
pub struct Change {
    tick: Tick,
    by: MaybeLocation,
}

/// The missing column that cannot be: the table matches the query.
#[cold]
fn no_column<T>() -> ! {
    panic!("bevy_affinity: a matching table has no column of {}", std::any::type_name::<T>())
}

/// A component in a sparse set has no slices: said when the program is compiled.
const fn assert_in_table<T: Component>() {
    assert!(
        matches!(T::STORAGE_TYPE, StorageType::Table),
        "for_each_chunk needs components in table storage: use for_each, or give the component table storage"
    );
}

// SAFETY: reads the rows it is told of the column that `&T` registers.
unsafe impl<T: Component> ChunkData for &T {
    type Chunk<'w> = &'w [T];

    #[inline]
    unsafe fn chunk<'w>(state: &Self::State, table: &'w Table, rows: Range<usize>, _: Change) -> &'w [T] {
        const { assert_in_table::<T>() };
        // SAFETY: the state of `&T` is the id of `T`.
        let Some(column) = (unsafe { table.get_data_slice_for::<T>(*state) }) else { no_column::<T>() };
        let cells = &column[rows];
        // SAFETY: read access is the caller's promise, so no other thread writes to these cells;
        // `UnsafeCell<T>` has the layout of `T`.
        unsafe { std::slice::from_raw_parts(cells.as_ptr().cast::<T>(), cells.len()) }
    }
}

// SAFETY: writes the rows it is told of the column (and its ticks) that `&mut T` registers.
unsafe impl<T: Component<Mutability = Mutable>> ChunkData for &mut T {
    type Chunk<'w> = &'w mut [T];

    #[inline]
    unsafe fn chunk<'w>(state: &Self::State, table: &'w Table, rows: Range<usize>, change: Change) -> &'w mut [T] {
        const { assert_in_table::<T>() };
        if let Some(ticks) = table.get_changed_ticks_slice_for(*state) {
            for tick in &ticks[rows.clone()] {
                // SAFETY: the ticks of these rows are this chunk's alone: the caller's promise.
                unsafe { *tick.get() = change.tick };
            }
        }
        // One store a slice, and only where Bevy was asked to keep it
        // (`#[component(summary_tick)]`): readers skip whole tables by it.
        if let Some(summary) = table.get_summary_tick(*state) {
            summary.set(change.tick);
        }
        let changed_by = table.get_changed_by_slice_for(*state);
        changed_by.zip(change.by).map(|(changed_by, caller)| {
            for by in changed_by.iter().flat_map(|changed_by| &changed_by[rows.clone()]) {
                // SAFETY: as for the ticks.
                unsafe { *by.get() = caller };
            }
        });
        // SAFETY: the state of `&mut T` is the id of `T`.
        let Some(column) = (unsafe { table.get_data_slice_for::<T>(*state) }) else { no_column::<T>() };
        let cells = &column[rows];
        // SAFETY: write access to these rows is the caller's promise, and cells may be written
        // through shared references.
        unsafe { std::slice::from_raw_parts_mut(cells.as_ptr().cast::<T>().cast_mut(), cells.len()) }
    }
}

// SAFETY: reads the entities of a table, which need no access.
unsafe impl ChunkData for Entity {
    type Chunk<'w> = &'w [Entity];

    #[inline]
    unsafe fn chunk<'w>(_: &Self::State, table: &'w Table, rows: Range<usize>, _: Change) -> &'w [Entity] {
        &table.entities()[rows]
    }
}

// SAFETY: as `&T`, where the table has the column.
unsafe impl<T: Component> ChunkData for Option<&T> {
    type Chunk<'w> = Option<&'w [T]>;

    #[inline]
    unsafe fn chunk<'w>(state: &Self::State, table: &'w Table, rows: Range<usize>, change: Change) -> Self::Chunk<'w> {
        // SAFETY: the promise of the caller.
        table.has_column(*state).then(|| unsafe { <&T>::chunk(state, table, rows, change) })
    }
}

// SAFETY: as `&mut T`, where the table has the column.
unsafe impl<'t, T: Component<Mutability = Mutable>> ChunkData for Option<&'t mut T> {
    type Chunk<'w> = Option<&'w mut [T]>;

    #[inline]
    unsafe fn chunk<'w>(state: &Self::State, table: &'w Table, rows: Range<usize>, change: Change) -> Self::Chunk<'w> {
        // SAFETY: the promise of the caller.
        table.has_column(*state).then(|| unsafe { <&'t mut T>::chunk(state, table, rows, change) })
    }
}

macro_rules! impl_chunk_data {
    ($(($data:ident, $state:ident)),*) => {
        // SAFETY: each of the parts keeps the promise.
        unsafe impl<$($data: ChunkData),*> ChunkData for ($($data,)*) {
            type Chunk<'w> = ($($data::Chunk<'w>,)*);

            #[inline]
            #[expect(clippy::allow_attributes, reason = "not each length of tuple trips the lints")]
            #[allow(non_snake_case, unused_variables, clippy::unused_unit, reason = "a macro over tuples, the empty one included")]
            unsafe fn chunk<'w>(
                state: &Self::State,
                table: &'w Table,
                rows: Range<usize>,
                change: Change,
            ) -> Self::Chunk<'w> {
                let ($($state,)*) = state;
                // SAFETY: the promise of the caller, for each part; their access is disjoint, or
                // registering it had panicked.
                ($(unsafe { $data::chunk($state, table, rows.clone(), change) },)*)
            }
        }
    };
}

all_tuples!(impl_chunk_data, 0, 15, D, s);

/// Filters that let all rows of a table pass or none. A trait of its own, for the message where one
/// does not.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`for_each_chunk` visits whole slices, and `{Self}` filters rows",
    note = "use `for_each`; or leave the filter out and use `contiguous_par_iter`: its runs of `Ref<T>` tell which rows are changed"
)]
pub trait FiltersTables: ArchetypeFilter {}

#[diagnostic::do_not_recommend]
impl<F: ArchetypeFilter> FiltersTables for F {}

impl<'w, 's, D: IterQueryData, F: QueryFilter> AffineParIter<'w, 's, D, F> {
    /// Calls `f` with contiguous slices of the components, at most
    /// [`chunk_rows`](crate::AffinitySettings::chunk_rows) long (in a system that is not tagged
    /// that setting's default): a plain loop over them is vectorised by the compiler, and `&mut`
    /// slices are marked as changed at once, not row by row.
    ///
    /// ```
    /// # use bevy::prelude::*;
    /// # use bevy_affinity::prelude::*;
    /// # #[derive(Component)] struct Position(f32);
    /// # #[derive(Component)] struct Velocity(f32);
    /// fn drive(mut cars: AffineQuery<(&mut Position, &Velocity)>) {
    ///     cars.par_iter_mut().for_each_chunk(|(positions, velocities): (&mut [Position], &[Velocity])| {
    ///         for (position, velocity) in positions.iter_mut().zip(velocities) {
    ///             position.0 += velocity.0;
    ///         }
    ///     });
    /// }
    /// # App::new().add_plugins(AffinityParallelPlugin).add_systems(Update, drive.affine()).update();
    /// ```
    ///
    /// # Panics
    /// Also if a filter of the query, or one that applies to all queries (see
    /// `DefaultQueryFilters`), is in a sparse set: rows that match are not contiguous then. A
    /// component of the data in a sparse set is a compile error (by `cargo build`, not by `cargo
    /// check`).
    #[track_caller]
    pub fn for_each_chunk(self, f: impl Fn(D::Chunk<'w>) + Send + Sync)
    where
        D: ChunkData,
        F: FiltersTables,
    {
        let (sweep, length) = (self.sweep, self.longest_chunk);
        // Tables are visited then, in which rows are contiguous.
        assert!(
            sweep.rows.matched.dense,
            "for_each_chunk needs rows that are contiguous in their table, but a filter of this query (or one that applies to all \
             queries) is a component in a sparse set: use for_each, or give that component table storage"
        );
        let change = Change { tick: sweep.this_run, by: MaybeLocation::caller() };
        let plan = Plan::new(sweep.rows, self.site);
        plan.run(move |part| {
            part.for_each_range(|_, storage, rows| {
                for chunk in split_by_length(rows, length) {
                    let chunk = chunk.start as usize..chunk.end as usize;
                    // SAFETY: 'access' on `Sweep`; 'parts' on `Part`; and this call consumes the
                    // iterator.
                    f(unsafe { sweep.chunk(storage, chunk, change) });
                }
            });
        });
    }
}

impl<'w, D: ChunkData, F: QueryFilter> Sweep<'w, '_, D, F> {
    /// # Safety
    /// As for [`ChunkData::chunk`], which this is for one storage of the sweep.
    unsafe fn chunk(&self, storage: Storage, rows: Range<usize>, change: Change) -> D::Chunk<'w> {
        let Some(table) = self.rows.table(TableId::from_u32(storage.index() as u32)) else { no_column::<D>() };
        // SAFETY: the caller's promise.
        unsafe { D::chunk(self.data, table, rows, change) }
    }
}
