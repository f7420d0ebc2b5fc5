//! What a player, a file or a challenge tells a city to do.

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

    /// Checks orders that are given one after the other: what has no signals may get some first.
    pub fn check_all(
        orders: &[(u32, Self)],
        network: &Network,
        has_signals: impl Fn(u32) -> bool,
    ) -> Result<(), Refusal> {
        let mut lit = Vec::new();
        for &(_, order) in orders {
            order.check(network, |node| has_signals(node) || lit.contains(&node))?;
            if let Self::Lights { node, up: true } = order {
                lit.push(node);
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
