//! Speed limits as maps write them: numbers with units, words, and the names of a country's rules.

use std::ops::RangeInclusive;

/// Slowest and fastest speed in km/h that a tag is believed about.
const BELIEVED: RangeInclusive<u32> = 5..=150;

/// Speed in km/h of `maxspeed=walk`.
const WALK: u16 = 5;

/// Speed in km/h where there is no limit: what German motorways recommend.
const UNLIMITED: u16 = 130;

/// Metres in an hour at one mile, and at one knot.
const MILE: u32 = 1_609;
const KNOT: u32 = 1_852;

/// Where a number without a unit is in miles.
const MILES: [&str; 2] = ["GB", "US"];

/// Limits in km/h that differ from what most countries have, by country and kind of road.
const BY_COUNTRY: [(&str, &str, u16); 18] = [
    ("GB", "nsl_restricted", 48),
    ("GB", "urban", 48),
    ("GB", "nsl_single", 97),
    ("GB", "rural", 97),
    ("GB", "nsl_dual", 113),
    ("GB", "motorway", 113),
    ("IE", "rural", 80),
    ("US", "urban", 40),
    ("RU", "urban", 60),
    ("RU", "living_street", 20),
    ("DE", "rural", 100),
    ("DE", "motorway", UNLIMITED),
    ("DE", "living_street", 7),
    ("AT", "rural", 100),
    ("FR", "rural", 80),
    ("FR", "motorway", 130),
    ("NL", "rural", 80),
    ("IT", "motorway", 130),
];

/// A limit in km/h; of several (`50; 30`) the lowest, for nobody says where each begins.
pub fn limit(text: &str) -> Option<u16> {
    text.split([';', '|', ',']).filter_map(|part| single(part.trim())).min()
}

fn single(text: &str) -> Option<u16> {
    match text {
        "walk" => Some(WALK),
        "none" | "unlimited" => Some(UNLIMITED),
        _ => number(text, "").or_else(|| rule(text)),
    }
}

/// `50`, `50 km/h`, `30 mph` or `10 knots`; `unit` is what is meant where none is written.
fn number(text: &str, unit: &str) -> Option<u16> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, written) = text.split_at(digits);
    let number = u32::from(number.parse::<u16>().ok()?);
    let kmh = match Some(written.trim_start()).filter(|written| !written.is_empty()).unwrap_or(unit) {
        "" | "km/h" | "kmh" | "kph" => number,
        "mph" => (number * MILE + 500) / 1_000,
        "knots" | "knot" => (number * KNOT + 500) / 1_000,
        _ => return None,
    };
    BELIEVED.contains(&kmh).then_some(kmh as u16)
}

/// `DE:urban`, `GB:nsl_single`, `zone:30`, `DE:zone30` or `FR:30`.
fn rule(text: &str) -> Option<u16> {
    let (country, kind) = text.split_once(':')?;
    let unit = if MILES.contains(&country) { "mph" } else { "" };
    let zone = kind.strip_prefix("zone").unwrap_or(kind).trim_start_matches(':');
    let known = BY_COUNTRY.iter().find(|(c, k, _)| (*c, *k) == (country, kind)).map(|&(_, _, kmh)| kmh);
    number(zone, unit).or(known).or_else(|| elsewhere(kind))
}

/// What most countries have.
fn elsewhere(kind: &str) -> Option<u16> {
    Some(match kind {
        "urban" | "nsl_restricted" => 50,
        "rural" => 90,
        "trunk" | "expressway" => 110,
        "motorway" => 120,
        "living_street" => 10,
        "bicycle_road" | "school" => 30,
        "walk" | "pedestrian_zone" => WALK,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_in_their_units() {
        let known = [("50", 50), ("50 km/h", 50), ("30 mph", 48), ("30mph", 48), (" 20 ", 20), ("10 knots", 19)];
        for (text, kmh) in known {
            assert_eq!(limit(text), Some(kmh), "{text}");
        }
    }

    #[test]
    fn words_and_rules_have_numbers() {
        for (text, kmh) in [
            ("walk", 5),
            ("none", 130),
            ("DE:urban", 50),
            ("DE:rural", 100),
            ("DE:motorway", 130),
            ("GB:nsl_single", 97),
            ("GB:nsl_dual", 113),
            ("GB:20", 32),
            ("RU:rural", 90),
            ("RU:urban", 60),
            ("RO:trunk", 110),
            ("zone:30", 30),
            ("DE:zone30", 30),
            ("DE:zone:30", 30),
            ("FR:30", 30),
        ] {
            assert_eq!(limit(text), Some(kmh), "{text}");
        }
    }

    #[test]
    fn of_several_limits_the_lowest_counts() {
        assert_eq!(limit("50; 30"), Some(30));
        assert_eq!(limit("80|80|60"), Some(60));
        assert_eq!(limit("signals;50"), Some(50));
        assert_eq!(limit("35 mph;40 mph"), Some(56));
    }

    #[test]
    fn what_is_no_limit_counts_as_absent() {
        for text in ["", "sign", "signals", "0", "999", "65536", "-5", "7½", "½", ":", "DE:", "DE:bendy", "zone:"] {
            assert_eq!(limit(text), None, "{text}");
        }
    }
}
