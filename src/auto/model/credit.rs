//! What others gain because a call wakes the workers.

/// The credit is at most this multiple of what it costs to wake the workers: enough to do so, and
/// forgotten within some calls once no call gains any more, as when a game that ran flat out goes
/// on at 60 frames a second.
const ENOUGH: f32 = 4.0;

/// The same where it is not known what waking costs, in nanoseconds: some five times what it often
/// does.
const LARGEST: f32 = 250_000.0;

/// What others gained the last time counts as one part in this many.
const SMOOTHING: f32 = 4.0;

/// What others gain because calls of one place wake the workers; nothing before that was measured.
#[derive(Debug, Default)]
pub(super) struct Credit(Option<f32>);

impl Credit {
    /// Learns that others gained `nanoseconds`, where to wake workers costs `cost` if that is
    /// known.
    pub(super) fn give(&mut self, nanoseconds: u64, cost: Option<f32>) {
        let most = cost.map_or(LARGEST, |cost| cost.max(0.0) * ENOUGH);
        let gained = (nanoseconds as f32).min(most);
        let known = self.0.get_or_insert(gained);
        *known += (gained - *known) / SMOOTHING;
    }

    /// In nanoseconds.
    pub(super) fn get(&self) -> f32 {
        self.0.unwrap_or(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::Credit;

    #[test]
    fn no_credit_is_too_large_to_be_forgotten() {
        let mut credit = Credit::default();
        credit.give(u64::MAX, Some(30_000.0));
        let calls = (1..100).find(|_| {
            credit.give(0, Some(30_000.0));
            credit.get() < 30_000.0
        });
        assert!(calls.is_some_and(|calls| calls <= 5), "{calls:?}");
        credit.give(1_000, Some(-5.0));
        assert!(credit.get() >= 0.0);
    }
}
