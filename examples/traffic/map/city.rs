//! A generated city: a grid of streets about 100 m apart, every eighth an arterial.

use super::assemble::assemble;
use super::{Class, Control, Link, MapError, Network, Node, lights};

/// Largest side: 4 million intersections, which is 16 times New York.
pub const MAX_SIDE: u32 = 2048;
/// Every so many streets one is an arterial.
const ARTERIAL_PERIOD: u32 = 8;
/// The first arterial; half a period in, so that none runs along the edge.
const FIRST_ARTERIAL: u32 = ARTERIAL_PERIOD / 2;
/// Least and greatest distance between two neighbouring streets, in decimetres.
const BLOCK_DM: (u32, u32) = (850, 1_150);
/// Farthest an intersection stands from where its streets would cross, along either axis, in
/// decimetres.
const JITTER_DM: i32 = 120;

/// What the hashes decide; each gets numbers of its own.
#[derive(Clone, Copy)]
enum Choice {
    ColumnGap,
    RowGap,
    ColumnSpeed,
    RowSpeed,
    ColumnLanes,
    RowLanes,
    East,
    North,
}

/// A city of `side` x `side` intersections, all streets two-way. The same seed gives the same city
/// on every machine.
pub fn generate(side: u32, seed: u64) -> Result<Network, MapError> {
    let name = format!("City {side} x {side}");
    if side < 2 {
        return Err(MapError::new(name, "empty network: a city needs a side of at least 2 intersections"));
    }
    if side > MAX_SIDE {
        return Err(MapError::new(name, format_args!("too large: the side may be at most {MAX_SIDE} intersections")));
    }
    let places = places(side, seed);
    let nodes = places.iter().map(|&(x, y)| Node::new(x as f32 / 10.0, y as f32 / 10.0, Control::Priority));
    let mut city = assemble(Network::new(name, nodes.collect(), streets(side, seed, &places)))?;
    lights::place(&mut city, lights::Known::Speeds);
    Ok(city)
}

/// Decimetres east and north of the south-western corner, for every intersection, row by row.
fn places(side: u32, seed: u64) -> Vec<(i32, i32)> {
    let columns = street_offsets(side, seed, Choice::ColumnGap);
    let rows = street_offsets(side, seed, Choice::RowGap);
    let jitter = |choice, number| {
        let range = 2 * JITTER_DM as u32 + 1;
        below(range, seed, choice, number) as i32 - JITTER_DM
    };
    (0..side * side)
        .map(|number| {
            let (column, row) = (columns[(number % side) as usize], rows[(number / side) as usize]);
            (column + jitter(Choice::East, number), row + jitter(Choice::North, number))
        })
        .collect()
}

/// Where each of the parallel streets runs, in decimetres from the first.
fn street_offsets(side: u32, seed: u64, gap: Choice) -> Vec<i32> {
    let (least, greatest) = BLOCK_DM;
    let gaps = (0..side).map(|street| least + below(greatest - least + 1, seed, gap, street));
    gaps.scan(0, |offset, gap| Some(std::mem::replace(offset, *offset + gap as i32))).collect()
}

/// Both directions of every block between two neighbouring intersections.
fn streets(side: u32, seed: u64, places: &[(i32, i32)]) -> Vec<Link> {
    let rows = profiles(side, seed, Choice::RowSpeed, Choice::RowLanes);
    let columns = profiles(side, seed, Choice::ColumnSpeed, Choice::ColumnLanes);
    let mut links = Vec::with_capacity(4 * places.len());
    for here in 0..side * side {
        let (column, row) = (here % side, here / side);
        if column + 1 < side {
            links.extend(block(here, here + 1, places, rows[row as usize]));
        }
        if row + 1 < side {
            links.extend(block(here, here + side, places, columns[column as usize]));
        }
    }
    links
}

/// Lanes in each direction and speed in km/h of every street of one direction.
fn profiles(side: u32, seed: u64, speed: Choice, lanes: Choice) -> Vec<(u8, u16)> {
    (0..side)
        .map(|street| {
            if street % ARTERIAL_PERIOD == FIRST_ARTERIAL {
                let lanes = 2 + below(2, seed, lanes, street) as u8;
                (lanes, 60 + 10 * below(3, seed, speed, street) as u16)
            } else {
                (1, 40 + 10 * below(2, seed, speed, street) as u16)
            }
        })
        .collect()
}

fn block(a: u32, b: u32, places: &[(i32, i32)], (lanes, speed_kmh): (u8, u16)) -> [Link; 2] {
    let ((ax, ay), (bx, by)) = (places[a as usize], places[b as usize]);
    let square = i64::from(ax - bx).pow(2) + i64::from(ay - by).pow(2);
    let length_dm = square.isqrt() as u32;
    let class = if lanes > 1 { Class::Primary } else { Class::Residential };
    [(a, b), (b, a)].map(|(from, to)| Link { class, ..Link::new(from, to, length_dm, lanes, speed_kmh) })
}

/// A number below `range` that depends on nothing but its arguments.
fn below(range: u32, seed: u64, choice: Choice, number: u32) -> u32 {
    let key = u64::from(number) << 8 | choice as u64;
    let bits = mix(mix(seed) ^ key);
    // The upper half scaled down: no division, and no bias that a city could show.
    (((bits >> 32) * u64::from(range)) >> 32) as u32
}

/// The output function of splitmix64.
fn mix(value: u64) -> u64 {
    let mut bits = value.wrapping_add(0x9E37_79B9_7F4A_7C15);
    bits = (bits ^ bits >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ bits >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_intersection_and_block_is_there() {
        for side in [2, 3, 10, 64] {
            let city = generate(side, 1).unwrap();
            assert_eq!(city.nodes.len() as u32, side * side);
            assert_eq!(city.links.len() as u32, 4 * side * (side - 1));
        }
    }

    #[test]
    fn blocks_and_streets_are_believable() {
        let city = generate(64, 7).unwrap();
        assert!(city.links.iter().all(|link| (600..=1_450).contains(&link.length_dm)));
        let arterials = city.links.iter().filter(|link| link.lanes > 1).count();
        assert_eq!(arterials * ARTERIAL_PERIOD as usize, city.links.len());
        for link in &city.links {
            let speeds = if link.lanes > 1 { 60..=80 } else { 40..=50 };
            assert!(speeds.contains(&link.speed_kmh), "{link:?}");
        }
        // Along the 8 arterials each way, wherever they cross a street: not at their ends.
        let signals = city.nodes.iter().filter(|node| node.has_signals()).count();
        assert_eq!(signals, 2 * 8 * 62 - 8 * 8);
    }

    #[test]
    fn the_seed_decides_everything() {
        let (a, b, other) = (generate(16, 3).unwrap(), generate(16, 3).unwrap(), generate(16, 4).unwrap());
        assert_eq!((&a.nodes, &a.links), (&b.nodes, &b.links));
        assert_ne!(a.links, other.links);
    }

    #[test]
    fn impossible_sides_are_errors() {
        for side in [0, 1] {
            let error = generate(side, 1).unwrap_err().to_string();
            assert!(error.contains("empty network") && error.contains("at least 2"), "{error}");
        }
        assert!(generate(u32::MAX, 1).unwrap_err().to_string().contains("at most 2048"));
    }
}
