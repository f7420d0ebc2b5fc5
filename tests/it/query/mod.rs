//! `AffineQuery` in the place of Bevy's `Query`: every method, filters, contiguous runs, change
//! ticks of whole tables, ported programs.

mod built;
mod contiguous;
mod filters;
mod forward;
mod ports;
mod summary_ticks;
