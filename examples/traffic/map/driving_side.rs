//! On which side of the road cars drive.

use super::geo::Place;

/// Where cars keep to the left, as boxes of west, south, east and north in degrees. Coarse: what is
/// in a box and keeps to the right is listed below, and a map says it itself where it has
/// roundabouts.
const LEFT: [[f64; 4]; 17] = [
    // Great Britain, Ireland, Man and the Channel Islands.
    [-11.0, 49.1, 1.8, 61.0],
    // Malta; Cyprus.
    [14.1, 35.7, 14.7, 36.2],
    [32.2, 34.5, 34.7, 35.8],
    // From Pakistan to Bangladesh, Ceylon and the Maldives.
    [60.8, 23.5, 78.0, 37.1],
    [66.0, -1.0, 92.7, 31.0],
    // Siam, Malaya, Singapore, Borneo, Java, Sumatra and New Guinea.
    [97.3, 5.5, 105.7, 20.5],
    [95.0, -11.5, 156.0, 7.5],
    // Hong Kong and Macau.
    [113.5, 22.1, 114.5, 22.57],
    // Japan.
    [122.9, 24.0, 129.0, 27.5],
    [129.0, 30.0, 146.0, 45.6],
    // Australia, New Zealand and the islands east of them.
    [112.0, -48.0, 180.0, -10.0],
    [-180.0, -23.0, -157.0, -13.0],
    // Southern and eastern Africa, Mauritius and the Seychelles.
    [11.7, -35.0, 41.0, -15.0],
    [29.3, -15.0, 42.0, 5.0],
    [46.0, -21.0, 64.0, -3.5],
    // Jamaica, the Bahamas and the Lesser Antilles.
    [-81.5, 17.6, -72.5, 27.0],
    [-65.0, 9.9, -54.0, 18.8],
];

/// Where they keep to the right within those boxes.
const RIGHT: [[f64; 4]; 13] = [
    // France beside the Channel Islands and across the Channel.
    [-1.9, 49.1, 1.0, 49.9],
    [1.5, 49.1, 1.8, 51.0],
    // Afghanistan; Tibet.
    [60.8, 29.4, 66.2, 37.1],
    [66.2, 32.4, 70.9, 37.1],
    [81.0, 30.3, 92.7, 31.0],
    // Burma; Laos and Cambodia.
    [97.3, 14.0, 98.2, 20.5],
    [102.7, 10.0, 105.7, 20.5],
    // The Philippines.
    [117.0, 4.9, 127.0, 7.5],
    // Angola; the Congo; Rwanda and Burundi; Madagascar.
    [11.7, -17.3, 23.0, -15.0],
    [26.0, -15.0, 29.3, 5.0],
    [29.0, -4.5, 30.5, -1.2],
    [43.0, -26.0, 50.6, -11.9],
    // Cuba and Haiti.
    [-81.5, 19.7, -73.5, 23.3],
];

/// By country, and coarsely.
pub fn is_left_hand(place: Place) -> bool {
    let inside = |[west, south, east, north]: &[f64; 4]| {
        (*west..=*east).contains(&place.lon) && (*south..=*north).contains(&place.lat)
    };
    LEFT.iter().any(inside) && !RIGHT.iter().any(inside)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cities_are_on_their_side() {
        let at = |lat: f64, lon: f64| is_left_hand(Place { lon, lat });
        let left = [
            ("Douglas", 54.15, -4.48),
            ("London", 51.51, -0.13),
            ("Dublin", 53.35, -6.26),
            ("Nicosia", 35.17, 33.36),
            ("Delhi", 28.61, 77.21),
            ("Karachi", 24.86, 67.01),
            ("Dhaka", 23.81, 90.41),
            ("Bangkok", 13.76, 100.50),
            ("Singapore", 1.35, 103.82),
            ("Jakarta", -6.21, 106.85),
            ("Hong Kong", 22.30, 114.17),
            ("Tokyo", 35.68, 139.69),
            ("Naha", 26.21, 127.68),
            ("Sydney", -33.87, 151.21),
            ("Auckland", -36.85, 174.76),
            ("Cape Town", -33.92, 18.42),
            ("Nairobi", -1.29, 36.82),
            ("Kingston", 17.97, -76.79),
            ("Port of Spain", 10.65, -61.51),
        ];
        let right = [
            ("Portland", 45.52, -122.68),
            ("New York", 40.71, -74.01),
            ("Paris", 48.86, 2.35),
            ("Calais", 50.95, 1.86),
            ("Caen", 49.18, -0.37),
            ("Berlin", 52.52, 13.41),
            ("Kabul", 34.53, 69.17),
            ("Beijing", 39.90, 116.41),
            ("Shenzhen", 22.60, 114.06),
            ("Hanoi", 21.03, 105.85),
            ("Seoul", 37.57, 126.98),
            ("Manila", 14.60, 120.98),
            ("Kinshasa", -4.32, 15.31),
            ("Kigali", -1.94, 30.06),
            ("Havana", 23.11, -82.37),
            ("Rio de Janeiro", -22.91, -43.17),
        ];
        assert!(left.iter().all(|&(name, lat, lon)| at(lat, lon) || panic!("{name}")));
        assert!(right.iter().all(|&(name, lat, lon)| !at(lat, lon) || panic!("{name}")));
    }
}
