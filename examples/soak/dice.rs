//! Random choices that a seed repeats, and hashes that mind the order.

/// The increment and the finaliser of SplitMix64.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// Mixes all bits of `value`.
pub fn mix(value: u64) -> u64 {
    let mixed = (value.wrapping_add(STEP) ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

/// The same, several times over: some hundred such rows are worth a round of the gang, cheaper ones
/// stay on the leader.
pub fn mix_slowly(value: u64) -> u64 {
    (0..12).fold(value, |mixed, _| mix(mixed))
}

/// A source of random choices.
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(mix(seed))
    }

    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        mix(self.0)
    }

    /// A number below `end`, or 0.
    pub fn below(&mut self, end: usize) -> usize {
        (self.number() % end.max(1) as u64) as usize
    }

    /// True once in `times` throws.
    pub fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    pub fn pick<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())].clone()
    }
}

/// The hash of a sequence. [`then`](Self::then) is associative and minds the order: however a
/// sequence is cut, its hash is the same only if every value is there, once, and in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trail {
    hash: u64,
    shift: u64,
}

impl Trail {
    pub const EMPTY: Self = Self { hash: 0, shift: 1 };

    pub fn of(value: u64) -> Self {
        Self { hash: mix(value), shift: STEP }
    }

    pub fn then(self, next: Self) -> Self {
        let hash = self.hash.wrapping_mul(next.shift).wrapping_add(next.hash);
        Self { hash, shift: self.shift.wrapping_mul(next.shift) }
    }

    pub fn hash(self) -> u64 {
        self.hash
    }
}

impl FromIterator<u64> for Trail {
    fn from_iter<I: IntoIterator<Item = u64>>(values: I) -> Self {
        values.into_iter().map(Self::of).fold(Self::EMPTY, Self::then)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_repeats_its_choices_and_another_one_does_not() {
        let throws = |seed| {
            let mut dice = Dice::new(seed);
            [0; 8].map(|_| dice.below(1_000_000))
        };
        assert_eq!(throws(1), throws(1));
        assert_ne!(throws(1), throws(2));
    }

    #[test]
    fn a_trail_minds_the_order_and_not_the_cuts() {
        let whole: Trail = (0..100).collect();
        for cut in [0, 1, 50, 99, 100] {
            assert_eq!((0..cut).collect::<Trail>().then((cut..100).collect()), whole);
        }
        let exchanged: Trail = (0..98).chain([99, 98]).collect();
        let doubled: Trail = (0..100).chain([99]).collect();
        assert_ne!(exchanged, whole);
        assert_ne!(doubled, whole);
    }
}
