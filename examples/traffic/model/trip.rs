//! Trips as others see them: those that somebody asks for, and those that have ended.

/// A trip that somebody asks for.
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
