//! What became of the messages of a call.

use std::{
    iter::Sum,
    ops::{Add, AddAssign},
    sync::atomic::{AtomicU64, Ordering},
};

use log::warn;

use crate::{auto::Notice, sweep::SiteRef};

/// What became of the messages of one [`scatter`](crate::AffineParIter::scatter).
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
///     let report: ScatterReport = fans.par_iter().scatter(
///         &mut stars,
///         |outbox, fan| outbox.send(fan.0, ()),
///         |mut star, ()| star.0 += 1,
///     );
///     if report.despawned > 0 {
///         println!("{} fans of stars that are gone", report.despawned);
///     }
/// }
/// # App::new().add_plugins(AffinityParallelPlugin).add_systems(Update, count.affine()).update();
///
/// // Reports of several calls add up.
/// let one = ScatterReport { delivered: 2, despawned: 1, unmatched: 0 };
/// assert_eq!([one, one].into_iter().sum::<ScatterReport>(), one + one);
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

impl Add for ScatterReport {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            delivered: self.delivered + other.delivered,
            despawned: self.despawned + other.despawned,
            unmatched: self.unmatched + other.unmatched,
        }
    }
}

impl AddAssign for ScatterReport {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sum for ScatterReport {
    fn sum<I: Iterator<Item = Self>>(reports: I) -> Self {
        reports.fold(Self::default(), Self::add)
    }
}

/// The counts of a [`ScatterReport`] while workers add to them.
#[derive(Default)]
pub(super) struct Counts {
    delivered: AtomicU64,
    despawned: AtomicU64,
    unmatched: AtomicU64,
}

impl Counts {
    /// Relaxed: read after the round, which orders it.
    pub(super) fn add(&self, report: ScatterReport) {
        let add = |count: &AtomicU64, more| {
            // All workers add here: most have nothing to add to most of them.
            if more > 0 {
                count.fetch_add(more, Ordering::Relaxed);
            }
        };
        add(&self.delivered, report.delivered);
        add(&self.despawned, report.despawned);
        add(&self.unmatched, report.unmatched);
    }

    /// What they are when all workers are done. Warns of each kind that was dropped, once for the
    /// `place` of the call.
    pub(super) fn into_report(self, place: SiteRef<'_>) -> ScatterReport {
        let report = ScatterReport {
            delivered: self.delivered.into_inner(),
            despawned: self.despawned.into_inner(),
            unmatched: self.unmatched.into_inner(),
        };
        warn_undelivered(&report, place);
        report
    }
}

fn warn_undelivered(report: &ScatterReport, place: SiteRef<'_>) {
    let ScatterReport { despawned, unmatched, .. } = *report;
    let lack = "do not match the query that receives (they lack a component, or are disabled)";
    for (count, notice, why) in
        [(despawned, Notice::ToTheDespawned, "do not exist"), (unmatched, Notice::ToOthers, lack)]
    {
        if count > 0 && place.is_first(notice) {
            let system = place.in_system();
            warn!(
                "bevy_affinity: the call at {place:?}{system} dropped {count} messages to entities that {why} (said once \
                 for this place; `ScatterReport` counts them)"
            );
        }
    }
}
