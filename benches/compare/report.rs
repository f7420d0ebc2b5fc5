//! The tables, in markdown.

use std::time::Duration;

use comfy_table::{Cell, CellAlignment, Table, presets};

use crate::statistics::Standing;

/// One line for each contender.
pub fn print_list(title: &str, baseline: &str, standings: &[Standing]) {
    let mut table = markdown();
    table.set_header(["contender", "median", "p99", &format!("x {baseline}")]);
    for standing in standings {
        table.add_row([
            Cell::new(standing.name),
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
        let names = standings.iter().map(|standing| standing.name);
        self.table.set_header(["rows"].into_iter().chain(names));
        let cells = standings.iter().map(|standing| {
            let (median, p99) = (duration(standing.median), duration(standing.p99));
            number(format!("{median} ({:.2}x, p99 {p99})", standing.ratio))
        });
        self.table.add_row([number(grouped(size))].into_iter().chain(cells));
    }

    /// As [`push`](Self::push), with the median time of one item.
    pub fn push_per_item(&mut self, size: usize, standings: &[Standing]) {
        let names = standings.iter().map(|standing| standing.name);
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

/// A table of plain text, its first line the header.
pub fn print_table<const COLUMNS: usize>(title: &str, lines: &[[String; COLUMNS]]) {
    let mut table = markdown();
    let mut lines = lines.iter();
    if let Some(header) = lines.next() {
        table.set_header(header);
    }
    for line in lines {
        table.add_row(line);
    }
    println!("### {title}\n\n{table}\n");
}

/// Three significant digits or more, in the largest fitting unit.
pub fn duration(duration: Duration) -> String {
    let nanoseconds = duration.as_nanos() as f64;
    match nanoseconds {
        ..1e3 => format!("{nanoseconds} ns"),
        ..1e4 => format!("{:.2} us", nanoseconds / 1e3),
        ..1e5 => format!("{:.1} us", nanoseconds / 1e3),
        ..1e6 => format!("{:.0} us", nanoseconds / 1e3),
        _ => format!("{:.2} ms", nanoseconds / 1e6),
    }
}

/// A count with commas between the thousands.
pub fn grouped(count: usize) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn markdown() -> Table {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    table
}

fn number(text: String) -> Cell {
    Cell::new(text).set_alignment(CellAlignment::Right)
}
