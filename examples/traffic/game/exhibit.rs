//! `--frames` and `--screenshot`: plays for a while, takes a picture and ends. For tests, and for
//! pictures of the game.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use bevy::prelude::*;
use bevy::render::view::screenshot::{Screenshot, ScreenshotCaptured, save_to_disk};

use super::shared::{FrameParts, GameState};
use crate::cli::Options;

/// What is left to do.
#[derive(Resource)]
struct Exhibit {
    frames: u32,
    frames_left: u32,
    screenshot: Option<PathBuf>,
    sums: FrameParts,
}

pub(super) fn plugin(app: &mut App, options: &Options) {
    let Some(frames) = options.frames else { return };
    let screenshot = options.screenshot.clone();
    app.insert_resource(Exhibit { frames, frames_left: frames, screenshot, sums: FrameParts::default() })
        .add_systems(Last, count.run_if(resource_equals(GameState::Playing)));
}

fn count(
    mut exhibit: ResMut<Exhibit>,
    parts: Res<FrameParts>,
    mut commands: Commands,
    mut exit: MessageWriter<AppExit>,
) {
    if exhibit.frames_left == 0 {
        return;
    }
    exhibit.add(&parts);
    exhibit.frames_left -= 1;
    if exhibit.frames_left > 0 {
        return;
    }
    exhibit.report(parts.drawn);
    match exhibit.screenshot.take() {
        Some(file) => drop(commands.spawn(Screenshot::primary_window()).observe(save_and_leave(file))),
        None => drop(exit.write(AppExit::Success)),
    }
}

/// Writes the picture and ends the game; the exit code says whether the picture is there, and the
/// log why it is not. One observer: of two, either may come first.
fn save_and_leave(file: PathBuf) -> impl FnMut(On<ScreenshotCaptured>, MessageWriter<AppExit>) {
    let draft = file.with_extension("part.png");
    let mut save = save_to_disk(draft.clone());
    move |captured, mut exit| {
        let replaced = replace(&file, &draft, || save(captured));
        if let Err(error) = &replaced {
            error!("{}: cannot write: {error}", file.display());
        }
        exit.write(if replaced.is_ok() { AppExit::Success } else { AppExit::error() });
    }
}

/// Puts what `write` leaves in a draft in the place of a file. An older picture stays where that
/// fails, and is not taken for the new one; nor is a draft that another run has left.
fn replace(file: &Path, draft: &Path, write: impl FnOnce()) -> io::Result<()> {
    // Mostly there is none.
    let _ = fs::remove_file(draft);
    write();
    fs::rename(draft, file)
}

impl Exhibit {
    fn add(&mut self, parts: &FrameParts) {
        self.sums.simulate += parts.simulate;
        self.sums.pack += parts.pack;
        self.sums.draw += parts.draw;
        self.sums.frame += parts.frame;
    }

    fn report(&self, drawn: u32) {
        let mean = |sum: Duration| sum.as_secs_f64() * 1e3 / f64::from(self.frames);
        let FrameParts { simulate, pack, draw, frame, .. } = self.sums;
        let [simulate, pack, draw, frame] = [simulate, pack, draw, frame].map(mean);
        // The other end of a pipe may be closed.
        let _ = writeln!(
            io::stdout(),
            "{} frames: {frame:.2} ms each; simulate {simulate:.2}, pack {pack:.2}, draw {draw:.2}; {drawn} cars and signals",
            self.frames
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::TempFolder;

    #[test]
    fn an_old_picture_is_not_taken_for_the_new_one() {
        let folder = TempFolder::new("exhibit");
        let (file, draft) = (folder.join("a.png"), folder.join("a.part.png"));
        fs::write(&file, "old").unwrap();
        fs::write(&draft, "left by another run").unwrap();
        assert!(replace(&file, &draft, || ()).is_err(), "nothing was written");
        assert_eq!(fs::read(&file).unwrap(), b"old");
        replace(&file, &draft, || fs::write(&draft, "new").unwrap()).unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"new");
        assert!(!draft.exists());
    }
}
