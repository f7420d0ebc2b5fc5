//! One call in which rows send and others receive: its two phases, for all kinds of senders.

use std::{iter::Enumerate, ops::Range, slice::ChunksMut, sync::Mutex};

use bevy_ecs::query::{IterQueryData, QueryFilter};

use super::{
    addresses::{Address, Addresses, Destination},
    calendar::{Calendar, Messages},
    mail::Mail,
    outbox::{Later, Outbox, TimedOutbox},
    report::{Counts, ScatterReport},
};
use crate::{
    placement::Storage,
    query::AffineQuery,
    sweep::{Columns, Part, Parts, Plan, Rows, Scratch, Sweep},
    sync::lock,
};

/// The rows that receive what is sent in one call, and where its memory is kept.
pub(crate) struct Receivers<'w, 's, D: IterQueryData, F: QueryFilter> {
    pub(crate) sweep: Sweep<'w, 's, D, F>,
    pub(crate) scratch: &'s Scratch,
}

impl<'q, 's, D: IterQueryData, F: QueryFilter> Receivers<'q, 's, D, F> {
    /// Those of a query beside that of the `senders`.
    ///
    /// # Panics
    /// If they are of another world, whose rows have other owners; names the `verb`.
    #[track_caller]
    pub(crate) fn of(verb: &str, query: &'q mut AffineQuery<'_, 's, D, F>, senders: Rows<'_, '_>) -> Self {
        let (scratch, sweep) = (&query.calls().scratch, query.reborrow_affine().into_sweep());
        let is_one = sweep.rows.world.id() == senders.world.id();
        assert!(is_one, "{verb}: the receivers are of another world than the senders");
        Self { sweep, scratch }
    }
}

/// A call in which the rows of a plan send to `receivers`.
///
/// Senders' and receivers' closures take items of any lifetime, so no item outlives the call it was
/// passed to: rows may be visited again.
///
/// # Invariant (senders)
/// A sender is told ranges of the plan's rows: each row once in a call, in the order of a part, by
/// one thread ('parts' on [`Part`]).
///
/// # Invariant (receivers)
/// All senders have sent before the first receiver receives. A receiver is told rows that it alone
/// owns until the call is over, one at a time.
pub(crate) struct Exchange<'a> {
    pub(crate) plan: &'a Plan<'a>,
    pub(crate) receivers: Rows<'a, 'a>,
    /// Where memory is kept from call to call.
    pub(crate) scratch: &'a Scratch,
}

/// All mail of a call with a [`Calendar`].
struct TimedMail<M> {
    /// What is sent for now.
    now: Mail<(Address, M)>,
    /// What the calendar has for now, in as many shares as there are owners.
    arrived: Mail<(Address, M)>,
    /// What is sent for later.
    later: Mail<Later<M>>,
}

/// Shares of what has arrived, each with its number: they are delivered in that order.
type Shares<'a, M> = Enumerate<ChunksMut<'a, Messages<M>>>;

impl<M: Send + Sync + 'static> TimedMail<M> {
    fn new(parts: Parts) -> Self {
        Self {
            now: Mail::new(parts),
            arrived: Mail::new(Parts { senders: parts.owners, most_stolen: 0, ..parts }),
            later: Mail::new(Parts { owners: 1, ..parts }),
        }
    }

    /// To be called before anything is sent.
    fn begin(&mut self) {
        self.now.begin();
        self.later.begin();
    }

    /// Hands what was sent for later on to `calendar`.
    fn hand_on(&self, calendar: &mut Calendar<M>) {
        let keep = |Later { entity, time, message }| calendar.send_at(entity, time, message);
        self.later.drain_for(0, || None::<fn(&_)>, keep);
    }
}

impl Exchange<'_> {
    /// Calls `send` with each range of the senders' rows, and with what `visits` makes for each
    /// part of them. Then calls a function that `receiver` makes, for each owner one, with each
    /// message: it says whether that was applied.
    pub(crate) fn run<M, V, R>(
        &self,
        visits: impl Fn() -> V + Sync,
        send: impl Fn(&mut V, &mut Outbox<'_, M>, Storage, Range<u32>) + Sync,
        receiver: impl Fn() -> R + Sync,
    ) -> ScatterReport
    where
        M: Send + 'static,
        R: FnMut(Destination, M) -> bool,
    {
        let counts = Counts::default();
        let parts = self.plan.parts();
        let mut mail = self.scratch.take::<Mail<(Address, M)>>(parts).unwrap_or_else(|| Box::new(Mail::new(parts)));
        mail.begin();
        let post = |part: Part<'_>| {
            let mut outbox = Outbox::new(mail.lanes_of(part.index, part.taken_before), self.addresses(&part));
            let mut visits = visits();
            part.for_each_range(|ordinal, storage, rows| {
                outbox.begin_storage(ordinal);
                send(&mut visits, &mut outbox, storage, rows);
            });
            counts.add(outbox.report());
        };
        let deliver = |part: Part<'_>| self.deliver([&*mail], receiver(), &counts, part.index);
        self.plan.run_both(parts, post, (self.receivers, deliver));
        self.scratch.keep(parts, mail);
        counts.into_report(self.plan.place())
    }

    /// As [`run`](Self::run), with what `calendar` has for `now`, which is delivered first.
    pub(crate) fn run_timed<M, V, R>(
        &self,
        (calendar, now): (&mut Calendar<M>, u64),
        visits: impl Fn() -> V + Sync,
        send: impl Fn(&mut V, &mut TimedOutbox<'_, '_, M>, Storage, Range<u32>) + Sync,
        receiver: impl Fn() -> R + Sync,
    ) -> ScatterReport
    where
        M: Send + Sync + 'static,
        R: FnMut(Destination, M) -> bool,
    {
        // Messages for the end of time are never delivered.
        let now = now.min(u64::MAX - 1);
        let counts = Counts::default();
        let parts = self.plan.parts();
        let mut mail = self.scratch.take::<TimedMail<M>>(parts).unwrap_or_else(|| Box::new(TimedMail::new(parts)));
        mail.begin();
        let mut arrivals = calendar.arrivals(now);
        let share = arrivals.len().div_ceil(parts.owners).max(1);
        let shares = Mutex::new(arrivals.chunks_mut(share).enumerate());
        let post = |part: Part<'_>| {
            self.post_arrivals(&shares, &mail.arrived, &counts, &part);
            let mut outbox = Outbox::new(mail.now.lanes_of(part.index, part.taken_before), self.addresses(&part));
            let mut later = mail.later.lanes_of(part.index, part.taken_before);
            let mut timed = TimedOutbox::new(&mut outbox, &mut later[0], now);
            let mut visits = visits();
            part.for_each_range(|ordinal, storage, rows| {
                timed.begin_storage(ordinal);
                send(&mut visits, &mut timed, storage, rows);
            });
            counts.add(outbox.report());
        };
        let deliver = |part: Part<'_>| {
            self.deliver([&mail.arrived, &mail.now], receiver(), &counts, part.index);
        };
        self.plan.run_both(parts, post, (self.receivers, deliver));
        calendar.keep(arrivals);
        mail.hand_on(calendar);
        self.scratch.keep(parts, mail);
        counts.into_report(self.plan.place())
    }

    /// Hands what has come for `owner` to its receivers, one mail after the other.
    fn deliver<M, const MAILS: usize>(
        &self,
        mails: [&Mail<(Address, M)>; MAILS],
        receiver: impl FnMut(Destination, M) -> bool,
        counts: &Counts,
        owner: usize,
    ) {
        let mut tally = Tally { receivers: self.receivers, receiver, report: ScatterReport::default() };
        for mail in mails {
            mail.drain_for(owner, || self.look_ahead(), |letter| tally.receive(letter));
        }
        counts.add(tally.report);
    }

    /// Addresses what has arrived, share by share until none is left. Only in a part it is known
    /// who owns which rows.
    fn post_arrivals<M>(
        &self,
        shares: &Mutex<Shares<'_, M>>,
        mail: &Mail<(Address, M)>,
        counts: &Counts,
        part: &Part<'_>,
    ) {
        // Not under the lock: what cannot be delivered is dropped here, by code of users, which may
        // come to another part of this call.
        let next = || lock(shares).next();
        while let Some((number, blocks)) = next() {
            let mut outbox = Outbox::new(mail.lanes_of(number, None), self.addresses(part));
            let messages = blocks.iter_mut().flat_map(|messages| messages.drain(..));
            messages.for_each(|(entity, message)| outbox.send(entity, message));
            counts.add(outbox.report());
        }
    }

    /// Asks for the rows of receivers before their letters are delivered, where that pays.
    fn look_ahead<M>(&self) -> Option<impl Fn(&(Address, M))> {
        let receivers = self.receivers;
        let (storage, columns) = Columns::of_most_rows(&receivers)?;
        Some(move |(address, _): &(Address, M)| {
            let (of_letter, row) = address.destination(&receivers);
            if of_letter.index() == storage.index() {
                columns.ask_for(row as usize);
            }
        })
    }

    fn addresses<'a>(&'a self, part: &Part<'a>) -> Addresses<'a> {
        Addresses::new(self.receivers, part.division)
    }
}

/// A receiver's function, with a count of what came of its messages.
struct Tally<'a, R> {
    receivers: Rows<'a, 'a>,
    receiver: R,
    report: ScatterReport,
}

impl<R> Tally<'_, R> {
    #[inline]
    fn receive<M>(&mut self, (address, message): (Address, M))
    where
        R: FnMut(Destination, M) -> bool,
    {
        match (self.receiver)(address.destination(&self.receivers), message) {
            true => self.report.delivered += 1,
            false => self.report.unmatched += 1,
        }
    }
}
