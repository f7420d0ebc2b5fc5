//! Flows: many vehicles in one element.

use crate::hash::hash;
use crate::map::MapError;
use crate::scenario::text::{finite, number, positive, quote};
use crate::scenario::time;
use crate::scenario::xml::Tag;

/// How long a flow goes on whose file does not say when it ends, in seconds.
const A_DAY: u32 = 86_400;

/// When the vehicles of a flow depart.
pub struct Flow {
    begin: u32,
    end: u32,
    pace: Pace,
    /// Most vehicles.
    number: Option<u64>,
}

enum Pace {
    /// Seconds between vehicles.
    Even(f64),
    /// Vehicles a second, at random.
    Poisson(f64),
    /// The chance of a vehicle in each second.
    Chance(f64),
}

impl Flow {
    /// A flow, which has its times from the interval around it where it has none of its own.
    pub fn read(tag: &Tag, interval: Option<&Tag>) -> Result<Self, MapError> {
        let begin = second(tag, interval, "begin")?.unwrap_or(0);
        let end = second(tag, interval, "end")?.unwrap_or((begin + A_DAY).min(time::LATEST));
        if end < begin {
            return Err(tag.error("the flow ends before it begins"));
        }
        let number = tag.optional("number", number::<u64>)?;
        let pace = match pace(tag)? {
            Some(pace) => pace,
            // Evenly over the whole time.
            None => match number {
                Some(number) => Pace::Even(f64::from(end - begin) / number.max(1) as f64),
                None => return Err(tag.error("a flow needs number, period, vehsPerHour or probability")),
            },
        };
        Ok(Self { begin, end, pace, number })
    }

    /// The seconds in which vehicles depart, the same for the same `key`.
    pub fn departures(&self, key: u64) -> impl Iterator<Item = u32> {
        // Numbers rather than times end a flow that is given both.
        let end = if self.number.is_some() && matches!(self.pace, Pace::Even(_)) { time::LATEST } else { self.end };
        let most = self.number.unwrap_or(u64::MAX);
        let mut now = f64::from(self.begin);
        let mut last = None;
        (0..most).map_while(move |vehicle| {
            let random = (hash(&[key, vehicle]) >> 11) as f64 / (1_u64 << 53) as f64;
            let second = match self.pace {
                Pace::Even(period) => f64::from(self.begin) + vehicle as f64 * period,
                Pace::Poisson(rate) => {
                    now += -(1.0 - random).ln() / rate;
                    now
                }
                // So many seconds fail before one succeeds.
                Pace::Chance(chance) => {
                    let failures = ((1.0 - random).ln() / (1.0 - chance).ln()).floor();
                    now = last.map_or(now, |last: f64| last + 1.0) + failures.max(0.0);
                    last = Some(now);
                    now
                }
            };
            (second < f64::from(end)).then_some(second.ceil() as u32)
        })
    }
}

fn second(tag: &Tag, interval: Option<&Tag>, name: &str) -> Result<Option<u32>, MapError> {
    match (tag.optional(name, time::parse)?, interval) {
        (None, Some(interval)) => interval.optional(name, time::parse),
        (own, _) => Ok(own),
    }
}

fn pace(tag: &Tag) -> Result<Option<Pace>, MapError> {
    for name in ["vehsPerHour", "perHour"] {
        if let Some(an_hour) = tag.optional(name, positive)? {
            return Ok(Some(Pace::Even(3_600.0 / an_hour)));
        }
    }
    if let Some(pace) = tag.optional("period", period)? {
        return Ok(Some(pace));
    }
    Ok(tag.optional("probability", chance)?.map(Pace::Chance))
}

/// Seconds, or `exp(rate)`.
fn period(name: &str, text: &str) -> Result<Pace, String> {
    match text.trim().strip_prefix("exp(").and_then(|rest| rest.strip_suffix(')')) {
        Some(rate) => positive(name, rate).map(Pace::Poisson),
        None => positive(name, text).map(Pace::Even),
    }
}

fn chance(name: &str, text: &str) -> Result<f64, String> {
    let chance = finite(name, text)?;
    let is_chance = chance > 0.0 && chance <= 1.0;
    if is_chance { Ok(chance) } else { Err(format!("{name} should be above 0 and at most 1, found {}", quote(text))) }
}
