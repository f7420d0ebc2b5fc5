//! Which vehicles may use a lane, and how important an edge is.

use crate::map::Class;
use crate::map::MapError;
use crate::scenario::xml::Tag;

/// The classes of vehicles that count as cars: those that drive where passenger cars may.
const CARS: [&str; 14] = [
    "passenger",
    "private",
    "taxi",
    "hov",
    "evehicle",
    "vip",
    "emergency",
    "authority",
    "army",
    "delivery",
    "truck",
    "trailer",
    "ignoring",
    "custom1",
];

/// Whether vehicles of a class are cars to the model.
pub fn is_car(class: &str) -> bool {
    CARS.contains(&class)
}

/// Whether passenger cars may use a lane, or all lanes of an edge.
pub fn takes_cars(tag: &Tag) -> Result<bool, MapError> {
    let names = |classes: &str| classes.split_ascii_whitespace().any(|class| class == "passenger" || class == "all");
    match (tag.get("allow")?, tag.get("disallow")?) {
        (Some(allowed), _) if !allowed.is_empty() => Ok(names(&allowed)),
        (_, Some(forbidden)) => Ok(!names(&forbidden)),
        _ => Ok(true),
    }
}

/// How important an edge is: by its type where that is one of OpenStreetMap's, else by its
/// priority, as netconvert's types have them.
pub fn class(kind: Option<&str>, priority: i32) -> Class {
    // Where two types were joined the first one counts.
    let first = kind.and_then(|kind| kind.split('|').next()).and_then(|kind| kind.strip_prefix("highway."));
    match first.map(|kind| kind.strip_suffix("_link").unwrap_or(kind)) {
        Some("motorway") => Class::Motorway,
        Some("trunk") => Class::Trunk,
        Some("primary") => Class::Primary,
        Some("secondary") => Class::Secondary,
        Some("tertiary") => Class::Tertiary,
        Some("residential" | "unclassified") => Class::Residential,
        Some(_) => Class::Access,
        None => by_priority(priority),
    }
}

fn by_priority(priority: i32) -> Class {
    match priority {
        14.. => Class::Motorway,
        13 => Class::Trunk,
        12 => Class::Primary,
        11 => Class::Secondary,
        5..=10 => Class::Tertiary,
        3..=4 => Class::Residential,
        // Networks that were drawn by hand count from -1 or 1 up, in steps of their own.
        2 => Class::Tertiary,
        _ => Class::Residential,
    }
}
