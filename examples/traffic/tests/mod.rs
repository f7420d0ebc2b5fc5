//! Tests of the whole model.

mod deferred;
mod flow;
#[cfg(feature = "game")]
mod fork;
mod modes;
mod orders;
mod theory;
mod whole_city;

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::{env, fs, process};

use indicatif::ProgressBar;

use crate::city::{City, Travel};
use crate::map::{Control, Green, Link, Movement, Network, Node, SignalPlan};
use crate::routes::Routes;
use deferred::{Deferred, Order};

/// A small city with so many cars that every rule of the model comes into play.
pub fn crowded() -> City {
    city(grid(16), hectic(3_000))
}

pub fn city(network: Network, travel: Travel) -> City {
    let search = |network: &Network, incidence: &_| Routes::search(network, incidence, &ProgressBar::hidden());
    City::new(network, travel, search).unwrap()
}

/// So many cars that hardly rest, and look for other ways every minute.
pub fn hectic(cars: u32) -> Travel {
    Travel { cars: Some(cars), start: 7 * 3_600, rests: 30..150, replans: Some(60), ..Travel::default() }
}

/// The same with two lanes, where every signal has a programme that tells movements apart.
pub fn planned() -> City {
    let mut network = grid(8);
    network.links.iter_mut().for_each(|link| link.lanes = 2);
    network.plans = (0..64).map(|node| plan(&network, node)).collect();
    city(network, hectic(1_500))
}

/// Roads take turns in pairs; every third way across gives way to all others.
fn plan(network: &Network, node: u32) -> SignalPlan {
    let into = (0..).zip(&network.links).filter(|(_, link)| link.to == node);
    let ways = into.flat_map(|(from, link)| {
        let out = (0..).zip(&network.links).filter(move |(_, other)| other.from == node && other.to != link.from);
        out.map(move |(to, _)| (from, to))
    });
    let ways: Vec<(u32, u32)> = ways.collect();
    let gives_way = |number: u32| number.is_multiple_of(3);
    let movement = |(number, &(from, to)): (u32, &(u32, u32))| {
        let green = Green { start: from % 2 * 25, length: 20, is_protected: !gives_way(number) };
        let others = (0..ways.len() as u32).filter(|&other| other != number && gives_way(other));
        let lanes = [0b01, 0b10, 0b11][number as usize % 3];
        Movement { from, to, lanes, greens: Some([green].into()), holds: others.collect() }
    };
    let movements = (0..).zip(&ways).map(movement).collect();
    SignalPlan { node, cycle: 50, offset: node * 7 % 50, movements }
}

/// A square grid of two-way streets, 100 m apart and with signals.
pub fn grid(side: u32) -> Network {
    let nodes = (0..side * side)
        .map(|number| Node::new((number % side * 100) as f32, (number / side * 100) as f32, Control::Signals))
        .collect();
    let mut links = Vec::new();
    for here in 0..side * side {
        let right = (here % side + 1 < side).then_some(here + 1);
        let up = (here / side + 1 < side).then_some(here + side);
        for there in right.into_iter().chain(up) {
            for (from, to) in [(here, there), (there, here)] {
                links.push(Link::new(from, to, 1_000, 1, 50));
            }
        }
    }
    links.sort_by_key(|link| (link.to, link.from));
    Network::new(format!("grid {side} x {side}"), nodes, links)
}

/// A path that no other test has, in this run or another.
pub fn path_of_its_own(test: &str) -> PathBuf {
    static TAKEN: AtomicU32 = AtomicU32::new(0);
    let number = TAKEN.fetch_add(1, Ordering::Relaxed);
    env::temp_dir().join(format!("bevy-affinity-{test}-{}-{number}", process::id()))
}

/// A folder for one test, removed when it goes out of scope.
pub struct TempFolder(PathBuf);

impl TempFolder {
    pub fn new(test: &str) -> Self {
        let folder = Self::not_made(test);
        fs::create_dir_all(&folder.0).unwrap();
        folder
    }

    /// One that is not there yet: the test makes it.
    pub fn not_made(test: &str) -> Self {
        Self(path_of_its_own(test))
    }
}

impl Deref for TempFolder {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl Drop for TempFolder {
    fn drop(&mut self) {
        // Nothing depends on it: what is left behind lies in the system's folder for such things.
        let _ = fs::remove_dir_all(&self.0);
    }
}
