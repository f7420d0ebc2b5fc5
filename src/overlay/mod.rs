//! The egui panel: modes, settings, the timeline of every core, frames, shares, systems, and what
//! mode `Auto` chose. Reads what the diagnostics tell, and writes the mode and
//! the settings that a user asks for.

mod ab;
mod choices;
mod colours;
mod controls;
mod forecasts;
mod history;
mod input;
mod modes;
mod panel;
mod plugin;
mod recorded;
mod rendering;
mod save;
mod schedules;
mod settings;
mod shares;
mod snapshot;
mod systems_table;
mod threads;
mod timeline;
mod warnings;

pub use panel::affinity_overlay_ui;
use panel::{OverlayState, compare_modes, drawing_begins, drawing_ends, record_while_seen};
pub use plugin::AffinityOverlayPlugin;
pub use settings::OverlaySettings;

#[cfg(test)]
mod tests;
