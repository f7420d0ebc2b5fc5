//! From the connections of a network and the programmes of signals to what each junction does.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::programmes::{Programme, Programmes};
use crate::map::{Link, MapError, Movement, SignalPlan};
use crate::scenario::text::quote;

/// A way from a lane to a lane.
pub struct Connection {
    pub from: u32,
    pub to: u32,
    /// Its number among those for cars, if it is one.
    pub lane: Option<u32>,
    /// Which signals hold it back, as a number among their ids, and which of their lamps.
    pub signal: Option<(u32, u32)>,
    /// Its number in the right of way of its junction.
    pub place: Option<u32>,
}

/// Who gives way to whom at a junction: the number of a connection, and a letter for each other
/// one, the last for the first, which is 1 where the connection waits for that one.
pub type RightOfWay = Vec<(u32, String)>;

/// What the plans are made of.
pub struct Parts<'a> {
    pub file: &'a str,
    pub links: &'a [Link],
    pub connections: &'a [Connection],
    /// The ids of signals.
    pub ids: &'a [String],
    pub programmes: &'a Programmes,
    /// By junction.
    pub right_of_way: &'a HashMap<u32, RightOfWay>,
}

/// Movements of a junction while they are put together.
#[derive(Default)]
struct Draft<'a> {
    /// With its id.
    programme: Option<(u32, &'a Programme)>,
    movements: Vec<Movement>,
    /// By the links that they join.
    numbers: BTreeMap<(u32, u32), u32>,
    /// Of the right of way, with the movement of each.
    places: BTreeMap<u32, u32>,
}

impl Parts<'_> {
    /// The programme of every junction that has one.
    pub fn plans(&self) -> Result<Vec<SignalPlan>, MapError> {
        let mut drafts: BTreeMap<u32, Draft> = BTreeMap::new();
        for connection in self.connections {
            let node = self.links[connection.from as usize].to;
            if self.links[connection.to as usize].from == node {
                self.add(drafts.entry(node).or_default(), connection)?;
            }
        }
        let plan = |(node, draft): (u32, Draft)| draft.finish(node, self.right_of_way.get(&node));
        Ok(drafts.into_iter().filter_map(plan).collect())
    }

    fn add<'a>(&'a self, draft: &mut Draft<'a>, connection: &Connection) -> Result<(), MapError> {
        let signal = connection.signal.and_then(|(id, lamp)| Some((id, lamp, self.programme(id)?)));
        let mut greens = None;
        if let Some((id, lamp, programme)) = signal {
            let problem = || {
                let id = quote(&self.ids[id as usize]);
                MapError::new(
                    self.file,
                    format_args!("a connection has signal {lamp} of {id}, whose phases have no such one"),
                )
            };
            greens = Some(programme.greens.get(lamp as usize).ok_or_else(problem)?.clone());
            if let Some((other, _)) = draft.programme.replace((id, programme)).filter(|&(other, _)| other != id) {
                let [first, second] = [other, id].map(|id| quote(&self.ids[id as usize]));
                let problem = format_args!("a junction has signals of {first} and of {second}");
                return Err(MapError::new(self.file, problem));
            }
        }
        let lane = connection.lane.map_or(0, |lane| 1 << lane.min(SignalPlan::MOST_LANES - 1));
        let (from, to) = (connection.from, connection.to);
        let number = *draft.numbers.entry((from, to)).or_insert(draft.movements.len() as u32);
        match draft.movements.get_mut(number as usize) {
            Some(movement) => movement.lanes |= lane,
            None => draft.movements.push(Movement { from, to, lanes: lane, greens, holds: Vec::new() }),
        }
        if let Some(place) = connection.place {
            draft.places.insert(place, number);
        }
        Ok(())
    }

    fn programme(&self, id: u32) -> Option<&Programme> {
        self.programmes.get(&self.ids[id as usize])
    }
}

impl Draft<'_> {
    fn finish(mut self, node: u32, right_of_way: Option<&RightOfWay>) -> Option<SignalPlan> {
        let (_, &Programme { cycle, offset, .. }) = self.programme?;
        for (first, second) in right_of_way.map(|rules| self.held(rules)).unwrap_or_default() {
            self.movements[first as usize].holds.push(second);
        }
        // Cars take those of others where they have none, as they do elsewhere.
        self.movements.iter_mut().filter(|movement| movement.lanes == 0).for_each(|movement| movement.lanes = u32::MAX);
        Some(SignalPlan { node, cycle, offset, movements: self.movements })
    }

    /// Pairs of movements of which the second gives way to the first.
    fn held(&self, right_of_way: &RightOfWay) -> BTreeSet<(u32, u32)> {
        let mut held = BTreeSet::new();
        for (place, response) in right_of_way {
            let Some(&second) = self.places.get(place) else { continue };
            for (other, letter) in (0..).zip(response.bytes().rev()) {
                if letter == b'1'
                    && let Some(&first) = self.places.get(&other)
                {
                    let [from, from_other] = [first, second].map(|movement| self.movements[movement as usize].from);
                    if from != from_other {
                        held.insert((first, second));
                    }
                }
            }
        }
        held
    }
}
