//! SUMO's networks and demand.
//!
//! A vehicle of SUMO's begins at the start of its first edge and ends at the end of its last one,
//! as trips do here. What lies inside junctions has no length here, as in SUMO's mesoscopic model.

mod classes;
mod demand;
mod flow;
mod net;
mod plans;
mod programmes;
#[cfg(test)]
mod tests;

pub use demand::read as demand;
pub use net::read as net;
