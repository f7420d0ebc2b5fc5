//! How a call in mode `Auto` is to run.

use std::sync::Arc;

use super::{Decision, Site, Situation, WakeUps};

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
    let mut calls = site.calls();
    let decision = calls.choose(situation, count_rows);
    if decision.strategy.is_the_gangs() {
        wake_ups.note(site, situation, || calls.gain());
    }
    decision
}
