//! What the tests of all formats need.

use std::fs;
use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::text::UNPACKING;
use super::{Files, Scenario};
use crate::map::SignalPlan;
use crate::map::hostile::memory;
use crate::tests::TempFolder;

/// What reading a scenario may take at most: so many bytes for each byte of its files or, where
/// they are packed, of what they may unpack to, and room for pieces and small files.
const BYTES_PER_BYTE: u64 = 40;
const BYTES_ANYWAY: u64 = 32 << 20;

/// A folder for one test.
pub struct Folder(pub TempFolder);

impl Folder {
    pub fn new(test: &str) -> Self {
        Self(TempFolder::new(test))
    }

    /// A folder with these files.
    pub fn with(test: &str, files: &[(&str, &[u8])]) -> Self {
        let folder = Self::new(test);
        files.iter().for_each(|(name, content)| fs::write(folder.0.join(name), content).unwrap());
        folder
    }

    /// Files of a scenario by their names: the network, and what travels on it.
    pub fn files(&self, network: &str, demand: &str) -> Files {
        let file = |name: &str| Some(self.0.join(name)).filter(|_| !name.is_empty());
        let mut files = Files::default();
        match (network.contains(".net.xml"), demand.contains(".csv")) {
            (_, true) => files.trips = file(demand),
            (true, false) => files.routes = file(demand).into_iter().collect(),
            (false, false) => files.plans = file(demand),
        }
        let network_file = if network.contains(".net.xml") { &mut files.net } else { &mut files.network };
        *network_file = file(network);
        files
    }

    /// Reads a scenario and expects of it what holds for all; `Err` has the line, without the
    /// folder.
    pub fn read(&self, network: &str, demand: &str) -> Result<Scenario, String> {
        let files = self.files(network, demand);
        let (read, peak) = memory::peak(|| files.read(1, crate::map::isle_of_man));
        let most = BYTES_PER_BYTE * self.unpacked() + BYTES_ANYWAY;
        assert!(peak <= most, "{peak} bytes of memory, at most {most} are allowed");
        match read {
            Ok(scenario) => {
                assert_is_whole(&scenario);
                Ok(scenario)
            }
            Err(error) => {
                let line = error.to_string();
                assert!(line.starts_with(&self.0.display().to_string()), "{line:?}");
                assert!(!line.chars().any(char::is_control) && line.len() < 400, "{line:?}");
                Err(line.replace(&format!("{}/", self.0.display()), ""))
            }
        }
    }

    /// The bytes that all files may unpack to.
    fn unpacked(&self) -> u64 {
        let files = fs::read_dir(&*self.0).unwrap().map(Result::unwrap);
        let size = |file: fs::DirEntry| {
            let is_packed = file.path().extension().is_some_and(|extension| extension == "gz");
            file.metadata().unwrap().len() * if is_packed { UNPACKING } else { 1 }
        };
        files.map(size).sum()
    }

    /// Expects that a scenario is refused with a line that has `part`.
    pub fn refuses(&self, network: &str, demand: &str, part: &str) {
        let line = self.read(network, demand).err().unwrap_or_else(|| panic!("{part:?} should be said"));
        assert!(line.contains(part), "{part:?} is not in {line:?}");
    }
}

/// What the simulation relies on.
fn assert_is_whole(scenario: &Scenario) {
    let (nodes, links) = (&scenario.network.nodes, &scenario.network.links);
    assert!(nodes.iter().all(|node| node.x.is_finite() && node.y.is_finite()));
    for link in links {
        assert!((link.from as usize) < nodes.len() && (link.to as usize) < nodes.len() && link.from != link.to);
        assert!(link.length_dm > 0 && link.lanes > 0 && link.speed_kmh > 0 && link.lane_flow > 0, "{link:?}");
    }
    assert!(links.is_sorted_by_key(|link| (link.to, link.from)));
    assert!(scenario.network.bans.is_sorted());
    let bans = |&(from, to): &(u32, u32)| links[from as usize].to == links[to as usize].from;
    assert!(scenario.network.bans.iter().all(bans));
    assert!(scenario.network.plans.is_sorted_by_key(|plan| plan.node));
    for plan in &scenario.network.plans {
        assert_fits(plan, scenario);
    }
    let trips = scenario.trips.iter().flatten();
    trips.clone().try_fold(0, |last, trip| (trip.traveller - last <= 1).then_some(trip.traveller)).unwrap();
    for trip in trips {
        let route = trip.via.iter().flatten().map(|&link| links[link as usize]);
        let end = route.fold(trip.from, |node, link| if link.from == node { link.to } else { u32::MAX });
        assert!(trip.via.is_none() || end == trip.to, "{trip:?}");
        assert!((trip.from as usize) < nodes.len() && (trip.to as usize) < nodes.len());
    }
}

fn assert_fits(plan: &SignalPlan, scenario: &Scenario) {
    let links = &scenario.network.links;
    assert!(scenario.network.nodes[plan.node as usize].has_signals() && (plan.offset < plan.cycle));
    for movement in &plan.movements {
        assert_eq!(links[movement.from as usize].to, plan.node);
        assert_eq!(links[movement.to as usize].from, plan.node);
        assert!(movement.lanes != 0 && movement.holds.iter().all(|&other| (other as usize) < plan.movements.len()));
        let greens = movement.greens.iter().flat_map(|greens| greens.iter());
        let ends = greens.map(|green| (green.start, green.start + green.length));
        ends.fold(0, |last, (start, end)| (last <= start && start < end && end <= plan.cycle).then_some(end).unwrap());
    }
}

pub fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

/// The names of the links that a trip drives along.
pub fn names_along(scenario: &Scenario, trip: usize) -> Vec<String> {
    let (_, links) = scenario.names.as_ref().unwrap();
    let via = scenario.trips.as_ref().unwrap()[trip].via.as_ref().unwrap();
    via.iter().map(|&link| links[link as usize].to_string()).collect()
}

/// The names of the nodes where a trip begins and ends.
pub fn ends(scenario: &Scenario, trip: usize) -> (&str, &str) {
    let (nodes, _) = scenario.names.as_ref().unwrap();
    let trip = &scenario.trips.as_ref().unwrap()[trip];
    (&nodes[trip.from as usize], &nodes[trip.to as usize])
}

pub fn departures(scenario: &Scenario) -> Vec<(u32, u32)> {
    scenario.trips.iter().flatten().map(|trip| (trip.traveller, trip.depart)).collect()
}
