//! What is printed at the end.

use comfy_table::{CellAlignment, Table, presets};

use crate::{
    cli::Options,
    findings::{Difference, Findings},
    memory::{self, Growth},
};

/// The table of all that was done.
pub fn table(findings: &Findings) {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(["what", "how much"]);
    findings.tally.lines().into_iter().for_each(|(what, count)| _ = table.add_row([what.to_owned(), grouped(count)]));
    table.add_row(["differences from plain Bevy", if findings.difference.is_some() { "1" } else { "none" }]);
    let growth = findings.samples.growth();
    table.add_row(["heap between lives, early and late".to_owned(), memory_line(growth.map(|growth| growth.heap))]);
    table.add_row(["memory in RAM, the same".to_owned(), memory_line(growth.map(|growth| growth.resident))]);
    table.add_row(["threads at the end".to_owned(), memory::threads().map_or("unknown".into(), grouped)]);
    table.add_row(["time".to_owned(), format!("{:.1} s", findings.took.as_secs_f64())]);
    table.column_iter_mut().skip(1).for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    println!("{table}");
}

fn memory_line(least: Option<[u64; 2]>) -> String {
    let mib = |kib: u64| kib as f64 / 1_024.0;
    least.map_or("too few frames".to_owned(), |[early, late]| format!("{:.1} and {:.1} MiB", mib(early), mib(late)))
}

/// The first difference, and how to see it again.
pub fn difference(options: &Options, difference: &Difference) {
    let Difference { seed, frame, what } = difference;
    eprintln!("error: seed {seed}, frame {frame}: {what}");
    eprintln!("repeat with: {}", options.repeat(*seed, *frame));
    if options.threads > 1 {
        eprintln!("other threads shared the gang: if that finds nothing, repeat with --threads {}", options.threads);
    }
}

/// Memory that grew.
pub fn growth(growth: &Growth, frames: u64) {
    let Growth { heap, resident } = growth;
    // Between the two quarters there is half of the frames.
    let lost = heap[1].saturating_sub(heap[0]) * 1_024 * 2 / frames.max(1);
    eprintln!("error: memory grew: {}; resident: {}", memory_line(Some(*heap)), memory_line(Some(*resident)));
    eprintln!("that is about {lost} bytes a frame");
}

/// With commas between thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let places = digits.len();
    let comma = |place: usize| place > 0 && (places - place).is_multiple_of(3);
    let grouped = digits.char_indices().flat_map(|(place, digit)| [comma(place).then_some(','), Some(digit)]);
    grouped.flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::grouped;

    #[test]
    fn thousands_are_set_apart() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }
}
