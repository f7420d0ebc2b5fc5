//! How a call in mode `Auto` is to run.

use std::sync::Arc;

use super::{Decision, Site, Situation, Strategy, WakeUps};

/// How a call of `site` is to run: [`Model::choose`](super::model::Model::choose). Who
/// wakes the workers, and what later calls gain by it, is noted in `wake_ups`.
#[inline]
pub(crate) fn decide(
    site: &Arc<Site>,
    situation: Situation,
    wake_ups: &WakeUps,
    count_rows: impl Fn() -> u64,
) -> Decision {
    if situation.asleep {
        wake_ups.end();
    }
    let unasked = site.unasked();
    if unasked.take(situation.asleep, &count_rows) {
        return Decision::of_model(Strategy::Serial, false);
    }
    let mut calls = site.calls();
    calls.last().pass(unasked.taken());
    let decision = calls.choose(situation, &count_rows);
    if decision.strategy.is_the_gangs() {
        wake_ups.note(site, situation, || calls.gain());
    }
    unasked.grant(calls.last().leave());
    decision
}

#[cfg(test)]
mod tests {
    use std::panic::Location;

    use super::*;
    use crate::auto::{Outcome, SiteList, SiteRegistry, Timing};

    /// A call whose rows take one nanosecond each; whether it was timed.
    fn call(site: &Arc<Site>, rows: u64) -> bool {
        call_with(site, rows, false)
    }

    fn call_with(site: &Arc<Site>, rows: u64, asleep: bool) -> bool {
        let situation = Situation { storages: 1, workers: 2, asleep, wake_ups: 0 };
        let Decision { strategy, timing } = decide(site, situation, &WakeUps::default(), || rows);
        let timed = timing == Timing::Asked;
        if timed {
            site.learn(strategy, &Outcome::serial(rows, rows), Some(0..rows));
        }
        timed
    }

    #[test]
    fn very_short_calls_are_counted_though_they_do_not_ask() {
        let (sites, registry) = (SiteList::default(), SiteRegistry::default());
        let site = sites.at(Location::caller());
        registry.register(site, || None);
        let timed = (0..1_000).filter(|_| call(site, 100)).count();
        assert!((30..60).contains(&timed), "one in 25, {timed}");
        registry.for_each(|_, explanation| assert_eq!(explanation.calls, 1_000));
        assert!(site.unasked().taken() > 0);
    }

    #[test]
    fn calls_that_find_workers_asleep_mostly_do_not_ask_either() {
        let (sites, registry) = (SiteList::default(), SiteRegistry::default());
        let site = sites.at(Location::caller());
        registry.register(site, || None);
        let mut unasked = 0;
        for _ in 0..1_000 {
            let before = site.unasked().taken();
            call_with(site, 4_000, true);
            unasked += u32::from(site.unasked().taken() > before);
        }
        assert!(unasked > 700, "{unasked}");
        (0..10).for_each(|_| _ = call(site, 4_000));
        assert_eq!(site.unasked().taken(), 0, "those that find them awake do");
        registry.for_each(|_, explanation| assert_eq!(explanation.calls, 1_010));
    }

    #[test]
    fn calls_with_more_rows_ask() {
        let sites = SiteList::default();
        let site = sites.at(Location::caller());
        (0..100).for_each(|_| _ = call(site, 100));
        let soon = (0..200).position(|_| call(site, 50_000));
        assert_eq!(soon, Some(0), "far more rows than any before are timed at once");
    }
}
