//! How a call in mode `Auto` is to run.

use std::sync::Arc;

use super::{Decision, Site, Situation, Strategy, WakeUps};

/// How a call of `site` is to run: [`Model::choose`](super::model::Model::choose). Who
/// wakes the workers, and what later calls gain by it, is noted in `wake_ups`; they were `woken` so
/// often so far, by whatever runs on the gang.
#[inline]
pub(crate) fn decide(
    site: &Arc<Site>,
    situation: Situation,
    wake_ups: &WakeUps,
    woken: u64,
    count_rows: impl Fn() -> u64,
) -> Decision {
    if situation.asleep {
        wake_ups.end();
    }
    let unasked = &site.unasked;
    if unasked.take(situation.asleep, &count_rows) {
        return Decision::of_model(Strategy::Serial, false);
    }
    let mut models = site.models();
    models.last().pass(unasked.taken());
    let decision = models.choose(situation, &count_rows);
    if decision.strategy.is_the_gangs() {
        wake_ups.note(site, situation.asleep, woken, || models.gain());
    }
    unasked.grant(models.last().grant());
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
        let situation = Situation { storages: 1, workers: 2, asleep };
        let Decision { strategy, timing } = decide(site, situation, &WakeUps::default(), 0, || rows);
        let timed = timing == Timing::ForModel;
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
        assert!(site.unasked.taken() > 0);
    }

    #[test]
    fn calls_that_find_workers_asleep_mostly_do_not_ask_either() {
        let (sites, registry) = (SiteList::default(), SiteRegistry::default());
        let site = sites.at(Location::caller());
        registry.register(site, || None);
        let asks = |rows| {
            let before = site.unasked.taken();
            call_with(site, rows, true);
            site.unasked.taken() <= before
        };
        let asking = (0..1_000).filter(|_| asks(4_000)).count();
        assert!((100..300).contains(&asking), "{asking}");
        assert!([2, 5_000].into_iter().all(asks), "those with other numbers of rows do");
        (0..10).for_each(|_| _ = call(site, 4_000));
        assert_eq!(site.unasked.taken(), 0, "those that find them awake do");
        registry.for_each(|_, explanation| assert_eq!(explanation.calls, 1_012));
    }

    /// Calls of 50 us that find workers asleep, and then take three times as long.
    #[test]
    fn after_a_surprise_calls_ask_at_once() {
        let sites = SiteList::default();
        let site = sites.at(Location::caller());
        let situation = Situation { storages: 1, workers: 2, asleep: true };
        let mut now = 0;
        // A call that takes this long; whether it was timed, and whether it asked.
        let mut call = |takes: u64| {
            let before = site.unasked.taken();
            let Decision { strategy, timing } = decide(site, situation, &WakeUps::default(), 0, || 1_000);
            let timed = timing == Timing::ForModel;
            now += 16_000_000;
            if timed {
                site.learn(strategy, &Outcome::serial(1_000, takes), Some(now..now + takes));
            }
            (timed, site.unasked.taken() <= before)
        };
        let asking = (0..1_000).filter(|_| call(50_000).1).count();
        assert!((150..400).contains(&asking), "{asking}");
        let timed = (0..100).find(|_| call(150_000).0);
        assert!(timed.is_some(), "none of a hundred is timed");
        assert_eq!(call(150_000), (true, true));
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
