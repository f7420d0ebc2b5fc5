//! Tests of one intersection: what passes its stop line, and when.

mod lanes;
mod stop_line;
mod webster;

use super::approach::Approach;
use super::exit::Exit;
use super::intersection::{Finish, Intersection};
use super::message::Message;
use super::signal::Programme;
use super::slot::Slot;
use crate::routes::{ARRIVE, Routes};

/// Cars that reach this intersection have arrived, so that nothing ahead holds them up.
struct Crossing {
    intersection: Intersection,
    routes: Routes,
}

impl Crossing {
    fn new(programme: Programme, lanes: u8) -> Self {
        let approach = Approach::new(0, 0, 0, 1_800 * u32::from(lanes));
        let exit = Exit::new(0, 0, 1, 256, 1);
        let intersection =
            Intersection::new(0, programme, [approach].into_iter().collect(), [exit].into_iter().collect());
        Self { intersection, routes: Routes::default() }
    }

    /// A car that reaches the stop line at `exit_time`.
    fn enter(&mut self, car: u32, exit_time: u32) {
        self.intersection.receive(Message::Enter { approach: 0, exit: ARRIVE, early: 0, car, exit_time, cursor: 0 });
    }

    /// The cars that pass the stop line in second `now`.
    fn step(&mut self, now: u32) -> Vec<u32> {
        self.intersection.step(now, &self.routes, |_, _| ());
        self.intersection.take_finished().map(|finish: Finish| finish.car).collect()
    }
}

/// A car of its own number, for queues that are filled by hand.
fn slot(car: u32, exit: u8) -> Slot {
    Slot { car, exit_time: 0, cursor: 0, exit, early: 0, lane: 0 }
}
