//! The city as it would be if the player had never touched it: simulated on a thread of its own,
//! without Bevy, up to the second that the game has reached.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use bevy::platform::cell::SyncCell;

use super::tally::{MINUTE, Tally};
use crate::measure::Simulation;
use crate::plain::Plain;

/// The thread ends when this is dropped.
pub struct Untouched {
    targets: SyncCell<Sender<u32>>,
    tallies: SyncCell<Receiver<Tally>>,
}

impl Untouched {
    pub fn start(city: Plain) -> Self {
        let (targets, target) = channel();
        let (sender, tallies) = channel();
        thread::spawn(move || keep_up(city, &target, &sender));
        Self { targets: SyncCell::new(targets), tallies: SyncCell::new(tallies) }
    }

    /// The game has reached a second.
    pub fn follow(&mut self, second: u32) {
        // The thread listens as long as this exists; had it failed, the score would stand still and
        // the game go on.
        let _ = self.targets.get().send(second);
    }

    /// What came since the last call.
    pub fn tallies(&mut self) -> impl Iterator<Item = Tally> {
        self.tallies.get().try_iter()
    }
}

fn keep_up(mut city: Plain, targets: &Receiver<u32>, tallies: &Sender<Tally>) {
    for target in targets {
        while city.now() < target {
            city.step();
            if city.now().is_multiple_of(MINUTE) && tallies.send(Tally::new(city.now(), &city.totals())).is_err() {
                return;
            }
        }
    }
}
