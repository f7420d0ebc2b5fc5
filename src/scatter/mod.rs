//! Deferred updates to other entities: every worker posts what its rows have to say, then every
//! owner applies what was sent to its rows. No locks on components, and the same result whatever
//! the number of workers.
//!
//! The idea is that of multi_iterate_mut's second part (a buffer for each owner that others post
//! to), with the written data left where it is: an owner applies messages to rows in its own cache.
//!
//! `exchange.rs` is one call, its two phases; `outbox.rs` is what rows send through, `addresses.rs`
//! finds rows and owners, `mail.rs` keeps the lanes, `report.rs` counts. `timed.rs` and
//! `calendar.rs` are messages for later.

mod addresses;
mod calendar;
mod exchange;
mod mail;
mod outbox;
mod report;
mod timed;

pub(crate) use addresses::Destination;
pub use calendar::Calendar;
pub(crate) use exchange::{Exchange, Receivers};
pub use outbox::{Outbox, TimedOutbox};
pub use report::ScatterReport;

use bevy_ecs::query::{IterQueryData, QueryFilter};

use crate::{
    query::{AffineParIter, AffineQuery},
    sweep::{Plan, Sweep},
};

impl<'w, 's, D: IterQueryData, F: QueryFilter> AffineParIter<'w, 's, D, F> {
    /// Sends messages from the entities of this query to those of `receivers`, another
    /// [`AffineQuery`] of the same system.
    ///
    /// First `send` is called with each item of this query and an [`Outbox`]; when all have been,
    /// `receive` is called with each message and the item of the entity it was sent to. Messages to
    /// one entity arrive in the order of the senders' rows. So what `send` reads is the state
    /// before the call, and the result does not depend on the number of workers, nor on the mode.
    ///
    /// Messages to entities that do not exist or do not match are counted and dropped. If `send` or
    /// `receive` panics, messages that were not applied are dropped.
    ///
    /// # Panics
    /// Also if `receivers` are of another world than this query, whose rows have other owners.
    ///
    /// ```
    /// use bevy::prelude::*;
    /// use bevy_affinity::prelude::*;
    ///
    /// #[derive(Component)]
    /// struct Tower { target: Entity, damage: u32 }
    /// #[derive(Component)]
    /// struct Health(u32);
    ///
    /// fn shoot(towers: AffineQuery<&Tower>, mut targets: AffineQuery<&mut Health>) {
    ///     towers.par_iter().scatter(
    ///         &mut targets,
    ///         |outbox, tower| outbox.send(tower.target, tower.damage),
    ///         |mut health, damage| health.0 = health.0.saturating_sub(damage),
    ///     );
    /// }
    ///
    /// let mut app = App::new();
    /// app.add_plugins(AffinityParallelPlugin).add_systems(Update, shoot.affine());
    /// let target = app.world_mut().spawn(Health(10)).id();
    /// app.world_mut().spawn(Tower { target, damage: 3 });
    /// app.update();
    /// assert_eq!(app.world().get::<Health>(target).unwrap().0, 7);
    /// ```
    #[track_caller]
    pub fn scatter<'r, M, D2, F2>(
        self,
        receivers: &mut AffineQuery<'_, 'r, D2, F2>,
        send: impl for<'i> Fn(&mut Outbox<'_, M>, D::Item<'i, 's>) + Send + Sync,
        receive: impl for<'i> Fn(D2::Item<'i, 'r>, M) + Send + Sync,
    ) -> ScatterReport
    where
        M: Send + 'static,
        D2: IterQueryData,
        F2: QueryFilter,
    {
        let receivers = Receivers::of("scatter", receivers, self.sweep.rows);
        self.send_to(receivers, send, receive)
    }

    /// As [`scatter`](Self::scatter), to entities of this same query.
    ///
    /// ```
    /// # use bevy::prelude::*;
    /// # use bevy_affinity::prelude::*;
    /// #[derive(Component)]
    /// struct Particle { heat: f32, neighbour: Entity }
    ///
    /// fn conduct(mut particles: AffineQuery<&mut Particle>) {
    ///     particles.par_iter_mut().scatter_within(
    ///         |outbox, mut particle| {
    ///             let share = particle.heat * 0.1;
    ///             particle.heat -= share;
    ///             outbox.send(particle.neighbour, share);
    ///         },
    ///         |mut particle, share| particle.heat += share,
    ///     );
    /// }
    /// # App::new().add_plugins(AffinityParallelPlugin).add_systems(Update, conduct.affine()).update();
    /// ```
    pub fn scatter_within<M: Send + 'static>(
        self,
        send: impl for<'i> Fn(&mut Outbox<'_, M>, D::Item<'i, 's>) + Send + Sync,
        receive: impl for<'i> Fn(D::Item<'i, 's>, M) + Send + Sync,
    ) -> ScatterReport {
        let receivers = Receivers { sweep: self.sweep, scratch: &self.site.kept.scratch };
        self.send_to(receivers, send, receive)
    }

    fn send_to<'r, M, D2, F2>(
        self,
        Receivers { sweep: receivers, scratch }: Receivers<'_, 'r, D2, F2>,
        send: impl for<'i> Fn(&mut Outbox<'_, M>, D::Item<'i, 's>) + Send + Sync,
        receive: impl for<'i> Fn(D2::Item<'i, 'r>, M) + Send + Sync,
    ) -> ScatterReport
    where
        M: Send + 'static,
        D2: IterQueryData,
        F2: QueryFilter,
    {
        let Self { sweep: senders, site, .. } = self;
        let plan = Plan::new(senders.rows, site);
        Exchange { plan: &plan, receivers: receivers.rows, scratch }.run(
            || (),
            |(), outbox, storage, rows| {
                // SAFETY: 'senders' on `Exchange`; 'access' on `Sweep`, of the senders.
                unsafe { senders.visit(storage, rows, |item| send(outbox, D::shrink(item))) }
            },
            // SAFETY: 'receivers' on `Exchange`; 'access' on `Sweep`, of the receivers.
            || unsafe { receiver(&receivers, &receive) },
        )
    }
}

/// Applies messages to rows of `receivers`.
///
/// # Safety
/// While what is returned is used, no other thread visits the rows that it is told, and no item of
/// them is alive.
unsafe fn receiver<'r, M, D: IterQueryData, F: QueryFilter>(
    receivers: &Sweep<'_, 'r, D, F>,
    receive: &impl for<'i> Fn(D::Item<'i, 'r>, M),
) -> impl FnMut(Destination, M) -> bool {
    let mut lookup = receivers.lookup();
    move |(storage, row), message| {
        // SAFETY: the caller's promise: the division gives each row one owner, which alone
        // visits it.
        let item = unsafe { lookup.item(storage, row) };
        item.map(|(item, ..)| receive(D::shrink(item), message)).is_some()
    }
}
