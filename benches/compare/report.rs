//! The tables of standings, in markdown.

use comfy_table::{Cell, Table};

pub use crate::shared::report::{duration, grouped, print_table};
use crate::shared::report::{markdown, number};
use crate::statistics::Standing;

/// One line for each contender.
pub fn print_list(title: &str, baseline: &str, standings: &[Standing]) {
    let mut table = markdown();
    table.set_header(["contender", "median", "p99", &format!("x {baseline}")]);
    for standing in standings {
        table.add_row([
            Cell::new(&standing.name),
            number(duration(standing.median)),
            number(duration(standing.p99)),
            number(format!("{:.2}", standing.ratio)),
        ]);
    }
    println!("### {title}\n\n{table}\n");
}

/// A table that grows by a line for each size and has a column for each contender.
pub struct SizeTable {
    title: String,
    table: Table,
}

impl SizeTable {
    pub fn new(title: &str) -> Self {
        Self { title: title.to_owned(), table: markdown() }
    }

    pub fn push(&mut self, size: usize, standings: &[Standing]) {
        let names = standings.iter().map(|standing| &*standing.name);
        self.table.set_header(["rows"].into_iter().chain(names));
        let cells = standings.iter().map(|standing| {
            let (median, p99) = (duration(standing.median), duration(standing.p99));
            number(format!("{median} ({:.2}x, p99 {p99})", standing.ratio))
        });
        self.table.add_row([number(grouped(size))].into_iter().chain(cells));
    }

    /// A line for a program, which has no size.
    pub fn push_program(&mut self, name: &str, standings: &[Standing]) {
        let names = standings.iter().map(|standing| &*standing.name);
        self.table.set_header(["program"].into_iter().chain(names));
        let cells =
            standings.iter().map(|standing| number(format!("{} ({:.2}x)", duration(standing.median), standing.ratio)));
        self.table.add_row([Cell::new(name)].into_iter().chain(cells));
    }

    /// As [`push`](Self::push), with the median time of one item.
    pub fn push_per_item(&mut self, size: usize, standings: &[Standing]) {
        let names = standings.iter().map(|standing| &*standing.name);
        self.table.set_header(["nodes"].into_iter().chain(names));
        let cells = standings.iter().map(|standing| {
            let each = standing.median.as_nanos() as f64 / size as f64;
            number(format!("{each:.2} ns ({:.2}x)", standing.ratio))
        });
        self.table.add_row([number(grouped(size))].into_iter().chain(cells));
    }

    pub fn print(&self) {
        println!("### {}\n\n{}\n", self.title, self.table);
    }
}
