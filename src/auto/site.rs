//! The places in a program that start parallel calls.

use std::{
    ops::Range,
    panic::Location,
    sync::{Arc, Mutex, MutexGuard, OnceLock},
};

use bevy_utils::prelude::DebugName;

use super::{Explanation, Outcome, Probe, Strategy, cost::RowCost, model_pair::ModelPair, unasked::Unasked};
use crate::{once::Once, record::WeakList, sync::lock};

/// A place that starts parallel calls, and all that is known of them.
///
/// In this order: what a call touches that does not ask lies on one cache line. It begins one, as
/// `cost` is aligned to that.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Site {
    location: &'static Location<'static>,
    /// The number of the tagged system that it is in: asked when a [`SiteRegistry`] takes it in.
    system: OnceLock<Option<usize>>,
    /// Which calls need not ask.
    pub(super) unasked: Unasked,
    /// What was said of it, by [`Notice`].
    said: [Once; NOTICES],
    /// How calls run best, in mode `Auto`.
    models: Mutex<ModelPair>,
    /// What its rows cost.
    cost: RowCost,
    /// The place by which users are told something once: that of all rows for those that are due.
    told: &'static Location<'static>,
}

/// What users are told of a place, once each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Notice {
    /// Its system is not tagged.
    Untagged,
    /// Messages were dropped whose receivers do not exist.
    ToTheDespawned,
    /// Messages were dropped whose receivers do not match the query.
    ToOthers,
    /// No root of a tree matches the query.
    NoRoots,
}

const NOTICES: usize = Notice::NoRoots as usize + 1;

const _: () = assert!(std::mem::offset_of!(Site, said) <= 64, "what a call touches is on one cache line");

impl Site {
    #[cfg(test)]
    pub(super) fn new(location: &'static Location<'static>) -> Self {
        Self::told_at(location, location)
    }

    fn told_at(location: &'static Location<'static>, told: &'static Location<'static>) -> Self {
        Self {
            location,
            system: OnceLock::new(),
            unasked: Unasked::default(),
            said: [const { Once::new() }; NOTICES],
            models: Mutex::default(),
            cost: RowCost::default(),
            told,
        }
    }

    pub(crate) fn location(&self) -> &'static Location<'static> {
        self.location
    }

    /// The place by which users are told something once.
    pub(crate) fn told(&self) -> &'static Location<'static> {
        self.told
    }

    pub(crate) fn system(&self) -> Option<usize> {
        self.system.get().copied().flatten()
    }

    #[inline]
    pub(crate) fn cost(&self) -> &RowCost {
        &self.cost
    }

    /// True the first time that it is called with this notice.
    pub(crate) fn is_first(&self, notice: Notice) -> bool {
        self.said[notice as usize].first()
    }

    /// Learns what a call took that ran by `strategy`; the model if it asked for the time of the
    /// whole `call`.
    pub(crate) fn learn(&self, strategy: Strategy, outcome: &Outcome, call: Option<Range<u64>>) {
        debug_assert_ne!(strategy, Strategy::Bevy, "what a row took on Bevy's threads is not known");
        // The leader's rows may be cheaper than others, or dearer.
        match outcome.busy {
            Some(busy) => self.cost.observe(outcome.rows, busy),
            None => self.cost.observe(outcome.leader_rows, outcome.leader_ns),
        }
        if let Some(call) = call {
            let mut models = self.models();
            let model = models.last();
            model.observe(strategy, outcome, call);
            if model.is_turning() || model.grant().calls == 0 {
                self.unasked.revoke();
            }
        }
    }

    /// For how many nanoseconds the leader is to begin a call alone at most that is a probe.
    pub(crate) fn longest_probe(&self) -> u64 {
        self.models().last().longest_probe()
    }

    /// Learns from a `probe`: what the leader did alone with the first of `rows`, in a call that
    /// ended `now`.
    pub(crate) fn learn_probe(&self, probe: Probe, rows: u64, now: u64) {
        self.cost.observe(probe.rows, probe.nanoseconds);
        self.models().last().observe_probe(probe, rows, now);
    }

    /// Hardly ever contended: the system that starts calls here is one, diagnostics look some times
    /// a second, and another system only to say what came of a wake-up.
    pub(super) fn models(&self) -> MutexGuard<'_, ModelPair> {
        lock(&self.models)
    }
}

/// The sites of one world, for those who want to know what was chosen there.
#[derive(Debug, Default)]
pub(crate) struct SiteRegistry(Mutex<WeakList<Site>>);

impl SiteRegistry {
    /// Takes in `site`, which is in `system`, unless that was done.
    #[inline]
    pub(crate) fn register(&self, site: &Arc<Site>, system: impl FnOnce() -> Option<usize>) {
        site.system.get_or_init(|| {
            self.lock().push(site);
            system()
        });
    }

    /// Calls `visit` with each site whose system still exists, in the order of their first calls.
    pub(crate) fn for_each(&self, mut visit: impl FnMut(&Site, Explanation)) {
        self.lock().retain(|site| {
            let explanation = site.models().explain();
            let calls = explanation.calls + u64::from(site.unasked.taken());
            visit(site, Explanation { calls, ..explanation });
            true
        });
    }

    fn lock(&self) -> MutexGuard<'_, WeakList<Site>> {
        lock(&self.0)
    }
}

/// The places that start calls through one query parameter. They only ever come, so a list that
/// grows at its end will do, without a lock: most have one element.
#[derive(Debug, Default)]
pub(crate) struct SiteList {
    first: OnceLock<Link>,
    /// Who starts them, once their system is initialised.
    origin: OnceLock<Origin>,
}

/// What starts the calls of some sites.
#[derive(Debug)]
pub(crate) struct Origin {
    pub(crate) system: DebugName,
    /// The type of the query's data, or of a fused system's kernels, as the compiler calls it.
    pub(crate) data: &'static str,
    pub(crate) is_fused: bool,
}

#[derive(Debug)]
struct Link {
    site: Arc<Site>,
    next: OnceLock<Box<Self>>,
}

impl SiteList {
    /// Says who starts them.
    pub(crate) fn set_origin(&self, origin: Origin) {
        // A state may be initialised again, in the same system.
        _ = self.origin.set(origin);
    }

    pub(crate) fn origin(&self) -> Option<&Origin> {
        self.origin.get()
    }

    /// The site at `location`.
    #[inline]
    pub(crate) fn at(&self, location: &'static Location<'static>) -> &Arc<Site> {
        self.at_told(location, location)
    }

    /// The site at `location`; what is said once of it, or of the site at `told`, is said once of
    /// both.
    #[inline]
    pub(crate) fn at_told(&self, location: &'static Location<'static>, told: &'static Location<'static>) -> &Arc<Site> {
        let new = || Link { site: Arc::new(Site::told_at(location, told)), next: OnceLock::new() };
        let mut link = self.first.get_or_init(new);
        // The compiler may keep one place several times: it is then known several times.
        while !std::ptr::eq(link.site.location, location) {
            link = link.next.get_or_init(|| Box::new(new()));
        }
        &link.site
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_place_has_its_own_site() {
        let sites = SiteList::default();
        let (here, there) = (Location::caller(), Location::caller());
        for _ in 0..3 {
            sites.at(here).cost.observe(1, 1_000_000);
            sites.at(there).cost.observe(1, 1);
        }
        assert_eq!([here, there].map(|place| sites.at(place).cost.is_worth_a_round(1)), [true, false]);
        let is_first = |notice| [(); 2].map(|()| sites.at(here).is_first(notice));
        assert_eq!([Notice::Untagged, Notice::ToOthers].map(is_first), [[true, false]; 2]);
    }

    #[test]
    fn rows_cost_what_they_took_the_leader_by_whichever_strategy() {
        for strategy in Strategy::MEASURED {
            let site = Site::new(Location::caller());
            let half = Outcome { rows: 1_000, leader_rows: 500, leader_ns: 6_500, busy: None };
            site.learn(strategy, &half, None);
            assert!(site.cost.is_worth_a_round(500) && !site.cost.is_worth_a_round(300), "{strategy:?}");
        }
    }

    #[test]
    fn rows_cost_what_all_workers_took_if_all_were_there() {
        let site = Site::new(Location::caller());
        // The leader's are cheap.
        let sweep = Outcome { rows: 1_000, leader_rows: 500, leader_ns: 500, busy: Some(13_000) };
        site.learn(Strategy::LockStep, &sweep, None);
        assert!(site.cost.is_worth_a_round(500) && !site.cost.is_worth_a_round(300));
    }

    #[test]
    fn sites_of_systems_that_are_gone_are_forgotten() {
        let calls = SiteRegistry::default();
        let (kept, gone) = (SiteList::default(), SiteList::default());
        let here = Location::caller();
        for _ in 0..2 {
            calls.register(kept.at(here), || Some(1));
            calls.register(gone.at(here), || Some(2));
        }
        drop(gone);
        let mut systems = Vec::new();
        calls.for_each(|site, _| systems.push(site.system()));
        assert_eq!(systems, [Some(1)]);
    }
}
