//! `AffineQuery` in the place of Bevy's `Query`: every method, contiguous runs, change ticks of
//! whole tables, ported programs.

#[expect(dead_code, reason = "these tests do not ask whether a mode is parallel")]
#[path = "../common/mod.rs"]
mod common;

mod contiguous;
mod forward;
mod ports;
mod summary_ticks;
