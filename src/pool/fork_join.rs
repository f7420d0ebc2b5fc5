//! Fork/join on a pool: a round whose leader begins with everything, and gives work away to those
//! that have none.

use super::{
    AffinityPool, Finished, Participants, Scope,
    broadcast::{Measured, Turn},
    gang::LeaderGuard,
    heartbeat::{Session, on_the_spot},
    leader_task::LeaderTask,
};
use crate::record::SpanKind;

impl AffinityPool {
    /// Recursive fork/join: calls `f` on this thread with a [`Scope`], whose joins the other
    /// workers share in.
    ///
    /// Work is only given away when another worker has none, and by each worker at most once in a
    /// [heartbeat](crate::AffinitySettings::heartbeat), or up to n times on 2^n workers: a join
    /// that is not shared costs about a nanosecond. Inside a round or another `heartbeat`, and
    /// while another thread leads, everything runs on this thread.
    ///
    /// ```
    /// use bevy_affinity::prelude::*;
    ///
    /// fn fibonacci(scope: &mut Scope, n: u64) -> u64 {
    ///     if n < 2 {
    ///         return n;
    ///     }
    ///     let (a, b) = scope.join(|s| fibonacci(s, n - 1), |s| fibonacci(s, n - 2));
    ///     a + b
    /// }
    ///
    /// let pool = AffinityPool::new(&AffinitySettings::default());
    /// assert_eq!(pool.heartbeat(|scope| fibonacci(scope, 20)), 6765);
    /// ```
    ///
    /// # Panics
    /// With the payload of the panic that serial execution would have met first, after all that was
    /// started has finished.
    ///
    /// # Aborts
    /// As [`Scope::join`] says.
    pub fn heartbeat<R: Send>(&self, f: impl FnOnce(&mut Scope) -> R + Send) -> R {
        self.session(f).0
    }

    /// [`heartbeat`](Self::heartbeat), and what was measured of it.
    pub(crate) fn session<R: Send>(&self, f: impl FnOnce(&mut Scope) -> R + Send) -> (R, Finished<'_>) {
        super::warn_if_unpinned();
        let turn = self.turn(Participants::ALL);
        if self.seats.is_empty() || matches!(turn, Turn::Nested) {
            // What `f` asks of other pools is inside of this, too.
            let _leader = LeaderGuard::enter();
            return (on_the_spot(f), Finished::nested(self));
        }
        let root = LeaderTask::new(f);
        let finished = match turn {
            Turn::Led(lead) => {
                let session = Session::new(&self.queues, self.heartbeat, self.spin);
                self.lead_round(lead, SpanKind::Session, Participants::ALL, Measured::Always, |worker| {
                    match worker.index() {
                        0 => root.run(|f| session.lead(f)),
                        index => session.follow(index),
                    }
                })
            }
            // The leader has the queues.
            Turn::Here | Turn::Nested => {
                self.run_here(SpanKind::Session, Participants::LEADER, |_| root.run(|f| (Ok(on_the_spot(f)), 0)))
            }
        };
        (root.into_result(), finished)
    }
}
