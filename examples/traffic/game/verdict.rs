//! How the played city does beside the untouched one, and how sure that is.

use crate::tally::{self, Tally};

/// Minutes of a comparison: more than the cycles of all signals, fewer than most trips.
const SLICE: usize = 5;

/// Slices before anything is said: a quarter of an hour, in which most trips that were under way
/// have ended.
const FIRST_SLICES: usize = 3;

/// Slices that count: the last hour.
const SLICES: usize = 12;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Verdict {
    /// No order was given yet.
    Even,
    /// The first one comes in this number of minutes.
    In(usize),
    /// What is different, as parts of the untouched city's figures.
    Found { trips: Spread, seconds: Spread, nearby: Spread },
}

/// The median of some slices, and the least and the most.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    pub least: f64,
    pub median: f64,
    pub most: f64,
}

impl Verdict {
    /// Both cities since they parted, minute by minute; the first is the last that they share.
    pub fn of(played: &[Tally], untouched: &[Tally]) -> Self {
        let minutes = played.len().min(untouched.len());
        let slices = minutes.saturating_sub(1) / SLICE;
        if slices < FIRST_SLICES {
            return Self::In(FIRST_SLICES * SLICE + 1 - minutes.max(1));
        }
        let spread = |value: fn(&[Tally]) -> f64| {
            let last = (0..slices.min(SLICES)).map(|index| {
                let end = minutes - index * SLICE;
                let slice = end - SLICE - 1..end;
                let [played, untouched] = [&played[slice.clone()], &untouched[slice]].map(value);
                (played - untouched) / untouched.max(1.0)
            });
            Spread::of(last.collect())
        };
        Self::Found {
            trips: spread(tally::trips_per_hour),
            seconds: spread(tally::seconds_a_trip),
            nearby: spread(tally::cars_nearby),
        }
    }

    /// In one line.
    pub fn line(&self) -> String {
        match self {
            Self::Even => "even: nothing has been changed yet".to_owned(),
            &Self::In(minutes) => first_comes_in(minutes),
            Self::Found { trips, seconds, .. } => {
                format!("{:+.1}% trips/h, {:+.1}% time a trip", trips.median * 100.0, seconds.median * 100.0)
            }
        }
    }
}

/// What is said before there is a verdict.
pub fn first_comes_in(minutes: usize) -> String {
    match minutes {
        1 => "the first verdict comes in a minute".to_owned(),
        minutes => format!("the first verdict comes in {minutes} min"),
    }
}

impl Spread {
    fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        let at = |index: usize| values.get(index).copied().unwrap_or(0.0);
        Self { least: at(0), median: at(values.len() / 2), most: at(values.len().saturating_sub(1)) }
    }
}

impl std::fmt::Display for Spread {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [least, median, most] = [self.least, self.median, self.most].map(|part| part * 100.0);
        write!(out, "{median:+.1}% ({least:+.1} to {most:+.1})")
    }
}

/// Minutes that the cities have to part for before there is a verdict.
#[cfg(test)]
const FIRST: usize = FIRST_SLICES * SLICE;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tally::MINUTE;

    fn minutes(count: usize, arrived: impl Fn(u64) -> u64, under_way: u64) -> Vec<Tally> {
        let minute = |index: u64| Tally {
            second: index as u32 * MINUTE,
            arrived: (0..index).map(&arrived).sum(),
            stuck: 0,
            under_way,
            nearby: under_way / 10,
        };
        (1..=count as u64).map(minute).collect()
    }

    #[test]
    fn nothing_is_said_in_the_first_quarter_of_an_hour() {
        let both = minutes(FIRST, |_| 30, 100);
        assert_eq!(Verdict::of(&both, &both), Verdict::In(1));
        assert_eq!(Verdict::of(&both[..1], &both), Verdict::In(FIRST));
        assert_eq!(Verdict::of(&[], &[]), Verdict::In(FIRST));
        let both = minutes(FIRST + 1, |_| 30, 100);
        let even = Spread { least: 0.0, median: 0.0, most: 0.0 };
        assert_eq!(Verdict::of(&both, &both), Verdict::Found { trips: even, seconds: even, nearby: even });
    }

    #[test]
    fn equal_cities_are_even_however_quiet_they_are() {
        let both = minutes(61, |_| 0, 4);
        let Verdict::Found { trips, nearby, .. } = Verdict::of(&both, &both) else { panic!("an hour is over") };
        let even = Spread { least: 0.0, median: 0.0, most: 0.0 };
        assert_eq!((trips, nearby), (even, even));
    }

    #[test]
    fn the_spread_tells_chance_from_skill() {
        let untouched = minutes(61, |_| 100, 1_000);
        let steady = Verdict::of(&minutes(61, |_| 110, 1_000), &untouched);
        let Verdict::Found { trips, seconds, .. } = steady else { panic!("{steady:?}") };
        assert!((trips.least - 0.1).abs() < 1e-9 && (trips.most - 0.1).abs() < 1e-9, "{trips:?}");
        assert!(seconds.median < -0.08);
        let chance = Verdict::of(&minutes(61, |minute| 80 + minute * 17 % 41, 1_000), &untouched);
        let Verdict::Found { trips, .. } = chance else { panic!("{chance:?}") };
        assert!(trips.least < 0.0 && trips.most > 0.0, "{trips:?}");
    }
}
