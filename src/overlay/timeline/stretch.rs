//! A stretch of time that was selected by a drag with Shift, and what went on in it.

use std::ops::Range;

use bevy_egui::egui::{self, Ui};

use super::Nanoseconds;
use crate::overlay::{
    recorded::{Bar, BarKind, Lane, Recorded},
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

    /// The part of it that lies in these times.
    fn within(&self, times: &Range<f64>) -> Self {
        let begin = self.begin.clamp(times.start, times.end);
        Self { begin, end: self.end.clamp(begin, times.end) }
    }

    /// How much of the time from `begin` to `end` lies in it.
    fn part(&self, begin: f64, end: f64) -> f64 {
        (end.min(self.end) - begin.max(self.begin)).max(0.0)
    }

    /// How much of `bar` does.
    fn part_of(&self, bar: &Bar) -> f64 {
        self.part(bar.begin, bar.end)
    }

    /// How much of each bar of a lane lies in it, without the bars inside of that one.
    fn own_times(&self, lane: &Lane) -> Vec<f64> {
        let mut own: Vec<_> = lane.bars.iter().map(|bar| self.part_of(bar)).collect();
        let mut around: Vec<usize> = Vec::new();
        for (index, bar) in lane.bars.iter().enumerate() {
            around.retain(|&outer| lane.bars[outer].end > bar.begin);
            if let Some(&outer) = around.last() {
                own[outer] -= self.part(bar.begin, bar.end.min(lane.bars[outer].end));
            }
            around.push(index);
        }
        own
    }

    /// For how long of its `own` time in the stretch a bar had something to do.
    fn work(&self, bar: &Bar, own: f64) -> f64 {
        let idle = bar.idle * self.part_of(bar) / bar.duration().max(1.0);
        if bar.is_waiting() { 0.0 } else { (own - idle).max(0.0) }
    }

    /// What is known of no moment is known of no stretch: threads' times are of whole frames.
    fn spent(&self, lane: &Lane) -> Spent {
        let mut spent = Spent::default();
        for (bar, own) in lane.bars.iter().zip(self.own_times(lane)) {
            match bar.kind {
                BarKind::Parked | BarKind::Between | BarKind::OnCore => {}
                _ => {
                    let work = self.work(bar, own);
                    spent = Spent { work: spent.work + work, wait: spent.wait + own - work };
                }
            }
        }
        spent
    }

    /// How long each system was worked on, by all workers together, and how long each stage took;
    /// the longest first.
    fn by_name<'a>(&self, recorded: &'a Recorded, systems: &'a [SystemRow]) -> Vec<(&'a str, f64)> {
        let mut sums: Vec<(&str, f64)> = Vec::new();
        let mut add = |name, time| match sums.iter_mut().find(|sum| sum.0 == name) {
            _ if time == 0.0 => {}
            Some(sum) => sum.1 += time,
            None => sums.push((name, time)),
        };
        for lane in recorded.lanes() {
            for (bar, own) in lane.bars.iter().zip(self.own_times(lane)) {
                match bar.kind {
                    BarKind::System | BarKind::DealtOut | BarKind::Work => add(bar.name(systems), self.work(bar, own)),
                    BarKind::Stage => add(bar.name(systems), self.part_of(bar)),
                    _ => {}
                }
            }
        }
        sums.sort_by(|a, b| b.1.total_cmp(&a.1));
        sums
    }

    /// Sums up what went on in it.
    pub(super) fn describe(&self, ui: &mut Ui, recorded: &Recorded, systems: &[SystemRow]) {
        ui.strong(format!("{} selected, from {} on", Nanoseconds(self.length()), Nanoseconds(self.begin)));
        // Of the rest nothing is known.
        let known = self.within(&recorded.copied);
        let length = known.length().max(1.0);
        egui::Grid::new("stretch").num_columns(3).spacing([12.0, 2.0]).show(ui, |ui| {
            for lane in recorded.lanes() {
                let Spent { work, wait } = known.spent(lane);
                if work + wait > 0.0 {
                    ui.label(&lane.name);
                    ui.label(format!("at work {} ({:.0} %)", Nanoseconds(work), 100.0 * work / length));
                    ui.weak(format!("waits {}", Nanoseconds(wait)));
                    ui.end_row();
                }
            }
        });
        let named = known.by_name(recorded, systems);
        let named = named.iter().take(NAMED).map(|(name, time)| format!("{name} {}", Nanoseconds(*time)));
        ui.horizontal_wrapped(|ui| ui.label(named.collect::<Vec<_>>().join(" · ")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::overlay::recorded::{OUTSIDE, PRESENT};

    fn bar(kind: BarKind, begin: f64, end: f64) -> Bar {
        Bar { kind, begin, end, ..Bar::default() }
    }

    fn lane(bars: Vec<Bar>) -> Lane {
        Lane { bars, ..Lane::default() }
    }

    #[test]
    fn what_reaches_over_its_ends_counts_with_its_part_inside() {
        let lane = lane(vec![
            bar(BarKind::OnCore, 0.0, 500.0),
            bar(BarKind::Work, 0.0, 30.0),
            bar(BarKind::Wait, 30.0, 45.0),
            bar(BarKind::Work, 90.0, 200.0),
        ]);
        let stretch = Stretch::between(100.0, 20.0);
        assert_eq!((stretch.begin(), stretch.end()), (20.0, 100.0));
        assert_eq!(stretch.spent(&lane), Spent { work: 20.0, wait: 15.0 });
        assert_eq!(Stretch::between(300.0, 400.0).spent(&lane), Spent::default());
        assert_eq!(Stretch::between(300.0, 400.0).within(&(0.0..350.0)).length(), 50.0);
        assert_eq!(Stretch::between(300.0, 400.0).within(&(0.0..100.0)).length(), 0.0);
        // Bars reach over the ends of what was copied, too.
        let known = Stretch::between(-50.0, 10.0).within(&(0.0..400.0));
        assert_eq!(known.spent(&lane), Spent { work: 10.0, wait: 0.0 });
    }

    /// A system that leads two rounds, of which the second has one inside and is idle for a while.
    #[test]
    fn what_a_system_does_between_its_rounds_is_work_and_all_counts_once() {
        let lane = lane(vec![
            bar(BarKind::System, 0.0, 100.0),
            bar(BarKind::Work, 10.0, 20.0),
            bar(BarKind::Wait, 20.0, 25.0),
            Bar { idle: 8.0, ..bar(BarKind::Work, 50.0, 80.0) },
            bar(BarKind::Work, 60.0, 70.0),
        ]);
        assert_eq!(Stretch::between(0.0, 200.0).spent(&lane), Spent { work: 87.0, wait: 13.0 });
        let recorded = Recorded::of_workers(vec![lane]);
        let by_name = Stretch::between(0.0, 200.0).by_name(&recorded, &[]);
        assert_eq!(by_name, [(OUTSIDE, 87.0)]);
    }

    #[test]
    fn a_schedule_inside_of_another_is_not_counted_twice_and_presenting_is_waiting() {
        let outer = bar(BarKind::Stage, 0.0, 100.0);
        let inner = Bar { depth: 1, ..bar(BarKind::Stage, 10.0, 60.0) };
        let present = Bar { stage: Some(PRESENT.into()), ..bar(BarKind::Stage, 100.0, 130.0) };
        let lane = lane(vec![outer, inner, present]);
        assert_eq!(Stretch::between(0.0, 50.0).spent(&lane), Spent { work: 50.0, wait: 0.0 });
        assert_eq!(Stretch::between(0.0, 200.0).spent(&lane), Spent { work: 100.0, wait: 30.0 });
    }
}
