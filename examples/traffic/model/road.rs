//! Roads: what follows from length, lanes and speed, and the occupancy that is sampled from time to
//! time.

use bevy::prelude::Component;

use crate::map::Link;

/// Decimetres that a queued car takes up on a lane, gap included.
const CAR_LENGTH_DM: u64 = 75;

/// Seconds in an hour.
const HOUR: u64 = 3_600;

/// Each road's occupancy is sampled once in as many steps: five cycles of the signals, so that it
/// is always seen in the same part of the cycle. Intersections take turns, so that no step has to
/// sample all of them.
pub const SAMPLE_INTERVAL: u32 = 300;

/// Parts of a second in which the model counts what a drive takes: whole seconds would make short
/// links slow.
pub const PARTS: u32 = 256;

/// Longest drive along a link, in seconds, so that times stay within 32 bits: 24 days.
const LONGEST_DRIVE: u64 = 1 << 21;

/// What the drive along a link takes at free speed, in [`PARTS`] of a second, at least one of them.
pub fn drive_time(link: &Link) -> u32 {
    free_drive(link).clamp(1, LONGEST_DRIVE * u64::from(PARTS)) as u32
}

/// Whether the drive takes longer than the model can hold: cars would be faster than they may be.
pub fn takes_too_long(link: &Link) -> bool {
    free_drive(link) > LONGEST_DRIVE * u64::from(PARTS)
}

fn free_drive(link: &Link) -> u64 {
    // dm / (km/h) = 0.36 s
    u64::from(link.length_dm) * 9 * u64::from(PARTS) / (u64::from(link.speed_kmh.max(1)) * 25)
}

#[cfg(any(test, feature = "game"))]
/// Seconds to drive along a link at free speed, rounded up.
pub fn travel_time(link: &Link) -> u32 {
    drive_time(link).div_ceil(PARTS)
}

/// Saturation flow in vehicles an hour of green.
pub fn flow(link: &Link) -> u32 {
    u32::from(link.lane_flow) * u32::from(link.lanes)
}

/// The most cars that fit on a link: bumper to bumper, yet no fewer than the saturation flow needs:
/// those on the drive, and one second's, since the room that a car leaves is seen a second later.
pub fn storage(link: &Link) -> u32 {
    let standing = u64::from(link.length_dm) * u64::from(link.lanes) / CAR_LENGTH_DM;
    let second = u64::from(PARTS);
    let flowing = (u64::from(flow(link)) * (u64::from(drive_time(link)) + second)).div_ceil(HOUR * second);
    // Room is counted below zero too, where cars have pushed in.
    standing.max(flowing).clamp(1, i32::MAX as u64) as u32
}

/// Seconds until the room that a car leaves at the stop line has moved back to where cars enter, at
/// least one. A jam grows and dissolves at this speed, 15 to 20 km/h on ordinary roads: the slowest
/// at which the link still passes its saturation flow, so flow over density is a triangle.
pub fn hole_time(link: &Link) -> u32 {
    let second = u64::from(PARTS);
    let cycle = u64::from(storage(link)) * HOUR * second / u64::from(flow(link).max(1));
    (cycle.saturating_sub(u64::from(drive_time(link))) / second).clamp(1, LONGEST_DRIVE) as u32
}

/// A road as the statistics see it.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq)]
pub struct Road {
    pub storage: u32,
    /// Cars on it when it was last sampled.
    pub occupancy: u32,
    /// No car may enter it.
    pub closed: bool,
}

impl Road {
    pub fn new(link: &Link) -> Self {
        Self { storage: storage(link), occupancy: 0, closed: false }
    }

    /// At least seven tenths full: beyond that a road is mostly standing traffic.
    pub fn is_congested(&self) -> bool {
        u64::from(self.occupancy) * 10 >= u64::from(self.storage) * 7
    }
}

/// The first intersection whose turn it is to sample the roads that end at it; every
/// [`SAMPLE_INTERVAL`]th one follows.
pub fn first_sampled(now: u32) -> u32 {
    (SAMPLE_INTERVAL - now % SAMPLE_INTERVAL) % SAMPLE_INTERVAL
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(length_dm: u32, lanes: u8, speed_kmh: u16) -> Link {
        Link::new(0, 1, length_dm, lanes, speed_kmh)
    }

    #[test]
    fn travel_times_round_up() {
        assert_eq!(travel_time(&link(1_000, 1, 36)), 10);
        assert_eq!(travel_time(&link(1_001, 1, 36)), 11);
        assert_eq!(travel_time(&link(1, 1, 130)), 1);
    }

    #[test]
    fn drives_have_an_end() {
        assert!(!takes_too_long(&link(100_000_000, 1, 50)));
        assert!(takes_too_long(&link(100_000_000, 1, 1)));
        assert_eq!(u64::from(drive_time(&link(u32::MAX, 1, 1))), LONGEST_DRIVE * u64::from(PARTS));
    }

    #[test]
    fn storage_is_room_or_flow() {
        assert_eq!(storage(&link(1_000, 1, 50)), 13);
        assert_eq!(storage(&link(1_000, 3, 50)), 40);
        assert_eq!(storage(&link(1_000, 1, 5)), 37, "72 s and one more at half a car a second");
        assert_eq!(storage(&link(10, 1, 50)), 1);
    }
}
