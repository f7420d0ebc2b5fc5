//! The trips of a scenario, and what became of those that cannot be driven.

use std::collections::BTreeMap;
use std::path::Path;

use crate::map::{MapError, Network};
use crate::model::TripRequest;

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
        Self { network, trips, travellers: 0, has_trip: false, skipped }
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
