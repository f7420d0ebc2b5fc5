//! What a map says that the simulation does not know of.

/// A kind of thing that is not read, or read as something simpler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    ServiceRoads,
    ClosedRoads,
    Destination,
    Reversible,
    BusLanes,
    TurnLanes,
    Conditional,
    Signs,
    Barriers,
    LevelCrossings,
    FootLights,
    LongTurns,
    UnclearTurns,
    TurnsElsewhere,
    RepeatedRoads,
    MissingNodes,
}

/// Every kind in its order, with what to say of it.
const TEXTS: [(Kind, &str); 16] = [
    (Kind::ServiceRoads, "service roads, left out"),
    (Kind::ClosedRoads, "roads closed to cars, left out"),
    (Kind::Destination, "roads for residents and visitors only, open to all"),
    (Kind::Reversible, "roads that change their direction, open as if they did not"),
    (Kind::BusLanes, "roads with bus lanes, open to all"),
    (Kind::TurnLanes, "roads with lanes for turning, used as any other"),
    (Kind::Conditional, "rules for certain hours or vehicles, left out"),
    (Kind::Signs, "stop and give-way signs, left out: the higher class drives first"),
    (Kind::Barriers, "gates and other barriers on roads, open"),
    (Kind::LevelCrossings, "level crossings, always open"),
    (Kind::FootLights, "traffic lights away from junctions (crossings on foot), left out"),
    (Kind::LongTurns, "turns forbidden by way of a road in between, allowed"),
    (Kind::UnclearTurns, "turn restrictions that do not add up, left out"),
    (Kind::TurnsElsewhere, "turn restrictions on roads that are not driven on, left out"),
    (Kind::RepeatedRoads, "roads that come twice, read once"),
    (Kind::MissingNodes, "nodes of roads that are not in the file: the roads are cut there"),
];

/// A set of kinds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kinds(u16);

impl Kinds {
    pub fn of(kind: Kind) -> Self {
        Self(1 << kind as u16)
    }

    pub fn add(&mut self, kind: Kind) {
        self.0 |= Self::of(kind).0;
    }

    /// The kinds of both sets.
    pub fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The kinds that are not in the other set.
    pub fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// That kind if it is in the set, and no other.
    pub fn only(self, kind: Kind) -> Self {
        Self(self.0 & Self::of(kind).0)
    }
}

/// How often each kind was met.
#[derive(Clone, Debug, Default)]
pub struct Tally([u64; TEXTS.len()]);

impl Tally {
    pub fn add(&mut self, kind: Kind, times: usize) {
        self.0[kind as usize] += times as u64;
    }

    /// One of each kind in the set.
    pub fn add_all(&mut self, kinds: Kinds) {
        let mut left = kinds.0;
        while left != 0 {
            self.0[left.trailing_zeros() as usize] += 1;
            left &= left - 1;
        }
    }

    /// A line for each kind that was met.
    pub fn lines(&self) -> Vec<String> {
        let met = TEXTS.iter().map(|(kind, text)| (self.0[*kind as usize], text)).filter(|(count, _)| *count > 0);
        met.map(|(count, text)| format!("{count} {text}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_its_line() {
        let mut tally = Tally::default();
        assert!(tally.lines().is_empty());
        for (number, (kind, _)) in TEXTS.into_iter().enumerate() {
            assert_eq!(kind as usize, number, "texts stand in the order of the kinds");
            tally.add_all(Kinds::of(kind));
        }
        tally.add(Kind::Signs, 2);
        assert_eq!(tally.lines().len(), TEXTS.len());
        assert!(tally.lines()[Kind::Signs as usize].starts_with("3 stop"));
    }
}
