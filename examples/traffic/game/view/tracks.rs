//! Where each car was one step ago, so that it can be drawn on its way.

use std::sync::atomic::{AtomicU64, Ordering};

/// A car's place along a link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Track {
    pub road: u32,
    /// Share of the way from entry to stop line.
    pub share: f32,
}

/// For each car the place at the last even and at the last odd second in which it was drawn.
///
/// A car is on one link, which one worker draws: nobody else writes its words meanwhile, and
/// `Relaxed` is enough since the workers' rounds order one sweep before the next.
pub struct Tracks {
    even: Vec<AtomicU64>,
    odd: Vec<AtomicU64>,
}

/// Bits of the second, modulo; more than three hours, longer than anybody looks elsewhere without
/// one stray car.
const SECOND_BITS: u32 = 14;
/// Bits of the road's number.
const ROAD_BITS: u32 = 32;
/// Bits of the share: 3 cm on a link of 8 km.
const SHARE_BITS: u32 = 18;

impl Tracks {
    pub fn new(cars: u32) -> Self {
        // No second is `u32::MAX`: it would be found again only after 136 years.
        let never = || (0..cars).map(|_| AtomicU64::new(u64::MAX)).collect();
        Self { even: never(), odd: never() }
    }

    pub fn record(&self, car: u32, second: u32, track: Track) {
        self.of(second)[car as usize].store(pack(second, track), Ordering::Relaxed);
    }

    /// Where the car was in a second, if it was drawn then.
    pub fn find(&self, car: u32, second: u32) -> Option<Track> {
        unpack(second, self.of(second)[car as usize].load(Ordering::Relaxed))
    }

    fn of(&self, second: u32) -> &[AtomicU64] {
        if second.is_multiple_of(2) { &self.even } else { &self.odd }
    }
}

fn pack(second: u32, track: Track) -> u64 {
    let largest = (1 << SHARE_BITS) - 1;
    let share = (track.share.clamp(0.0, 1.0) * largest as f32).round() as u64;
    stamp(second) << (ROAD_BITS + SHARE_BITS) | u64::from(track.road) << SHARE_BITS | share.min(largest)
}

fn unpack(second: u32, word: u64) -> Option<Track> {
    let largest = (1_u64 << SHARE_BITS) - 1;
    let track = Track { road: (word >> SHARE_BITS) as u32, share: (word & largest) as f32 / largest as f32 };
    (word != u64::MAX && word >> (ROAD_BITS + SHARE_BITS) == stamp(second)).then_some(track)
}

fn stamp(second: u32) -> u64 {
    u64::from(second) & ((1 << SECOND_BITS) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_second_that_was_recorded_is_found() {
        let tracks = Tracks::new(3);
        let track = Track { road: 4_000_000_000, share: 0.25 };
        tracks.record(2, 41, track);
        let found = tracks.find(2, 41).unwrap();
        assert_eq!(found.road, track.road);
        assert!((found.share - track.share).abs() < 1e-5);
        assert_eq!((tracks.find(2, 40), tracks.find(2, 43), tracks.find(1, 41)), (None, None, None));
    }

    #[test]
    fn a_second_leaves_the_one_before_it_alone() {
        let tracks = Tracks::new(1);
        (7..9).for_each(|second| tracks.record(0, second, Track { road: second, share: 1.0 }));
        assert_eq!(tracks.find(0, 7), Some(Track { road: 7, share: 1.0 }));
        assert_eq!(tracks.find(0, 8), Some(Track { road: 8, share: 1.0 }));
    }
}
