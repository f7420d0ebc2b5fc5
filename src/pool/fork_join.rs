//! Fork/join on a pool: a round whose leader begins with everything, and gives work away to those
//! that have none.

use std::{panic::Location, time::Duration};

use super::{
    AffinityPool, Finished, Participants, Scope, Worker,
    broadcast::Measured,
    gang::LeaderGuard,
    handed::Handed,
    heartbeat::{Session, on_the_spot},
    round::Lead,
    turn::Turn,
};
use crate::record::SpanKind;

impl AffinityPool {
    /// Recursive fork/join: calls `f` on this thread with a [`Scope`], whose joins the other
    /// workers share in.
    ///
    /// Work is only given away when another worker has none, and by each worker at most once in a
    /// [heartbeat](crate::AffinitySettings::heartbeat), or up to n times on 2^n workers: a join
    /// that is not shared costs about a nanosecond. Where the calls of one place in the program
    /// were shorter than a session pays for (5 us; 40 where one worker sleeps, and 5 more for each
    /// further one) the next one begins on this thread, and calls others only when it has taken
    /// longer: to the second halves of joins that are left. Inside a round or another `heartbeat`,
    /// and while another thread leads, everything runs on this thread. So no half of a join, and no
    /// call of a loop, must wait for another one: where both run on one thread that is for ever.
    ///
    /// `f` and its result are to be `Send` although they stay on this thread: the round, which all
    /// workers share, holds them.
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
        let root = Handed::new(f);
        match turn {
            Turn::Led(lead) => match place.filter(|_| self.heartbeat > Duration::ZERO) {
                Some(place) => self.lead_from(place, lead, &root),
                None => drop(self.lead_session(lead, &root)),
            },
            // The leader has the queues.
            Turn::Here | Turn::Nested => {
                let run = |_| root.run(|f| (Ok(on_the_spot(f)), 0));
                drop(self.run_turn(Turn::Here, SpanKind::Session, Participants::LEADER, Measured::ForCaller, run));
            }
        }
        root.into_result()
    }

    /// A session of all workers. Also returns whether halves of a join may have waited for each
    /// other in it.
    pub(super) fn lead_session<'p, R: Send>(
        &'p self,
        lead: Lead<'p>,
        root: &Handed<impl FnOnce(&mut Scope) -> R + Send, R>,
    ) -> (Finished<'p>, bool) {
        let session = Session::new(&self.queues, self.heartbeat, self.spin);
        let run = |worker: Worker| match worker.index() {
            0 => root.run(|f| session.lead(f)),
            index => session.follow(index),
        };
        let turn = Turn::Led(lead);
        let finished = self.run_turn(turn, SpanKind::Session, Participants::ALL, Measured::ForCaller, run);
        (finished, session.have_halves_met())
    }
}
