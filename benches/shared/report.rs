//! The tables, in markdown.

use std::time::Duration;

use comfy_table::{Cell, CellAlignment, Table, presets};

use super::statistics::Standing;

/// A table of plain text, its first line the header.
pub fn print_table(title: &str, lines: &[impl AsRef<[String]>]) {
    let mut table = markdown();
    let mut lines = lines.iter();
    if let Some(header) = lines.next() {
        table.set_header(header.as_ref());
    }
    for line in lines {
        table.add_row(line.as_ref());
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

/// A contender's median and, in brackets, its p99.
pub fn with_p99(standing: &Standing) -> String {
    format!("{} ({})", duration(standing.median), duration(standing.p99))
}

/// So many of something, such as `1 row` and `1,000 rows`.
pub fn counted(count: usize, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {what}{plural}", grouped(count))
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

pub fn markdown() -> Table {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    table
}

pub fn number(text: String) -> Cell {
    Cell::new(text).set_alignment(CellAlignment::Right)
}
