//! [`Outbox`] and [`TimedOutbox`]: what rows send messages through, for now and for later.

use std::fmt;

use bevy_ecs::prelude::Entity;

use super::{
    addresses::{Address, Addresses},
    mail::{Lane, Locked},
    report::ScatterReport,
};
use crate::sweep::Missing;

/// Takes messages from the senders of a [`scatter`](crate::AffineParIter::scatter).
///
/// ```
/// use bevy::prelude::*;
/// use bevy_affinity::prelude::*;
///
/// #[derive(Component)]
/// struct Follows(Entity);
/// #[derive(Component)]
/// struct Followers(u32);
///
/// /// Any number of messages, to any entities.
/// fn count(fans: AffineQuery<&Follows>, mut stars: AffineQuery<&mut Followers>) {
///     fans.par_iter().scatter(&mut stars, |outbox, fan| outbox.send(fan.0, ()), |mut star, ()| star.0 += 1);
/// }
/// # App::new().add_plugins(AffinityParallelPlugin).add_systems(Update, count.affine()).update();
/// ```
pub struct Outbox<'a, M> {
    lanes: Locked<'a, (Address, M)>,
    addresses: Addresses<'a>,
    /// The place of the sender's storage in the order of storages.
    ordinal: u32,
    report: ScatterReport,
}

impl<'a, M> Outbox<'a, M> {
    pub(super) fn new(lanes: Locked<'a, (Address, M)>, addresses: Addresses<'a>) -> Self {
        Self { lanes, addresses, ordinal: 0, report: ScatterReport::default() }
    }

    /// Sends `message` to `entity`, which applies it after all senders have sent. If there is no
    /// such entity, or it does not match the receiving query, the message is dropped and counted.
    ///
    /// ```
    /// # use bevy::prelude::*;
    /// # use bevy_affinity::prelude::*;
    /// # #[derive(Component)] struct Fan { of: [Entity; 2] }
    /// # #[derive(Component)] struct Star { letters: u32 }
    /// fn write(fans: AffineQuery<&Fan>, mut stars: AffineQuery<&mut Star>) {
    ///     let report = fans.par_iter().scatter(
    ///         &mut stars,
    ///         |outbox, fan| fan.of.iter().for_each(|&star| outbox.send(star, ())),
    ///         |mut star, ()| star.letters += 1,
    ///     );
    ///     // One of the two is not a star.
    ///     assert_eq!((report.delivered, report.unmatched), (1, 1));
    /// }
    /// # let mut app = App::new();
    /// # app.add_plugins(AffinityParallelPlugin).add_systems(Update, write.affine());
    /// # let of = [app.world_mut().spawn(Star { letters: 0 }).id(), app.world_mut().spawn_empty().id()];
    /// # app.world_mut().spawn(Fan { of });
    /// # app.update();
    /// # assert_eq!(app.world().get::<Star>(of[0]).unwrap().letters, 1);
    /// ```
    #[inline]
    pub fn send(&mut self, entity: Entity, message: M) {
        match self.addresses.find(entity) {
            Ok((destination, owner)) => self.lanes[owner].push(self.ordinal, (Address::of(destination), message)),
            Err(Missing::Despawned) => self.report.despawned += 1,
            Err(Missing::Unmatched) => self.report.unmatched += 1,
        }
    }

    /// The rows of another storage begin: `ordinal` is its place in the order of storages.
    #[inline]
    pub(super) fn begin_storage(&mut self, ordinal: u32) {
        self.ordinal = ordinal;
    }

    pub(super) fn report(&self) -> ScatterReport {
        self.report
    }
}

impl<M> fmt::Debug for Outbox<'_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outbox").field("report", &self.report).finish_non_exhaustive()
    }
}

/// A message for later.
pub(super) struct Later<M> {
    pub(super) entity: Entity,
    pub(super) time: u64,
    pub(super) message: M,
}

/// Takes messages for now and for later from the senders of a
/// [`scatter_timed`](crate::AffineParIter::scatter_timed).
///
/// ```
/// use bevy::prelude::*;
/// use bevy_affinity::prelude::*;
///
/// #[derive(Component)]
/// struct Farm { market: Entity, days_away: u64 }
/// #[derive(Component)]
/// struct Apples(u32);
///
/// fn ship(
///     farms: AffineQuery<&Farm>,
///     mut markets: AffineQuery<&mut Apples>,
///     mut road: ResMut<Calendar<u32>>,
///     mut today: Local<u64>,
/// ) {
///     *today += 1;
///     let now = *today;
///     farms.par_iter().scatter_timed(
///         &mut road,
///         now,
///         &mut markets,
///         |outbox, farm| outbox.send_at(farm.market, now + farm.days_away, 5),
///         |mut apples, more| apples.0 += more,
///     );
/// }
///
/// let mut app = App::new();
/// app.add_plugins(AffinityParallelPlugin).init_resource::<Calendar<u32>>().add_systems(Update, ship.affine());
/// let market = app.world_mut().spawn(Apples(0)).id();
/// app.world_mut().spawn(Farm { market, days_away: 2 });
/// let apples = [(); 5].map(|()| {
///     app.update();
///     app.world().get::<Apples>(market).unwrap().0
/// });
/// assert_eq!(apples, [0, 0, 5, 10, 15]);
/// ```
pub struct TimedOutbox<'a, 'b, M> {
    outbox: &'a mut Outbox<'b, M>,
    later: &'a mut Lane<Later<M>>,
    now: u64,
}

impl<'a, 'b, M> TimedOutbox<'a, 'b, M> {
    pub(super) fn new(outbox: &'a mut Outbox<'b, M>, later: &'a mut Lane<Later<M>>, now: u64) -> Self {
        Self { outbox, later, now }
    }

    /// The rows of another storage begin: `ordinal` is its place in the order of storages.
    #[inline]
    pub(super) fn begin_storage(&mut self, ordinal: u32) {
        self.outbox.begin_storage(ordinal);
    }

    /// Sends `message` to `entity`, which applies it in this call: as [`Outbox::send`].
    #[inline]
    pub fn send(&mut self, entity: Entity, message: M) {
        self.outbox.send(entity, message);
    }

    /// What sends in this call, for functions that take an [`Outbox`].
    ///
    /// ```
    /// # use bevy::prelude::*;
    /// # use bevy_affinity::prelude::*;
    /// # #[derive(Component)] struct Person { friend: Entity, greetings: u32 }
    /// /// For senders of every kind.
    /// fn greet(outbox: &mut Outbox<u32>, friend: Entity) {
    ///     outbox.send(friend, 1);
    /// }
    ///
    /// fn meet(mut people: AffineQuery<&mut Person>, mut letters: ResMut<Calendar<u32>>) {
    ///     people.par_iter_mut().scatter_timed_within(
    ///         &mut letters,
    ///         5,
    ///         |outbox, person| greet(outbox.outbox(), person.friend),
    ///         |mut person, greetings| person.greetings += greetings,
    ///     );
    /// }
    /// # let mut app = App::new();
    /// # app.add_plugins(AffinityParallelPlugin).init_resource::<Calendar<u32>>().add_systems(Update, meet.affine());
    /// # let nowhere = app.world_mut().spawn_empty().id();
    /// # let friend = app.world_mut().spawn(Person { friend: nowhere, greetings: 0 }).id();
    /// # app.world_mut().spawn(Person { friend, greetings: 0 });
    /// # app.update();
    /// # assert_eq!(app.world().get::<Person>(friend).unwrap().greetings, 1);
    /// ```
    pub fn outbox(&mut self) -> &mut Outbox<'b, M> {
        self.outbox
    }

    /// The time of this call; one less for the end of time, at which nothing arrives.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// Sends `message` to `entity`, which applies it in the first call that delivers from the
    /// calendar at `time` or after. A time that is not after this call's is now.
    ///
    /// ```
    /// # use bevy::prelude::*;
    /// # use bevy_affinity::prelude::*;
    /// # #[derive(Component)] struct Cave(Vec<&'static str>);
    /// fn shout(mut caves: AffineQuery<(Entity, &mut Cave)>, mut air: ResMut<Calendar<&'static str>>) {
    ///     caves.par_iter_mut().scatter_timed_within(
    ///         &mut air,
    ///         5,
    ///         |outbox, (cave, _)| {
    ///             outbox.send_at(cave, 7, "echo");
    ///             // At the time of the call: heard in it.
    ///             outbox.send_at(cave, 5, "shout");
    ///         },
    ///         |(_, mut cave), sound| cave.0.push(sound),
    ///     );
    /// }
    /// # let mut app = App::new();
    /// # app.add_plugins(AffinityParallelPlugin).init_resource::<Calendar<&'static str>>();
    /// # app.add_systems(Update, shout.affine());
    /// # let cave = app.world_mut().spawn(Cave(Vec::new())).id();
    /// # app.update();
    /// # assert_eq!(app.world().get::<Cave>(cave).unwrap().0, ["shout"]);
    /// # assert_eq!(app.world().resource::<Calendar<&'static str>>().next_time(), Some(7));
    /// ```
    #[inline]
    pub fn send_at(&mut self, entity: Entity, time: u64, message: M) {
        match time > self.now {
            true => self.later.push(self.outbox.ordinal, Later { entity, time, message }),
            false => self.outbox.send(entity, message),
        }
    }
}

impl<M> fmt::Debug for TimedOutbox<'_, '_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TimedOutbox").field("now", &self.now).field("outbox", &self.outbox).finish_non_exhaustive()
    }
}
