//! In which order the approaches of an intersection are served: another one in every second, so
//! that none is favoured where two want the same room.

use crate::hash::mix;

#[derive(Clone, Copy, Debug)]
pub struct ServiceOrder {
    salt: u32,
}

impl ServiceOrder {
    pub fn of(intersection: u32) -> Self {
        Self { salt: intersection }
    }

    /// The numbers `0..count`, from any of them on, upward or downward.
    pub fn at(self, now: u32, count: usize) -> impl Iterator<Item = usize> + Clone {
        let count = count as u32;
        let draw = mix(u64::from(self.salt) << 32 | u64::from(now));
        let first = ((draw >> 40) * u64::from(count)) >> 24;
        let step = if draw & 1 == 0 { 1 } else { count.saturating_sub(1).max(1) };
        (0..count).map(move |turn| ((first as u32 + turn * step) % count) as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_is_served_once() {
        for count in 0..9 {
            for now in 0..50 {
                let mut order: Vec<usize> = ServiceOrder::of(3).at(now, count).collect();
                order.sort_unstable();
                assert_eq!(order, (0..count).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn nobody_comes_before_another_more_often_than_not() {
        for count in 2..6 {
            for (a, b) in [(0, 1), (0, count - 1), (1, count - 1)] {
                if a == b {
                    continue;
                }
                let before = |now: &u32| {
                    let order: Vec<usize> = ServiceOrder::of(11).at(*now, count).collect();
                    order.iter().position(|&index| index == a) < order.iter().position(|&index| index == b)
                };
                let share = (0..10_000).filter(before).count() as f64 / 10_000.0;
                assert!((share - 0.5).abs() < 0.02, "{a} before {b} of {count}: {share}");
            }
        }
    }
}
