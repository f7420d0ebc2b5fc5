//! MATSim's networks and plans.
//!
//! A car of MATSim's starts at the end of its first link and arrives at the end of its last one, so
//! a trip runs from node to node here. There is no right of way at MATSim's nodes, and its signals
//! are in files of their own, which are not read.

mod legs;
mod network;
mod plans;
#[cfg(test)]
mod tests;

pub use network::read as network;
pub use plans::read as plans;
