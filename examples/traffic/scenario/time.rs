//! Times of day, as seconds since midnight of the first day.

use super::text::quote;

/// The latest time, in seconds: 100 days, far beyond what scenarios simulate, and so early that
/// every time of arrival fits in 32 bits.
pub const LATEST: u32 = 100 * 86_400;

/// A time as `HH:MM`, `HH:MM:SS`, `D:HH:MM:SS` or in seconds, to the next full second.
pub fn parse(what: &str, text: &str) -> Result<u32, String> {
    let text = text.trim();
    let wrong = || format!("{what} should be a time, in seconds or as HH:MM:SS, found {}", quote(text));
    let seconds = seconds(text).filter(|seconds| *seconds >= 0.0).ok_or_else(wrong)?;
    if seconds > f64::from(LATEST) {
        return Err(format!("{what} is later than the {LATEST} s that are supported, found {}", quote(text)));
    }
    Ok(seconds.ceil() as u32)
}

fn seconds(text: &str) -> Option<f64> {
    let parts: Vec<&str> = text.split(':').collect();
    let (units, seconds): (&[u32], _) = match parts.len() {
        1 => (&[], parts[0]),
        2 => (&[3_600, 60], "0"),
        3 => (&[3_600, 60], parts[2]),
        4 => (&[86_400, 3_600, 60], parts[3]),
        _ => return None,
    };
    let parts = parts.iter().zip(units).map(|(part, &unit)| Some((whole(part)?, unit)));
    let parts = parts.collect::<Option<Vec<_>>>()?;
    // Hours may go on into the next days.
    let is_full_hour = |&(minutes, unit): &(u32, u32)| unit == 60 && minutes >= 60;
    if parts.iter().any(is_full_hour) {
        return None;
    }
    let whole: f64 = parts.iter().map(|&(part, unit)| f64::from(part) * f64::from(unit)).sum();
    let seconds: f64 = seconds.parse().ok().filter(|seconds: &f64| seconds.is_finite())?;
    let below_a_minute = units.is_empty() || (0.0..60.0).contains(&seconds);
    below_a_minute.then_some(whole + seconds)
}

fn whole(part: &str) -> Option<u32> {
    part.bytes().all(|byte| byte.is_ascii_digit()).then(|| part.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_come_in_four_forms() {
        for (text, seconds) in [
            ("0", 0),
            ("90", 90),
            ("0.2", 1),
            ("12.00", 12),
            ("06:30", 23_400),
            ("06:30:05", 23_405),
            ("6:30:5.5", 23_406),
            ("30:00:00", 108_000),
            ("1:06:00:00", 108_000),
        ] {
            assert_eq!(parse("depart", text), Ok(seconds), "{text}");
        }
    }

    #[test]
    fn what_is_no_time_is_quoted() {
        for text in [
            "",
            "-1",
            "noon",
            "NaN",
            "inf",
            "6:",
            "6:00:61",
            "00:75",
            "07:99:00",
            "1:2:3:4:5",
            "-6:00",
            "+6:00",
            "6:-1:00",
        ] {
            let error = parse("depart", text).unwrap_err();
            assert!(error.starts_with("depart should be a time") && error.ends_with(&quote(text)), "{error}");
        }
        assert!(parse("depart", "1e12").unwrap_err().contains("later than the 8640000 s"));
    }
}
