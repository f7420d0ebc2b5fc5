//! Roads: what follows from length, lanes and speed, and the occupancy that is sampled from time to
//! time.

use bevy::prelude::Component;

use crate::map::Link;

/// Decimetres that a queued car takes up on a lane, gap included.
const CAR_LENGTH_DM: u64 = 75;

/// Each road's occupancy is sampled once in as many steps: five cycles of the signals, so that it
/// is always seen in the same part of the cycle. Intersections take turns, so that no step has to
/// sample all of them.
pub const SAMPLE_INTERVAL: u32 = 300;

/// Seconds to drive along a link at free speed, at least one.
pub fn travel_time(link: &Link) -> u32 {
    // dm / (km/h) = 0.36 s
    let seconds = (u64::from(link.length_dm) * 9).div_ceil(u64::from(link.speed_kmh.max(1)) * 25);
    seconds.clamp(1, u64::from(u32::MAX / 4)) as u32
}

/// Saturation flow in vehicles an hour of green.
pub fn flow(link: &Link) -> u32 {
    u32::from(link.lane_flow) * u32::from(link.lanes)
}

/// The most cars that fit on a link: bumper to bumper, yet no fewer than a green wave needs to flow
/// through it.
pub fn storage(link: &Link) -> u32 {
    let lanes = u64::from(link.lanes);
    let standing = u64::from(link.length_dm) * lanes / CAR_LENGTH_DM;
    // One lane passes half a car a second.
    let flowing = (u64::from(travel_time(link)) * lanes).div_ceil(2);
    standing.max(flowing).clamp(1, u64::from(u32::MAX)) as u32
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
    fn storage_is_room_or_flow() {
        assert_eq!(storage(&link(1_000, 1, 50)), 13);
        assert_eq!(storage(&link(1_000, 3, 50)), 40);
        assert_eq!(storage(&link(1_000, 1, 5)), 36, "72 s at half a car a second");
        assert_eq!(storage(&link(10, 1, 50)), 1);
    }
}
