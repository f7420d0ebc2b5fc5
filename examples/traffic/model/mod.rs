//! The traffic model: steps of one second, whole numbers only, functions on one row of data. It
//! knows nothing of who sweeps the rows, so that the Bevy systems and the plain program share it.

mod approach;
mod build;
mod car;
mod change;
mod control;
mod day;
mod demand;
mod exit;
mod few;
mod green_wave;
mod incidence;
mod intersection;
mod lanes;
mod message;
mod order;
mod planned;
mod planned_signal;
mod right_of_way;
mod road;
mod service_order;
mod signal;
mod slot;
mod stop_line;
#[cfg(test)]
mod tests;
mod timing;
mod totals;
mod travel_times;
mod trip;

#[cfg(feature = "game")]
pub use approach::Approach;
pub use approach::Passed;
pub use build::intersections;
pub use car::{Due, Trips};
pub use control::{Rules, capacities};
pub use day::{DAY, Day, MORNING};
pub use demand::Demand;
#[cfg(feature = "game")]
pub use green_wave::along as green_wave_along;
pub use incidence::{Incidence, MOST_ROADS, NetworkError};
pub use intersection::{Intersection, PATIENCE};
pub use message::Message;
pub use order::{Order, ROUTING_TIME, Refusal};
pub use planned::{PlannedTrip, PlannedTrips};
#[cfg(feature = "game")]
pub use road::travel_time;
pub use road::{PARTS, Road, SAMPLE_INTERVAL, drive_time, first_sampled, storage, takes_too_long};
pub use signal::Timing;
#[cfg(feature = "game")]
pub use slot::Slot;
pub use totals::Totals;
pub use travel_times::{LONGEST, TravelTimes, quantile};
pub use trip::{EndedTrip, LinkState, TripRequest};

/// A second that is never reached.
pub const NEVER: u32 = u32::MAX;
