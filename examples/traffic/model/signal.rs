//! Fixed-time signals with two phases: the main road and its opposite side, then everything that
//! crosses it.

use super::stop_line::Light;
use crate::hash::SequenceHash;
use crate::map::{Link, Network};

/// Two of them, each followed by [`Timing::CLEARANCE`], make a cycle.
const GREEN: u16 = 27;

/// The phase of an approach: 0 or 1.
pub type Phase = u8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Window {
    start: u16,
    length: u16,
}

/// When each phase has green, repeated for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Programme {
    cycle: u16,
    offset: u16,
    greens: [Window; 2],
}

impl Programme {
    /// An intersection without signals: a cycle of one second, all of it green.
    pub const ALWAYS_GREEN: Self = Self { cycle: 1, offset: 0, greens: [Window { start: 0, length: 1 }; 2] };

    /// Seconds of a cycle.
    pub const CYCLE: u16 = 60;

    pub const fn two_phases(offset: u16) -> Self {
        Self::timed(Timing { cycle: Self::CYCLE, main_green: GREEN, offset })
    }

    pub const fn timed(timing: Timing) -> Self {
        let Timing { cycle, main_green, offset } = timing;
        let main = Window { start: 0, length: main_green };
        let crossing = Window { start: main_green + Timing::CLEARANCE, length: timing.crossing_green() };
        Self { cycle, offset, greens: [main, crossing] }
    }

    #[cfg(any(test, feature = "game"))]
    /// What [`timed`](Self::timed) was given.
    pub fn timing(&self) -> Timing {
        Timing { cycle: self.cycle, main_green: self.greens[0].length, offset: self.offset }
    }

    pub fn write_state(&self, state: &mut SequenceHash) {
        let [main, crossing] = self.greens.map(|window| u64::from(window.start) | u64::from(window.length) << 16);
        state.write(u64::from(self.cycle) | u64::from(self.offset) << 16 | main << 32);
        state.write(crossing);
    }

    /// When in the cycle a phase gets green.
    pub fn green_start(&self, phase: Phase) -> u16 {
        self.greens[usize::from(phase)].start
    }

    #[cfg(any(test, feature = "game"))]
    pub fn is_green(&self, phase: Phase, second: u32) -> bool {
        self.light(phase).next_green(second) == second
    }

    /// Share of the cycle in which a phase has green.
    pub fn green_percent(&self, phase: Phase) -> u32 {
        u32::from(self.greens[usize::from(phase)].length) * 100 / u32::from(self.cycle)
    }

    /// The signal of a phase.
    pub fn light(&self, phase: Phase) -> impl Light {
        let Window { start, length } = self.greens[usize::from(phase)];
        PhaseLight { cycle: self.cycle.into(), offset: self.offset.into(), start: start.into(), length: length.into() }
    }
}

/// One window of green in a cycle.
struct PhaseLight {
    cycle: u32,
    offset: u32,
    start: u32,
    length: u32,
}

impl PhaseLight {
    fn position(&self, second: u32) -> u32 {
        second.wrapping_add(self.offset) % self.cycle
    }
}

impl Light for PhaseLight {
    fn next_green(&self, second: u32) -> u32 {
        let position = self.position(second);
        let wait = if position < self.start {
            self.start - position
        } else if position < self.start + self.length {
            0
        } else {
            self.cycle - position + self.start
        };
        second.saturating_add(wait)
    }

    fn greens_before(&self, second: u32) -> u32 {
        let cycles = (second + self.offset) / self.cycle;
        cycles * self.length + self.position(second).saturating_sub(self.start).min(self.length)
    }
}

/// What can be set at an intersection with signals, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    pub cycle: u16,
    /// Green of the main road; what crosses it has the rest of the cycle.
    pub main_green: u16,
    /// How far the cycle is ahead of one that began in second 0.
    pub offset: u16,
}

impl Timing {
    /// Seconds after each green in which everybody has red, so that the crossing empties.
    pub const CLEARANCE: u16 = 3;

    pub const fn crossing_green(self) -> u16 {
        self.cycle - self.main_green - 2 * Self::CLEARANCE
    }
}

/// An approach as the grouping sees it: the direction it comes from, in decimetres, and how
/// important its road is.
#[derive(Clone, Copy, Debug)]
pub struct Arm {
    pub direction: (i64, i64),
    pub weight: u32,
}

impl Arm {
    /// A link as seen from the intersection at one of its ends.
    pub fn of(network: &Network, node: u32, link: &Link) -> Self {
        let neighbour = if link.to == node { link.from } else { link.to };
        let (here, there) = (&network.nodes[node as usize], &network.nodes[neighbour as usize]);
        let decimetres = |metres: f32| (f64::from(metres) * 10.0).round() as i64;
        let direction = (decimetres(there.x) - decimetres(here.x), decimetres(there.y) - decimetres(here.y));
        Self { direction, weight: u32::from(link.lanes) * u32::from(link.speed_kmh) }
    }
}

/// The phase of every arm: those within 45 degrees of the main road's axis share the first one,
/// whichever side they come from. All arms get phase 0 where nothing crosses the main road.
pub fn group(arms: &[Arm]) -> Vec<Phase> {
    let main = arms.iter().reduce(|best, arm| if arm.weight > best.weight { arm } else { best });
    arms.iter().map(|arm| Phase::from(main.is_some_and(|main| crosses(main.direction, arm.direction)))).collect()
}

/// More than 45 degrees apart as axes: the sine of the angle exceeds its cosine.
pub fn crosses(main: (i64, i64), other: (i64, i64)) -> bool {
    let dot = main.0 * other.0 + main.1 * other.1;
    let cross = main.0 * other.1 - main.1 * other.0;
    cross.abs() > dot.abs()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closed_forms_agree_with_counting() {
        let uneven = Programme::timed(Timing { cycle: 90, main_green: 60, offset: 13 });
        for programme in [Programme::ALWAYS_GREEN, Programme::two_phases(0), Programme::two_phases(47), uneven] {
            for phase in 0..2 {
                let start = programme.light(phase).greens_before(0);
                let mut count = 0;
                for second in 0..300 {
                    assert_eq!(programme.light(phase).greens_before(second) - start, count);
                    count += u32::from(programme.is_green(phase, second));
                    let next = (second..).find(|&second| programme.is_green(phase, second));
                    assert_eq!(Some(programme.light(phase).next_green(second)), next);
                }
            }
        }
    }

    #[test]
    fn phases_never_overlap() {
        let programme = Programme::two_phases(3);
        assert!((0..120).all(|second| !(programme.is_green(0, second) && programme.is_green(1, second))));
    }

    #[test]
    fn impossible_timings_are_told_the_limits() {
        let timing = |cycle, main_green, offset| Timing { cycle, main_green, offset };
        for possible in [timing(20, 5, 0), timing(20, 9, 19), timing(180, 169, 179), Programme::two_phases(5).timing()]
        {
            assert_eq!(possible.check(), Ok(()));
            assert!(possible.crossing_green() >= Timing::SHORTEST_GREEN);
            assert_eq!(Programme::timed(possible).timing(), possible);
        }
        for impossible in
            [timing(19, 5, 0), timing(181, 90, 0), timing(60, 4, 0), timing(60, 50, 0), timing(60, 27, 60)]
        {
            let message = impossible.check().unwrap_err().to_string();
            assert!(message.contains("20 to 180 s") && !message.contains('\n'), "{message}");
        }
    }

    #[test]
    fn opposite_arms_share_a_phase() {
        let arm = |x, y, weight| Arm { direction: (x, y), weight };
        let crossroads = [arm(100, 3, 1), arm(-90, 8, 1), arm(5, 100, 1), arm(-2, -70, 1)];
        assert_eq!(group(&crossroads), [0, 0, 1, 1]);
        let stem_is_wider = [arm(100, 0, 1), arm(-100, 0, 1), arm(0, 100, 9)];
        assert_eq!(group(&stem_is_wider), [1, 1, 0]);
        assert_eq!(group(&[arm(10, 0, 1), arm(-10, 0, 1)]), [0, 0]);
        assert!(group(&[]).is_empty());
    }
}
