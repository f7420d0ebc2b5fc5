//! What a player, a file or a challenge tells a city to do.

use std::collections::HashMap;
use std::fmt;

use super::Timing;
use super::control::Rules;
use crate::map::Network;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The signals of an intersection follow another timing.
    Signals { node: u32, timing: Timing },
    /// Signals are put up at an intersection, or taken away: then the right of way holds.
    Lights { node: u32, up: bool },
    /// A road closes or reopens. Cars on it drive on, none enters it.
    Road { road: u32, closed: bool },
    /// Most trips lead toward an intersection for a while.
    RushHour { node: u32 },
}

impl Order {
    /// Seconds from the order to its effect: drivers need new ways where a road closes or reopens.
    pub fn delay(self) -> u32 {
        match self {
            Self::Road { .. } => ROUTING_TIME,
            Self::Signals { .. } | Self::Lights { .. } | Self::RushHour { .. } => 0,
        }
    }

    /// Whether the city that nobody touches gets it too.
    pub fn is_for_all(self) -> bool {
        matches!(self, Self::RushHour { .. })
    }

    /// Whether a city can take the order; `has_signals` knows which intersections can be timed.
    pub fn check(self, network: &Network, has_signals: impl Fn(u32) -> bool) -> Result<(), Refusal> {
        let (kind, number, count) = match self {
            Self::Road { road, .. } => ("road", road, network.links.len()),
            Self::Signals { node, .. } | Self::Lights { node, .. } | Self::RushHour { node } => {
                ("intersection", node, network.nodes.len())
            }
        };
        if number as usize >= count {
            return Err(Refusal(format!("there is no {kind} {number}: the last is {}", count - 1)));
        }
        match self {
            Self::Signals { node, .. } if !has_signals(node) => {
                Err(Refusal(format!("intersection {node} has no signals")))
            }
            Self::Signals { timing, .. } => timing.check().map_err(|error| Refusal(error.to_string())),
            Self::Lights { node, .. } => match Rules::are_fixed(network, node) {
                Some(why) => Err(Refusal(format!("intersection {node} has {why}"))),
                None => Ok(()),
            },
            Self::Road { .. } | Self::RushHour { .. } => Ok(()),
        }
    }

    /// Checks orders in the order of their seconds, behind those of the same seconds that are
    /// `planned` already: signals are put up and taken away on the way. A refusal comes with the
    /// place of its order in the list.
    pub fn check_all(
        orders: &[(u32, Self)],
        planned: impl IntoIterator<Item = (u32, Self)>,
        network: &Network,
        has_signals: impl Fn(u32) -> bool,
    ) -> Result<(), (usize, Refusal)> {
        let planned = planned.into_iter().map(|(at, order)| (at, None, order));
        let new = orders.iter().enumerate().map(|(place, &(at, order))| (at, Some(place), order));
        let mut all: Vec<_> = planned.chain(new).collect();
        all.sort_by_key(|&(at, ..)| at);
        let mut lights = HashMap::new();
        for (at, place, order) in all {
            let is_lit = |node| lights.get(&node).copied().unwrap_or_else(|| has_signals(node));
            if let Some(place) = place {
                order.check(network, |_| true).map_err(|refusal| (place, refusal))?;
                if let Self::Signals { node, .. } = order
                    && !is_lit(node)
                {
                    let why = Rules::are_fixed(network, node).map(str::to_owned);
                    let why = why.unwrap_or_else(|| format!("no signals in second {at}"));
                    return Err((place, Refusal(format!("intersection {node} has {why}"))));
                }
            }
            if let Self::Lights { node, up } = order {
                lights.insert(node, up);
            }
        }
        Ok(())
    }
}

/// Why a city does not take an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal(String);

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for Refusal {}

/// Seconds between the request for other ways and their use: the time to find them.
pub const ROUTING_TIME: u32 = 10;
