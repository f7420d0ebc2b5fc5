//! [`Agenda`]: the system parameter that knows which rows are due.

use std::marker::PhantomData;

use bevy_ecs::{
    change_detection::Tick,
    prelude::{Entity, ResMut, World},
    query::FilteredAccess,
    resource::IS_RESOURCE,
    system::{SystemAccess, SystemMeta, SystemParam, SystemParamValidationError},
    world::unsafe_world_cell::UnsafeWorldCell,
};

use bevy_utils::prelude::ShortName;

use super::{component::Due, store::Store, times::Times};
use crate::record::known_name;

/// Knows which rows are due: a system parameter for those who visit rows that have a
/// [`Due<A>`](Due), or wake them.
///
/// [`due`](crate::AffineParIter::due) visits the due rows of a query. Rows that sleep cost nothing
/// but memory: 25 bytes each (the component, Bevy's change ticks of it, and a hint of where to
/// look), and one look at each 4,096 of them in a call. Hints come in pages of 37 kB, each for
/// 4,096 indices of entities of which at least one has or had a [`Due<A>`](Due): they stay as long
/// as the agenda.
///
/// Systems with the same `Agenda<A>` do not run at the same time, nor beside one that reads
/// `&Due<A>`; within one system the two cannot be combined. Several agendas can. Of a system's
/// parameters put agendas last: then a conflict is explained by this crate, not by Bevy's `B0001`.
///
/// ```
/// use bevy::prelude::*;
/// use bevy_affinity::prelude::*;
///
/// #[derive(Component)]
/// struct Bell { rings: u32 }
///
/// #[derive(Resource, Default)]
/// struct Minute(u64);
///
/// /// Rings those whose time has come. `None`: they sleep until they are woken.
/// fn ring(mut bells: AffineQuery<&mut Bell>, mut agenda: Agenda, mut now: ResMut<Minute>) {
///     bells.par_iter_mut().due(&mut agenda, now.0).for_each(|mut bell| {
///         bell.rings += 1;
///         None
///     });
///     now.0 += 1;
/// }
///
/// fn wind_up(bells: AffineQuery<Entity, With<Bell>>, agenda: Agenda, now: Res<Minute>) {
///     bells.par_iter().for_each(|bell| {
///         agenda.wake(bell, now.0 + 3);
///     });
/// }
///
/// let mut app = App::new();
/// app.add_plugins(AffinityParallelPlugin)
///     .init_resource::<Minute>()
///     .add_systems(Startup, wind_up.affine())
///     .add_systems(Update, ring.affine());
/// let bell = app.world_mut().spawn((Bell { rings: 0 }, Due::<()>::never())).id();
/// (0..9).for_each(|_| app.update());
/// assert_eq!(app.world().get::<Bell>(bell).unwrap().rings, 1);
/// ```
pub struct Agenda<'w, A: Send + Sync + 'static = ()> {
    pub(super) store: ResMut<'w, Store<A>>,
    pub(super) times: Times<'w, A>,
}

impl<A: Send + Sync + 'static> Agenda<'_, A> {
    /// Sees to it that the row of `entity` is due at `time` or before: the earlier of that and its
    /// present time counts. Returns false if there is no such row: the entity does not exist, or
    /// has no [`Due<A>`](Due).
    ///
    /// May be called from all workers of a parallel call: the result does not depend on their
    /// order. A `time` that has passed is due in the next call.
    ///
    /// In the closures of a call that visits the due rows of this same agenda it cannot be called,
    /// since that has the agenda to itself. There, messages wake rows: see
    /// [`DueParIter::scatter`](crate::DueParIter::scatter).
    ///
    /// ```
    /// # use bevy::prelude::*;
    /// # use bevy_affinity::prelude::*;
    /// # #[derive(Component)] struct Sleeper;
    /// fn ring(sleepers: AffineQuery<Entity, With<Sleeper>>, agenda: Agenda) {
    ///     sleepers.par_iter().for_each(|sleeper| assert!(agenda.wake(sleeper, 7)));
    /// }
    ///
    /// let mut app = App::new();
    /// app.add_plugins(AffinityParallelPlugin).add_systems(Update, ring.affine());
    /// let dues = [Due::<()>::never(), Due::at(9), Due::at(5)];
    /// let sleepers = dues.map(|due| app.world_mut().spawn((Sleeper, due)).id());
    /// app.update();
    /// assert_eq!(sleepers.map(|row| app.world().get::<Due>(row).unwrap().time()), [7, 7, 5]);
    /// ```
    pub fn wake(&self, entity: Entity, time: u64) -> bool {
        let Some(due) = self.times.of_entity(entity) else { return false };
        due.bring_forward(time);
        if self.store.holds {
            self.store.hints.lower(entity.index_u32(), time);
        }
        true
    }

    /// When the row of `entity` is due, [`Due::NEVER`] if it sleeps until it is woken; `None` if
    /// there is no such row.
    pub fn time(&self, entity: Entity) -> Option<u64> {
        self.times.of_entity(entity).map(Due::time)
    }

    /// The earliest time of all rows, those of disabled entities included; `None` if all sleep
    /// until they are woken, or there are none. A program in which nothing else happens can go on
    /// there: not before the time after the present one, as a row that no call visits (it is
    /// disabled, or no query matches it) stays due.
    ///
    /// Takes as long as a call in which nothing is due. If the calls before visited a large part of
    /// the rows, the times of all rows are looked at, on this thread.
    ///
    /// ```
    /// # use bevy::prelude::*;
    /// # use bevy_affinity::prelude::*;
    /// # #[derive(Resource, Default)] struct Minute(u64);
    /// fn skip(mut agenda: Agenda, mut minute: ResMut<Minute>) {
    ///     if let Some(next) = agenda.next_time() {
    ///         minute.0 = next.max(minute.0 + 1);
    ///     }
    /// }
    /// # let mut app = App::new();
    /// # app.add_plugins(AffinityParallelPlugin).init_resource::<Minute>().add_systems(Update, skip);
    /// # app.world_mut().spawn_batch([Due::<()>::at(90), Due::never(), Due::at(60)]);
    /// # app.update();
    /// # assert_eq!(app.world().resource::<Minute>().0, 60);
    /// ```
    pub fn next_time(&mut self) -> Option<u64> {
        Some(self.store.first(self.times)).filter(|&time| time < Due::<A>::NEVER)
    }

    /// How many rows have a [`Due<A>`](Due), those of disabled entities included.
    pub fn len(&self) -> usize {
        self.times.count() as usize
    }

    /// Whether no row has a [`Due<A>`](Due).
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<A: Send + Sync + 'static> std::fmt::Debug for Agenda<'_, A> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Agenda").field("len", &self.len()).finish_non_exhaustive()
    }
}

/// The state of an [`Agenda`] between runs of its system.
pub struct AgendaState {
    store: bevy_ecs::component::ComponentId,
    due: bevy_ecs::component::ComponentId,
}

// SAFETY: `init_access` registers write access to the resource and to the component, and panics if
// either conflicts with an earlier parameter; `get_param` uses just these.
unsafe impl<A: Send + Sync + 'static> SystemParam for Agenda<'_, A> {
    type State = AgendaState;
    type Item<'w, 's> = Agenda<'w, A>;

    fn init_state(world: &mut World) -> Self::State {
        world.init_resource::<Store<A>>();
        AgendaState {
            store: <ResMut<'_, Store<A>> as SystemParam>::init_state(world),
            due: world.register_component::<Due<A>>(),
        }
    }

    fn init_access(state: &Self::State, meta: &mut SystemMeta, access: &mut SystemAccess, world: &mut World) {
        let (mut due, mut store) = (FilteredAccess::default(), FilteredAccess::default());
        due.add_write(state.due);
        store.add_write(state.store);
        store.and_with(IS_RESOURCE);
        let conflict = if access.try_add(due).is_err() {
            "reads its `Due`, or with an Agenda of the same type: a system has one, and asks it for times with \
             `Agenda::time`"
        } else if access.clone().try_add(store).is_err() {
            "reads all entities, of which resources are some (`Without<IsResource>` leaves them out), or all resources"
        } else {
            ""
        };
        assert!(
            conflict.is_empty(),
            "bevy_affinity: `{}`{} conflicts with a previous parameter that {conflict}",
            ShortName::of::<Agenda<'static, A>>(),
            known_name(meta.name()).map_or_else(String::new, |name| format!(" in system `{name}`")),
        );
        <ResMut<'_, Store<A>> as SystemParam>::init_access(&state.store, meta, access, world);
    }

    #[inline]
    unsafe fn get_param<'w, 's>(
        state: &'s mut Self::State,
        meta: &SystemMeta,
        world: UnsafeWorldCell<'w>,
        change_tick: Tick,
    ) -> Result<Self::Item<'w, 's>, SystemParamValidationError> {
        // SAFETY: the access is registered, says the caller.
        let store =
            unsafe { <ResMut<'_, Store<A>> as SystemParam>::get_param(&mut state.store, meta, world, change_tick) }?;
        Ok(Agenda { store, times: Times { world, component: state.due, agenda: PhantomData } })
    }
}
