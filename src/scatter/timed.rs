//! Calls in which messages are sent for later, and delivered.

use bevy_ecs::query::{IterQueryData, QueryFilter};

use super::{
    ScatterReport,
    calendar::Calendar,
    exchange::{Exchange, Receivers},
    outbox::TimedOutbox,
    receiver,
};
use crate::{
    query::{AffineParIter, AffineQuery},
    sweep::{Plan, Rows, Selection},
};

impl<'w, 's, D: IterQueryData, F: QueryFilter> AffineParIter<'w, 's, D, F> {
    /// As [`scatter`](Self::scatter), with messages for later, which wait in `calendar`.
    ///
    /// First `send` is called with each item and a [`TimedOutbox`]. Then `receive` is called with
    /// each message that the calendar has for `now` or before, in the order of time, and after
    /// those with what was sent for now in this call. Messages that were sent for later are in the
    /// calendar afterwards. See [`Calendar`] for the order of those of one time.
    ///
    /// If `send` or `receive` panics, messages of this call, and those of the calendar that were to
    /// be delivered in it, are dropped. Those for later that were sent in earlier calls stay.
    ///
    /// # Panics
    /// Also if `receivers` are of another world than this query, whose rows have other owners.
    ///
    /// ```
    /// use bevy::prelude::*;
    /// use bevy_affinity::prelude::*;
    ///
    /// #[derive(Component)]
    /// struct Gun { target: Entity, distance: u64 }
    /// #[derive(Component)]
    /// struct Wall(u32);
    ///
    /// /// A shot flies for as many ticks as its target is far.
    /// fn shoot(
    ///     guns: AffineQuery<&Gun>,
    ///     mut walls: AffineQuery<&mut Wall>,
    ///     mut shots: ResMut<Calendar<()>>,
    ///     mut tick: Local<u64>,
    /// ) {
    ///     *tick += 1;
    ///     let now = *tick;
    ///     guns.par_iter().scatter_timed(
    ///         &mut shots,
    ///         now,
    ///         &mut walls,
    ///         |outbox, gun| outbox.send_at(gun.target, now + gun.distance, ()),
    ///         |mut wall, ()| wall.0 = wall.0.saturating_sub(1),
    ///     );
    /// }
    ///
    /// let mut app = App::new();
    /// app.add_plugins(AffinityParallelPlugin).init_resource::<Calendar<()>>();
    /// app.add_systems(Update, shoot.affine());
    /// let target = app.world_mut().spawn(Wall(10)).id();
    /// app.world_mut().spawn(Gun { target, distance: 2 });
    /// (0..5).for_each(|_| app.update());
    /// assert_eq!(app.world().get::<Wall>(target).unwrap().0, 7);
    /// ```
    #[track_caller]
    pub fn scatter_timed<'r, M, D2, F2>(
        self,
        calendar: &mut Calendar<M>,
        now: u64,
        receivers: &mut AffineQuery<'_, 'r, D2, F2>,
        send: impl for<'i> Fn(&mut TimedOutbox<'_, '_, M>, D::Item<'i, 's>) + Send + Sync,
        receive: impl for<'i> Fn(D2::Item<'i, 'r>, M) + Send + Sync,
    ) -> ScatterReport
    where
        M: Send + Sync + 'static,
        D2: IterQueryData,
        F2: QueryFilter,
    {
        let receivers = Receivers::of("scatter_timed", receivers, self.sweep.rows);
        self.send_timed_to(receivers, (calendar, now), send, receive)
    }

    /// As [`scatter_timed`](Self::scatter_timed), to entities of this same query.
    ///
    /// ```
    /// # use bevy::prelude::*;
    /// # use bevy_affinity::prelude::*;
    /// #[derive(Component)]
    /// struct Tree { neighbour: Entity, burns: bool }
    ///
    /// /// Fire needs three minutes to the next tree.
    /// fn spread(
    ///     mut trees: AffineQuery<&mut Tree>,
    ///     mut fire: ResMut<Calendar<()>>,
    ///     mut minute: Local<u64>,
    /// ) {
    ///     *minute += 1;
    ///     let now = *minute;
    ///     trees.par_iter_mut().scatter_timed_within(
    ///         &mut fire,
    ///         now,
    ///         |outbox, tree| {
    ///             if tree.burns {
    ///                 outbox.send_at(tree.neighbour, now + 3, ());
    ///             }
    ///         },
    ///         |mut tree, ()| tree.burns = true,
    ///     );
    /// }
    /// # let mut app = App::new();
    /// # app.add_plugins(AffinityParallelPlugin).init_resource::<Calendar<()>>();
    /// # app.add_systems(Update, spread.affine()).update();
    /// ```
    pub fn scatter_timed_within<M: Send + Sync + 'static>(
        self,
        calendar: &mut Calendar<M>,
        now: u64,
        send: impl for<'i> Fn(&mut TimedOutbox<'_, '_, M>, D::Item<'i, 's>) + Send + Sync,
        receive: impl for<'i> Fn(D::Item<'i, 's>, M) + Send + Sync,
    ) -> ScatterReport {
        let receivers = Receivers { sweep: self.sweep, scratch: &self.site.kept.scratch };
        self.send_timed_to(receivers, (calendar, now), send, receive)
    }

    fn send_timed_to<'r, M, D2, F2>(
        self,
        Receivers { sweep: receivers, scratch }: Receivers<'_, 'r, D2, F2>,
        arrivals: (&mut Calendar<M>, u64),
        send: impl for<'i> Fn(&mut TimedOutbox<'_, '_, M>, D::Item<'i, 's>) + Send + Sync,
        receive: impl for<'i> Fn(D2::Item<'i, 'r>, M) + Send + Sync,
    ) -> ScatterReport
    where
        M: Send + Sync + 'static,
        D2: IterQueryData,
        F2: QueryFilter,
    {
        let Self { sweep: senders, site, .. } = self;
        let plan = Plan::new(senders.rows, site);
        Exchange { plan: &plan, receivers: receivers.rows, scratch }.run_timed(
            arrivals,
            || (),
            |(), outbox, storage, rows| {
                // SAFETY: 'senders' on `Exchange`; 'access' on `Sweep`, of the senders.
                unsafe { senders.visit(storage, rows, |item| send(outbox, D::shrink(item))) }
            },
            // SAFETY: 'receivers' on `Exchange`; 'access' on `Sweep`, of the receivers.
            || unsafe { receiver(&receivers, &receive) },
        )
    }

    /// Calls `receive` with each message that `calendar` has for `now` or before and the item that
    /// it was sent to: [`scatter_timed`](Self::scatter_timed) without senders.
    ///
    /// On the calling thread, and in mode `Bevy` on Bevy's threads: a program with many messages
    /// delivers them in the call that sends.
    ///
    /// ```
    /// # use bevy::prelude::*;
    /// # use bevy_affinity::prelude::*;
    /// # #[derive(Component)] struct Purse(u32);
    /// fn pay(mut purses: AffineQuery<&mut Purse>, mut wages: ResMut<Calendar<u32>>) {
    ///     let report = purses.par_iter_mut().deliver(&mut wages, 31, |mut purse, wage| purse.0 += wage);
    ///     assert_eq!((report.delivered, wages.next_time()), (2, Some(32)));
    /// }
    /// # let mut app = App::new();
    /// # app.add_plugins(AffinityParallelPlugin).add_systems(Update, pay.affine());
    /// # let purse = app.world_mut().spawn(Purse(0)).id();
    /// # let wages: Calendar<u32> = [(30, purse, 5), (31, purse, 7), (32, purse, 9)].into_iter().collect();
    /// # app.insert_resource(wages).update();
    /// # assert_eq!(app.world().get::<Purse>(purse).unwrap().0, 5 + 7);
    /// ```
    pub fn deliver<M: Send + Sync + 'static>(
        self,
        calendar: &mut Calendar<M>,
        now: u64,
        receive: impl for<'i> Fn(D::Item<'i, 's>, M) + Send + Sync,
    ) -> ScatterReport {
        if calendar.next_time().is_none_or(|next| next > now) {
            return ScatterReport::default();
        }
        let Self { sweep, site, .. } = self;
        let none = Selection::default();
        let plan = Plan::new(Rows { selection: Some(&none), ..sweep.rows }, site);
        Exchange { plan: &plan, receivers: sweep.rows, scratch: &site.kept.scratch }.run_timed(
            (calendar, now),
            || (),
            |(), _, _, _| (),
            // SAFETY: 'receivers' on `Exchange`; 'access' on `Sweep`.
            || unsafe { receiver(&sweep, &receive) },
        )
    }
}
