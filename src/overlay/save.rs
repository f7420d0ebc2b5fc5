//! 'Save trace': what is recorded, as a file that Perfetto and `chrome://tracing` open.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use bevy_egui::egui::{RichText, Ui};

use super::colours;
use crate::diagnostics::{AffinityDiagnostics, AffinityTimeline};

/// How the last saving went.
#[derive(Debug, Default)]
pub(super) struct Saved {
    last: Option<Result<PathBuf, String>>,
}

impl Saved {
    /// The button, and the name of the file or why there is none.
    pub(super) fn show(
        &mut self,
        ui: &mut Ui,
        folder: &Path,
        timeline: &AffinityTimeline,
        diagnostics: &AffinityDiagnostics,
    ) {
        // There are no files.
        if cfg!(target_arch = "wasm32") {
            return;
        }
        if ui
            .button("Save trace")
            .on_hover_text("all that is recorded, for ui.perfetto.dev or chrome://tracing")
            .clicked()
        {
            let file = new_file(&whole_path(folder));
            let saved = save(&file, timeline, diagnostics);
            self.last = Some(saved.map_err(|error| format!("{}: {error}", file.display())).map(|()| file));
        }
        match &self.last {
            Some(Ok(file)) => ui.label(format!("saved as {}", file.display())),
            Some(Err(error)) => ui.label(RichText::new(error).color(colours::BUDGET)),
            None => return,
        };
    }
}

/// From the root on: the folder that a program was started in is often not known to its user. A
/// folder that does not exist keeps its name for the error.
fn whole_path(folder: &Path) -> PathBuf {
    let here = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    here.canonicalize().unwrap_or_else(|_| folder.to_path_buf())
}

/// `affinity-1763708400.json`, or with a later second if that exists: files of one folder are in
/// the order in which they were saved.
fn new_file(folder: &Path) -> PathBuf {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let mut files = (now..).map(|seconds| folder.join(format!("affinity-{seconds}.json")));
    files.find(|file| !file.exists()).unwrap_or_default()
}

fn save(file: &Path, timeline: &AffinityTimeline, diagnostics: &AffinityDiagnostics) -> io::Result<()> {
    let everything = timeline.extent().ok_or_else(|| io::Error::other("nothing was recorded yet"))?;
    let saved = timeline.write_trace(everything, diagnostics, File::create(file)?);
    // A part of a trace is none: nothing can read it.
    if saved.is_err() {
        _ = fs::remove_file(file);
    }
    saved
}
