//! Which keys go together.
//!
//! What calls work on mostly lies in memory in the order of their keys. If neighbours were always
//! apart, two cores would write to nearly every cache line in which two such pieces meet: for
//! slices of 400 bytes that costs more than a second core gains. Of few keys, though, each thread
//! is to have its part.

/// Keys that differ in this many of their lowest bits only are a block.
const BLOCK_BITS: u32 = 4;

/// The keys of the first blocks that come, this many for each worker, are groups of their own.
const SINGLE_BLOCKS: usize = 32;

/// The groups of the keys of one exchange. A key stays in its group.
pub(super) struct Keys {
    /// One more than the number of each block whose keys are groups of their own, at the place that
    /// its hash says or at one behind that. 0 at those that are free: half of them at least.
    single: Box<[u64]>,
    /// How many more blocks may come to these.
    left: usize,
    /// The block of the last key, and whether its keys are groups of their own.
    last: (u64, bool),
}

impl Keys {
    pub(super) fn new(workers: usize) -> Self {
        let blocks = SINGLE_BLOCKS * workers;
        let single = vec![0; (2 * blocks).next_power_of_two()].into();
        // No key is in a block of that number.
        Self { single, left: blocks, last: (u64::MAX, false) }
    }

    /// The number of the key's group: the keys for which it is the same go together.
    #[inline]
    pub(super) fn group_of(&mut self, key: u64) -> u64 {
        let block = block_of(key);
        if block != self.last.0 {
            self.last = (block, self.note_block(block));
        }
        if self.last.1 { key } else { group_of_block(block) }
    }

    /// What [`group_of`](Self::group_of) would say now.
    pub(super) fn look(&self, key: u64) -> u64 {
        let block = block_of(key);
        let is_single = self.single[self.place_of(block)] != 0 || self.left > 0;
        if is_single { key } else { group_of_block(block) }
    }

    /// Whether the keys of the block are groups of their own, from now on.
    fn note_block(&mut self, block: u64) -> bool {
        let place = &mut self.single[self.place_of(block)];
        if *place == 0 && self.left > 0 {
            *place = block + 1;
            self.left -= 1;
        }
        *place != 0
    }

    /// Where the block is in the list, or would be.
    fn place_of(&self, block: u64) -> usize {
        let last = self.single.len() - 1;
        let mut place = mixed(block) as usize & last;
        while ![0, block + 1].contains(&self.single[place]) {
            place = (place + 1) & last;
        }
        place
    }
}

fn block_of(key: u64) -> u64 {
    key >> BLOCK_BITS
}

/// From the last number down: the numbers of keys that are groups of their own are mostly small.
fn group_of_block(block: u64) -> u64 {
    !block
}

/// Which of `parts` parts a number belongs to. Spreads numbers that follow one another, or differ
/// in their upper bits only, evenly.
#[inline]
pub(super) fn part_of(number: u64, parts: usize) -> usize {
    ((mixed(number) * parts as u64) >> 32) as usize
}

/// 32 well mixed bits, by Fibonacci hashing: the upper half of the product.
#[inline]
fn mixed(number: u64) -> u64 {
    const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;
    number.wrapping_mul(GOLDEN) >> 32
}

#[cfg(all(test, not(affinity_loom)))]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    const BLOCK: u64 = 1 << BLOCK_BITS;

    fn keys() -> impl Strategy<Value = Vec<u64>> {
        let key = prop_oneof![0..10_000_u64, (0..10_000_u64).prop_map(|key| (key << 32) + key % 7), any::<u64>()];
        prop::collection::vec(key, 0..4_000)
    }

    proptest! {
        #[test]
        fn a_key_stays_in_its_group(keys in keys(), workers in 1..4_usize) {
            let (mut groups, mut before) = (Keys::new(workers), HashMap::new());
            for key in keys.iter().chain(&keys) {
                let looked = groups.look(*key);
                let group = groups.group_of(*key);
                prop_assert_eq!((looked, groups.look(*key)), (group, group));
                prop_assert_eq!(*before.entry(key).or_insert(group), group);
            }
        }
    }

    #[test]
    fn few_keys_are_apart_and_later_ones_go_by_blocks() {
        for workers in [1, 2, 3, 16] {
            let (mut keys, few) = (Keys::new(workers), SINGLE_BLOCKS as u64 * workers as u64 * BLOCK);
            assert!((0..few).rev().all(|key| keys.group_of(key) == key));
            assert!((few..3 * few).all(|key| keys.group_of(key) == group_of_block(key / BLOCK)));
            assert!((0..few).all(|key| keys.group_of(key) == key), "those before still do");
        }
    }

    /// As entities do whose numbers come with the number of their generation.
    #[test]
    fn keys_far_from_each_other_are_blocks_of_their_own() {
        let mut keys = Keys::new(2);
        let mut groups: Vec<_> = (0..1_000).map(|key| keys.group_of(key << 32)).collect();
        groups.sort_unstable();
        groups.dedup();
        assert_eq!(groups.len(), 1_000);
    }

    #[test]
    fn the_last_keys_of_all_have_a_block() {
        let mut keys = Keys::new(1);
        assert_eq!(keys.group_of(u64::MAX), u64::MAX);
        (0..10_000).for_each(|key| _ = keys.group_of(key));
        assert_eq!(keys.group_of(u64::MAX), u64::MAX);
        assert_eq!(keys.group_of(u64::MAX - BLOCK), group_of_block(u64::MAX / BLOCK - 1));
    }
}
