//! Cities with a task: what is wrong there, what comes, and what earns stars.

mod contest;
mod given;
mod standing;
#[cfg(test)]
mod tests;

use clap::ValueEnum;

pub use contest::Contest;
#[cfg(feature = "game")]
pub use standing::FIRST;
pub use standing::{MOST_STARS, Standing};

/// A city with a task.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Challenge {
    /// The signals of the centre still run their programme of the night: mend them
    NightProgramme,
    /// At a quarter past seven everybody drives to the market
    MarketDay,
    /// Of all streets across the river a single one is open
    OneBridge,
    /// Nothing is wrong here: make a good city better
    FineTuning,
}

/// What a challenge is about, for the player and for the city.
pub struct Rules {
    pub title: &'static str,
    pub story: &'static str,
    pub advice: &'static str,
    /// Intersections along a side of the city.
    pub side: u32,
    pub cars: Option<u32>,
    /// How long the player has.
    pub minutes: u32,
    /// Parts of the time that a trip takes in the untouched city which are to be saved for one
    /// star, two and three.
    pub stars: [f64; MOST_STARS],
}

/// Seconds after midnight at which all challenges begin, the filling of the roads included.
pub const START: u32 = 7 * 3_600;

/// Seconds in which the roads fill before the player may do anything.
pub const WARMUP: u32 = 600;

impl Challenge {
    pub fn rules(self) -> Rules {
        match self {
            Self::NightProgramme => Rules {
                title: "The night's programme",
                story: "The signals of the whole centre give the main roads nearly all green, as at night. It is seven in \
                        the morning.",
                advice: "Follow the red cars to an intersection, give its crossing road more green, and copy that to the \
                         signals around.",
                side: 16,
                cars: None,
                minutes: 45,
                stars: [0.10, 0.30, 0.42],
            },
            Self::MarketDay => Rules {
                title: "Market day",
                story: "At a quarter past seven everybody begins to drive to the market in the north-east, for half an hour.",
                advice: "All come by the same few signals. Who has to wait longest there?",
                side: 16,
                cars: Some(3_000),
                minutes: 45,
                stars: [0.04, 0.10, 0.14],
            },
            Self::OneBridge => Rules {
                title: "One bridge",
                story: "Of all streets across the river a single one is open.",
                advice: "A bridge carries what the signals at its ends let pass.",
                side: 16,
                cars: None,
                minutes: 45,
                stars: [0.02, 0.05, 0.07],
            },
            Self::FineTuning => Rules {
                title: "Fine tuning",
                story: "Nothing is wrong here, and everybody waits a little.",
                advice: "A wide road empties its queue in a shorter green than a narrow one.",
                side: 24,
                cars: None,
                minutes: 45,
                stars: [0.03, 0.07, 0.10],
            },
        }
    }

    /// What it is called on the command line.
    pub fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }
}
