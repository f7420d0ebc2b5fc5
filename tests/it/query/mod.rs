//! `AffineQuery` in the place of Bevy's `Query`: every method, contiguous runs, change ticks of
//! whole tables, ported programs.

mod contiguous;
mod forward;
mod ports;
mod summary_ticks;
