//! What a worker does that has nothing to do: it takes a job, looks on for a while, then sleeps.

use std::time::Duration;

use super::{
    super::{clock::now, parker::Parker, spin::spin_until, unwind::AbortOnUnwind},
    Scope,
    job::{JobRef, PublishedJob},
    session::Session,
};
use crate::sync::{handshake_fence, planted};

/// A wait is never shorter: the system needs about as long to put a thread to sleep and to wake it,
/// and one of no time at all, as a heartbeat of zero would have, would look for jobs without end.
const SHORTEST_WAIT: Duration = Duration::from_micros(50);

/// What came to an idle worker.
enum News {
    /// What it was waiting for has happened.
    Finished,
    Job(JobRef),
}

impl<'s> Scope<'s> {
    /// Runs others' jobs until the session is over.
    pub(super) fn help(&mut self) {
        let Some((session, index)) = self.seat() else { return };
        let news = || match session.is_over() {
            true => Some(News::Finished),
            false => session.take_from_any(index).map(News::Job),
        };
        self.run_until_finished(|| spin_until(session.spin, news).unwrap_or_else(|| session.sleep(index, news)));
    }

    /// Waits until `job`, which another worker has taken, is done. Meanwhile it runs jobs that come
    /// from that worker, and no others: these are parts of `job`. (That worker had nothing on its
    /// queue when it took the job, or it would have taken that.) Other jobs could hold up this join
    /// for long, and stack up. One may be among them if the system takes this thread's core away
    /// just here: the other worker may be done meanwhile, and have published parts of its next job.
    pub(super) fn wait_for(&mut self, job: &PublishedJob) {
        let Some((session, index)) = self.seat() else { return };
        let news = || match job.is_done() {
            true => Some(News::Finished),
            false if planted("joiner_takes_from_any") => session.take_from_any(index).map(News::Job),
            false => job.taker().and_then(|taker| session.take_from(taker, index)).map(News::Job),
        };
        let latch = &session.queue(index).latch;
        self.run_until_finished(|| spin_until(session.spin, news).unwrap_or_else(|| session.doze(latch, news)));
    }

    /// Runs the jobs that `wait` brings, and notes how long it took to bring them. It does not
    /// unwind: the owner of a job would wait for its end for ever.
    fn run_until_finished(&mut self, wait: impl Fn() -> News) {
        let guard = AbortOnUnwind::because("a worker panicked outside of the closures of joins");
        loop {
            let began = now();
            let news = wait();
            self.idle += now().saturating_sub(began);
            match news {
                News::Job(job) => self.run(job),
                News::Finished => return guard.defuse(),
            }
        }
    }

    fn run(&mut self, job: JobRef) {
        let Some((session, index)) = self.seat() else { return };
        session.queue(index).count_taken();
        let owner = self.run_apart(|scope| job.run(scope, index));
        // The sleep handshake of `Parker`: the job that is done is the condition. The job itself
        // may be gone by now.
        handshake_fence("done_fence");
        session.queue(owner).latch.unpark_after_fence();
    }
}

impl<'s> Session<'s> {
    /// Sleeps until there are news: as the ticker, looking for them in every interval, or until the
    /// role of the ticker is free.
    fn sleep(&'s self, index: usize, news: impl Fn() -> Option<News>) -> News {
        let bench = &self.queue(index).bench;
        let ticker = bench.park(|| match self.is_over() {
            true => Some(None),
            false => self.try_tick().map(Some),
        });
        let Some(_ticker) = ticker else { return News::Finished };
        self.doze(bench, news)
    }

    /// Sleeps until there are news, and looks for them in every interval: spinning any longer could
    /// keep the worker that is waited for from its core.
    fn doze(&self, parker: &Parker, news: impl Fn() -> Option<News>) -> News {
        loop {
            if let Some(news) = parker.park_for(self.interval().max(SHORTEST_WAIT), &news) {
                return news;
            }
        }
    }
}
