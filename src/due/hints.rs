//! When each entity may be due at the earliest, by index, and the minima of that: where to look for
//! due rows.

use std::iter;

use super::lower::lower;
use crate::sync::AtomicU64;

/// No time.
pub(super) const NEVER: u64 = u64::MAX;

/// Times that share a minimum: those of one cache line, so that a due entity is found by one line
/// on each floor.
const SHARING: usize = 8;

/// Floors of a page: the times, their minima, the minima of those, and once more.
const FLOORS: usize = 4;

/// Entities of a page.
const PAGE: usize = SHARING.pow(FLOORS as u32);

/// A time for each entity index, and floors of minima above: a world that sleeps is one look at
/// each 4,096 entities.
///
/// By index and not by row, because rows move without a word: the insertion of any component takes
/// an entity to another table, and the last row of a table to its place. Indices stay.
///
/// # Invariant (hints)
/// A minimum is at most each time below it. [`lower`](Self::lower) keeps that with shared access,
/// see [`lower`](super::lower); everything else has the hints to itself.
#[derive(Default)]
pub(super) struct Hints {
    /// `None` where no entity ever had a time.
    pages: Vec<Option<Box<Page>>>,
    /// By page.
    earliest: Vec<AtomicU64>,
}

/// The floors of a page one after another, the times first.
#[repr(align(64))]
struct Page([AtomicU64; Page::START_OF[FLOORS]]);

impl Hints {
    /// How many entities there is room for.
    pub(super) fn room(&self) -> usize {
        self.pages.iter().flatten().count() * PAGE
    }

    /// Says that the entity, for which there is room, may be due at `time`.
    #[inline]
    pub(super) fn lower(&self, index: u32, time: u64) {
        let (page, slot) = (index as usize / PAGE, index as usize % PAGE);
        let Some(Some(hints)) = self.pages.get(page) else { return };
        lower(hints.upwards(slot).chain(iter::once(&self.earliest[page])), time);
    }

    /// As [`lower`](Self::lower), and makes room.
    pub(super) fn note(&mut self, index: u32, time: u64) {
        self.page(index);
        self.lower(index, time);
    }

    /// Says that the entity is due at `time`, and not before. Minima stay where they are: the next
    /// look at them puts them right.
    pub(super) fn set(&mut self, index: u32, time: u64) {
        *self.page(index).time(0, index as usize % PAGE) = NEVER;
        self.lower(index, time);
    }

    fn page(&mut self, index: u32) -> &mut Page {
        let page = index as usize / PAGE;
        if self.pages.len() <= page {
            self.pages.resize_with(page + 1, || None);
            self.earliest.resize_with(page + 1, || AtomicU64::new(NEVER));
        }
        self.pages[page].get_or_insert_with(Page::new)
    }

    /// Forgets all times and takes over those that `each` calls its argument with.
    pub(super) fn rebuild(&mut self, each: impl FnOnce(&mut dyn FnMut(u32, u64))) {
        self.pages.iter_mut().flatten().for_each(|page| page.forget());
        each(&mut |index, time| *self.page(index).time(0, index as usize % PAGE) = time);
        for (page, earliest) in self.pages.iter_mut().zip(&mut self.earliest) {
            *earliest.get_mut() = page.as_mut().map_or(NEVER, |page| page.sum_up());
        }
    }

    /// Calls `look` with each entity that may be due at `now` or before, in the order of indices;
    /// it says which time is to stand there from now on, or `None` to stop there. False if it did:
    /// that entity and the later ones keep their times.
    pub(super) fn take(&mut self, now: u64, mut look: impl FnMut(u32) -> Option<u64>) -> bool {
        self.earliest.iter_mut().zip(&mut self.pages).enumerate().all(|(number, (earliest, page))| {
            let Some(page) = page.as_mut().filter(|_| *earliest.get_mut() <= now) else { return true };
            let left = page.take((number * PAGE) as u32, now, &mut look);
            left.map(|left| *earliest.get_mut() = left).is_some()
        })
    }

    /// The earliest time. `look` says what is true of an entity whose hint is the earliest.
    pub(super) fn first(&mut self, mut look: impl FnMut(u32) -> u64) -> u64 {
        loop {
            let earliest = self.earliest.iter_mut().map(|earliest| *earliest.get_mut()).enumerate();
            let Some((number, time)) = earliest.min_by_key(|&(_, time)| time) else { return NEVER };
            let Some(page) = self.pages[number].as_mut().filter(|_| time < NEVER) else { return NEVER };
            let mut first = NEVER;
            // What is found too early is put right.
            let right = page.take((number * PAGE) as u32, time, &mut |index| {
                let time = look(index);
                first = first.min(time);
                Some(time)
            });
            *self.earliest[number].get_mut() = right.unwrap_or(NEVER);
            if first <= time {
                return first;
            }
        }
    }
}

impl Page {
    /// Where each floor begins, and where the last one ends.
    const START_OF: [usize; FLOORS + 1] = {
        let (mut starts, mut floor, mut length) = ([0; FLOORS + 1], 0, PAGE);
        while floor < FLOORS {
            starts[floor + 1] = starts[floor] + length;
            length /= SHARING;
            floor += 1;
        }
        starts
    };

    fn new() -> Box<Self> {
        Box::new(Self(std::array::from_fn(|_| AtomicU64::new(NEVER))))
    }

    /// A time, or on higher floors a minimum.
    fn time(&mut self, floor: usize, place: usize) -> &mut u64 {
        self.0[Self::START_OF[floor] + place].get_mut()
    }

    fn forget(&mut self) {
        self.0[..PAGE].iter_mut().for_each(|time| *time.get_mut() = NEVER);
    }

    /// The time of `slot`, and its minima from floor to floor.
    #[inline]
    fn upwards(&self, slot: usize) -> impl Iterator<Item = &AtomicU64> {
        let mut place = slot;
        Self::START_OF[..FLOORS].iter().map(move |start| {
            let time = &self.0[start + place];
            place /= SHARING;
            time
        })
    }

    /// See [`Hints::take`]; returns the earliest time that is left.
    fn take(&mut self, first: u32, now: u64, look: &mut impl FnMut(u32) -> Option<u64>) -> Option<u64> {
        self.take_below(FLOORS, 0, now, &mut |slot| look(first + slot as u32))
    }

    /// Takes what is due below `place` on `floor`; returns the earliest time that is left there.
    fn take_below(
        &mut self,
        floor: usize,
        place: usize,
        now: u64,
        look: &mut impl FnMut(usize) -> Option<u64>,
    ) -> Option<u64> {
        let mut left = NEVER;
        for below in place * SHARING..(place + 1) * SHARING {
            let mut time = *self.time(floor - 1, below);
            if time <= now {
                time = if floor == 1 { look(below)? } else { self.take_below(floor - 1, below, now, look)? };
                *self.time(floor - 1, below) = time;
            }
            left = left.min(time);
        }
        Some(left)
    }

    /// Takes the minima anew; returns the earliest time.
    fn sum_up(&mut self) -> u64 {
        for floor in 1..FLOORS {
            for place in 0..PAGE / SHARING.pow(floor as u32) {
                *self.time(floor, place) = self.earliest_below(floor, place);
            }
        }
        self.earliest_below(FLOORS, 0)
    }

    fn earliest_below(&mut self, floor: usize, place: usize) -> u64 {
        let below = place * SHARING..(place + 1) * SHARING;
        below.map(|below| *self.time(floor - 1, below)).min().unwrap_or(NEVER)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::{collection::vec, prelude::*};

    use super::{Hints, NEVER};

    #[derive(Clone, Debug)]
    enum Step {
        Note(u32, u64),
        Set(u32, u64),
        /// Until this many have been taken.
        Take(u64, usize),
        First,
        Rebuild,
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let index = prop_oneof![0..200_u32, 4_090..4_100_u32, 20_000..20_010_u32];
        let time = prop_oneof![0..50_u64, Just(NEVER), Just(NEVER - 1)];
        vec(
            prop_oneof![
                4 => (index.clone(), time.clone()).prop_map(|(index, time)| Step::Note(index, time)),
                2 => (index, time).prop_map(|(index, time)| Step::Set(index, time)),
                2 => (0..60_u64, prop_oneof![0..9_usize, Just(usize::MAX)]).prop_map(|(now, most)| Step::Take(now, most)),
                1 => Just(Step::First),
                1 => Just(Step::Rebuild),
            ],
            0..200,
        )
    }

    proptest! {
        #[test]
        fn as_a_map_of_times(steps in steps()) {
            let mut hints = Hints::default();
            let mut model = BTreeMap::<u32, u64>::new();
            for step in steps {
                match step {
                    Step::Note(index, time) => {
                        hints.note(index, time);
                        let known = model.entry(index).or_insert(NEVER);
                        *known = time.min(*known);
                    }
                    Step::Set(index, time) => {
                        hints.set(index, time);
                        model.insert(index, time);
                    }
                    Step::Take(now, most) => {
                        let mut taken = Vec::new();
                        // Every third one stays as it is.
                        let stays = |index: u32, time| if index.is_multiple_of(3) { time } else { NEVER };
                        let all = hints.take(now, |index| {
                            let stays = (taken.len() < most).then(|| stays(index, model[&index]))?;
                            taken.push(index);
                            Some(stays)
                        });
                        let due = model.iter().filter(|(_, time)| **time <= now).map(|(index, _)| *index);
                        let expected: Vec<_> = due.clone().take(most).collect();
                        prop_assert_eq!(&taken, &expected);
                        prop_assert_eq!(all, due.count() <= most);
                        for index in taken {
                            let time = model[&index];
                            model.insert(index, stays(index, time));
                        }
                    }
                    Step::First => {
                        let earliest = model.values().copied().min().unwrap_or(NEVER);
                        prop_assert_eq!(hints.first(|index| model[&index]), earliest);
                    }
                    Step::Rebuild => {
                        hints.rebuild(|note| model.iter().for_each(|(&index, &time)| note(index, time)));
                    }
                }
            }
        }
    }

    #[test]
    fn what_was_found_too_early_is_put_right() {
        let mut hints = Hints::default();
        for (index, time) in [(7, 3), (5_000, 4), (9, 10)] {
            hints.note(index, time);
        }
        let truth = |index| if index == 5_000 { 8 } else { 12 };
        assert_eq!(hints.first(truth), 8);
        let mut looked = 0;
        assert_eq!(
            hints.first(|index| {
                looked += 1;
                truth(index)
            }),
            8
        );
        assert_eq!(looked, 1);
    }

    #[test]
    fn there_is_no_room_without_a_note() {
        let mut hints = Hints::default();
        hints.lower(5_000, 1);
        assert_eq!((hints.room(), hints.first(|_| 1)), (0, NEVER));
        hints.note(5_000, 9);
        hints.lower(0, 1);
        assert_eq!((hints.room(), hints.first(|_| 9)), (4_096, 9));
    }
}
