//! Files that get their names when they are complete.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// A file that is being written, beside its place.
pub struct Draft {
    /// Where it will be.
    path: PathBuf,
    part: PathBuf,
    out: BufWriter<File>,
    is_complete: bool,
}

impl Draft {
    /// Where a file will be, and where it is until then.
    pub fn paths(folder: &Path, name: &str) -> [PathBuf; 2] {
        [folder.join(name), folder.join(format!("{name}.part"))]
    }

    pub fn create(folder: &Path, name: &str) -> Result<Self, String> {
        let [path, part] = Self::paths(folder, name);
        if path.is_dir() {
            return Err(format!("{}: cannot write: is a folder", path.display()));
        }
        let out = open(&part).map_err(|error| format!("{}: cannot write: {error}", part.display()))?;
        Ok(Self { path, part, out: BufWriter::new(out), is_complete: false })
    }

    pub fn write(&mut self, write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> Result<(), String> {
        write(&mut self.out).map_err(|error| format!("{}: cannot write: {error}", self.part.display()))
    }

    fn rename(mut self) -> Result<(), String> {
        fs::rename(&self.part, &self.path)
            .map_err(|error| format!("{}: cannot write: {error}", self.path.display()))?;
        self.is_complete = true;
        Ok(())
    }
}

/// Gives files their names once all of them are whole: a disk that is full leaves those of another
/// run as they are, instead of some of each.
pub fn finish(mut drafts: Vec<Draft>) -> Result<(), String> {
    drafts.iter_mut().try_for_each(|draft| draft.write(Write::flush))?;
    drafts.into_iter().try_for_each(Draft::rename)
}

/// A folder that is refused keeps no half of a file.
impl Drop for Draft {
    fn drop(&mut self) {
        if !self.is_complete {
            let _ = fs::remove_file(&self.part);
        }
    }
}

/// An empty file that no other run writes; the system gives it free when this one ends, however it
/// does.
fn open(part: &Path) -> io::Result<File> {
    let file = OpenOptions::new().write(true).create(true).truncate(false).open(part)?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => {
            return Err(io::Error::new(io::ErrorKind::ResourceBusy, "another run is writing it"));
        }
        // Where files cannot be locked two runs are not told apart.
        Ok(()) | Err(TryLockError::Error(_)) => {}
    }
    file.set_len(0)?;
    Ok(file)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::tests::TempFolder;

    #[test]
    fn a_full_disk_leaves_the_files_of_another_run() {
        let folder = TempFolder::new("full-disk");
        let names = ["a.csv", "b.csv"];
        names.iter().for_each(|name| fs::write(folder.join(name), "old").unwrap());
        let mut drafts = names.map(|name| Draft::create(&folder, name).unwrap());
        drafts[1].out = BufWriter::new(File::options().write(true).open("/dev/full").unwrap());
        drafts.iter_mut().for_each(|draft| draft.write(|out| out.write_all(b"new")).unwrap());
        let error = finish(drafts.into()).unwrap_err();
        assert!(error.contains("b.csv.part: cannot write: "), "{error}");
        names.iter().for_each(|name| assert_eq!(fs::read_to_string(folder.join(name)).unwrap(), "old"));
        assert_eq!(fs::read_dir(&*folder).unwrap().count(), 2, "drafts go");
    }
}
