//! Cars and signals as the GPU gets them: 16 bytes each, from where to where they move in a step.

use std::f32::consts::TAU;

use bevy::math::{Rect, Vec2};

/// Bytes of a glyph.
pub const SIZE: usize = 16;

/// What a glyph shows; the shader knows the same numbers. Zero is nothing.
const CAR: u32 = 1;
const SIGNAL: u32 = 2;

/// A place and a direction on the map.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pose {
    pub position: Vec2,
    /// Radians, counter-clockwise from east.
    pub heading: f32,
}

/// The part of the map in which glyphs lie; coordinates are whole numbers within it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Area {
    pub centre: Vec2,
    /// Metres from the centre to the sides: a 32,767th of it is the smallest step, centimetres in a
    /// street.
    pub reach: f32,
}

impl Area {
    /// The square around a rectangle.
    pub fn around(rect: Rect) -> Self {
        Self { centre: rect.center(), reach: rect.half_size().max_element() }
    }

    pub fn contains(&self, point: Vec2) -> bool {
        (point - self.centre).abs().max_element() <= self.reach
    }

    fn quantise(&self, point: Vec2) -> u32 {
        let share = ((point - self.centre) / self.reach).clamp(Vec2::NEG_ONE, Vec2::ONE);
        let [x, y] = (share * f32::from(i16::MAX)).round().to_array().map(|part| u32::from(part as i16 as u16));
        x | y << 16
    }
}

/// A car; `flow` is its speed as a share of the free speed.
pub fn car(area: &Area, from: Pose, to: Pose, flow: f32, number: u32) -> [u8; SIZE] {
    let flow = (flow.clamp(0.0, 1.0) * 255.0) as u32;
    // Cars differ a little, so that one can be told from the next.
    let shade = number.wrapping_mul(0x9E37_79B1) >> 24;
    encode(area, from, to, CAR | flow << 8 | shade << 16)
}

/// The stop line of an approach with its signal.
pub fn signal(area: &Area, pose: Pose, lanes: u8, is_green: bool) -> [u8; SIZE] {
    encode(area, pose, pose, SIGNAL | u32::from(is_green) << 8 | u32::from(lanes) << 16)
}

fn encode(area: &Area, from: Pose, to: Pose, look: u32) -> [u8; SIZE] {
    let headings = turns(from.heading) | turns(to.heading) << 16;
    let words = [area.quantise(from.position), area.quantise(to.position), headings, look];
    let mut bytes = [0; SIZE];
    for (bytes, word) in bytes.chunks_exact_mut(4).zip(words) {
        bytes.copy_from_slice(&word.to_le_bytes());
    }
    bytes
}

/// A heading in 65,536ths of a turn.
fn turns(heading: f32) -> u32 {
    ((heading / TAU).rem_euclid(1.0) * 65_536.0) as u32 & 0xFFFF
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(glyph: [u8; SIZE]) -> [u32; 4] {
        let word = |at: usize| u32::from_le_bytes([glyph[at], glyph[at + 1], glyph[at + 2], glyph[at + 3]]);
        [word(0), word(4), word(8), word(12)]
    }

    #[test]
    fn places_come_back_within_a_step() {
        let area = Area { centre: Vec2::new(5_000.0, -300.0), reach: 400.0 };
        for point in [Vec2::new(5_000.0, -300.0), Vec2::new(4_601.5, 99.25), Vec2::new(5_333.0, -555.5)] {
            let word = area.quantise(point);
            let part = |bits: u32| f32::from(bits as u16 as i16) / 32_767.0 * area.reach;
            let back = area.centre + Vec2::new(part(word), part(word >> 16));
            assert!(back.distance(point) < 0.02, "{point} became {back}");
        }
    }

    #[test]
    fn what_lies_outside_ends_up_on_the_edge() {
        let area = Area { centre: Vec2::ZERO, reach: 10.0 };
        assert!(!area.contains(Vec2::new(0.0, 11.0)));
        assert_eq!(area.quantise(Vec2::new(1e9, -1e9)), 0x8001_7FFF);
    }

    #[test]
    fn headings_are_turns() {
        assert_eq!((turns(0.0), turns(TAU / 4.0), turns(-TAU / 4.0)), (0, 16_384, 49_152));
        let pose = |heading| Pose { position: Vec2::ZERO, heading };
        let area = Area { centre: Vec2::ZERO, reach: 1.0 };
        let [_, _, headings, look] = words(car(&area, pose(0.0), pose(TAU / 2.0), 1.0, 0));
        assert_eq!((headings, look), (32_768 << 16, CAR | 255 << 8));
    }
}
