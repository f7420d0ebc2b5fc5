//! Fork/join on a pool: a round whose leader begins with everything, and gives work away to those
//! that have none.

use std::{
    ops::Range,
    panic::{AssertUnwindSafe, Location, catch_unwind},
    time::Duration,
};

use super::{
    AffinityPool, Finished, Participants, Scope,
    broadcast::{Measured, Turn},
    clock::now,
    gang::LeaderGuard,
    heartbeat::{Others, Session, alone, on_the_spot},
    leader_task::LeaderTask,
    round::Lead,
};
use crate::{
    record::SpanKind,
    sync::{Mutex, lock},
};

impl AffinityPool {
    /// Recursive fork/join: calls `f` on this thread with a [`Scope`], whose joins the other
    /// workers share in.
    ///
    /// Work is only given away when another worker has none, and by each worker at most once in a
    /// [heartbeat](crate::AffinitySettings::heartbeat), or up to n times on 2^n workers: a join
    /// that is not shared costs about a nanosecond. Where the calls of one place in the program were
    /// shorter than a session pays for (5 us; 40 where workers sleep) the next one begins on this
    /// thread, and calls others when its outermost joins have taken longer. Inside a round or another `heartbeat`, and
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
    #[track_caller]
    pub fn heartbeat<R: Send>(&self, f: impl FnOnce(&mut Scope) -> R + Send) -> R {
        self.session_from(Some(Location::caller()), f)
    }

    /// [`heartbeat`](Self::heartbeat), for what is known to be long: others are called at once.
    pub(crate) fn session<R: Send>(&self, f: impl FnOnce(&mut Scope) -> R + Send) -> R {
        self.session_from(None, f)
    }

    /// A session that was asked for at a place in the program.
    fn session_from<R: Send>(
        &self,
        place: Option<&'static Location<'static>>,
        f: impl FnOnce(&mut Scope) -> R + Send,
    ) -> R {
        super::warn_if_unpinned();
        let turn = self.turn(Participants::ALL);
        if self.seats.is_empty() || matches!(turn, Turn::Nested) {
            // What `f` asks of other pools is inside of this, too.
            let _leader = LeaderGuard::enter();
            return on_the_spot(f);
        }
        let root = LeaderTask::new(f);
        match turn {
            Turn::Led(lead) => match place.filter(|_| self.heartbeat > Duration::ZERO) {
                Some(place) => self.lead_from(place, lead, &root),
                None => drop(self.lead_session(lead, &root)),
            },
            // The leader has the queues.
            Turn::Here | Turn::Nested => {
                self.run_here(SpanKind::Session, Participants::LEADER, |_| root.run(|f| (Ok(on_the_spot(f)), 0)));
            }
        }
        root.into_result()
    }

    /// A session, or a call that begins on this thread because those from `place` are short.
    fn lead_from<R: Send>(
        &self,
        place: &'static Location<'static>,
        lead: Lead<'_>,
        root: &LeaderTask<impl FnOnce(&mut Scope) -> R + Send, R>,
    ) {
        let calls = &self.short_calls;
        match calls.limit(place, self.is_asleep().then(now), self.spin) {
            Some(limit) => calls.learn_alone(place, self.begin_alone(lead, limit, root)),
            None => calls.learn_shared(place, self.lead_session(lead, root).work()),
        }
    }

    /// A session of all workers.
    fn lead_session<'p, R: Send>(
        &'p self,
        lead: Lead<'p>,
        root: &LeaderTask<impl FnOnce(&mut Scope) -> R + Send, R>,
    ) -> Finished<'p> {
        let session = Session::new(&self.queues, self.heartbeat, self.spin);
        self.lead_round(lead, SpanKind::Session, Participants::ALL, Measured::Always, |worker| match worker.index() {
            0 => root.run(|f| session.lead(f)),
            index => session.follow(index),
        })
    }

    /// A recursion that begins on this thread, and calls others if that takes longer than `limit`
    /// nanoseconds. Returns when this thread was busy by itself.
    fn begin_alone<R: Send>(
        &self,
        lead: Lead<'_>,
        limit: u64,
        root: &LeaderTask<impl FnOnce(&mut Scope) -> R + Send, R>,
    ) -> Range<u64> {
        let began = now();
        let others = Waiting { pool: self, lead: Mutex::new(Some(lead)), wanted_from: began + limit };
        let alone = |f| catch_unwind(AssertUnwindSafe(|| alone(&others, f)));
        let busy = self.run_own(SpanKind::Session, began, |_| root.run(|f| (alone(f), 0)));
        began..began + busy
    }
}

/// The other workers, who are not called yet.
struct Waiting<'p> {
    pool: &'p AffinityPool,
    /// One thread looks at a time. Nothing after a panic.
    lead: Mutex<Option<Lead<'p>>>,
    /// In nanoseconds of the pool's clock.
    wanted_from: u64,
}

impl Others for Waiting<'_> {
    fn are_wanted(&self) -> bool {
        now() >= self.wanted_from
    }

    fn call(&self, f: &mut (dyn FnMut(&mut Scope) + Send)) {
        let Some(lead) = lock(&self.lead).take() else { return on_the_spot(f) };
        let root = LeaderTask::new(f);
        let finished = self.pool.lead_session(lead, &root);
        *lock(&self.lead) = finished.into_lead();
        root.into_result();
    }
}
