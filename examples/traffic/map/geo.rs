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

/// An equirectangular map, true to scale along a parallel: how metres on it and degrees belong
/// together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Projection {
    /// On its parallel the map is true to scale.
    centre: Place,
    /// Metres east and north of the centre of the map's origin.
    origin: (f64, f64),
}

impl Projection {
    /// Its origin is a place, and true to scale is the parallel of that.
    pub fn at(centre: Place) -> Self {
        Self { centre, origin: (0.0, 0.0) }
    }

    /// Metres that a degree takes to the east and to the north.
    fn degree(&self) -> (f64, f64) {
        let degree = EARTH_RADIUS.to_radians();
        (degree * self.centre.lat.to_radians().cos(), degree)
    }

    /// The place at so many metres east and north of the origin.
    pub fn place(&self, x: f32, y: f32) -> Place {
        let (east, north) = self.degree();
        let lon = eastward(0.0, self.centre.lon + (self.origin.0 + f64::from(x)) / east.max(f64::MIN_POSITIVE));
        let lat = self.centre.lat + (self.origin.1 + f64::from(y)) / north;
        // A little beyond them is a matter of rounding; at a pole all longitudes are one.
        Place { lon: lon.clamp(-180.0, 180.0), lat: lat.clamp(-90.0, 90.0) }
    }

    /// Metres east and north of the origin.
    pub fn point(&self, place: Place) -> (f32, f32) {
        let (east, north) = self.degree();
        let x = eastward(self.centre.lon, place.lon) * east - self.origin.0;
        let y = (place.lat - self.centre.lat) * north - self.origin.1;
        (x as f32, y as f32)
    }

    /// The same map, whose origin is at so many metres east and north of the present one.
    pub fn moved(self, x: f32, y: f32) -> Self {
        Self { origin: (self.origin.0 + f64::from(x), self.origin.1 + f64::from(y)), ..self }
    }
}

/// Metres east and north of the middle of all places.
pub fn project(places: &[Place]) -> Vec<(f32, f32)> {
    let projection = Projection::at(middle_of(places));
    places.iter().map(|&place| projection.point(place)).collect()
}

/// The middle of the box around all places.
pub fn middle_of(places: &[Place]) -> Place {
    Place { lon: middle_lon(places), lat: middle(places.iter().map(|place| place.lat)) }
}

/// Halfway between west and east, of a box that may go on at -180 degrees where 180 end.
fn middle_lon(places: &[Place]) -> f64 {
    let lons = || places.iter().map(|place| place.lon);
    let beyond = || lons().map(|lon| if lon < 0.0 { lon + 360.0 } else { lon });
    let width = |(least, greatest): (f64, f64)| greatest - least;
    let whole = width(span(lons()));
    if whole > 180.0 && width(span(beyond())) < whole { eastward(0.0, middle(beyond())) } else { middle(lons()) }
}

/// Degrees to the east from one longitude to another, the shorter way around.
pub fn eastward(from: f64, to: f64) -> f64 {
    match to - from {
        degrees if degrees > 180.0 => degrees - 360.0,
        degrees if degrees < -180.0 => degrees + 360.0,
        degrees => degrees,
    }
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
    fn metres_lead_back_to_degrees() {
        let places = [Place { lon: -122.70, lat: 45.48 }, Place { lon: -122.60, lat: 45.55 }];
        let projection = Projection::at(middle_of(&places)).moved(120.0, -40.0);
        for (place, (x, y)) in places.iter().zip(project(&places)) {
            assert!(projection.place(x - 120.0, y + 40.0).distance(*place) < 0.01);
        }
        let pole = Projection::at(Place { lon: 7.0, lat: 90.0 }).place(5.0, 5.0);
        assert!(Place::on_earth(pole.lon, pole.lat).is_some(), "{pole:?}");
    }

    #[test]
    fn islands_on_both_sides_of_the_date_line_lie_together() {
        let fiji = [178.0, 179.9, -179.8, -178.0].map(|lon| Place { lon, lat: -17.0 });
        let middle = middle_of(&fiji);
        assert!((middle.lon - 180.0).abs() < 1e-9, "{middle:?}");
        let projection = Projection::at(middle);
        for (place, (x, y)) in fiji.iter().zip(project(&fiji)) {
            assert!(projection.place(x, y).distance(*place) < 0.1, "{place:?}");
            assert!(x.abs() < 2.1 * 111_195.0, "{x}");
        }
        assert_eq!(middle_of(&fiji[1..]).lon, eastward(0.0, (179.9 + 182.0) / 2.0));
        // Nearer to each other by way of Greenwich; one and the same.
        for (lons, middle) in [([-80.0, 80.0], 0.0), ([-100.0, 79.0], -10.5), ([-180.0, 180.0], 180.0)] {
            assert_eq!(middle_of(&lons.map(|lon| Place { lon, lat: 0.0 })).lon, middle, "{lons:?}");
        }
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
