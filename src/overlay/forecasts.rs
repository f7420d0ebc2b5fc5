//! What would help: the tagged systems of a frame with other numbers of workers, and with one
//! system twice as fast.

use std::{cmp::Reverse, time::Duration};

use bevy_egui::egui::{self, RichText, Ui};

use super::{snapshot::SystemRow, timeline::Nanoseconds};
use crate::{diagnostics::Forecast, topology::Topology};

/// Systems that are looked at: those that take most of a frame.
const SYSTEMS: usize = 3;

pub(super) fn show(ui: &mut Ui, forecast: Option<&Forecast>, systems: &[SystemRow]) {
    let Some(forecast) = forecast else {
        ui.weak("nothing was recorded yet");
        return;
    };
    let cores = Topology::get().parallelism();
    egui::Grid::new("forecasts").num_columns(3).striped(true).spacing([16.0, 3.0]).show(ui, |ui| {
        for head in ["", "tagged, a frame", "frame"] {
            ui.weak(head);
        }
        ui.end_row();
        show_row(ui, "as recorded", forecast, forecast.tagged());
        for workers in numbers_of_workers(cores) {
            let name = if workers == 1 { "1 worker".to_string() } else { format!("{workers} workers") };
            show_row(ui, &name, forecast, forecast.with_workers(workers));
        }
        for (system, row) in heaviest(forecast, systems) {
            show_row(ui, &format!("{} twice as fast", row.name), forecast, forecast.with_faster(system, 2.0));
        }
    });
    ui.weak("from the frames that are recorded; waiting for the display counts to the frame");
}

fn show_row(ui: &mut Ui, name: &str, forecast: &Forecast, tagged: Duration) {
    ui.label(name);
    let change = tagged.as_nanos() as f64 - forecast.tagged().as_nanos() as f64;
    for time in [tagged.as_nanos() as f64, forecast.frame_time().as_nanos() as f64 + change] {
        ui.label(RichText::new(format!("{:>9}", Nanoseconds(time.max(0.0)).to_string())).monospace());
    }
    ui.end_row();
}

/// One, two, four and so on up to twice the cores: what a larger machine would give.
fn numbers_of_workers(cores: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(1), |workers| Some(workers * 2)).take_while(move |&workers| workers <= 2 * cores)
}

/// Those whose halving gains most.
fn heaviest<'a>(forecast: &Forecast, systems: &'a [SystemRow]) -> impl Iterator<Item = (usize, &'a SystemRow)> {
    let mut known: Vec<_> = forecast.systems().filter_map(|system| Some((system, systems.get(system)?))).collect();
    known.sort_by_key(|&(system, _)| Reverse(forecast.tagged() - forecast.with_faster(system, 2.0)));
    known.into_iter().take(SYSTEMS)
}

#[cfg(test)]
mod tests {
    use super::numbers_of_workers;

    #[test]
    fn numbers_double_up_to_twice_the_cores() {
        assert_eq!(numbers_of_workers(2).collect::<Vec<_>>(), [1, 2, 4]);
        assert_eq!(numbers_of_workers(6).collect::<Vec<_>>(), [1, 2, 4, 8]);
    }
}
