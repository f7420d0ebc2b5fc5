//! Tests that need no process of their own: what each call does, against plain Bevy. One program, so
//! that it is linked once.

mod commands;
#[path = "../common/mod.rs"]
mod common;
mod differential;
mod due;
mod fused;
#[path = "../common/mix.rs"]
mod mix;
mod printed;
mod query;
mod reduce;
mod scatter;
#[path = "../common/tables.rs"]
mod tables;
mod tags;
mod transforms;
mod tree;
#[path = "../common/ways.rs"]
mod ways;
