//! [`Calendar`]: messages that are to be delivered later.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashMap},
    fmt,
};

use bevy_ecs::prelude::{Entity, Resource};

/// Messages on their way to entities, each with the time at which it is to arrive.
///
/// A resource that belongs to the program: `app.init_resource::<Calendar<Parcel>>()`. Messages come
/// in by [`TimedOutbox::send_at`](crate::TimedOutbox::send_at) from the rows of a parallel call, or
/// by [`send_at`](Self::send_at) from anywhere else, and are delivered by
/// [`scatter_timed`](crate::AffineParIter::scatter_timed) and its likes, or by
/// [`deliver`](crate::AffineParIter::deliver).
///
/// They are delivered in the order of time; those of one time in the order in which they were sent:
/// call by call, within a call in the order of the senders' rows, and those of one row in the order
/// of sending. Who receives is found out on delivery: an entity may have moved since, and where it
/// is gone the message is dropped and counted in the [`ScatterReport`](crate::ScatterReport).
///
/// A time is a number of what the program counts, as in [`Due`](crate::Due). Messages for
/// `u64::MAX` are never delivered, and for times that have passed in the next call. Memory is used
/// again, once there is enough for what is on its way at a time.
///
/// ```
/// use bevy::prelude::*;
/// use bevy_affinity::prelude::*;
///
/// #[derive(Component, Default)]
/// struct Letters(u32);
///
/// fn deliver(mut houses: AffineQuery<&mut Letters>, mut post: ResMut<Calendar<u32>>, mut day: Local<u64>) {
///     *day += 1;
///     houses.par_iter_mut().deliver(&mut post, *day, |mut letters, letter| letters.0 += letter);
/// }
///
/// let mut app = App::new();
/// app.add_plugins(AffinityParallelPlugin).init_resource::<Calendar<u32>>().add_systems(Update, deliver.affine());
/// let house = app.world_mut().spawn(Letters::default()).id();
/// app.world_mut().resource_mut::<Calendar<u32>>().send_at(house, 3, 10);
/// let letters = [(); 4].map(|()| {
///     app.update();
///     app.world().get::<Letters>(house).unwrap().0
/// });
/// assert_eq!(letters, [0, 0, 10, 10]);
/// ```
#[derive(Resource)]
pub struct Calendar<M: Send + Sync + 'static> {
    /// When something arrives.
    times: BinaryHeap<Reverse<u64>>,
    /// The number of each such time's bag.
    bags: HashMap<u64, usize>,
    /// Messages in the order in which they were sent, by number of the bag.
    messages: Vec<Vec<(Entity, M)>>,
    /// How many messages are on their way.
    count: usize,
    /// Bags that are empty.
    empty: Vec<usize>,
    /// Where the last message went: the next one often goes there too.
    last: Option<(u64, usize)>,
    /// Memory of the last delivery.
    arrived: Vec<(Entity, M)>,
}

/// Room that bags may keep for each message on its way, in messages, if all were as large as the
/// largest.
const ROOM_OF_A_MESSAGE: usize = 8;

/// Room that every bag may keep besides, in bytes; at least a message, and at most 64.
const FEW_BYTES: usize = 4096;

impl<M: Send + Sync + 'static> Default for Calendar<M> {
    fn default() -> Self {
        Self {
            times: BinaryHeap::new(),
            bags: HashMap::new(),
            messages: Vec::new(),
            count: 0,
            empty: Vec::new(),
            last: None,
            arrived: Vec::new(),
        }
    }
}

impl<M: Send + Sync + 'static> Calendar<M> {
    /// Room that every bag may keep besides, in messages.
    const FEW: usize = match size_of::<(Entity, M)>() {
        0..64 => 64,
        bytes if bytes < FEW_BYTES => FEW_BYTES / bytes,
        _ => 1,
    };

    /// Sends `message` to `entity`, to arrive at `time`: behind what was sent for that time before.
    pub fn send_at(&mut self, entity: Entity, time: u64, message: M) {
        let bag = match self.last {
            Some((last, bag)) if last == time => bag,
            _ => self.bag(time),
        };
        self.last = Some((time, bag));
        self.messages[bag].push((entity, message));
        self.count += 1;
    }

    /// The number of a time's bag.
    fn bag(&mut self, time: u64) -> usize {
        let Self { times, bags, messages, empty, .. } = self;
        *bags.entry(time).or_insert_with(|| {
            times.push(Reverse(time));
            empty.pop().unwrap_or_else(|| {
                messages.push(Vec::new());
                messages.len() - 1
            })
        })
    }

    /// When the next message arrives; `None` if none is on its way.
    pub fn next_time(&self) -> Option<u64> {
        self.times.peek().map(|&Reverse(time)| time).filter(|&time| time < u64::MAX)
    }

    /// How many messages are on their way.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether no message is on its way.
    pub fn is_empty(&self) -> bool {
        self.times.is_empty()
    }

    /// All messages on their way, with their times and receivers, in the order in which they are to
    /// be delivered. Sent again in this order by [`send_at`](Self::send_at) they make an equal
    /// calendar: a save.
    pub fn iter(&self) -> impl Iterator<Item = (u64, Entity, &M)> {
        let mut times: Vec<_> = self.bags.iter().map(|(&time, &bag)| (time, bag)).collect();
        times.sort_unstable();
        times
            .into_iter()
            .flat_map(|(time, bag)| self.messages[bag].iter().map(move |(entity, message)| (time, *entity, message)))
    }

    /// Drops all messages.
    pub fn clear(&mut self) {
        self.take(u64::MAX);
        self.arrived.clear();
    }

    /// What arrives at `now` or before, in order. To be given back to [`keep`](Self::keep).
    pub(super) fn arrivals(&mut self, now: u64) -> Vec<(Entity, M)> {
        // At the end of time nothing arrives.
        self.take(now.min(u64::MAX - 1));
        std::mem::take(&mut self.arrived)
    }

    fn take(&mut self, now: u64) {
        let Self { times, bags, messages, count, empty, last, arrived } = self;
        let most = *count;
        while let Some(&Reverse(time)) = times.peek()
            && time <= now
        {
            times.pop();
            if let Some(bag) = bags.remove(&time) {
                let number = messages.len();
                let emptied = &mut messages[bag];
                *count -= emptied.len();
                arrived.append(emptied);
                // It may be taken next for a time with far fewer messages: if all bags grew as
                // large as the largest, they would have room for far more than are on their way.
                if number * emptied.capacity() > ROOM_OF_A_MESSAGE * most + Self::FEW * number {
                    *emptied = Vec::new();
                }
                empty.push(bag);
            }
            *last = None;
        }
    }

    /// Keeps the memory of arrivals, which were taken out of it.
    pub(super) fn keep(&mut self, arrivals: Vec<(Entity, M)>) {
        debug_assert!(arrivals.is_empty(), "every call posts what has arrived");
        self.arrived = arrivals;
    }
}

impl<M: Send + Sync + 'static> fmt::Debug for Calendar<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Calendar").field("len", &self.len()).field("next", &self.next_time()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_arrive_in_the_order_of_time_then_of_sending() {
        let mut calendar = Calendar::default();
        let to = Entity::PLACEHOLDER;
        for (time, message) in [(5, 'c'), (3, 'a'), (5, 'd'), (u64::MAX, 'z'), (9, 'e'), (3, 'b')] {
            calendar.send_at(to, time, message);
        }
        assert_eq!((calendar.len(), calendar.next_time()), (6, Some(3)));
        assert_eq!(calendar.iter().map(|(_, _, &message)| message).collect::<String>(), "abcdez");
        let arrived = |calendar: &mut Calendar<char>, now| {
            let mut arrivals = calendar.arrivals(now);
            let messages: String = arrivals.drain(..).map(|(_, message)| message).collect();
            calendar.keep(arrivals);
            messages
        };
        assert_eq!(arrived(&mut calendar, 2), "");
        assert_eq!(arrived(&mut calendar, 5), "abcd");
        calendar.send_at(to, 1, 'f');
        assert_eq!(arrived(&mut calendar, u64::MAX), "fe");
        assert_eq!((calendar.len(), calendar.next_time(), calendar.is_empty()), (1, None, false));
        calendar.clear();
        assert_eq!((calendar.len(), calendar.is_empty()), (0, true));
    }

    #[test]
    fn bags_are_used_again() {
        let mut calendar = Calendar::default();
        for time in 0..100_u64 {
            (0..10).for_each(|ahead| calendar.send_at(Entity::PLACEHOLDER, time + ahead, ()));
            let mut arrivals = calendar.arrivals(time);
            arrivals.clear();
            calendar.keep(arrivals);
        }
        assert!(calendar.messages.len() <= 10, "{} bags", calendar.messages.len());
    }

    #[test]
    fn bags_for_few_messages_do_not_keep_room_for_many() {
        let mut calendar = Calendar::default();
        for time in 0..1_000_u64 {
            (0..2_000).for_each(|_| calendar.send_at(Entity::PLACEHOLDER, time + 1, 0_u8));
            calendar.send_at(Entity::PLACEHOLDER, time + 300, 0);
            let mut arrivals = calendar.arrivals(time);
            arrivals.clear();
            calendar.keep(arrivals);
        }
        let room: usize = calendar.messages.iter().map(Vec::capacity).sum();
        assert!(room < 50_000, "room for {room} messages, {} on their way", calendar.len());
    }

    #[test]
    fn bags_of_large_messages_keep_little_room() {
        let mut calendar = Calendar::default();
        for time in 0..20_000_u64 {
            // Now and then many for one time.
            let messages = if time % 61 == 0 { 60 } else { 1 };
            (0..messages).for_each(|_| calendar.send_at(Entity::PLACEHOLDER, time + 200, [0_u8; 2048]));
            let mut arrivals = calendar.arrivals(time);
            arrivals.clear();
            calendar.keep(arrivals);
        }
        let room: usize = calendar.messages.iter().map(Vec::capacity).sum();
        let bags = calendar.messages.len();
        assert!(room <= ROOM_OF_A_MESSAGE * 2 * calendar.len() + bags, "{room} for {} in {bags} bags", calendar.len());
    }
}
