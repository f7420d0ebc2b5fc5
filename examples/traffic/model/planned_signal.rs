//! The signal of one movement in a programme that a map or scenario brings along.

use super::stop_line::Light;
use crate::map::{Green, Greens};

#[derive(Clone, Debug)]
pub struct PlannedSignal {
    /// Seconds.
    cycle: u32,
    offset: u32,
    /// `None` for a movement that no signal holds back.
    greens: Option<Greens>,
}

impl PlannedSignal {
    pub const ALWAYS_GREEN: Self = Self { cycle: 1, offset: 0, greens: None };

    pub fn new(cycle: u32, offset: u32, greens: Option<Greens>) -> Self {
        Self { cycle: cycle.max(1), offset, greens }
    }

    pub fn is_green(&self, second: u32) -> bool {
        self.next_green(second) == second
    }

    /// Whether cars that cross have red, or give way.
    pub fn is_protected(&self, second: u32) -> bool {
        let Some(greens) = &self.greens else { return true };
        let position = self.position(second);
        greens.iter().any(|green| green.is_protected && holds(green, position))
    }

    /// Share of the cycle in which the signal is green.
    pub fn green_percent(&self) -> u32 {
        let Some(greens) = &self.greens else { return 100 };
        let green: u64 = greens.iter().map(|green| u64::from(green.length)).sum();
        (green * 100 / u64::from(self.cycle)) as u32
    }

    fn position(&self, second: u32) -> u32 {
        ((u64::from(second) + u64::from(self.offset)) % u64::from(self.cycle)) as u32
    }
}

impl Light for PlannedSignal {
    fn next_green(&self, second: u32) -> u32 {
        let Some(greens) = &self.greens else { return second };
        let Some(first) = greens.first() else { return u32::MAX };
        let position = self.position(second);
        let next = greens.iter().find(|green| position < green.start + green.length);
        let wait = next.map_or(self.cycle - position + first.start, |green| green.start.saturating_sub(position));
        second.saturating_add(wait)
    }

    fn greens_before(&self, second: u32) -> u32 {
        let Some(greens) = &self.greens else { return second };
        let position = self.position(second);
        let cycles = ((u64::from(second) + u64::from(self.offset)) / u64::from(self.cycle)) as u32;
        let (mut in_a_cycle, mut here) = (0, 0);
        for green in greens.iter() {
            in_a_cycle += green.length;
            here += position.saturating_sub(green.start).min(green.length);
        }
        cycles.wrapping_mul(in_a_cycle).wrapping_add(here)
    }
}

fn holds(green: &Green, position: u32) -> bool {
    (green.start..green.start + green.length).contains(&position)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signal(cycle: u32, offset: u32, greens: &[(u32, u32, bool)]) -> PlannedSignal {
        let green = |&(start, length, is_protected)| Green { start, length, is_protected };
        PlannedSignal::new(cycle, offset, Some(greens.iter().map(green).collect()))
    }

    #[test]
    fn closed_forms_agree_with_counting() {
        let twice = [(5, 10, true), (15, 3, false), (40, 7, false)];
        for (signal, is_green) in [
            (signal(60, 13, &twice), (|at| (5..18).contains(&at) || (40..47).contains(&at)) as fn(u32) -> bool),
            (signal(60, 0, &[(0, 60, true)]), |_| true),
            (signal(60, 59, &[(59, 1, false)]), |at| at == 59),
        ] {
            let mut count = 0;
            for second in 0..300 {
                assert_eq!(signal.greens_before(second) - signal.greens_before(0), count);
                let lit = |second: u32| is_green((second + signal.offset) % 60);
                count += u32::from(lit(second));
                assert_eq!(signal.is_green(second), lit(second), "{second}");
                assert_eq!(Some(signal.next_green(second)), (second..).find(|&second| lit(second)));
            }
        }
    }

    #[test]
    fn protection_has_its_seconds() {
        let signal = signal(60, 0, &[(5, 10, true), (15, 3, false)]);
        assert_eq!([5, 14, 15, 65].map(|second| signal.is_protected(second)), [true, true, false, true]);
        assert_eq!(signal.green_percent(), 21);
    }

    #[test]
    fn without_green_nobody_ever_goes() {
        assert_eq!(signal(60, 0, &[]).next_green(7), u32::MAX);
        assert_eq!((PlannedSignal::ALWAYS_GREEN.next_green(7), PlannedSignal::ALWAYS_GREEN.greens_before(7)), (7, 7));
    }
}
