//! The life of a pair of apps: from one seed, from the first frame to the last.

use std::time::Duration;

use bevy_affinity::prelude::*;

use crate::{
    changes::Change,
    cli::Without,
    components::Kind,
    dice::Dice,
    machine,
    program::Script,
    tally::Tally,
    twins::{Birth, Frame, Twins},
};

/// Rows that a life has at most, about: from what stays on the leader to what is cut among all
/// workers.
const SIZES: [usize; 8] = [20, 200, 1_000, 1_000, 3_000, 3_000, 6_000, 12_000];

pub struct Life {
    pub seed: u64,
    /// Frames so far.
    pub frames: u64,
    dice: Dice,
    twins: Twins,
    without: Without,
    /// What its entities are made of. Not of everything: the tables of all combinations keep room
    /// for as many rows as ever were in them, and would grow for ever.
    kinds: Vec<Kind>,
    /// Rows, about.
    size: usize,
    length: u64,
    /// Whether the last frame panics.
    doomed: bool,
}

impl Life {
    /// A life of at most `longest` frames, with a world of at most `most_rows` rows, about.
    pub fn new(seed: u64, longest: u64, most_rows: usize, without: &Without) -> Self {
        let mut dice = Dice::new(seed);
        let size = dice.pick(&SIZES).min(most_rows);
        // As many short lives as long ones.
        let length = (longest >> dice.below(8)).max(1);
        let doomed = dice.once_in(4);
        let is_used = |kind: &Kind| matches!(kind, Kind::A | Kind::B) || dice.once_in(2);
        let kinds = Kind::ALL.into_iter().filter(is_used).collect();
        let (settings, mode) = (machine::draw_settings(&mut dice), machine::draw_mode(&mut dice));
        let birth = Birth {
            settings: if without.settings { AffinitySettings::default() } else { settings },
            mode: if without.modes { SchedulerMode::LockStep } else { mode },
            beside: dice.once_in(2),
            static_transforms: !dice.once_in(4),
        };
        Self { seed, frames: 0, twins: Twins::new(&birth), without: without.clone(), dice, kinds, size, length, doomed }
    }

    pub fn is_over(&self) -> bool {
        self.frames >= self.length
    }

    /// The next frame of both apps. If `plants`, one bit of our world is changed before they are
    /// compared.
    ///
    /// # Errors
    /// The first difference.
    pub fn frame(&mut self, plants: bool, tally: &mut Tally) -> Result<(), String> {
        let frame = self.draw();
        self.frames += 1;
        if frame.settings.is_some() {
            tally.shared_rows += self.twins.shared_rows();
        }
        if self.twins.run(&frame)? {
            self.length = self.frames;
            tally.ended += 1;
        }
        if plants {
            self.twins.plant();
        }
        let rows = self.twins.compare()?;
        tally.count(&frame, rows, self.twins.log());
        if self.is_over() {
            tally.shared_rows += self.twins.shared_rows();
            tally.lives += 1;
        }
        Ok(())
    }

    fn draw(&mut self) -> Frame {
        let Self { dice, without, kinds, .. } = self;
        let changes = Change::draw(dice, kinds, self.twins.count(), self.size);
        let settings = dice.once_in(12).then(|| machine::draw_settings(dice));
        let mode = dice.once_in(4).then(|| machine::draw_mode(dice));
        let pause = dice.once_in(100).then(|| Duration::from_micros(dice.number() % 4_000));
        let (salt, steps) = (dice.number(), dice.number() | dice.number());
        // The clock may stand still, jump, and go back.
        let now = self.frames.saturating_sub(dice.below(4) as u64) + if dice.once_in(16) { 20 } else { 0 };
        let row = dice.below(self.twins.count());
        let dies = self.doomed && self.frames + 1 == self.length;
        let doomed = dies.then(|| self.twins.number_of(row)).flatten();
        Frame {
            changes: if without.changes { Vec::new() } else { changes },
            script: Script { salt, steps: steps & !without.steps, now, doomed },
            settings: settings.filter(|_| !without.settings),
            mode: mode.filter(|_| !without.modes),
            pause: pause.filter(|_| !without.pauses),
        }
    }
}
