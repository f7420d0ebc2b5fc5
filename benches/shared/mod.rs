//! What the benches that compare contenders share: races, statistics, tables, the header of a
//! report, our and Bevy's pools.

pub mod bevys_pool;
pub mod machine;
pub mod ours;
pub mod race;
pub mod report;
pub mod statistics;
pub mod stopwatch;
pub mod tables;
