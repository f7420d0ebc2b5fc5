//! Traffic as others see it: requested trips, ended trips, and links.

/// A requested trip.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TripRequest {
    /// Travellers have consecutive numbers; the trips of each are in the order of time.
    pub traveller: u32,
    /// The second in which it starts, or as soon as the trip before has ended.
    pub depart: u32,
    /// Intersections.
    pub from: u32,
    pub to: u32,
    /// All links of the way, where it is given.
    pub via: Option<Vec<u32>>,
}

/// A trip that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndedTrip {
    pub car: u32,
    /// Seconds.
    pub depart: u32,
    pub arrive: u32,
    /// Intersections.
    pub from: u32,
    pub to: u32,
    /// What it would have taken if nothing had held it up.
    pub free_seconds: u32,
    pub metres: u32,
    /// It ended where no way went on.
    pub stuck: bool,
}

/// A link and what has happened on it since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkState {
    pub entered: u64,
    pub left: u64,
    /// What those who have left spent on it, in 1 / [`PARTS`](super::PARTS) of a second.
    pub parts_spent: u64,
    pub occupancy: u32,
    /// Cars that have reached the stop line, or those in front of them.
    pub queued: u32,
}
