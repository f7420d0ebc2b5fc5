//! Many small calls on a pool, made by one serial closure.

use std::panic::resume_unwind;

use super::{
    AffinityPool, BatchedCalls, Participants, Worker,
    batch::{self, BatchExchange, RunCalls},
    broadcast::Measured,
    handed::Handed,
    turn::Turn,
};
use crate::{
    record::SpanKind,
    sync::{Mutex, lock},
};

impl AffinityPool {
    /// Many small calls: runs `caller` on this thread, and `function` on all workers with what the
    /// caller sends them. Returns what the caller returned, and the answers in the order of the
    /// calls.
    ///
    /// Keys are shared out evenly among the workers, this thread included. Calls with the same key
    /// are run by the same worker, so on the same core, in the order in which they were made: state
    /// that belongs to a key stays in that core's caches. They travel in batches, of which any
    /// number may wait: a caller that is faster than the workers is not held up. The keys
    /// of a worker that is left out, or does not begin within a millisecond, are taken over by
    /// another one, if there is one.
    ///
    /// Few keys that follow each other, some 500 for each worker, go to different ones. Of more
    /// keys those go together that differ in the lowest four bits only: what they work on mostly
    /// lies side by side, and its cache lines do not go back and forth between cores then.
    ///
    /// This thread runs the calls with its keys when the caller [flushes](BatchedCalls::flush) and
    /// after it has returned; a worker that has nothing to do takes over a thirty-second of these
    /// keys at a time, of those of which this thread has not run calls in a flush. Where no worker
    /// takes part all calls are this thread's: with one worker, inside a round, while another
    /// thread leads one, and if all workers are left out. So a caller may wait for the effects of
    /// calls that it has flushed, and for [nothing
    /// else](BatchedCalls#what-the-caller-may-wait-for); a call may wait neither for the caller nor
    /// for another call.
    ///
    /// The caller and its result are to be `Send` although they stay on this thread: the round,
    /// which all workers share, holds them.
    ///
    /// ```
    /// use bevy_affinity::prelude::*;
    ///
    /// let pool = AffinityPool::new(&AffinitySettings::default());
    /// let (sum, squares) = pool.batched(
    ///     |number: u64| number * number,
    ///     |calls| (0..1000).map(|number| { calls.call(number, number); number }).sum::<u64>(),
    /// );
    /// assert_eq!((sum, squares[31]), (499_500, 961));
    /// ```
    ///
    /// # Panics
    /// If the caller or a call panics, after all other calls that were sent have run: with the
    /// payload of the first call that panicked, else the caller's. Calls whose keys share a queue
    /// with that of the one that panicked (all keys of its worker, or a part of this thread's)
    /// are dropped: those that wait at once, later ones [as they are
    /// made](BatchedCalls::is_closed). When the caller panics, calls that it had not sent are
    /// dropped. An argument that panics while it is dropped in this way counts as a panic that came
    /// later.
    ///
    /// # Aborts
    /// Payloads of later panics are dropped. If one panics in its `Drop` the process aborts with a
    /// line on stderr.
    pub fn batched<A: Send, B: Send, R: Send>(
        &self,
        function: impl Fn(A) -> B + Sync,
        caller: impl FnOnce(&mut BatchedCalls<A>) -> R + Send,
    ) -> (R, Vec<B>) {
        super::warn_if_unpinned();
        let turn = self.turn(Participants::ALL);
        // Without the gang all calls are the caller's.
        let workers = if let Turn::Led(_) = turn { self.workers() } else { 1 };
        let exchange = BatchExchange::new(workers, self.spin);
        let answers: Box<[_]> = (0..exchange.inboxes()).map(|_| Mutex::new(Vec::new())).collect();
        let run: RunCalls<A> = &|inbox, calls| {
            let mut answered = lock(&answers[inbox]);
            answered.extend(calls.map(&function));
        };
        let caller = Handed::new(caller);
        let issue =
            |takes_part: &dyn Fn(usize) -> bool| caller.run(|caller| (exchange.lead(takes_part, run, caller), 0));
        let take_part = |worker: Worker| match worker.index() {
            0 => issue(&|inbox| !self.is_left_out(inbox + 1)),
            index => exchange.follow(index - 1, run),
        };
        let (kind, measured) = (SpanKind::Batches, Measured::ForCaller);
        drop(match turn {
            Turn::Led(_) => self.run_turn(turn, kind, Participants::ALL, measured, take_part),
            _ => self.run_turn(turn, kind, Participants::LEADER, measured, |_| issue(&|_| false)),
        });
        let result = batch::first_panic(exchange, caller.into_outcome());
        let (result, inboxes) = result.unwrap_or_else(|payload| resume_unwind(payload));
        (result, batch::in_order_of_calls(answers, &inboxes))
    }
}
