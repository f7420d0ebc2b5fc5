//! Deferred updates to other entities: every worker posts what its rows have to say, then every
//! owner applies what was sent to its rows. No locks on components, and the same result whatever
//! the number of workers.
//!
//! The idea is that of multi_iterate_mut's second part (a buffer for each owner that others post
//! to), with the written data left where it is: an owner applies messages to rows in its own cache.

mod calendar;
mod exchange;
mod mail;
mod timed;
mod timed_outbox;

pub use calendar::Calendar;
pub(crate) use exchange::{Exchange, Receivers};
pub use mail::Outbox;
pub(crate) use mail::{Destination, SendsByStorage};
pub use timed_outbox::TimedOutbox;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use bevy_ecs::{
    prelude::Entity,
    query::{IterQueryData, QueryFilter},
};
use log::warn;

use crate::{
    placement::Storage,
    query::{AffineParIter, AffineQuery},
    sweep::{Division, Missing, Owners, Plan, Rows},
};
use exchange::{post, receiver};

/// What became of the messages of one [`scatter`](AffineParIter::scatter).
///
/// ```
/// use bevy::prelude::*;
/// use bevy_affinity::prelude::*;
///
/// #[derive(Component)]
/// struct Follows(Entity);
/// #[derive(Component)]
/// struct Followers(u32);
///
/// fn count(fans: AffineQuery<&Follows>, mut stars: AffineQuery<&mut Followers>) {
///     let report: ScatterReport =
///         fans.par_iter().scatter(&mut stars, |outbox, fan| outbox.send(fan.0, ()), |mut star, ()| star.0 += 1);
///     if report.despawned > 0 {
///         println!("{} fans of stars that are gone", report.despawned);
///     }
/// }
/// # App::new().add_plugins(AffinityParallelPlugin).add_systems(Update, count.affine()).update();
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScatterReport {
    /// Messages that were applied.
    pub delivered: u64,
    /// Messages to entities that do not exist; dropped.
    pub despawned: u64,
    /// Messages to entities that exist but do not match the receiving query; dropped.
    pub unmatched: u64,
}

/// The counts of a [`ScatterReport`] while workers add to them.
#[derive(Default)]
struct Counts {
    delivered: AtomicU64,
    despawned: AtomicU64,
    unmatched: AtomicU64,
}

impl Counts {
    /// Relaxed: read after the round, which orders it.
    fn add(&self, report: ScatterReport) {
        self.delivered.fetch_add(report.delivered, Ordering::Relaxed);
        self.despawned.fetch_add(report.despawned, Ordering::Relaxed);
        self.unmatched.fetch_add(report.unmatched, Ordering::Relaxed);
    }

    /// What they are when all workers are done. Warns once of each kind that was dropped.
    fn into_report(self) -> ScatterReport {
        let report = ScatterReport {
            delivered: self.delivered.into_inner(),
            despawned: self.despawned.into_inner(),
            unmatched: self.unmatched.into_inner(),
        };
        warn_undelivered(&report);
        report
    }
}

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
        let receivers = Receivers { sweep: self.sweep, scratch: &self.site.calls.scratch };
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
            // SAFETY: 'items' on `Exchange`; 'access' on `Sweep`, of the senders.
            |outbox, part| unsafe { post(&senders, outbox, part, &send) },
            // SAFETY: as above, of the receivers.
            || unsafe { receiver(&receivers, &receive) },
        )
    }
}

/// Finds the part that owns an entity.
struct Addresses<'a> {
    rows: Rows<'a, 'a>,
    division: Division<'a>,
    /// Whose the rows of the storage are in which an entity was found last: mostly the next one is
    /// in it too.
    last: Option<(Storage, Owners<'a>)>,
    /// Whether one part owns all rows, so that none of that is asked: where rows are in many tables
    /// a processor often guesses wrong whether the next is where the last was, and waits.
    has_one_owner: bool,
}

impl<'a> Addresses<'a> {
    fn new(rows: Rows<'a, 'a>, division: Division<'a>) -> Self {
        Self { rows, division, last: None, has_one_owner: matches!(division, Division::Even { parts: 1 }) }
    }

    /// Where `entity` is, and the part that owns it.
    #[inline]
    fn find(&mut self, entity: Entity) -> Result<(Destination, usize), Missing> {
        let (storage, row) = self.rows.locate(entity).ok_or(Missing::Despawned)?;
        if self.has_one_owner {
            return self.rows.matched.contains(storage).then_some(((storage, row), 0)).ok_or(Missing::Unmatched);
        }
        let owner = match &self.last {
            // All storages of a query are of one kind.
            Some((last, owners)) if last.index() == storage.index() => owners.of(row),
            _ => self.find_elsewhere(storage, row)?,
        };
        Ok(((storage, row), owner))
    }

    #[cold]
    fn find_elsewhere(&mut self, storage: Storage, row: u32) -> Result<usize, Missing> {
        if !self.rows.matched.contains(storage) {
            return Err(Missing::Unmatched);
        }
        let owners = self.division.owners(storage, || self.rows.count(storage));
        Ok(self.last.insert((storage, owners)).1.of(row))
    }
}

fn warn_undelivered(report: &ScatterReport) {
    static DESPAWNED: AtomicBool = AtomicBool::new(false);
    static UNMATCHED: AtomicBool = AtomicBool::new(false);
    let ScatterReport { despawned, unmatched, .. } = *report;
    for (count, warned, why) in [
        (despawned, &DESPAWNED, "do not exist"),
        (unmatched, &UNMATCHED, "do not match the query that receives (they lack a component, or are disabled)"),
    ] {
        if count > 0 && !warned.swap(true, Ordering::Relaxed) {
            warn!(
                "bevy_affinity: scatter dropped {count} messages to entities that {why} (said once; `ScatterReport` counts them)"
            );
        }
    }
}
