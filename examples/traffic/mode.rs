//! What runs the model.

use std::fmt;

use clap::ValueEnum;

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Whichever of lock-step, heartbeat and serial is fastest, measured for each system
    Auto,
    /// On the plugin's pinned gang: each worker sweeps the same rows in every step
    LockStep,
    /// On the same gang by fork/join: rows go to the worker that has nothing to do
    Heartbeat,
    /// Bevy at its best: the same systems without the plugin, one after the other, each on as many
    /// compute threads as the gang has workers
    Bevy,
    /// Bevy as it comes: its default executor, and the compute threads that it starts by itself
    BevyDefault,
    /// The plugin's serial mode: every row on the main thread
    Serial,
    /// Every mode, in processes of their own that take turns
    All,
    /// The model without Bevy: arrays and one thread
    #[value(hide = true)]
    Plain,
    /// The model without Bevy and the gang, taking turns
    #[value(hide = true)]
    PlainAndGang,
}

impl Mode {
    /// The modes that this one stands for, in the order of the table; none if it is a single mode.
    pub fn members(self) -> &'static [Self] {
        match self {
            Self::All => &[Self::Serial, Self::BevyDefault, Self::Bevy, Self::LockStep, Self::Heartbeat, Self::Auto],
            Self::PlainAndGang => &[Self::Plain, Self::LockStep],
            _ => &[],
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.to_possible_value();
        out.write_str(value.as_ref().map_or("", |value| value.get_name()))
    }
}
