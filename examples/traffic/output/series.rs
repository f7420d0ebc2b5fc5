//! Flow and speed over the day, as a plot.

use super::svg::{Axis, Plot, picture};
use super::timeline::Minute;

/// Most points that are kept: more than a picture has pixels.
const MOST_POINTS: usize = 2_000;

/// Minutes, or longer times once there are too many of them.
pub struct Series {
    points: Vec<Minute>,
    /// Minutes in a point, and in the last one.
    width: u32,
    in_last: u32,
    /// Seconds so far.
    end: u32,
}

impl Default for Series {
    fn default() -> Self {
        // Of single minutes a plot would be mostly noise.
        Self { points: Vec::new(), width: 15, in_last: 0, end: 0 }
    }
}

impl Series {
    pub fn add(&mut self, now: u32, minute: &Minute) {
        self.end = now;
        if self.in_last == 0 {
            self.points.push(Minute::default());
        }
        if let Some(last) = self.points.last_mut() {
            *last = sum(last, minute);
        }
        self.in_last = (self.in_last + 1) % self.width;
        if self.points.len() == MOST_POINTS && self.in_last == 0 {
            self.points = self.points.chunks(2).map(|pair| sum(&pair[0], &pair[1])).collect();
            self.width *= 2;
        }
    }

    pub fn plot(&self) -> String {
        let hours = f64::from(self.width) / 60.0;
        // The last point is short: what it would be an hour says little.
        let whole = self.points.len() - usize::from(self.in_last > 0 && self.points.len() > 1);
        let points = || (0..).zip(&self.points[..whole]).map(|(number, point)| (f64::from(number) * hours, point));
        let flows: Vec<_> = points().map(|(hour, point)| (hour, point.arrived as f64 / hours)).collect();
        let speeds: Vec<_> = points().filter_map(|(hour, point)| Some((hour, point.speed_kmh()?))).collect();
        let width = format!("every {} minutes", self.width);
        let x =
            || Axis { label: "hours since the start", least: 0.0, most: (f64::from(self.end) / 3_600.0).max(hours) };
        let mut flow =
            Plot::new(&width, x(), Axis { label: "trips that arrive an hour", least: 0.0, most: most(&flows) });
        flow.line(&flows, "#0a58ca");
        let mut speed = Plot::new(&width, x(), Axis { label: "mean speed in km/h", least: 0.0, most: most(&speeds) });
        speed.line(&speeds, "#b02a37");
        picture(&[flow, speed])
    }
}

fn sum(a: &Minute, b: &Minute) -> Minute {
    Minute { arrived: a.arrived + b.arrived, decimetres: a.decimetres + b.decimetres, parts: a.parts + b.parts }
}

/// A little above all points.
fn most(points: &[(f64, f64)]) -> f64 {
    points.iter().map(|point| point.1).fold(1.0, f64::max) * 1.05
}
