//! What a map file may ask for: memory and time stay in proportion to its size, whatever it says of
//! itself.

use std::fs::{self, File};
use std::path::Path;

use super::MapError;

/// Most bytes that one byte of a packed file may unpack to. Road maps reach 2 to 4 and a grid of
/// equal streets 6; gzip goes to 1,000, where a small file keeps a reader busy for hours.
pub const UNPACKING: u64 = 16;

/// The longest road, in metres: a quarter of the way around the Earth, a week at 60 km/h.
pub const LONGEST_ROAD: f64 = 1e7;

/// The highest speed limit, in metres a second.
pub const FASTEST: f64 = 1e3;

/// Opens a regular file and tells its size. A folder has no content, and a pipe or device may never
/// begin or never end.
pub fn open(path: &Path) -> Result<(File, u64), MapError> {
    let cannot = |error| MapError::cannot_open(path.display(), &error);
    // Asked first: to open a pipe would wait for its other end.
    if !fs::metadata(path).map_err(cannot)?.is_file() {
        return Err(MapError::new(path.display(), "not a regular file"));
    }
    let file = File::open(path).map_err(cannot)?;
    let size = file.metadata().map_err(cannot)?.len();
    Ok((file, size))
}

/// Most bytes that `packed` bytes may unpack to; `free` of them are for small files, whose ratio
/// says little.
pub fn unpacked(packed: u64, free: u64) -> u64 {
    packed.saturating_mul(UNPACKING).saturating_add(free)
}
