//! Programmes of signals that a map or scenario brings along: any number of phases, and a signal
//! for each movement from one road to another.

use std::sync::Arc;

/// The longest cycle in seconds; longer phases end there.
pub const LONGEST_CYCLE: u32 = 1 << 24;

/// A part of a cycle in which a signal is green.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Green {
    /// Seconds from the beginning of the cycle.
    pub start: u32,
    pub length: u32,
    /// The way is free; else cars give way to those they cross.
    pub is_protected: bool,
}

/// The greens of a signal, in their order, none touching one of its kind; none overlap.
pub type Greens = Arc<[Green]>;

/// What cars may do that come from one road and leave by another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Movement {
    /// Links.
    pub from: u32,
    pub to: u32,
    /// The lanes of the first link that lead there, as a mask.
    pub lanes: u32,
    /// Its signal; without one it is always green.
    pub greens: Option<Greens>,
    /// The movements of the same junction, by their numbers, that give way to this one while their
    /// own green is not protected.
    pub holds: Vec<u32>,
}

/// The programme of one junction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignalPlan {
    pub node: u32,
    /// Seconds, at least 1.
    pub cycle: u32,
    /// Which second of the cycle second 0 is.
    pub offset: u32,
    pub movements: Vec<Movement>,
}

impl SignalPlan {
    /// Lanes beyond these share the last one.
    pub const MOST_LANES: u32 = 32;
}
