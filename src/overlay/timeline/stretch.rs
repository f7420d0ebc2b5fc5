//! A stretch of time that was selected by a drag with Shift, and what went on in it.

use bevy_egui::egui::{self, Ui};

use super::Nanoseconds;
use crate::overlay::{
    recorded::{Bar, BarKind, Lane, OUTSIDE, Recorded},
    snapshot::SystemRow,
};

/// How many systems and stages are named: the longest.
const NAMED: usize = 8;

/// From `begin` to `end`, in times of [`Recorded`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Stretch {
    begin: f64,
    end: f64,
}

/// What one lane did in a stretch, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Spent {
    work: f64,
    wait: f64,
}

impl Stretch {
    /// Between two times, whichever is first.
    pub(super) fn between(one: f64, other: f64) -> Self {
        Self { begin: one.min(other), end: one.max(other) }
    }

    pub(super) fn begin(&self) -> f64 {
        self.begin
    }

    pub(super) fn end(&self) -> f64 {
        self.end
    }

    fn length(&self) -> f64 {
        self.end - self.begin
    }

    /// How much of `bar` lies in it.
    fn part_of(&self, bar: &Bar) -> f64 {
        (bar.end.min(self.end) - bar.begin.max(self.begin)).max(0.0)
    }

    /// What is known of no moment is known of no stretch: threads' times are of whole frames. A
    /// system's own bar is of the leader, which works inside of it; one that was dealt out is part
    /// of a round.
    fn spent(&self, lane: &Lane) -> Spent {
        let mut spent = Spent::default();
        for bar in &lane.bars {
            match bar.kind {
                BarKind::Work | BarKind::Session => spent.work += self.part_of(bar),
                BarKind::Stage if bar.depth == 0 => spent.work += self.part_of(bar),
                BarKind::Wait => spent.wait += self.part_of(bar),
                _ => {}
            }
        }
        spent
    }

    /// How long each system was worked on, by all workers together, and each stage; the longest
    /// first.
    fn by_name<'a>(&self, recorded: &'a Recorded, systems: &'a [SystemRow]) -> Vec<(&'a str, f64)> {
        let mut sums: Vec<(&str, f64)> = Vec::new();
        let mut add = |name, time| match sums.iter_mut().find(|sum| sum.0 == name) {
            _ if time == 0.0 => {}
            Some(sum) => sum.1 += time,
            None => sums.push((name, time)),
        };
        for bar in recorded.lanes().flat_map(|lane| &lane.bars) {
            let time = self.part_of(bar);
            match bar.kind {
                BarKind::Work | BarKind::Stage => add(bar.name(systems), time),
                BarKind::DealtOut => {
                    add(bar.name(systems), time);
                    // Its round is of no system.
                    add(OUTSIDE, -time);
                }
                _ => {}
            }
        }
        sums.retain(|sum| sum.1 > 0.0);
        sums.sort_by(|a, b| b.1.total_cmp(&a.1));
        sums
    }

    /// Sums up what went on in it.
    pub(super) fn describe(&self, ui: &mut Ui, recorded: &Recorded, systems: &[SystemRow]) {
        ui.strong(format!("{} selected, from {} on", Nanoseconds(self.length()), Nanoseconds(self.begin)));
        egui::Grid::new("stretch").num_columns(3).spacing([12.0, 2.0]).show(ui, |ui| {
            for lane in recorded.lanes() {
                let Spent { work, wait } = self.spent(lane);
                if work + wait > 0.0 {
                    ui.label(&lane.name);
                    ui.label(format!("at work {} ({:.0} %)", Nanoseconds(work), 100.0 * work / self.length()));
                    ui.weak(format!("waits {}", Nanoseconds(wait)));
                    ui.end_row();
                }
            }
        });
        let named = self.by_name(recorded, systems);
        let named = named.iter().take(NAMED).map(|(name, time)| format!("{name} {}", Nanoseconds(*time)));
        ui.horizontal_wrapped(|ui| ui.label(named.collect::<Vec<_>>().join(" · ")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bar(kind: BarKind, begin: f64, end: f64) -> Bar {
        Bar { kind, begin, end, ..Bar::default() }
    }

    #[test]
    fn what_reaches_over_its_ends_counts_with_its_part_inside() {
        let bars = vec![
            bar(BarKind::System, 0.0, 100.0),
            bar(BarKind::Work, 0.0, 30.0),
            bar(BarKind::Wait, 30.0, 45.0),
            bar(BarKind::Work, 90.0, 200.0),
            bar(BarKind::OnCore, 0.0, 500.0),
        ];
        let lane = Lane { bars, ..Lane::default() };
        let stretch = Stretch::between(100.0, 20.0);
        assert_eq!((stretch.begin(), stretch.end()), (20.0, 100.0));
        assert_eq!(stretch.spent(&lane), Spent { work: 20.0, wait: 15.0 });
        assert_eq!(Stretch::between(300.0, 400.0).spent(&lane), Spent::default());
    }

    #[test]
    fn a_schedule_inside_of_another_is_not_counted_twice() {
        let outer = bar(BarKind::Stage, 0.0, 100.0);
        let inner = Bar { depth: 1, ..bar(BarKind::Stage, 10.0, 60.0) };
        let lane = Lane { bars: vec![outer, inner], ..Lane::default() };
        assert_eq!(Stretch::between(0.0, 50.0).spent(&lane), Spent { work: 50.0, wait: 0.0 });
    }
}
