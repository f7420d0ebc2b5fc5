//! Who drives first where no signals tell: the higher class of road, the cars in a roundabout, and
//! where all are equal whoever comes first.
//!
//! A car that has passed keeps those who must give way from entering for a gap behind it (gap
//! acceptance): so what a side road passes falls with the flow on the main road, as
//! `exp(-flow * gap)`.

use super::approach::Approach;
use super::signal::{Arm, crosses};
use crate::map::{Class, Control};

/// Seconds that a car from a side road needs behind one on the main road: with
/// [`MINOR_FLOW`] near the potential capacity of the Highway Capacity Manual (critical gap 6.2 s,
/// follow-up time 3.3 s).
const MINOR_GAP: u32 = 6;

/// What a side road passes while nobody is on the main road, in percent of its saturation flow: one
/// car in 3.3 s.
const MINOR_FLOW: u32 = 60;

/// Seconds between two cars that cross where all roads are equal: what one lane takes too.
const EQUAL_GAP: u32 = 2;

/// Seconds that a car needs behind one in the ring: with [`RING_FLOW`] the capacity of an entry is
/// that of the Highway Capacity Manual, `1,130 exp(-0.001 flow)` an hour.
const RING_GAP: u32 = 4;

/// What an entry passes while the ring is empty, in percent of its saturation flow.
const RING_FLOW: u32 = 63;

/// Approaches beyond so many never give way, which no real crossing has.
const MOST: usize = 32;

/// The rules of one intersection.
#[derive(Clone, Debug)]
pub enum RightOfWay {
    Crossing {
        /// The approaches that must give way to a higher class of road.
        minor: u32,
        /// For each approach those that give way to its cars.
        gives_way: Box<[u32]>,
    },
    /// Where approaches and exits stand around the ring, counted in the direction of driving.
    Ring { approaches: Box<[u16]>, exits: Box<[u16]> },
}

/// A road at an intersection: the side that it lies on, and its class.
#[derive(Clone, Copy, Debug)]
pub struct Side {
    pub arm: Arm,
    pub class: Class,
    /// The intersection at its other end.
    pub neighbour: u32,
}

impl RightOfWay {
    /// `None` where nobody has to give way.
    pub fn new(control: Control, approaches: &[Side], exits: &[Side], left_hand: bool) -> Option<Self> {
        match control {
            Control::Signals => None,
            Control::Priority => crossing(approaches),
            Control::Roundabout => {
                let around = |sides: &[Side]| sides.iter().map(|side| bearing(side, left_hand)).collect();
                Some(Self::Ring { approaches: around(approaches), exits: around(exits) })
            }
        }
    }

    /// The approaches that are served after the others, as a mask.
    pub fn minor(&self) -> u32 {
        match self {
            Self::Crossing { minor, .. } => *minor,
            Self::Ring { .. } => 0,
        }
    }

    /// What an approach passes while nobody else drives, in percent of its saturation flow.
    pub fn entry_percent(&self, approach: usize) -> u32 {
        match self {
            Self::Ring { .. } => RING_FLOW,
            Self::Crossing { minor, .. } if is_in(*minor, approach) => MINOR_FLOW,
            Self::Crossing { .. } => 100,
        }
    }

    /// About how much of its flow an approach passes where the others are as busy: half of it where
    /// two roads take turns, less beside a main road or in a ring.
    pub fn percent(&self, approach: usize) -> u32 {
        match self {
            Self::Ring { .. } => 60,
            Self::Crossing { minor, .. } if is_in(*minor, approach) => 50,
            Self::Crossing { gives_way, .. } => {
                if gives_way.iter().any(|&mask| is_in(mask, approach)) {
                    50
                } else {
                    100
                }
            }
        }
    }

    /// A car has passed from an approach to an exit.
    pub fn passed(&self, approaches: &mut [Approach], from: usize, exit: u8, now: u32) {
        match self {
            Self::Crossing { minor, gives_way } => {
                let Some(&mask) = gives_way.get(from) else { return };
                for (index, approach) in approaches.iter_mut().enumerate().take(MOST) {
                    if is_in(mask, index) {
                        let yields_to_main = is_in(*minor, index) && !is_in(*minor, from);
                        let gap = if yields_to_main { MINOR_GAP } else { EQUAL_GAP };
                        approach.give_way(now + gap);
                    }
                }
            }
            Self::Ring { approaches: places, exits } => {
                let way = exits[usize::from(exit)].wrapping_sub(places[from]);
                for (approach, place) in approaches.iter_mut().zip(places) {
                    if (1..way).contains(&place.wrapping_sub(places[from])) {
                        approach.give_way(now + RING_GAP);
                    }
                }
            }
        }
    }
}

/// Whether a mask holds a number; it holds none of 32 and more.
pub fn is_in(mask: u32, index: usize) -> bool {
    mask.checked_shr(index as u32).is_some_and(|mask| mask & 1 == 1)
}

fn crossing(sides: &[Side]) -> Option<RightOfWay> {
    let sides = &sides[..sides.len().min(MOST)];
    let highest = sides.iter().map(|side| side.class).max()?;
    let mask = |is_in: &dyn Fn(&Side) -> bool| {
        sides.iter().enumerate().fold(0, |mask, (index, side)| mask | u32::from(is_in(side)) << index)
    };
    let gives_way = |first: &Side| mask(&|other| other.class <= first.class && conflict(first, other));
    let gives_way: Box<[u32]> = sides.iter().map(gives_way).collect();
    let somebody = gives_way.iter().any(|&mask| mask != 0);
    somebody.then(|| RightOfWay::Crossing { minor: mask(&|side| side.class < highest), gives_way })
}

/// Whether the ways of cars from two sides meet: they cross, or come from about the same direction
/// and merge. Those that come towards each other pass side by side.
fn conflict(a: &Side, b: &Side) -> bool {
    let (from, other) = (a.arm.direction, b.arm.direction);
    a.neighbour != b.neighbour && (crosses(from, other) || from.0 * other.0 + from.1 * other.1 > 0)
}

/// Where a road stands around a ring, as a part of 2^16 of a full turn in the direction in which
/// cars drive: to the left seen from above, or to the right where they keep to the left.
fn bearing(side: &Side, left_hand: bool) -> u16 {
    let (x, y) = side.arm.direction;
    let turn = (y as f64).atan2(x as f64) / std::f64::consts::TAU;
    let turn = if left_hand { -turn } else { turn };
    (turn.rem_euclid(1.0) * 65_536.0) as u32 as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(x: i64, y: i64, class: Class) -> Side {
        let neighbour = (x * 1_000 + y) as u32;
        Side { arm: Arm { direction: (x, y), weight: 1 }, class, neighbour }
    }

    /// Who must give way after a car has passed.
    fn yielding(rules: &RightOfWay, count: usize, from: usize, exit: u8) -> Vec<usize> {
        let mut approaches: Vec<Approach> = (0..count).map(|_| Approach::default()).collect();
        rules.passed(&mut approaches, from, exit, 0);
        (0..count).filter(|&index| approaches[index].gives_way(0)).collect()
    }

    #[test]
    fn the_side_road_gives_way_to_both_directions_of_the_main_road() {
        let sides = [side(10, 0, Class::Primary), side(-10, 0, Class::Primary), side(0, -10, Class::Residential)];
        let rules = RightOfWay::new(Control::Priority, &sides, &sides, false).unwrap();
        assert_eq!(rules.minor(), 0b100);
        assert_eq!([0, 1, 2].map(|from| yielding(&rules, 3, from, 0)), [vec![2], vec![2], vec![]]);
    }

    #[test]
    fn equal_roads_take_turns_with_those_they_cross() {
        let sides = [(10, 0), (-10, 0), (0, 10), (0, -10)].map(|(x, y)| side(x, y, Class::Residential));
        let rules = RightOfWay::new(Control::Priority, &sides, &sides, false).unwrap();
        assert_eq!(rules.minor(), 0);
        assert_eq!([0, 2].map(|from| yielding(&rules, 4, from, 0)), [vec![2, 3], vec![0, 1]]);
    }

    #[test]
    fn a_slip_road_gives_way_where_it_merges() {
        let sides = [side(-10, 0, Class::Motorway), side(-10, -3, Class::Trunk)];
        let rules = RightOfWay::new(Control::Priority, &sides, &[], false).unwrap();
        assert_eq!(yielding(&rules, 2, 0, 0), [1]);
        assert!(RightOfWay::new(Control::Priority, &sides[..1], &[], false).is_none());
    }

    #[test]
    fn a_car_in_the_ring_holds_up_the_entries_that_it_passes() {
        let sides = [(10, 0), (0, 10), (-10, 0), (0, -10)].map(|(x, y)| side(x, y, Class::Residential));
        let right = RightOfWay::new(Control::Roundabout, &sides, &sides, false).unwrap();
        assert_eq!(yielding(&right, 4, 0, 1), [0_usize; 0], "the next exit");
        assert_eq!(yielding(&right, 4, 0, 3), [1, 2], "against the clock");
        let left = RightOfWay::new(Control::Roundabout, &sides, &sides, true).unwrap();
        assert_eq!(yielding(&left, 4, 0, 1), [2, 3], "with the clock");
    }
}
