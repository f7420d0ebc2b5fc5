//! [`Due`]: when a row wants to be visited again.

use std::{
    fmt,
    marker::PhantomData,
    sync::atomic::{AtomicU64, Ordering},
};

use bevy_ecs::{lifecycle::HookContext, prelude::Component, reflect::ReflectComponent, world::DeferredWorld};
use bevy_reflect::{Reflect, TypePath, prelude::ReflectDefault};

use super::store::Store;

/// When a row wants to be visited again, by the parallel calls that visit
/// [due](crate::AffineParIter::due) rows only.
///
/// A time is a number of what the program counts: steps, ticks, milliseconds. The smallest is 0,
/// and [`Due::NEVER`], the largest `u64`, is none: such a row sleeps until it is
/// [woken](crate::Agenda::wake). Times do not wrap around: a billion steps a second would take 584
/// years to get there. Save the counter with the rows: where it begins anew they sleep for as long
/// as the program ran before.
///
/// `A` tells agendas apart: an entity may have a `Due<Meals>` and a `Due<Taxes>`, each with an
/// [`Agenda`](crate::Agenda) of its own. Give every kind of row that has a call of its own such a
/// type: a call looks at all rows of its agenda that are due, those of other queries too.
///
/// [`Due::at`] alone leaves open which agenda is meant: `Due::<()>::at(5)`. So that no row is
/// forgotten, a component may require its time: `#[require(Due<Meals>)]`, which is due at once.
///
/// The component always holds the present time, so that a copy of it ([`Reflect`], a save) is
/// exact; register `Due<Meals>` for that, the plugin does so for `Due<()>` only. It is immutable
/// for Bevy: what changes it is the call that visits the row,
/// [`Agenda::wake`](crate::Agenda::wake), which can only bring the time forward, and inserting the
/// component anew, which sets it. Change ticks tell of insertions alone. The agenda does not notice
/// a write to the field by reflection: the row may not be visited then.
///
/// ```
/// use bevy::prelude::*;
/// use bevy_affinity::prelude::*;
///
/// #[derive(Component)]
/// struct Geyser { eruptions: u32, period: u64 }
///
/// #[derive(Resource, Default)]
/// struct Minute(u64);
///
/// fn erupt(mut geysers: AffineQuery<&mut Geyser>, mut agenda: Agenda, mut now: ResMut<Minute>) {
///     geysers.par_iter_mut().due(&mut agenda, now.0).for_each(|mut geyser| {
///         geyser.eruptions += 1;
///         Some(now.0 + geyser.period)
///     });
///     now.0 += 1;
/// }
///
/// let mut app = App::new();
/// app.add_plugins(AffinityParallelPlugin).init_resource::<Minute>().add_systems(Update, erupt.affine());
/// let geyser = app.world_mut().spawn((Geyser { eruptions: 0, period: 90 }, Due::<()>::at(5))).id();
/// (0..200).for_each(|_| app.update());
/// assert_eq!(app.world().get::<Geyser>(geyser).unwrap().eruptions, 3);
/// assert_eq!(app.world().get::<Due>(geyser).unwrap().time(), 5 + 3 * 90);
/// ```
#[derive(Component, Reflect)]
#[component(immutable, on_add = note::<A>, on_discard = note_replaced::<A>, on_insert = settle::<A>)]
// Saves know it by this path: it does not follow the files.
#[type_path = "bevy_affinity"]
#[reflect(Component, Default, Debug, PartialEq, Clone, where A: TypePath)]
pub struct Due<A: Send + Sync + 'static = ()> {
    /// Relaxed everywhere: one thread at a time writes it but for wakes, which are `fetch_min`, and
    /// the end of the parallel call orders it before what reads it then. Wakes and other writes are
    /// never under way at the same time: a call that visits due rows has the agenda to itself.
    time: AtomicU64,
    #[reflect(ignore)]
    agenda: PhantomData<fn() -> A>,
}

/// Tells the agenda, if there is one yet, that a row may be due earlier than it knows. When a row
/// is new, before all observers: they may look for due rows, or panic.
fn note<A: Send + Sync + 'static>(mut world: DeferredWorld<'_>, context: HookContext) {
    let Some(time) = world.get::<Due<A>>(context.entity).map(Due::time) else { return };
    if let Some(mut store) = world.get_resource_mut::<Store<A>>() {
        store.note(context.entity, time);
    }
}

/// Tells the agenda the time that an insertion ended with: [`note_replaced`] left open what it is.
fn settle<A: Send + Sync + 'static>(mut world: DeferredWorld<'_>, context: HookContext) {
    let Some(time) = world.get::<Due<A>>(context.entity).map(Due::time) else { return };
    if let Some(mut store) = world.get_resource_mut::<Store<A>>() {
        store.settle(context.entity, time);
    }
}

/// Tells the agenda that another time may be about to replace this one, before observers see that.
fn note_replaced<A: Send + Sync + 'static>(mut world: DeferredWorld<'_>, context: HookContext) {
    if let Some(mut store) = world.get_resource_mut::<Store<A>>() {
        store.note(context.entity, 0);
    }
}

impl<A: Send + Sync + 'static> Due<A> {
    /// The time of a row that sleeps until it is woken.
    pub const NEVER: u64 = u64::MAX;

    /// A row that is due at `time`, or at the next call if that has passed.
    ///
    /// ```
    /// use bevy_affinity::prelude::*;
    ///
    /// /// An agenda of its own.
    /// struct Taxes;
    ///
    /// let due = Due::<Taxes>::at(365);
    /// assert_eq!(due.time(), 365);
    /// ```
    pub const fn at(time: u64) -> Self {
        Self { time: AtomicU64::new(time), agenda: PhantomData }
    }

    /// A row that sleeps until it is woken.
    ///
    /// ```
    /// # use bevy_affinity::prelude::*;
    /// let asleep = Due::<()>::never();
    /// assert_eq!(asleep.time(), Due::<()>::NEVER);
    /// ```
    pub const fn never() -> Self {
        Self::at(Self::NEVER)
    }

    /// When the row is due; [`NEVER`](Self::NEVER) if it sleeps until it is woken.
    #[inline]
    pub fn time(&self) -> u64 {
        self.time.load(Ordering::Relaxed)
    }

    /// Whether the row is due at `now`, which is not [`NEVER`](Self::NEVER).
    #[inline]
    pub(super) fn is_due(&self, now: u64) -> bool {
        self.time() <= now
    }

    #[inline]
    pub(super) fn set(&self, time: u64) {
        self.time.store(time, Ordering::Relaxed);
    }

    /// For callers on several threads. Most times that are asked for are no earlier: a
    /// read-modify-write would wait until all writes before it are in the cache, each time.
    #[inline]
    pub(super) fn bring_forward(&self, time: u64) {
        if time < self.time() {
            self.time.fetch_min(time, Ordering::Relaxed);
        }
    }

    /// [`bring_forward`](Self::bring_forward), for the one thread that writes the row meanwhile.
    #[inline]
    pub(super) fn bring_forward_alone(&self, time: u64) {
        if time < self.time() {
            self.set(time);
        }
    }
}

/// A row that is due at once.
impl<A: Send + Sync + 'static> Default for Due<A> {
    fn default() -> Self {
        Self::at(0)
    }
}

impl<A: Send + Sync + 'static> Clone for Due<A> {
    fn clone(&self) -> Self {
        Self::at(self.time())
    }
}

impl<A: Send + Sync + 'static> PartialEq for Due<A> {
    fn eq(&self, other: &Self) -> bool {
        self.time() == other.time()
    }
}

impl<A: Send + Sync + 'static> Eq for Due<A> {}

impl<A: Send + Sync + 'static> fmt::Debug for Due<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.time() {
            Self::NEVER => f.write_str("Due(never)"),
            time => f.debug_tuple("Due").field(&time).finish(),
        }
    }
}
