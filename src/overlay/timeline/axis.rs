//! The time axis that all lanes share: which time is where, and how it is zoomed and moved.

use std::ops::Range;

/// The narrowest view: below, bars of a clock with nanosecond steps say nothing.
const NARROWEST: f64 = 1_000.0;
/// The widest view, 60 s: more than the recording holds.
const WIDEST: f64 = 60e9;

/// The stretch of time on show. Times are nanoseconds of the recording's clock, as `f64`: exact for
/// 104 days.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Axis {
    pub(super) begin: f64,
    pub(super) end: f64,
}

impl Axis {
    /// Shows `times`; if that is too short or too long for the axis, as close as it gets, from the
    /// same begin.
    pub(super) fn over(times: Range<f64>) -> Self {
        let span = (times.end - times.start).clamp(NARROWEST, WIDEST);
        Self { begin: times.start, end: times.start + span }
    }

    pub(super) fn span(&self) -> f64 {
        self.end - self.begin
    }

    /// Where `time` is, in widths of the view: 0 is its left border, 1 its right one.
    pub(super) fn position(&self, time: f64) -> f64 {
        (time - self.begin) / self.span()
    }

    /// What time is at `position`.
    pub(super) fn time(&self, position: f64) -> f64 {
        self.begin + position * self.span()
    }

    /// Magnifies by `factor`; the time at `position` stays where it is.
    pub(super) fn zoom(&mut self, position: f64, factor: f64) {
        let fixed = self.time(position);
        let span = (self.span() / factor).clamp(NARROWEST, WIDEST);
        self.begin = fixed - position * span;
        self.end = self.begin + span;
    }

    /// Moves what is on show by `widths` of the view: to the right if positive.
    pub(super) fn pan(&mut self, widths: f64) {
        let distance = widths * self.span();
        self.begin -= distance;
        self.end -= distance;
    }

    /// Round times for the lines of the grid, no more than `most`, counted from `origin`.
    pub(super) fn ticks(&self, origin: f64, most: usize) -> impl Iterator<Item = f64> + use<> {
        let step = round_step(self.span() / most.max(1) as f64);
        let first = ((self.begin - origin) / step).ceil();
        let last = ((self.end - origin) / step).floor();
        (0..=(last - first).max(-1.0) as i64).take(most + 1).map(move |index| origin + (first + index as f64) * step)
    }

    /// The distance between [`ticks`](Self::ticks).
    pub(super) fn step(&self, most: usize) -> f64 {
        round_step(self.span() / most.max(1) as f64)
    }
}

/// The next of 1, 2, 5, 10, 20, .. that is at least `least`.
fn round_step(least: f64) -> f64 {
    let power = 10f64.powf(least.log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|digit| digit * power)
        .find(|&step| step >= least * 0.999_999)
        .unwrap_or(power * 10.0)
}

/// Writes a duration with the unit that suits it, to three digits: `412 ns`, `3.07 us`, `16.7 ms`.
pub(in crate::overlay) struct Nanoseconds(pub(in crate::overlay) f64);

impl std::fmt::Display for Nanoseconds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (value, unit) = match self.0.abs() {
            0.0..1e3 => return write!(f, "{:.0} ns", self.0),
            1e3..999.5e3 => (self.0 / 1e3, "us"),
            999.5e3..999.5e6 => (self.0 / 1e6, "ms"),
            _ => (self.0 / 1e9, "s"),
        };
        let digits = if value.abs() >= 99.95 {
            0
        } else if value.abs() >= 9.995 {
            1
        } else {
            2
        };
        write!(f, "{value:.digits$} {unit}")
    }
}

/// Writes a time on the axis, where neighbours are `step` apart: all with the unit of the step, and
/// no more digits than it needs.
pub(super) struct Tick {
    pub(super) time: f64,
    pub(super) step: f64,
}

impl std::fmt::Display for Tick {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (scale, unit) = match self.step {
            0.0..1e3 => (1.0, "ns"),
            1e3..1e6 => (1e3, "us"),
            1e6..1e9 => (1e6, "ms"),
            _ => (1e9, "s"),
        };
        write!(f, "{:.0} {unit}", self.time / scale)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zooming_keeps_the_time_under_the_cursor() {
        let mut axis = Axis::over(1e9..1.1e9);
        let under_cursor = axis.time(0.3);
        for factor in [2.0, 0.25, 1.7, 1e9, 1e-9] {
            axis.zoom(0.3, factor);
            assert!((axis.time(0.3) - under_cursor).abs() < 1e-3, "after {factor}: {axis:?}");
            assert!((NARROWEST * 0.999..=WIDEST * 1.001).contains(&axis.span()));
        }
    }

    #[test]
    fn dragging_there_and_back_changes_nothing() {
        let mut axis = Axis::over(0.0..1e6);
        axis.pan(0.5);
        assert_eq!(axis, Axis { begin: -5e5, end: 5e5 });
        axis.pan(-0.5);
        assert_eq!(axis, Axis::over(0.0..1e6));
    }

    #[test]
    fn positions_and_times_are_inverse() {
        let axis = Axis::over(3e6..7e6);
        assert_eq!(axis.position(3e6), 0.0);
        assert_eq!(axis.position(7e6), 1.0);
        assert_eq!(axis.time(axis.position(4.5e6)), 4.5e6);
    }

    #[test]
    fn ticks_are_round_and_few() {
        for span in [1_500.0, 48_000.0, 16.7e6, 2e9, 59e9] {
            let axis = Axis::over(123_456.0..123_456.0 + span);
            let ticks: Vec<_> = axis.ticks(0.0, 8).collect();
            assert!((2..=9).contains(&ticks.len()), "{span}: {ticks:?}");
            assert!(ticks.iter().all(|&tick| (0.0..=1.0).contains(&axis.position(tick))));
            assert!(ticks.windows(2).all(|pair| ((pair[1] - pair[0]) / axis.step(8) - 1.0).abs() < 1e-6));
        }
    }

    #[test]
    fn durations_have_three_digits_and_a_unit() {
        let shown = [412.0, 3_070.0, 16.67e6, 999_600.0, 250e6, 1.5e9].map(|time| Nanoseconds(time).to_string());
        assert_eq!(shown, ["412 ns", "3.07 us", "16.7 ms", "1.00 ms", "250 ms", "1.50 s"]);
        assert_eq!(Tick { time: 1.5e6, step: 5e5 }.to_string(), "1500 us");
    }
}
