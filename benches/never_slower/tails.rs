//! Tables for conditions under which the slow calls count: median, 99th percentile and mean of
//! every contender.

use std::fmt;

use crate::contest::{Contest, Tally, Verdict};
use crate::journal::Journal;
use crate::shared::report::{duration, print_table};
use crate::shared::statistics::Standing;

/// Grows by a line for each race.
pub struct Tails {
    group: &'static str,
    lines: Vec<Vec<String>>,
    tally: Tally,
}

impl Tails {
    pub fn new(group: &'static str) -> Self {
        let heads = ["cell (median, p99, mean)".to_owned()].into_iter();
        let p99 = ["judged p99 / Bevy's p99".to_owned()];
        let header = heads.chain(Contest::names(&Contest::all())).chain(Verdict::heads()).chain(p99).collect();
        Self { group, lines: vec![header], tally: Tally::default() }
    }

    pub fn push(&mut self, cell: impl fmt::Display, standings: &[Standing], journal: &mut Journal) {
        journal.note(self.group, &cell, standings);
        let Some(verdict) = Verdict::of(&Contest::all(), standings) else { return };
        self.tally.add(&cell, &verdict);
        let figures = |standing: &Standing| {
            let Standing { median, p99, mean, .. } = standing;
            [median, p99, mean].map(|&time| duration(time)).join(", ")
        };
        let line = [cell.to_string()].into_iter().chain(standings.iter().map(figures));
        self.lines.push(line.chain(verdict.cells()).chain([slow_calls(standings)]).collect());
    }

    pub fn print(&self, title: &str) {
        print_table(title, &self.lines);
        self.tally.print();
    }
}

/// How the slow calls of the judged contender compare with those of Bevy's `par_iter_mut`.
fn slow_calls(standings: &[Standing]) -> String {
    let p99_of = |contest| {
        let standing = Contest::all().into_iter().zip(standings).find(|(entered, _)| *entered == contest);
        standing.map_or(f64::NAN, |(_, standing)| standing.p99.as_nanos() as f64)
    };
    format!("{:.2}", p99_of(Contest::judged()) / p99_of(Contest::ParIter))
}
