//! The table in the end.

use std::time::Duration;

use crate::region::STEPS;

/// Pairs are of the western and the eastern region.
pub struct Report {
    pub cars: [usize; 2],
    pub handed_over: [usize; 2],
    pub rows_of_followers: [u64; 2],
    pub time: Duration,
    pub ghosts_compared: u32,
    pub ghosts_are_same: bool,
    pub cars_are_same: bool,
}

impl Report {
    pub fn is_good(&self) -> bool {
        self.ghosts_are_same && self.cars_are_same
    }

    pub fn print(&self) {
        line("", ["west", "east"]);
        line("cars in the end", self.cars);
        line("cars handed over", self.handed_over);
        line("rows swept by the second worker", self.rows_of_followers);
        line("steps", [String::new(), STEPS.to_string()]);
        line("time", [String::new(), format!("{:.2?}", self.time)]);
        line("steps after which ghosts were compared", [String::new(), self.ghosts_compared.to_string()]);
        line("ghosts have the bits of their cars", ["", yes(self.ghosts_are_same)]);
        line("cars have the bits that one process computes", ["", yes(self.cars_are_same)]);
    }
}

fn line(what: &str, [west, east]: [impl std::fmt::Display; 2]) {
    println!("{what:<44}{west:>10}{east:>10}");
}

fn yes(holds: bool) -> &'static str {
    if holds { "yes" } else { "NO" }
}
