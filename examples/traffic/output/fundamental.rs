//! The fundamental diagram: how the flow on links depends on their density, as a plot.
//!
//! By Edie's definitions, for a link and a quarter hour: flow is the distance that cars drive, and
//! density the time that they spend, each divided by the time and the length of its lanes. Both
//! count for the quarter hour in which a car leaves the link.

use super::QUARTER;
use super::passage::Passage;
use super::svg::{Axis, Plot, picture};
use crate::map::Link;

/// Vehicles a kilometre of lane: bumper to bumper are 133.
const DENSITY: f64 = 150.0;
/// Vehicles an hour and lane.
const FLOW: f64 = 2_400.0;

/// Cells of the diagram, so that it takes the same memory for any city and day.
const COLUMNS: usize = 75;
const ROWS: usize = 48;

/// Shorter links hold so few cars that their density jumps.
const SHORTEST_DM: u32 = 500;

/// How many quarter hours of links lie in each cell.
pub struct Fundamental(Vec<u64>);

impl Default for Fundamental {
    fn default() -> Self {
        Self(vec![0; COLUMNS * ROWS])
    }
}

impl Fundamental {
    pub fn add(&mut self, link: &Link, passage: &Passage) {
        if link.length_dm < SHORTEST_DM || passage.left == 0 {
            return;
        }
        let (lanes, quarter) = (f64::from(link.lanes), f64::from(QUARTER));
        let flow = passage.left as f64 * 3_600.0 / quarter / lanes;
        let kilometres = f64::from(link.length_dm) / 10_000.0;
        let density = passage.seconds / quarter / kilometres / lanes;
        let cell = |value: f64, most: f64, count: usize| ((value / most * count as f64) as usize).min(count - 1);
        self.0[cell(flow, FLOW, ROWS) * COLUMNS + cell(density, DENSITY, COLUMNS)] += 1;
    }

    pub fn plot(&self) -> String {
        let x = Axis { label: "vehicles a kilometre and lane", least: 0.0, most: DENSITY };
        let y = Axis { label: "vehicles an hour and lane", least: 0.0, most: FLOW };
        let mut plot = Plot::new("links of 50 m and more, by quarter hour", x, y);
        let most = self.0.iter().copied().max().unwrap_or(0).max(1) as f64;
        let (width, height) = (DENSITY / COLUMNS as f64, FLOW / ROWS as f64);
        for (number, &count) in self.0.iter().enumerate().filter(|(_, count)| **count > 0) {
            let (left, bottom) = ((number % COLUMNS) as f64 * width, (number / COLUMNS) as f64 * height);
            // By the logarithm: empty roads are far more than full ones.
            let share = 0.1 + 0.9 * (count as f64).ln_1p() / most.ln_1p();
            plot.cell((left, bottom), (left + width, bottom + height), "#0a58ca", share);
        }
        picture(&[plot])
    }
}
