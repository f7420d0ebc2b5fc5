//! Who may drive on a road. Tags go from the general to the special, and the most special one that
//! is there decides for cars.

/// From the general to the special.
const KEYS: [&str; 4] = ["access", "vehicle", "motor_vehicle", "motorcar"];

/// What a road is to someone in a car.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Entry {
    #[default]
    Open,
    /// For those who have business there. Where trips begin and end is not known to that detail, so
    /// everybody may drive on it.
    Destination,
    Closed,
}

/// What each of the tags says.
#[derive(Clone, Copy, Debug, Default)]
pub struct Access([Option<Entry>; 4]);

impl Access {
    /// Takes note of a tag if it is one of these.
    pub fn add(&mut self, key: &str, value: &str) {
        if let Some(place) = KEYS.iter().position(|known| *known == key) {
            self.0[place] = entry(value);
        }
    }

    pub fn entry(&self) -> Entry {
        self.0.iter().rev().flatten().next().copied().unwrap_or_default()
    }
}

/// Values that are written by nobody else than their inventor count as absent.
fn entry(value: &str) -> Option<Entry> {
    match value {
        "yes" | "designated" | "permissive" | "public" | "official" => Some(Entry::Open),
        "destination" | "customers" | "residents" => Some(Entry::Destination),
        "no"
        | "private"
        | "permit"
        | "delivery"
        | "agricultural"
        | "forestry"
        | "agricultural;forestry"
        | "emergency"
        | "military"
        | "psv"
        | "bus"
        | "hgv"
        | "employees" => Some(Entry::Closed),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(tags: &[(&str, &str)]) -> Entry {
        let mut access = Access::default();
        tags.iter().for_each(|(key, value)| access.add(key, value));
        access.entry()
    }

    #[test]
    fn the_most_special_tag_decides() {
        assert_eq!(read(&[]), Entry::Open);
        assert_eq!(read(&[("access", "no")]), Entry::Closed);
        assert_eq!(read(&[("motorcar", "yes"), ("access", "no")]), Entry::Open);
        assert_eq!(read(&[("access", "yes"), ("motor_vehicle", "no")]), Entry::Closed);
        assert_eq!(read(&[("access", "private"), ("vehicle", "destination")]), Entry::Destination);
        assert_eq!(read(&[("bicycle", "no"), ("hgv", "no")]), Entry::Open);
    }

    #[test]
    fn unknown_values_count_as_absent() {
        assert_eq!(read(&[("access", "no"), ("motorcar", "perhaps")]), Entry::Closed);
        assert_eq!(read(&[("access", "unknown")]), Entry::Open);
    }
}
