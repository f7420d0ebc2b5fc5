//! [`TimedOutbox`]: what rows send messages for later through.

use bevy_ecs::prelude::Entity;

use super::mail::{Lane, Outbox, SendsByStorage};

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
    ordinal: u32,
    now: u64,
}

impl<'a, 'b, M> TimedOutbox<'a, 'b, M> {
    pub(super) fn new(outbox: &'a mut Outbox<'b, M>, later: &'a mut Lane<Later<M>>, now: u64) -> Self {
        Self { outbox, later, ordinal: 0, now }
    }

    /// Sends `message` to `entity`, which applies it in this call: as [`Outbox::send`].
    #[inline]
    pub fn send(&mut self, entity: Entity, message: M) {
        self.outbox.send(entity, message);
    }

    /// Sends `message` to `entity`, which applies it in the first call that delivers from the
    /// calendar at `time` or after. A time that is not after this call's is now.
    #[inline]
    pub fn send_at(&mut self, entity: Entity, time: u64, message: M) {
        match time > self.now {
            true => self.later.push(self.ordinal, Later { entity, time, message }),
            false => self.outbox.send(entity, message),
        }
    }
}

impl<M> SendsByStorage for TimedOutbox<'_, '_, M> {
    #[inline]
    fn begin_storage(&mut self, ordinal: u32) {
        self.ordinal = ordinal;
        self.outbox.begin_storage(ordinal);
    }
}
