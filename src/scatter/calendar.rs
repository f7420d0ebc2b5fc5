//! [`Calendar`]: messages that are to be delivered later.

use std::{cmp::Reverse, collections::BinaryHeap, fmt, iter::successors};

use bevy_ecs::prelude::{Entity, Resource};
use bevy_platform::collections::HashMap;

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
/// The first call at a time delivers all that has arrived, to whichever receivers it has: give each
/// kind of receiver messages of a type of their own.
///
/// A time is a number of what the program counts, as in [`Due`](crate::Due). Messages for
/// `u64::MAX` are never delivered, and for times that have passed in the next call. Memory is used
/// again, once there is enough for what is on its way at a time, and given back by
/// [`clear`](Self::clear) only.
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
#[derive(Resource, Clone)]
pub struct Calendar<M: Send + Sync + 'static> {
    /// When something arrives.
    times: BinaryHeap<Reverse<u64>>,
    /// What arrives at each such time.
    bags: HashMap<u64, Bag>,
    /// All blocks, by number.
    blocks: Vec<Block<M>>,
    /// Numbers of those that are in no bag.
    free: Vec<usize>,
    /// How many messages are on their way.
    count: usize,
    /// Time and block of the last message: the next one often goes there too.
    last: Option<(u64, usize)>,
    /// Memory of the last delivery.
    arrived: Vec<Messages<M>>,
}

/// Messages of a block, each with whom it is for.
pub(super) type Messages<M> = Vec<(Entity, M)>;

/// The messages of one time: the numbers of its first and its last block.
#[derive(Clone, Copy)]
struct Bag {
    first: usize,
    last: usize,
}

/// Some messages of one time, in the order in which they were sent. Blocks go to whichever time
/// needs the next one. If each time had room of its own, that would have to grow anew in every bag,
/// or all would keep as much as was ever needed for one.
#[derive(Clone)]
struct Block<M> {
    messages: Messages<M>,
    /// The number of the block with those sent next; of a bag's last one it means nothing.
    next: usize,
}

/// The largest size of a block, in bytes, unless one message is larger. A bag wastes a part of one.
const BLOCK_BYTES: usize = 4096;

impl<M> Block<M> {
    /// Most messages of a block. Beyond 64 the way from one block to the next is nothing beside
    /// them.
    const MOST: usize = match BLOCK_BYTES / size_of::<(Entity, M)>() {
        0 => 1,
        64.. => 64,
        some => some,
    };

    fn is_full(&self) -> bool {
        self.messages.len() == Self::MOST
    }
}

impl<M: Send + Sync + 'static> Default for Calendar<M> {
    fn default() -> Self {
        Self {
            times: BinaryHeap::new(),
            bags: HashMap::default(),
            blocks: Vec::new(),
            free: Vec::new(),
            count: 0,
            last: None,
            arrived: Vec::new(),
        }
    }
}

/// Sends each message to its entity, to arrive at its time.
///
/// ```
/// # use bevy::prelude::*;
/// # use bevy_affinity::prelude::*;
/// let letters = [(3, Entity::PLACEHOLDER, "Dear"), (1, Entity::PLACEHOLDER, "Sir")];
/// let mut calendar: Calendar<&str> = letters.into_iter().collect();
/// calendar.extend([(2, Entity::PLACEHOLDER, "or Madam")]);
/// assert_eq!((calendar.len(), calendar.next_time()), (3, Some(1)));
/// ```
impl<M: Send + Sync + 'static> Extend<(u64, Entity, M)> for Calendar<M> {
    fn extend<I: IntoIterator<Item = (u64, Entity, M)>>(&mut self, messages: I) {
        messages.into_iter().for_each(|(time, entity, message)| self.send_at(entity, time, message));
    }
}

impl<M: Send + Sync + 'static> FromIterator<(u64, Entity, M)> for Calendar<M> {
    fn from_iter<I: IntoIterator<Item = (u64, Entity, M)>>(messages: I) -> Self {
        let mut calendar = Self::default();
        calendar.extend(messages);
        calendar
    }
}

impl<M: Send + Sync + 'static> Calendar<M> {
    /// Sends `message` to `entity`, to arrive at `time`: behind what was sent for that time before.
    ///
    /// ```
    /// # use bevy::prelude::*;
    /// # use bevy_affinity::prelude::*;
    /// let house = Entity::from_raw_u32(7).unwrap();
    /// let mut post = Calendar::default();
    /// post.send_at(house, 5, "Yours");
    /// post.send_at(house, 3, "Dear");
    /// post.send_at(house, 5, "truly");
    /// let words: Vec<_> = post.iter().map(|(day, _, word)| (day, *word)).collect();
    /// assert_eq!(words, [(3, "Dear"), (5, "Yours"), (5, "truly")]);
    /// ```
    pub fn send_at(&mut self, entity: Entity, time: u64, message: M) {
        let block = match self.last {
            Some((last, block)) if last == time && !self.blocks[block].is_full() => block,
            _ => self.block_for(time),
        };
        self.last = Some((time, block));
        self.blocks[block].messages.push((entity, message));
        self.count += 1;
    }

    /// The number of a time's last block, which has room for a message.
    fn block_for(&mut self, time: u64) -> usize {
        let bag = self.bags.get(&time).copied();
        if let Some(Bag { last, .. }) = bag
            && !self.blocks[last].is_full()
        {
            return last;
        }
        let block = self.free.pop().unwrap_or_else(|| {
            self.blocks.push(Block { messages: Vec::new(), next: 0 });
            self.blocks.len() - 1
        });
        match bag {
            Some(bag) => self.blocks[bag.last].next = block,
            None => self.times.push(Reverse(time)),
        }
        let first = bag.map_or(block, |bag| bag.first);
        self.bags.insert(time, Bag { first, last: block });
        block
    }

    /// The numbers of a bag's blocks, in order.
    fn blocks_of(blocks: &[Block<M>], bag: Bag) -> impl Iterator<Item = usize> {
        successors(Some(bag.first), move |&block| (block != bag.last).then(|| blocks[block].next))
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
        let mut bags: Vec<_> = self.bags.iter().collect();
        bags.sort_unstable_by_key(|&(time, _)| time);
        bags.into_iter().flat_map(|(&time, &bag)| {
            let messages = Self::blocks_of(&self.blocks, bag).flat_map(|block| &self.blocks[block].messages);
            messages.map(move |(entity, message)| (time, *entity, message))
        })
    }

    /// Keeps those messages of which `keep` says so, by time, receiver and message. It is called in
    /// the order in which they are to be delivered; if it panics, those that it has not seen are
    /// dropped.
    ///
    /// ```
    /// # use bevy::prelude::*;
    /// # use bevy_affinity::prelude::*;
    /// let [farm, market] = [Entity::from_raw_u32(1).unwrap(), Entity::from_raw_u32(2).unwrap()];
    /// let goods = [(3, market, "apples"), (4, farm, "seeds")];
    /// let mut road: Calendar<&str> = goods.into_iter().collect();
    /// // The market is torn down.
    /// road.retain(|_, to, _| to != market);
    /// assert_eq!(road.iter().next(), Some((4, farm, &"seeds")));
    /// ```
    pub fn retain(&mut self, mut keep: impl FnMut(u64, Entity, &M) -> bool) {
        let Self { bags, mut blocks, .. } = std::mem::take(self);
        let mut bags: Vec<_> = bags.into_iter().collect();
        bags.sort_unstable_by_key(|&(time, _)| time);
        for (time, bag) in bags {
            let numbers: Vec<_> = Self::blocks_of(&blocks, bag).collect();
            for (entity, message) in numbers.into_iter().flat_map(|block| std::mem::take(&mut blocks[block].messages)) {
                if keep(time, entity, &message) {
                    self.send_at(entity, time, message);
                }
            }
        }
    }

    /// Drops all messages, and gives back their memory.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// What arrives at `now` or before, in order. To be given back to [`keep`](Self::keep), empty
    /// and before anything else is sent.
    pub(super) fn arrivals(&mut self, now: u64) -> Vec<Messages<M>> {
        // At the end of time nothing arrives.
        self.take(now.min(u64::MAX - 1))
    }

    fn take(&mut self, now: u64) -> Vec<Messages<M>> {
        let Self { times, bags, blocks, free, count, last, arrived } = self;
        *last = None;
        while let Some(&Reverse(time)) = times.peek()
            && time <= now
        {
            times.pop();
            let Some(bag) = bags.remove(&time) else { continue };
            let first_free = free.len();
            free.extend(Self::blocks_of(blocks, bag));
            for &block in &free[first_free..] {
                let messages = std::mem::take(&mut blocks[block].messages);
                *count -= messages.len();
                arrived.push(messages);
            }
        }
        std::mem::take(arrived)
    }

    /// Gives the memory of the last arrivals back to the blocks that it was taken from, which are
    /// the last free ones.
    pub(super) fn keep(&mut self, mut arrivals: Vec<Messages<M>>) {
        debug_assert!(arrivals.iter().all(Vec::is_empty), "every call posts what has arrived");
        for (&block, room) in self.free.iter().rev().zip(arrivals.drain(..).rev()) {
            self.blocks[block].messages = room;
        }
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
            let messages: String =
                arrivals.iter_mut().flat_map(|some| some.drain(..)).map(|(_, message)| message).collect();
            calendar.keep(arrivals);
            messages
        };
        assert_eq!(arrived(&mut calendar, 2), "");
        assert_eq!(arrived(&mut calendar, 5), "abcd");
        calendar.send_at(to, 1, 'f');
        assert_eq!(arrived(&mut calendar, u64::MAX), "fe");
        assert_eq!((calendar.len(), calendar.next_time(), calendar.is_empty()), (1, None, false));
        calendar.clear();
        assert_eq!((calendar.len(), calendar.is_empty(), calendar.blocks.capacity()), (0, true, 0));
    }

    #[test]
    fn what_is_kept_keeps_its_order_and_copies_are_equal() {
        let to = Entity::PLACEHOLDER;
        let sent: Vec<_> = (0..1_000_u32).map(|number| (u64::from(number * 7 % 13), to, number)).collect();
        let mut calendar: Calendar<u32> = sent.into_iter().collect();
        let all =
            |calendar: &Calendar<u32>| calendar.iter().map(|(time, _, &number)| (time, number)).collect::<Vec<_>>();
        let (copy, before) = (calendar.clone(), all(&calendar));
        let mut seen = Vec::new();
        calendar.retain(|time, _, &number| {
            seen.push((time, number));
            number % 3 == 0 && time != 5
        });
        assert_eq!((&seen, &all(&copy)), (&before, &before));
        let kept: Vec<_> = before.into_iter().filter(|&(time, number)| number % 3 == 0 && time != 5).collect();
        assert_eq!((all(&calendar), calendar.len()), (kept.clone(), kept.len()));
        calendar.retain(|_, _, _| false);
        assert_eq!((calendar.is_empty(), calendar.next_time()), (true, None));
    }

    /// Sends for `times` steps, and delivers in each what arrives; returns the room for messages,
    /// and the number of blocks, half way and at the end.
    fn room<M: Send + Sync + 'static>(times: u64, send: impl Fn(&mut Calendar<M>, u64)) -> [(usize, usize); 2] {
        let mut calendar = Calendar::default();
        let mut step = |time| {
            send(&mut calendar, time);
            let mut arrivals = calendar.arrivals(time);
            arrivals.iter_mut().for_each(Vec::clear);
            calendar.keep(arrivals);
            let room = calendar.blocks.iter().map(|block| block.messages.capacity());
            (room.sum(), calendar.blocks.len())
        };
        let half: Vec<_> = (0..times / 2).map(&mut step).collect();
        let all: Vec<_> = (times / 2..times).map(&mut step).collect();
        [half, all].map(|rooms| *rooms.last().unwrap())
    }

    #[test]
    fn blocks_are_used_again() {
        let [(_, blocks), _] = room(100, |calendar, time| {
            (0..10).for_each(|ahead| calendar.send_at(Entity::PLACEHOLDER, time + ahead, ()));
        });
        assert!(blocks <= 10, "{blocks} blocks");
    }

    #[test]
    fn times_with_few_messages_do_not_keep_room_for_many() {
        let [half, end] = room(2_000, |calendar, time| {
            (0..2_000).for_each(|_| calendar.send_at(Entity::PLACEHOLDER, time + 1, 0_u8));
            calendar.send_at(Entity::PLACEHOLDER, time + 300, 0);
        });
        assert!(end.0 < 30_000, "room for {} messages, of which 4,300 are on their way", end.0);
        assert_eq!(half.1, end.1, "blocks are used again");
    }

    #[test]
    fn large_messages_keep_little_room() {
        let [_, (room, blocks)] = room(20_000, |calendar, time| {
            // Now and then many for one time.
            let messages = if time % 61 == 0 { 60 } else { 1 };
            (0..messages).for_each(|_| calendar.send_at(Entity::PLACEHOLDER, time + 200, [0_u8; 2048]));
        });
        assert!(room <= 450 && blocks <= 450, "room for {room} messages in {blocks} blocks");
    }
}
