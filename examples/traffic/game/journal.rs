//! The player's orders: what came of each in the streets around, and how to take it back.

use std::collections::VecDeque;

use bevy::prelude::*;

use super::select::Places;
use crate::model::{Intersection, Order, Timing};
use crate::simulation::{Directory, Orders, Plan};

/// How far around an order its effect is counted, in metres: the next few streets.
const AROUND: f32 = 300.0;

/// Orders that are remembered: more than anybody takes back.
const KEPT: usize = 100;

/// The last orders, the latest at the end.
#[derive(Resource, Default)]
pub struct Journal {
    entries: VecDeque<Entry>,
    /// How many were taken back.
    pub undone: usize,
}

/// What the player did with one click or key.
pub struct Entry {
    /// The second of the first effect.
    pub at: u32,
    pub text: String,
    /// Where it is, or begins.
    pub node: u32,
    /// What makes it undone; nothing if that is not possible.
    inverse: Vec<Order>,
    around: Vec<u32>,
    /// Cars around, when it was given and now.
    pub cars: [u32; 2],
}

impl Journal {
    /// The latest first.
    pub fn latest(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().rev()
    }

    /// What the last order was that can be taken back, if one can.
    pub fn last(&self) -> Option<&str> {
        self.last_place().map(|place| &*self.entries[place].text)
    }

    /// Forgets the last order that can be taken back; returns what it was and what undoes it.
    pub fn take_last(&mut self) -> Option<(String, Vec<Order>)> {
        let place = self.last_place()?;
        self.undone += 1;
        self.entries.remove(place).map(|entry| (entry.text, entry.inverse))
    }

    fn last_place(&self) -> Option<usize> {
        self.entries.iter().rposition(|entry| !entry.inverse.is_empty())
    }

    /// Notes orders that take effect from second `at` on. To be called before the first one does.
    pub fn note(world: &mut World, at: u32, orders: &[Order], text: String) {
        let Some(&first) = orders.first() else { return };
        let node = node(world, first);
        let inverse = orders.iter().flat_map(|&order| inverse(world, order)).collect();
        let around = world.resource::<Places>().intersections_around(node, AROUND);
        let cars = [cars(world, &around); 2];
        let entries = &mut world.resource_mut::<Self>().into_inner().entries;
        entries.push_back(Entry { at, text, node, inverse, around, cars });
        if entries.len() > KEPT {
            entries.pop_front();
        }
    }

    /// Counts the cars around each order anew.
    pub fn count(world: &mut World) {
        world.resource_scope(|world, mut journal: Mut<Self>| {
            journal.entries.iter_mut().for_each(|entry| entry.cars[1] = cars(world, &entry.around));
        });
    }
}

/// Where an order is given.
fn node(world: &World, order: Order) -> u32 {
    match order {
        Order::Signals { node, .. } | Order::Lights { node, .. } | Order::RushHour { node } => node,
        Order::Road { road, .. } => world.resource::<Plan>().road_start(road).0,
    }
}

/// What makes an order undone that is about to be given. A rush hour has come and does not go.
fn inverse(world: &World, order: Order) -> Vec<Order> {
    let signals = |node| timing(world, node).map(|timing| Order::Signals { node, timing });
    match order {
        Order::Signals { node, .. } => signals(node).into_iter().collect(),
        Order::Lights { node, up } => match signals(node) {
            Some(timing) if !up => vec![Order::Lights { node, up: true }, timing],
            None if up => vec![Order::Lights { node, up: false }],
            // It changes nothing.
            _ => Vec::new(),
        },
        Order::Road { road, closed } => vec![Order::Road { road, closed: !closed }],
        Order::RushHour { .. } => Vec::new(),
    }
}

/// The timing of an intersection's signals once all orders have taken effect that were given, as
/// several may be while the game is paused; nothing where there will be no signals.
fn timing(world: &World, node: u32) -> Option<Timing> {
    let entity = world.resource::<Directory>().intersection(node);
    let present = world.get::<Intersection>(entity).filter(|intersection| intersection.has_signals());
    let pending = world.get_resource::<Orders>().into_iter().flat_map(|orders| orders.of_signals(node));
    pending.fold(present.map(Intersection::timing), |before, order| match order {
        Order::Signals { timing, .. } => before.map(|_| timing),
        Order::Lights { up, .. } => up.then(|| world.resource::<Plan>().rules(node, true).programme.timing()),
        Order::Road { .. } | Order::RushHour { .. } => before,
    })
}

fn cars(world: &World, nodes: &[u32]) -> u32 {
    let directory = world.resource::<Directory>();
    let intersection = |&node: &u32| world.get::<Intersection>(directory.intersection(node));
    nodes.iter().filter_map(intersection).map(|intersection| intersection.on_road() + intersection.waiting()).sum()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bevy_affinity::prelude::*;

    use super::*;
    use crate::simulation::{self, CityApp};
    use crate::tests::crowded;

    fn entry(at: u32, inverse: Vec<Order>) -> Entry {
        Entry { at, text: at.to_string(), node: 0, inverse, around: Vec::new(), cars: [0; 2] }
    }

    #[test]
    fn the_latest_order_that_can_be_taken_back_is() {
        let reopen = |road| vec![Order::Road { road, closed: false }];
        let entries = [entry(1, reopen(1)), entry(2, reopen(2)), entry(3, Vec::new())];
        let mut journal = Journal { entries: entries.into(), undone: 0 };
        assert_eq!(journal.last(), Some("2"));
        assert_eq!(journal.take_last(), Some(("2".to_owned(), reopen(2))));
        assert_eq!(journal.latest().map(|entry| entry.at).collect::<Vec<_>>(), [3, 1]);
        assert_eq!(journal.take_last(), Some(("1".to_owned(), reopen(1))));
        assert_eq!(journal.last(), None);
        assert_eq!(journal.take_last(), None);
    }

    #[test]
    fn each_order_is_taken_back_by_itself_while_the_game_is_paused() {
        let city = Arc::new(crowded());
        let node = (0..256).find(|&node| city.intersections()[node as usize].has_signals()).unwrap();
        let signals = |main_green| Order::Signals { node, timing: Timing { cycle: 60, main_green, offset: 0 } };
        let lights = |up| Order::Lights { node, up };
        let fresh = Order::Signals { node, timing: city.rules(node, true).programme.timing() };
        let mut app = CityApp::on_gang(city, SchedulerMode::Serial, AffinitySettings::default());
        let world = app.world();
        for (given, order, undone) in [
            (signals(40), signals(30), vec![signals(40)]),
            (signals(30), lights(false), vec![lights(true), signals(30)]),
            (lights(false), lights(true), vec![lights(false)]),
            (lights(true), signals(20), vec![fresh]),
        ] {
            simulation::give(world, given).unwrap();
            assert_eq!(inverse(world, order), undone, "{order:?} after {given:?}");
        }
        let elsewhere = Order::Lights { node: node + 1, up: false };
        simulation::give(world, elsewhere).unwrap();
        assert_eq!(inverse(world, signals(20)), [fresh]);
    }
}
