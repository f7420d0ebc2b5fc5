//! How much people drive over the day.

/// Trips that set out in each hour of the day, in percent of those in the busiest one: a peak in
/// the morning, a longer one in the afternoon, few at night. The shape of counts on ordinary
/// working days.
const HOURS: [u64; 24] =
    [6, 4, 3, 3, 6, 20, 60, 100, 100, 75, 70, 75, 80, 80, 85, 100, 100, 100, 80, 60, 45, 35, 25, 12];

const HOUR: u64 = 3_600;

/// Seconds in a day.
pub const DAY: u32 = 86_400;

/// Default start of a simulation: before the morning's peak.
pub const MORNING: u32 = 6 * 3_600;

/// The time of day in which second 0 lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Day {
    start: u32,
}

impl Day {
    /// Second 0 is `start` seconds after midnight.
    pub fn starting_at(start: u32) -> Self {
        Self { start: start % DAY }
    }

    /// Seconds after midnight.
    #[cfg(feature = "game")]
    pub fn time(self, now: u32) -> u32 {
        (self.start + now % DAY) % DAY
    }

    /// The second at which as many trips have begun since `now` as would begin in `seconds` of the
    /// busiest hour.
    pub fn after(self, seconds: u32, now: u32) -> u32 {
        let start = u64::from(self.start) + u64::from(now);
        let (mut time, mut left) = (start, u64::from(seconds) * 100);
        loop {
            let share = HOURS[(time / HOUR % 24) as usize];
            let hour_ends = (time / HOUR + 1) * HOUR;
            let in_this_hour = share * (hour_ends - time);
            if left <= in_this_hour {
                time += left.div_ceil(share);
                return (u64::from(now) + time - start).min(u64::from(u32::MAX / 2)) as u32;
            }
            left -= in_this_hour;
            time = hour_ends;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nights_are_long() {
        let day = Day::starting_at(0);
        assert_eq!(day.after(100, 7 * 3_600), 7 * 3_600 + 100, "at the peak");
        assert_eq!(day.after(60, 6 * 3_600), 6 * 3_600 + 100, "before it");
        assert_eq!(day.after(216, 0), 3_600, "the whole first hour");
        assert_eq!(day.after(217, 0), 3_600 + 25, "and a part of the second");
        assert_eq!(day.after(0, 5), 5);
    }

    #[test]
    fn days_repeat() {
        let (early, late) = (Day::starting_at(3 * 3_600), Day::starting_at(3 * 3_600));
        for seconds in [1, 900, 2_700, 40_000] {
            assert_eq!(early.after(seconds, 77) + DAY, late.after(seconds, 77 + DAY));
        }
        assert_eq!(Day::starting_at(DAY + 5), Day::starting_at(5));
    }
}
