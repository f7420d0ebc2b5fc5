//! The trips of a scenario, and what became of those that cannot be driven.

use std::collections::BTreeMap;
use std::path::Path;

use crate::map::{MapError, Network, component};
use crate::model::TripRequest;

/// Which nodes lead to the core of a network, and which it leads to.
pub struct Reach {
    /// From here the core of the network can be reached.
    leaves: Vec<bool>,
    /// From the core this can be reached.
    enters: Vec<bool>,
}

impl Reach {
    pub fn of(network: &Network) -> Self {
        let nodes = network.nodes.len();
        let parts = component::numbers(nodes, network.links.iter().map(|link| (link.from, link.to)));
        let largest = component::largest_of(&parts);
        let core: Vec<bool> = parts.iter().map(|&part| part == largest).collect();
        let leaves = spread(&core, network.links.iter().map(|link| (link.to, link.from)));
        let enters = spread(&core, network.links.iter().map(|link| (link.from, link.to)));
        Self { leaves, enters }
    }

    /// Whether there is surely no way: what the core reaches leads to no place that it does not
    /// reach, and what leads to the core is behind no place that does not. Else a search tells.
    fn parts(&self, from: u32, to: u32) -> bool {
        let (from, to) = (from as usize, to as usize);
        self.enters[from] && !self.enters[to] || self.leaves[to] && !self.leaves[from]
    }
}

/// Everything that can be reached from the marked nodes.
fn spread(core: &[bool], edges: impl Iterator<Item = (u32, u32)> + Clone) -> Vec<bool> {
    let mut next: Vec<Vec<u32>> = vec![Vec::new(); core.len()];
    for (from, to) in edges.filter(|(_, to)| !core[*to as usize]) {
        next[from as usize].push(to);
    }
    let mut reached = core.to_vec();
    let mut frontier: Vec<u32> = (0..core.len() as u32).filter(|&node| core[node as usize]).collect();
    while let Some(node) = frontier.pop() {
        for &to in &next[node as usize] {
            if !std::mem::replace(&mut reached[to as usize], true) {
                frontier.push(to);
            }
        }
    }
    reached
}

/// Where and when a trip goes.
#[derive(Clone, Copy, Debug)]
pub struct Journey {
    pub depart: u32,
    pub from: u32,
    pub to: u32,
}

/// Collects trips, traveller by traveller.
pub struct Requests<'a> {
    network: &'a Network,
    reach: Reach,
    trips: Vec<TripRequest>,
    /// Travellers before the present one, and whether the present one has a trip.
    travellers: u32,
    has_trip: bool,
    /// Trips that are left out, by the reason.
    skipped: BTreeMap<&'static str, u64>,
}

/// Trips that can be driven, and one line on those that cannot.
pub struct Demand {
    pub trips: Vec<TripRequest>,
    pub notes: Vec<String>,
}

impl<'a> Requests<'a> {
    pub fn new(network: &'a Network) -> Self {
        let (trips, skipped) = (Vec::new(), BTreeMap::new());
        Self { network, reach: Reach::of(network), trips, travellers: 0, has_trip: false, skipped }
    }

    /// The trips that follow are another traveller's.
    pub fn next_traveller(&mut self) {
        self.travellers += u32::from(std::mem::take(&mut self.has_trip));
    }

    /// Counts a trip that is left out, and why.
    pub fn skip(&mut self, reason: &'static str) {
        *self.skipped.entry(reason).or_default() += 1;
    }

    /// Adds a trip whose route the simulation chooses, if there is one.
    pub fn add(&mut self, journey: Journey) {
        if journey.from == journey.to {
            self.skip("end where they begin");
        } else if self.reach.parts(journey.from, journey.to) {
            self.skip("have no way from begin to end");
        } else {
            self.push(journey, None);
        }
    }

    /// Adds a trip along these links.
    pub fn add_route(&mut self, depart: u32, route: Vec<u32>) {
        let link = |number: u32| self.network.links[number as usize];
        let (Some(&first), Some(&last)) = (route.first(), route.last()) else {
            return self.skip("end where they begin");
        };
        if !route.windows(2).all(|pair| link(pair[0]).to == link(pair[1]).from) {
            return self.skip("have a gap in their route, or roads that are left out");
        }
        let journey = Journey { depart, from: link(first).from, to: link(last).to };
        self.push(journey, Some(route));
    }

    fn push(&mut self, Journey { depart, from, to }: Journey, via: Option<Vec<u32>>) {
        self.has_trip = true;
        self.trips.push(TripRequest { traveller: self.travellers, depart, from, to, via });
    }

    /// The trips of the scenario in `file`, of which there must be one.
    pub fn finish(self, file: &Path) -> Result<Demand, MapError> {
        let skipped: u64 = self.skipped.values().sum();
        let all = skipped + self.trips.len() as u64;
        let reasons: Vec<String> = self.skipped.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
        let line = || format!("{skipped} of {all} trips are left out: {}", reasons.join(", "));
        if self.trips.is_empty() {
            let reasons = if skipped > 0 { format!(": {}", line()) } else { String::new() };
            return Err(MapError::new(file.display(), format_args!("no trip that can be driven{reasons}")));
        }
        Ok(Demand { trips: self.trips, notes: (skipped > 0).then(line).into_iter().collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::map::Link;

    #[test]
    fn only_trips_that_surely_have_no_way_are_left_out() {
        let mut network = crate::tests::grid(3);
        let cut_off = network.nodes.len() as u32;
        network.nodes.extend([network.nodes[0], network.nodes[1]]);
        let link = |from, to| Link { from, to, ..network.links[0] };
        let links = [link(cut_off, cut_off + 1), link(cut_off + 1, cut_off)];
        network.links.extend(links);
        let reach = Reach::of(&network);
        let parts =
            [(0, 4), (cut_off, cut_off + 1), (0, cut_off), (cut_off, 0)].map(|(from, to)| reach.parts(from, to));
        assert_eq!(parts, [false, false, true, true]);
        // Where no way leads back, one may lead there: a search tells.
        network.links.truncate(1);
        let Link { from, to, .. } = network.links[0];
        assert!(!Reach::of(&network).parts(from, to));
    }
}
