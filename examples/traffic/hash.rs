//! Hashes in the place of random generators: every choice is a function of who chooses and when, so
//! it does not depend on the order in which rows are swept.

/// 2^64 divided by the golden ratio: spreads consecutive numbers over the whole range.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// The finaliser of SplitMix64: every input bit changes about half of the output bits.
pub fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}

/// A well-mixed number for a sequence of numbers, in their order.
pub fn hash(parts: &[u64]) -> u64 {
    let mut sequence = SequenceHash::default();
    parts.iter().for_each(|&part| sequence.write(part));
    sequence.finish()
}

/// A number in `0..bound`, evenly spread. `bound` must not be 0.
pub fn below(hash: u64, bound: u32) -> u32 {
    (((hash >> 32) * u64::from(bound)) >> 32) as u32
}

/// Hashes numbers one after another; their order matters.
#[derive(Default, Clone, Copy)]
pub struct SequenceHash(u64);

impl SequenceHash {
    pub fn write(&mut self, value: u64) {
        self.0 = mix(self.0.wrapping_add(GOLDEN) ^ value.wrapping_mul(GOLDEN));
    }

    pub fn finish(self) -> u64 {
        mix(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_and_length_matter() {
        assert_ne!(hash(&[1, 2]), hash(&[2, 1]));
        assert_ne!(hash(&[0]), hash(&[0, 0]));
    }

    #[test]
    fn below_covers_its_range_evenly() {
        let mut counts = [0_u32; 7];
        for value in 0..70_000 {
            counts[below(mix(value), 7) as usize] += 1;
        }
        assert!(counts.iter().all(|&count| (9_500..10_500).contains(&count)), "{counts:?}");
    }
}
