//! The egui panel: modes, settings, the timeline of every core, frames, shares, systems, and what
//! mode `Auto` chose. Reads the diagnostics and nothing else.

mod ab;
mod choices;
mod colours;
mod controls;
mod history;
mod modes;
mod panel;
mod plugin;
mod recorded;
mod save;
mod settings;
mod shares;
mod snapshot;
mod systems_table;
mod timeline;

pub use panel::affinity_overlay_ui;
use panel::{OverlayState, compare_modes, record_while_seen};
pub use plugin::AffinityOverlayPlugin;
pub use settings::OverlaySettings;

#[cfg(test)]
mod tests;
