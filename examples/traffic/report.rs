//! The table at the end, and the lines for scripts.

use std::io::{self, Write};

use comfy_table::{CellAlignment, Table, presets};

use crate::challenge::Rules;
use crate::model::LONGEST;
use crate::outcome::{District, Figures, Outcome, TripFigures};

/// The modes that others are compared with, where they have run.
const BASELINES: [&str; 2] = ["serial", "plain"];

const COLUMNS: [&str; 10] = [
    "mode",
    "workers",
    "steps/s",
    "vehicle steps/s",
    "x real time",
    "mean step",
    "p99 step",
    "speed-up",
    "busy %",
    "wait %",
];

/// One JSON object for each mode, on a line of its own.
pub fn json(outcomes: &[Outcome], out: &mut impl Write) -> io::Result<()> {
    for outcome in outcomes {
        writeln!(out, "{}", serde_json::to_string(&outcome.figures)?)?;
    }
    Ok(())
}

/// What a challenge is about.
pub fn story(rules: &Rules, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "{}: {}\n{}", rules.title, rules.story, rules.advice)
}

/// A table of all modes, and the state that they have reached together.
pub fn table(outcomes: &[Outcome], attribution: Option<&str>, out: &mut impl Write) -> io::Result<()> {
    let mut table = Table::new();
    table.load_style(presets::UTF8_HORIZONTAL_ONLY).set_header(COLUMNS);
    table.column_iter_mut().skip(1).for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    let baseline = outcomes.iter().find(|outcome| BASELINES.contains(&outcome.figures.mode.as_str()));
    for outcome in outcomes {
        table.add_row(row(outcome, baseline));
    }
    writeln!(out, "{table}")?;
    if let Some(outcome) = outcomes.first() {
        summary(outcome, out)?;
    }
    attribution.map_or(Ok(()), |attribution| writeln!(out, "Map: {attribution}"))
}

fn row(outcome: &Outcome, baseline: Option<&Outcome>) -> Vec<String> {
    let figures = &outcome.figures;
    // A step is a second of the city's time.
    let rate = figures.steps_per_second;
    let speed_up = baseline.map_or("-".into(), |baseline| format!("{:.2}", speed_up(outcome, baseline)));
    vec![
        figures.mode.clone(),
        figures.workers.to_string(),
        format!("{rate:.0}"),
        grouped((outcome.detail.vehicle_steps as f64 / figures.seconds) as u64),
        grouped(rate.round() as u64),
        format!("{:.3} ms", 1_000.0 / rate),
        format!("{:.3} ms", outcome.detail.slow_step.as_secs_f64() * 1_000.0),
        speed_up,
        shares(figures.busy_share.iter().copied()),
        shares(figures.busy_share.iter().map(|busy| 1.0 - busy)),
    ]
}

/// The median over slices of the baseline's time to this mode's time: slices with the same number
/// ran one after another, so what disturbed one is likely to have disturbed both.
fn speed_up(outcome: &Outcome, baseline: &Outcome) -> f64 {
    let pairs = baseline.detail.slices.iter().zip(&outcome.detail.slices);
    let mut ratios: Vec<f64> = pairs.map(|(baseline, seconds)| baseline / seconds).collect();
    ratios.sort_by(f64::total_cmp);
    ratios.get(ratios.len() / 2).copied().unwrap_or(f64::NAN)
}

fn shares(shares: impl Iterator<Item = f64>) -> String {
    shares.map(|share| format!("{:.0}", share * 100.0)).collect::<Vec<_>>().join(" ")
}

fn summary(outcome: &Outcome, out: &mut impl Write) -> io::Result<()> {
    let (figures, detail) = (&outcome.figures, &outcome.detail);
    writeln!(
        out,
        "{}, {}, {}: {} on the road, {} waiting to start, {} at rest",
        counted(figures.intersections as u64, "intersection"),
        counted(figures.roads as u64, "road"),
        counted(figures.cars.into(), "car"),
        grouped(figures.on_road),
        grouped(figures.waiting),
        grouped(figures.arrived),
    )?;
    trips(&figures.trips, out)?;
    write!(out, "{:.1}% of the roads congested", detail.congested_roads as f64 * 100.0 / figures.roads as f64)?;
    match detail.busiest_road {
        Some((road, occupancy)) => {
            writeln!(out, ", the busiest (number {road}) with {}", counted(occupancy.into(), "car"))?;
        }
        None => writeln!(out)?,
    }
    if let Some(place) = detail.busiest_district.as_ref().filter(|place| place.cars > 0) {
        district(place, out)?;
    }
    if let Some(standing) = &figures.challenge {
        writeln!(out, "Challenge {}: {standing}", standing.challenge)?;
    }
    writeln!(out, "State {} after {}", figures.state_hash, counted(figures.steps, "measured step"))
}

fn trips(trips: &TripFigures, out: &mut impl Write) -> io::Result<()> {
    write!(
        out,
        "{} ended, {} of them stuck; {} a car pushed into a full road",
        counted(trips.trips_ended, "trip"),
        grouped(trips.trips_stuck),
        counted(trips.trips_pushed, "time"),
    )?;
    let (Some(mean), Some(delay), Some(speed)) =
        (trips.mean_travel_seconds, trips.mean_delay_seconds, trips.mean_speed_kmh)
    else {
        return writeln!(out);
    };
    let slow = match trips.p95_travel_seconds {
        Some(slow) => format!("95% of them at most {slow} s"),
        None => format!("more than 5% of them > {} s", grouped(LONGEST.into())),
    };
    writeln!(
        out,
        "\nA trip took {mean:.0} s on average, {delay:.0} s of it lost, and {slow}; \
         {speed:.0} km/h on average"
    )
}

fn district(district: &District, out: &mut impl Write) -> io::Result<()> {
    let (east, north) = district.centre;
    writeln!(
        out,
        "Busiest district: {}, {} of them held up, {:.0} km/h on average, {:.0}% of the room on its roads; \
         the {:.0} m around {east:.0} m east, {north:.0} m north",
        counted(district.cars, "car"),
        grouped(district.queued),
        district.speed,
        district.density * 100.0,
        district.side,
    )
}

/// An error if two modes have ended in different states: then at least one of them is wrong.
pub fn same_state(outcomes: &[Outcome]) -> Result<(), String> {
    let state = |figures: &Figures| figures.state_hash.clone();
    let differs = |pair: &&[Outcome]| state(&pair[0].figures) != state(&pair[1].figures);
    match outcomes.windows(2).find(differs) {
        Some([a, b]) => Err(format!("{} and {} ended in different states", a.figures.mode, b.figures.mode)),
        _ => Ok(()),
    }
}

/// A number of things.
pub fn counted(number: u64, thing: &str) -> String {
    format!("{} {thing}{}", grouped(number), if number == 1 { "" } else { "s" })
}

/// Digits in groups of three.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.char_indices() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thing_is_not_several() {
        assert_eq!([0, 1, 2_000].map(|cars| counted(cars, "car")), ["0 cars", "1 car", "2,000 cars"]);
    }

    #[test]
    fn digits_are_grouped() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }
}
