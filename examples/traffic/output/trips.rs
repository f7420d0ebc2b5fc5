//! `trips.csv`: a row for every trip that has ended, in the order of the second in which it did and
//! then of cars. A trip that was given up has no arrival.

use std::io::Write;
use std::path::Path;

use super::file::Draft;
use crate::model::EndedTrip;

pub struct Trips(Draft);

impl Trips {
    pub fn create(folder: &Path) -> Result<Self, String> {
        let mut draft = Draft::create(folder, "trips.csv")?;
        draft.write(|out| writeln!(out, "car,depart,arrive,from,to,free_seconds,seconds"))?;
        Ok(Self(draft))
    }

    /// Adds the trips that ended in one second.
    pub fn add(&mut self, mut ended: Vec<EndedTrip>) -> Result<(), String> {
        ended.sort_unstable_by_key(|trip| (trip.arrive, trip.car));
        self.0.write(|out| {
            ended.iter().try_for_each(|trip| {
                let EndedTrip { car, depart, arrive, from, to, free_seconds, stuck, .. } = trip;
                if *stuck {
                    writeln!(out, "{car},{depart},,{from},{to},{free_seconds},")
                } else {
                    writeln!(out, "{car},{depart},{arrive},{from},{to},{free_seconds},{}", arrive - depart)
                }
            })
        })
    }

    pub fn into_draft(self) -> Draft {
        self.0
    }
}
