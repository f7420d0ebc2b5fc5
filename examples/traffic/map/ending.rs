//! The end of a file's name tells what the file holds, in small letters or in capitals.

use std::ffi::OsStr;
use std::path::Path;

/// Whether a file's name ends in these extensions, such as `osm.gz`.
pub fn is(path: &Path, extensions: &str) -> bool {
    without(path.file_name().unwrap_or_default(), extensions).is_some()
}

/// A name without these extensions, if it ends in them.
pub fn without<'a>(name: &'a OsStr, extensions: &str) -> Option<&'a OsStr> {
    extensions.rsplit('.').try_fold(name, |name, extension| {
        let path = Path::new(name);
        path.file_stem().filter(|_| path.extension().is_some_and(|other| other.eq_ignore_ascii_case(extension)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_end_in_any_letters() {
        let without = |name: &'static str, extensions| without(OsStr::new(name), extensions).and_then(OsStr::to_str);
        assert_eq!(without("Town.OSM.GZ", "osm.gz"), Some("Town"));
        assert_eq!(without("Town.Osm.gz", "gz"), Some("Town.Osm"));
        assert_eq!(without("a.b.gr", "gr"), Some("a.b"));
        for (name, extensions) in [("Town.OSM.GZ", "osm"), ("osm.gz", "osm.gz"), ("Town.gz", "osm.gz"), ("pbf", "pbf")]
        {
            assert_eq!(without(name, extensions), None, "{name}");
        }
        assert!(is(Path::new("maps.gz/X.Co.gZ"), "co.gz") && !is(Path::new("maps.gz/x.co"), "gz"));
    }
}
