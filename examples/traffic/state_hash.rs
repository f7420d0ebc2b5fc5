//! One number for the whole state of a simulation, the same however its rows are visited.

use crate::hash::SequenceHash;
use crate::model::{Demand, Due, Intersection, Road, Trips};

/// What kind of row a hash is for, so that equal numbers in different tables do not cancel out.
#[derive(Clone, Copy)]
enum Table {
    Intersections,
    Cars,
    Roads,
    Demand,
}

/// Rows are hashed with their numbers and summed up: any order gives the same result.
pub struct StateHash {
    now: u32,
    sum: u64,
}

impl StateHash {
    /// The state at the start of second `now`.
    pub fn new(now: u32) -> Self {
        Self { now, sum: 0 }
    }

    pub fn add_intersection(&mut self, node: usize, intersection: &Intersection) {
        let now = self.now;
        self.add(Table::Intersections, node, |row| intersection.write_state(now, row));
    }

    pub fn add_car(&mut self, car: usize, due: Due, trips: &Trips) {
        self.add(Table::Cars, car, |row| trips.write_state(due, row));
    }

    pub fn add_road(&mut self, number: usize, road: &Road) {
        self.add(Table::Roads, number, |row| row.write(u64::from(road.occupancy)));
    }

    pub fn add_demand(&mut self, demand: &Demand) {
        self.add(Table::Demand, 0, |row| demand.write_state(row));
    }

    pub fn finish(&self) -> u64 {
        let mut whole = SequenceHash::default();
        whole.write(u64::from(self.now));
        whole.write(self.sum);
        whole.finish()
    }

    fn add(&mut self, table: Table, number: usize, write: impl FnOnce(&mut SequenceHash)) {
        let mut row = SequenceHash::default();
        row.write(table as u64);
        row.write(number as u64);
        write(&mut row);
        self.sum = self.sum.wrapping_add(row.finish());
    }
}
