//! Messages from due rows, which can wake those who receive them.

use bevy_ecs::query::{IterQueryData, QueryFilter};

use super::{hints::Hints, par_iter::DueParIter, times::Times};
use crate::{
    query::AffineQuery,
    scatter::{Calendar, Destination, Exchange, Outbox, Receivers, ScatterReport, TimedOutbox},
    sweep::Sweep,
};

impl<'w, 's, D, F, A> DueParIter<'_, 'w, 's, D, F, A>
where
    D: IterQueryData,
    F: QueryFilter,
    A: Send + Sync + 'static,
{
    /// As [`AffineParIter::scatter`](crate::AffineParIter::scatter), from the due rows.
    ///
    /// `send` returns when its row is due next, as the closure of [`for_each`](Self::for_each).
    /// `receive` returns when the receiver wants to be visited because of the message, in the
    /// agenda of this call: the earliest of that, of what other messages ask for and of its present
    /// time counts, and a time that has passed means the next call. `None` changes nothing; nor
    /// does a time for a receiver without a [`Due<A>`](crate::Due). A receiver of another agenda is
    /// woken by [`Agenda::wake`](crate::Agenda::wake).
    ///
    /// Rows that send a last message and go take two calls: in this one they return the present
    /// time, and a second one of the same agenda and time despawns them [with
    /// commands](Self::for_each_with_commands). That one also visits what else is due by then, such
    /// as receivers that asked for the present time: let these return later ones, or mark those
    /// that go.
    ///
    /// If `send` or `receive` panics, the rows that were visited have their new times all the same;
    /// messages that were not applied are dropped.
    ///
    /// ```
    /// use bevy::prelude::*;
    /// use bevy_affinity::prelude::*;
    ///
    /// /// Passes the bucket on, once it has one.
    /// #[derive(Component)]
    /// struct Fireman { next: Entity, buckets: u32 }
    /// #[derive(Component, Default)]
    /// struct Fire { water: u32 }
    ///
    /// fn pass_on(mut chain: AffineQuery<&mut Fireman>, mut agenda: Agenda, mut now: Local<u64>) {
    ///     *now += 1;
    ///     let next = *now + 1;
    ///     chain.par_iter_mut().due(&mut agenda, *now).scatter_within(
    ///         |outbox, mut fireman| {
    ///             fireman.buckets -= 1;
    ///             outbox.send(fireman.next, ());
    ///             (fireman.buckets > 0).then_some(next)
    ///         },
    ///         |mut fireman, ()| {
    ///             fireman.buckets += 1;
    ///             Some(next)
    ///         },
    ///     );
    /// }
    ///
    /// let mut app = App::new();
    /// app.add_plugins(AffinityParallelPlugin).add_systems(Update, pass_on.affine());
    /// let mut next = app.world_mut().spawn(Fire::default()).id();
    /// let chain = [(); 4].map(|()| {
    ///     next = app.world_mut().spawn((Fireman { next, buckets: 0 }, Due::<()>::never())).id();
    ///     next
    /// });
    /// app.world_mut().entity_mut(next).insert((Fireman { next: chain[2], buckets: 2 }, Due::<()>::at(0)));
    /// let buckets = |app: &App| chain.map(|man| app.world().get::<Fireman>(man).unwrap().buckets);
    /// app.update();
    /// assert_eq!(buckets(&app), [0, 0, 1, 1]);
    /// app.update();
    /// assert_eq!(buckets(&app), [0, 1, 1, 0]);
    /// ```
    pub fn scatter<'r, M, D2, F2>(
        self,
        receivers: &mut AffineQuery<'_, 'r, D2, F2>,
        send: impl for<'i> Fn(&mut Outbox<'_, M>, D::Item<'i, 's>) -> Option<u64> + Send + Sync,
        receive: impl for<'i> Fn(D2::Item<'i, 'r>, M) -> Option<u64> + Send + Sync,
    ) -> ScatterReport
    where
        M: Send + 'static,
        D2: IterQueryData,
        F2: QueryFilter,
    {
        let receivers = Receivers::of("scatter", receivers, self.sweep.rows);
        self.send_to(receivers, send, receive)
    }

    /// As [`scatter`](Self::scatter), to entities of this same query.
    ///
    /// ```
    /// # use bevy::prelude::*;
    /// # use bevy_affinity::prelude::*;
    /// # #[derive(Component)] struct Runner { next: Entity, laps: u32 }
    /// fn relay(mut team: AffineQuery<&mut Runner>, mut agenda: Agenda, mut now: Local<u64>) {
    ///     *now += 1;
    ///     let next = *now + 1;
    ///     team.par_iter_mut().due(&mut agenda, *now).scatter_within(
    ///         |outbox, mut runner| {
    ///             runner.laps += 1;
    ///             outbox.send(runner.next, "the baton");
    ///             None
    ///         },
    ///         // Runs in the next call.
    ///         |_, _baton| Some(next),
    ///     );
    /// }
    /// # let mut app = App::new();
    /// # app.add_plugins(AffinityParallelPlugin).add_systems(Update, relay.affine());
    /// # let mut next = app.world_mut().spawn_empty().id();
    /// # let team = [(); 3].map(|()| {
    /// #     next = app.world_mut().spawn((Runner { next, laps: 0 }, Due::<()>::never())).id();
    /// #     next
    /// # });
    /// # app.world_mut().entity_mut(next).insert(Due::<()>::at(0));
    /// # let laps = |app: &App| team.map(|runner| app.world().get::<Runner>(runner).unwrap().laps);
    /// # app.update();
    /// # assert_eq!(laps(&app), [0, 0, 1]);
    /// # app.update();
    /// # assert_eq!(laps(&app), [0, 1, 1]);
    /// ```
    pub fn scatter_within<M: Send + 'static>(
        self,
        send: impl for<'i> Fn(&mut Outbox<'_, M>, D::Item<'i, 's>) -> Option<u64> + Send + Sync,
        receive: impl for<'i> Fn(D::Item<'i, 's>, M) -> Option<u64> + Send + Sync,
    ) -> ScatterReport {
        let receivers = Receivers { sweep: self.sweep, scratch: self.scratch() };
        self.send_to(receivers, send, receive)
    }

    fn send_to<'r, M, D2, F2>(
        self,
        Receivers { sweep: receivers, scratch }: Receivers<'_, 'r, D2, F2>,
        send: impl for<'i> Fn(&mut Outbox<'_, M>, D::Item<'i, 's>) -> Option<u64> + Send + Sync,
        receive: impl for<'i> Fn(D2::Item<'i, 'r>, M) -> Option<u64> + Send + Sync,
    ) -> ScatterReport
    where
        M: Send + 'static,
        D2: IterQueryData,
        F2: QueryFilter,
    {
        self.call(|plan, due| {
            Exchange { plan, receivers: receivers.rows, scratch }.run(
                || due.visits(),
                |visits, outbox, storage, rows| {
                    // SAFETY: 'senders' on `Exchange`; 'access' on `Sweep`, of the senders.
                    unsafe { visits.visit(storage, rows, |item| send(outbox, D::shrink(item))) }
                },
                // SAFETY: 'receivers' on `Exchange`; 'access' on `Sweep`, of the receivers.
                || unsafe { receiver(due.times, due.hints, &receivers, &receive) },
            )
        })
    }

    /// As [`scatter`](Self::scatter), with messages for later: see
    /// [`AffineParIter::scatter_timed`](crate::AffineParIter::scatter_timed). What the calendar has
    /// for the time of this call is delivered, whether or not rows are due.
    ///
    /// ```
    /// use bevy::prelude::*;
    /// use bevy_affinity::prelude::*;
    ///
    /// /// Fells a tree, which takes three days to the mill, and sleeps for a week.
    /// #[derive(Component)]
    /// struct Lumberjack { mill: Entity }
    /// #[derive(Component, Default)]
    /// struct Mill { logs: u32 }
    ///
    /// fn fell(
    ///     jacks: AffineQuery<&Lumberjack>,
    ///     mut mills: AffineQuery<&mut Mill>,
    ///     mut river: ResMut<Calendar<()>>,
    ///     mut today: Local<u64>,
    ///     mut agenda: Agenda,
    /// ) {
    ///     *today += 1;
    ///     let now = *today;
    ///     jacks.par_iter().due(&mut agenda, now).scatter_timed(
    ///         &mut river,
    ///         &mut mills,
    ///         |outbox, jack| {
    ///             outbox.send_at(jack.mill, now + 3, ());
    ///             Some(now + 7)
    ///         },
    ///         |mut mill, ()| {
    ///             mill.logs += 1;
    ///             None
    ///         },
    ///     );
    /// }
    ///
    /// let mut app = App::new();
    /// app.add_plugins(AffinityParallelPlugin).init_resource::<Calendar<()>>();
    /// app.add_systems(Update, fell.affine());
    /// let mill = app.world_mut().spawn(Mill::default()).id();
    /// app.world_mut().spawn((Lumberjack { mill }, Due::<()>::at(1)));
    /// (0..11).for_each(|_| app.update());
    /// assert_eq!(app.world().get::<Mill>(mill).unwrap().logs, 2);
    /// ```
    pub fn scatter_timed<'r, M, D2, F2>(
        self,
        calendar: &mut Calendar<M>,
        receivers: &mut AffineQuery<'_, 'r, D2, F2>,
        send: impl for<'i> Fn(&mut TimedOutbox<'_, '_, M>, D::Item<'i, 's>) -> Option<u64> + Send + Sync,
        receive: impl for<'i> Fn(D2::Item<'i, 'r>, M) -> Option<u64> + Send + Sync,
    ) -> ScatterReport
    where
        M: Send + Sync + 'static,
        D2: IterQueryData,
        F2: QueryFilter,
    {
        let receivers = Receivers::of("scatter_timed", receivers, self.sweep.rows);
        self.send_timed_to(receivers, calendar, send, receive)
    }

    /// As [`scatter_timed`](Self::scatter_timed), to entities of this same query.
    ///
    /// ```
    /// # use bevy::prelude::*;
    /// # use bevy_affinity::prelude::*;
    /// # #[derive(Component)] struct Field { neighbour: Entity }
    /// # #[derive(Resource, Default)] struct Day(u64);
    /// fn sow(fields: AffineQuery<&Field>, mut wind: ResMut<Calendar<()>>, mut agenda: Agenda, day: Res<Day>) {
    ///     let now = day.0;
    ///     fields.par_iter().due(&mut agenda, now).scatter_timed_within(
    ///         &mut wind,
    ///         |outbox, field| {
    ///             outbox.send_at(field.neighbour, now + 2, ());
    ///             None
    ///         },
    ///         // Seeds have come: the field flowers in a week.
    ///         |_, ()| Some(now + 7),
    ///     );
    /// }
    /// # let mut app = App::new();
    /// # app.add_plugins(AffinityParallelPlugin).init_resource::<Calendar<()>>().init_resource::<Day>();
    /// # app.add_systems(Update, sow.affine());
    /// # let nowhere = app.world_mut().spawn_empty().id();
    /// # let other = app.world_mut().spawn((Field { neighbour: nowhere }, Due::<()>::never())).id();
    /// # app.world_mut().spawn((Field { neighbour: other }, Due::<()>::at(1)));
    /// # for day in 1..=3 {
    /// #     app.insert_resource(Day(day)).update();
    /// # }
    /// # assert_eq!(app.world().get::<Due>(other).unwrap().time(), 3 + 7);
    /// ```
    pub fn scatter_timed_within<M: Send + Sync + 'static>(
        self,
        calendar: &mut Calendar<M>,
        send: impl for<'i> Fn(&mut TimedOutbox<'_, '_, M>, D::Item<'i, 's>) -> Option<u64> + Send + Sync,
        receive: impl for<'i> Fn(D::Item<'i, 's>, M) -> Option<u64> + Send + Sync,
    ) -> ScatterReport {
        let receivers = Receivers { sweep: self.sweep, scratch: self.scratch() };
        self.send_timed_to(receivers, calendar, send, receive)
    }

    fn send_timed_to<'r, M, D2, F2>(
        self,
        Receivers { sweep: receivers, scratch }: Receivers<'_, 'r, D2, F2>,
        calendar: &mut Calendar<M>,
        send: impl for<'i> Fn(&mut TimedOutbox<'_, '_, M>, D::Item<'i, 's>) -> Option<u64> + Send + Sync,
        receive: impl for<'i> Fn(D2::Item<'i, 'r>, M) -> Option<u64> + Send + Sync,
    ) -> ScatterReport
    where
        M: Send + Sync + 'static,
        D2: IterQueryData,
        F2: QueryFilter,
    {
        self.call(|plan, due| {
            Exchange { plan, receivers: receivers.rows, scratch }.run_timed(
                (calendar, due.now),
                || due.visits(),
                |visits, outbox, storage, rows| {
                    // SAFETY: 'senders' on `Exchange`; 'access' on `Sweep`, of the senders.
                    unsafe { visits.visit(storage, rows, |item| send(outbox, D::shrink(item))) }
                },
                // SAFETY: 'receivers' on `Exchange`; 'access' on `Sweep`, of the receivers.
                || unsafe { receiver(due.times, due.hints, &receivers, &receive) },
            )
        })
    }
}

/// Applies messages to rows of `receivers`, and wakes those that say so.
///
/// # Safety
/// While what is returned is used, no other thread visits the rows that it is told, and no item of
/// them is alive.
unsafe fn receiver<'r, M, D: IterQueryData, F: QueryFilter, A: Send + Sync + 'static>(
    times: Times<'_, A>,
    hints: Option<&Hints>,
    receivers: &Sweep<'_, 'r, D, F>,
    receive: &impl for<'i> Fn(D::Item<'i, 'r>, M) -> Option<u64>,
) -> impl FnMut(Destination, M) -> bool {
    let (mut lookup, mut times) = (receivers.lookup(), times.lookup());
    let rows = receivers.rows;
    move |(storage, row), message| {
        // SAFETY: the caller's promise: the division gives each row one owner, which alone
        // visits it.
        let Some((item, entity, table_row)) = (unsafe { lookup.item(storage, row) }) else { return false };
        let Some(time) = receive(D::shrink(item), message) else { return true };
        if let Some(due) = times.of_row(rows, storage, table_row) {
            // The row is this thread's alone, and the agenda is the call's: no thread wakes it
            // meanwhile.
            due.bring_forward_alone(time);
            if let Some(hints) = hints {
                hints.lower(entity.index_u32(), time);
            }
        }
        true
    }
}
