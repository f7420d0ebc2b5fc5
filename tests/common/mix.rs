//! Rows that are dear enough to be shared.

/// Mixes the bits of `value` for some hundred nanoseconds: a few dozen such rows are worth a round
/// of the gang, where cheap ones stay on the leader.
pub fn mix_slowly(value: u64) -> u64 {
    (0..100).fold(value, |mixed, round| (mixed ^ round).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23))
}
