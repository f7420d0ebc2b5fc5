//! The traffic model: steps of one second, whole numbers only, functions on one row of data. It
//! knows nothing of who sweeps the rows, so that the Bevy systems and the plain program share it.

mod approach;
mod build;
mod car;
#[cfg(any(test, feature = "game"))]
mod change;
mod demand;
mod few;
mod incidence;
mod intersection;
mod road;
mod signal;
#[cfg(test)]
mod tests;
#[cfg(any(test, feature = "game"))]
mod timing;
mod totals;

#[cfg(feature = "game")]
pub use approach::{Approach, Slot};
pub use build::intersections;
pub use car::{Due, LONGEST_PAUSE, Trips};
pub use demand::Demand;
pub use incidence::{Incidence, MOST_ROADS, NetworkError};
pub use intersection::{Intersection, Message};
pub use road::{Road, SAMPLE_INTERVAL, first_sampled, storage, travel_time};
#[cfg(any(test, feature = "game"))]
pub use signal::Timing;
pub use totals::Totals;

/// A second that is never reached.
pub const NEVER: u32 = u32::MAX;
