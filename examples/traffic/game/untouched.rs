//! The city as it would be if the player had never touched it: simulated on a thread of its own,
//! without Bevy, up to the second that the game has reached. Rush hours come to it too: they are
//! what both cities have to cope with, not what the player does about it.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use bevy::platform::cell::SyncCell;

use crate::measure::Simulation;
use crate::model::Order;
use crate::plain::Plain;
use crate::tally::{MINUTE, Tally};

/// The thread ends when this is dropped.
pub struct Untouched {
    news: SyncCell<Sender<News>>,
    tallies: SyncCell<Receiver<Tally>>,
}

/// What the thread is told, in the order of the city's time.
enum News {
    /// The game has reached a second.
    Reached(u32),
    /// An order takes effect for both cities, at the begin of a second.
    Order(u32, Order),
    /// The cars at these intersections are counted apart from now on.
    District(Vec<u32>),
}

impl Untouched {
    pub fn start(city: Plain) -> Self {
        let (news, heard) = channel();
        let (sender, tallies) = channel();
        thread::spawn(move || keep_up(city, &heard, &sender));
        Self { news: SyncCell::new(news), tallies: SyncCell::new(tallies) }
    }

    /// The game has reached a second.
    pub fn follow(&mut self, second: u32) {
        self.tell(News::Reached(second));
    }

    /// An order is for both cities.
    pub fn obey(&mut self, at: u32, order: Order) {
        self.tell(News::Order(at, order));
    }

    /// Counts the cars at these intersections apart from now on.
    pub fn watch(&mut self, district: Vec<u32>) {
        self.tell(News::District(district));
    }

    fn tell(&mut self, news: News) {
        // The thread listens as long as this exists; had it failed, the score would stand still and
        // the game go on.
        let _ = self.news.get().send(news);
    }

    /// What came since the last call.
    pub fn tallies(&mut self) -> impl Iterator<Item = Tally> {
        self.tallies.get().try_iter()
    }
}

fn keep_up(mut city: Plain, news: &Receiver<News>, tallies: &Sender<Tally>) {
    let mut district = Vec::new();
    for news in news {
        match news {
            News::Reached(second) => {
                if run_until(&mut city, second, &district, tallies).is_none() {
                    return;
                }
            }
            News::Order(at, order) => {
                if run_until(&mut city, at, &district, tallies).is_none() {
                    return;
                }
                city.obey(order);
            }
            News::District(nodes) => district = nodes,
        }
    }
}

/// Nothing once the game is gone.
fn run_until(city: &mut Plain, second: u32, district: &[u32], tallies: &Sender<Tally>) -> Option<()> {
    while city.now() < second {
        city.step();
        if city.now().is_multiple_of(MINUTE) {
            let totals = city.totals();
            let nearby = district.iter().map(|&node| &city.intersections()[node as usize]);
            tallies.send(Tally::new(city.now(), &totals, nearby)).ok()?;
        }
    }
    Some(())
}
