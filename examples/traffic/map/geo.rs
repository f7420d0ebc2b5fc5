//! Places on the globe, and a flat map of them.

/// Mean radius of the earth in metres.
const EARTH_RADIUS: f64 = 6_371_008.8;

/// A place in degrees.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    pub lon: f64,
    pub lat: f64,
}

impl Place {
    /// `None` if there is no such longitude or latitude.
    pub fn on_earth(lon: f64, lat: f64) -> Option<Self> {
        (lon.abs() <= 180.0 && lat.abs() <= 90.0).then_some(Self { lon, lat })
    }

    /// Great-circle distance in metres (haversine formula).
    pub fn distance(self, other: Self) -> f64 {
        let half_chord = |degrees: f64| (degrees.to_radians() / 2.0).sin().powi(2);
        let scale = self.lat.to_radians().cos() * other.lat.to_radians().cos();
        let square = half_chord(other.lat - self.lat) + scale * half_chord(other.lon - self.lon);
        2.0 * EARTH_RADIUS * square.sqrt().min(1.0).asin()
    }
}

/// Metres east and north of the middle of all places: an equirectangular map, true to scale along
/// its middle parallel.
pub fn project(places: &[Place]) -> Vec<(f32, f32)> {
    let centre = middle_of(places);
    let degree = EARTH_RADIUS.to_radians();
    let shrink = centre.lat.to_radians().cos();
    places
        .iter()
        .map(|place| {
            let east = (place.lon - centre.lon) * degree * shrink;
            let north = (place.lat - centre.lat) * degree;
            (east as f32, north as f32)
        })
        .collect()
}

/// The middle of the box around all places.
pub fn middle_of(places: &[Place]) -> Place {
    Place { lon: middle(places.iter().map(|place| place.lon)), lat: middle(places.iter().map(|place| place.lat)) }
}

/// The least and the greatest value.
pub fn span(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(least, greatest), value| (least.min(value), greatest.max(value)))
}

/// Halfway between the least and the greatest value.
pub fn middle(values: impl Iterator<Item = f64>) -> f64 {
    let (least, greatest) = span(values);
    (least + greatest) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_degree_of_latitude_is_111_km() {
        let metres = Place { lon: 7.0, lat: 50.0 }.distance(Place { lon: 7.0, lat: 51.0 });
        assert!((metres - 111_195.0).abs() < 10.0, "{metres}");
    }

    #[test]
    fn the_flat_map_keeps_distances_of_a_city() {
        let places = [Place { lon: -122.70, lat: 45.48 }, Place { lon: -122.60, lat: 45.55 }];
        let flat = project(&places);
        let metres = f64::from((flat[0].0 - flat[1].0).hypot(flat[0].1 - flat[1].1));
        let globe = places[0].distance(places[1]);
        assert!((metres / globe - 1.0).abs() < 1e-4, "{metres} against {globe}");
        assert!((flat[0].0 + flat[1].0).abs() < 0.1 && (flat[0].1 + flat[1].1).abs() < 0.1);
    }
}
