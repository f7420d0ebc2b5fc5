//! What became of the messages of a call.

use std::{
    iter::Sum,
    ops::{Add, AddAssign},
    sync::atomic::{AtomicU64, Ordering},
};

use log::warn;

use crate::once::Once;

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

    /// What they are when all workers are done. Warns once of each kind that was dropped.
    pub(super) fn into_report(self) -> ScatterReport {
        let report = ScatterReport {
            delivered: self.delivered.into_inner(),
            despawned: self.despawned.into_inner(),
            unmatched: self.unmatched.into_inner(),
        };
        warn_undelivered(&report);
        report
    }
}

fn warn_undelivered(report: &ScatterReport) {
    static DESPAWNED: Once = Once::new();
    static UNMATCHED: Once = Once::new();
    let ScatterReport { despawned, unmatched, .. } = *report;
    for (count, once, why) in [
        (despawned, &DESPAWNED, "do not exist"),
        (unmatched, &UNMATCHED, "do not match the query that receives (they lack a component, or are disabled)"),
    ] {
        if count > 0 && once.first() {
            warn!(
                "bevy_affinity: scatter dropped {count} messages to entities that {why} (said once; `ScatterReport` counts them)"
            );
        }
    }
}
