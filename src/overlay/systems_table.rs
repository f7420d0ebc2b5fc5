//! The table of systems: sorted by a click on a column's head, filtered by text.

use std::cmp::Ordering;

use bevy_egui::egui::{self, RichText, Ui};

use super::{
    colours,
    snapshot::{Snapshot, SystemRow},
    timeline::Nanoseconds,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Column {
    Name,
    Calls,
    Frame,
    Mean,
    P95,
    Max,
}

impl Column {
    const ALL: [Self; 6] = [Self::Name, Self::Calls, Self::Frame, Self::Mean, Self::P95, Self::Max];

    fn title(self) -> &'static str {
        match self {
            Self::Name => "system",
            Self::Calls => "calls",
            Self::Frame => "a frame",
            Self::Mean => "mean",
            Self::P95 => "p95",
            Self::Max => "max",
        }
    }

    fn meaning(self) -> Option<&'static str> {
        match self {
            Self::Name => None,
            Self::Calls => Some("since the app started"),
            Self::Frame => Some(
                "all calls of a frame together, and their part of the time from frame to frame. Systems that run \
                 at the same time, or inside of another one, count in full each: together they may take more than \
                 the frame's tagged systems do above",
            ),
            Self::Mean | Self::P95 => Some("of the last 128 calls"),
            Self::Max => Some("the longest call since the app started"),
        }
    }

    /// Names from A to Z, numbers from the largest.
    fn compare(self, a: &SystemRow, b: &SystemRow) -> Ordering {
        match self {
            Self::Name => a.name.cmp(&b.name),
            Self::Calls => b.calls.cmp(&a.calls),
            Self::Frame => b.per_frame.cmp(&a.per_frame),
            Self::Mean => b.mean.cmp(&a.mean),
            Self::P95 => b.p95.cmp(&a.p95),
            Self::Max => b.max.cmp(&a.max),
        }
    }
}

/// Which systems are on show, and in what order.
#[derive(Debug)]
pub(super) struct SystemsTable {
    pub(super) column: Column,
    pub(super) reversed: bool,
    pub(super) filter: String,
    /// Indices of the systems on show.
    order: Vec<usize>,
}

impl Default for SystemsTable {
    fn default() -> Self {
        Self { column: Column::Frame, reversed: false, filter: String::new(), order: Vec::new() }
    }
}

impl SystemsTable {
    /// The systems whose names contain the filter, small letters or capitals, in the order that was
    /// chosen.
    pub(super) fn arrange(&mut self, systems: &[SystemRow]) -> &[usize] {
        let wanted = self.filter.trim().to_lowercase();
        self.order.clear();
        // A vacant place has no name.
        let is_shown = |name: &str| !name.is_empty() && name.to_lowercase().contains(&wanted);
        self.order.extend((0..systems.len()).filter(|&index| is_shown(&systems[index].full_name)));
        let (column, reversed) = (self.column, self.reversed);
        self.order.sort_by(|&a, &b| {
            let order = column.compare(&systems[a], &systems[b]);
            if reversed { order.reverse() } else { order }
        });
        &self.order
    }

    /// Sorts by `column`; if it is sorted by it already, the other way round.
    pub(super) fn click(&mut self, column: Column) {
        self.reversed = self.column == column && !self.reversed;
        self.column = column;
    }

    pub(super) fn show(&mut self, ui: &mut Ui, snapshot: &Snapshot) {
        ui.horizontal(|ui| {
            ui.label("filter");
            ui.add(egui::TextEdit::singleline(&mut self.filter).hint_text("part of a name").desired_width(180.0));
            if !self.filter.is_empty() && ui.small_button("clear").clicked() {
                self.filter.clear();
            }
        });
        self.arrange(&snapshot.systems);
        egui::Grid::new("systems").num_columns(Column::ALL.len()).striped(true).spacing([16.0, 3.0]).show(ui, |ui| {
            self.show_heads(ui);
            for &index in &self.order {
                show_row(ui, &snapshot.systems[index]);
            }
        });
    }

    fn show_heads(&mut self, ui: &mut Ui) {
        for column in Column::ALL {
            let arrow = match (self.column == column, self.reversed) {
                (false, _) => "",
                (true, false) => " \u{23f7}",
                (true, true) => " \u{23f6}",
            };
            let title = format!("{}{arrow}", column.title());
            let head = match column {
                Column::Name => RichText::new(title),
                Column::Frame => RichText::new(format!("{title:>15}")).monospace(),
                _ => RichText::new(format!("{title:>8}")).monospace(),
            };
            let head = head.strong();
            let button = ui.add(egui::Button::new(head).frame(false));
            if column.meaning().map_or(button.clone(), |meaning| button.on_hover_text(meaning)).clicked() {
                self.click(column);
            }
        }
        ui.end_row();
    }
}

fn show_row(ui: &mut Ui, system: &SystemRow) {
    ui.horizontal(|ui| {
        let (spot, _) = ui.allocate_exact_size(egui::vec2(10.0, 10.0), egui::Sense::hover());
        ui.painter().rect_filled(spot, 2.0, colours::system(system.index));
        ui.label(&system.name).on_hover_text(&system.full_name);
    });
    // Padded, so that the digits stand below each other.
    ui.monospace(format!("{:>8}", system.calls));
    let per_frame = Nanoseconds(system.per_frame.as_nanos() as f64).to_string();
    ui.monospace(format!("{per_frame:>8} {:>5.1}%", system.share * 100.0));
    for time in [system.mean, system.p95, system.max] {
        ui.monospace(format!("{:>8}", Nanoseconds(time.as_nanos() as f64).to_string()));
    }
    ui.end_row();
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn systems() -> Vec<SystemRow> {
        [("game::Steer", 3, 10), ("game::drive", 1, 30), ("game::ai::think", 2, 20)]
            .into_iter()
            .enumerate()
            .map(|(index, (name, calls, mean))| SystemRow {
                index,
                name: name.to_string(),
                full_name: name.to_string(),
                calls,
                mean: Duration::from_micros(mean),
                p95: Duration::from_micros(100 - mean),
                max: Duration::from_micros(mean * 2),
                per_frame: Duration::from_micros(mean * calls * calls),
                ..SystemRow::default()
            })
            .collect()
    }

    #[test]
    fn every_column_sorts_both_ways() {
        let systems = systems();
        let mut table = SystemsTable::default();
        for (column, order) in [
            (Column::Name, [0, 2, 1]),
            (Column::Calls, [0, 2, 1]),
            (Column::Frame, [0, 2, 1]),
            (Column::P95, [0, 2, 1]),
            (Column::Max, [1, 2, 0]),
            (Column::Mean, [1, 2, 0]),
        ] {
            table.click(column);
            assert_eq!(table.arrange(&systems), order, "{column:?}");
            table.click(column);
            let reversed: Vec<_> = order.into_iter().rev().collect();
            assert_eq!(table.arrange(&systems), reversed, "{column:?} reversed");
        }
    }

    #[test]
    fn the_filter_ignores_case_and_spaces_around_it() {
        let systems = systems();
        let mut table = SystemsTable { filter: " STEER ".to_string(), ..SystemsTable::default() };
        assert_eq!(table.arrange(&systems), [0]);
        table.filter = "nothing".to_string();
        assert_eq!(table.arrange(&systems), [0; 0]);
        table.filter.clear();
        assert_eq!(table.arrange(&systems).len(), 3);
    }
}
