//! Programmes of signals (`tlLogic`), in networks and in additional files.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::map::{Green, Greens, LONGEST_CYCLE, MapError};
use crate::scenario::text::{finite, positive, quote};
use crate::scenario::time;
use crate::scenario::xml::{Piece, Tag, Xml};

/// What the signals of an id do.
pub struct Programme {
    /// SUMO's name for it, of several for the same signals.
    name: String,
    pub cycle: u32,
    /// Which second of the cycle second 0 is.
    pub offset: u32,
    /// By the numbers that connections have for their signals.
    pub greens: Vec<Greens>,
    /// Whether SUMO would change its durations, or the order of its phases.
    pub is_fixed: bool,
}

/// The programmes that run, by the ids of signals: of several the last one that was read.
#[derive(Default)]
pub struct Programmes(HashMap<String, Programme>);

/// A phase, from a second of the cycle to that of the next one.
struct Phase {
    start: u32,
    state: String,
}

impl Programmes {
    pub fn get(&self, id: &str) -> Option<&Programme> {
        self.0.get(id)
    }

    pub fn all(&self) -> impl Iterator<Item = &Programme> {
        self.0.values()
    }

    /// Reads the additional files among these; vehicles are for another reader.
    pub fn read_files(&mut self, paths: &[PathBuf]) -> Result<(), MapError> {
        paths.iter().try_for_each(|path| self.read_file(path))
    }

    fn read_file(&mut self, path: &Path) -> Result<(), MapError> {
        let mut xml = Xml::open(path)?;
        let root = xml.root(&["routes", "additional", "add", "trips"])?;
        if !root.name().starts_with("add") {
            return Ok(());
        }
        while let Some(tag) = xml.next_tag()? {
            if tag.name() == "tlLogic" {
                self.read(&tag, &mut xml)?;
            }
        }
        Ok(())
    }

    /// Reads one programme up to its end.
    pub fn read(&mut self, tag: &Tag, xml: &mut Xml) -> Result<(), MapError> {
        let (id, name) = (tag.text("id")?, tag.get("programID")?.unwrap_or_default());
        let offset = tag.optional("offset", offset)?;
        let kind = tag.get("type")?.unwrap_or_default();
        let (phases, cycle, goes_on) = phases(xml)?;
        if phases.is_empty() {
            return self.shift(tag, &id, &name, offset.unwrap_or(0));
        }
        let programme = Programme {
            name,
            cycle,
            offset: second(offset.unwrap_or(0), cycle),
            greens: greens(&phases, cycle),
            is_fixed: goes_on && (kind.is_empty() || kind == "static"),
        };
        self.0.insert(id, programme);
        Ok(())
    }

    /// A programme without phases changes the offset of one that is there.
    fn shift(&mut self, tag: &Tag, id: &str, name: &str, offset: i64) -> Result<(), MapError> {
        let programme = self.0.get_mut(id).filter(|programme| programme.name == name);
        let programme = programme.ok_or_else(|| tag.error(format_args!("signals {} have no phases", quote(id))))?;
        programme.offset = second(offset, programme.cycle);
        Ok(())
    }
}

/// Seconds, of which more than a billion mean nothing.
fn offset(name: &str, text: &str) -> Result<i64, String> {
    let seconds = match time::parse(name, text) {
        Ok(seconds) => f64::from(seconds),
        Err(_) => finite(name, text)?,
    };
    if seconds.abs() <= 1e9 {
        Ok(seconds.round() as i64)
    } else {
        Err(format!("{name} is too large, found {}", quote(text)))
    }
}

/// Which second of the cycle second 0 is, if the cycle begins at `offset`.
fn second(offset: i64, cycle: u32) -> u32 {
    (-offset).rem_euclid(i64::from(cycle)) as u32
}

/// The phases up to the end of a programme, the seconds of all of them, and whether each goes on to
/// the next one.
fn phases(xml: &mut Xml) -> Result<(Vec<Phase>, u32, bool), MapError> {
    let (mut phases, mut end, mut goes_on): (Vec<Phase>, f64, bool) = (Vec::new(), 0.0, true);
    while let Some(piece) = xml.next()? {
        match piece {
            Piece::Close(name) if name == "tlLogic" => break,
            Piece::Open(tag) if tag.name() == "phase" => {
                let state = state(&tag)?;
                if phases.first().is_some_and(|first| first.state.len() != state.len()) {
                    return Err(tag.error("the phases have states of different lengths"));
                }
                goes_on &= tag.get("next")?.is_none();
                phases.push(Phase { start: whole(end), state });
                end += tag.required("duration", duration)?;
            }
            _ => {}
        }
    }
    Ok((phases, whole(end).max(1), goes_on))
}

/// Whole seconds; too many of them end at the longest cycle.
fn whole(seconds: f64) -> u32 {
    (seconds.round() as u32).min(LONGEST_CYCLE)
}

fn duration(name: &str, text: &str) -> Result<f64, String> {
    if text.contains(':') { time::parse(name, text).map(f64::from) } else { positive(name, text) }
}

fn state(tag: &Tag) -> Result<String, MapError> {
    let state = tag.text("state")?;
    if state.bytes().all(|letter| b"rRuyYgGsoO".contains(&letter)) {
        Ok(state)
    } else {
        Err(tag
            .error(format_args!("state should be of the letters r, y, g, G, u, s, o and O, found {}", quote(&state))))
    }
}

/// The greens of each signal.
fn greens(phases: &[Phase], cycle: u32) -> Vec<Greens> {
    let signals = phases.first().map_or(0, |phase| phase.state.len());
    (0..signals).map(|signal| greens_of(phases, cycle, signal)).collect()
}

fn greens_of(phases: &[Phase], cycle: u32, signal: usize) -> Greens {
    let letter = |phase: usize| phases[phase].state.as_bytes()[signal];
    let mut greens: Vec<Green> = Vec::new();
    let mut was_permissive =
        (0..phases.len()).rev().map(letter).find(|letter| !is_yellow(*letter)).is_some_and(is_permissive);
    for (number, phase) in phases.iter().enumerate() {
        let letter = letter(number);
        let end = phases.get(number + 1).map_or(cycle, |next| next.start);
        let is_protected = matches!(letter, b'G' | b'O') || is_yellow(letter) && was_permissive;
        if end > phase.start && (is_protected || is_permissive(letter)) {
            add(&mut greens, Green { start: phase.start, length: end - phase.start, is_protected });
        }
        if !is_yellow(letter) {
            was_permissive = is_permissive(letter);
        }
    }
    greens.into()
}

fn is_yellow(letter: u8) -> bool {
    matches!(letter, b'y' | b'Y')
}

/// Green for those who give way.
fn is_permissive(letter: u8) -> bool {
    matches!(letter, b'g' | b's' | b'o')
}

/// Adds a green, to the last one if that goes on.
fn add(greens: &mut Vec<Green>, green: Green) {
    match greens.last_mut() {
        Some(last) if last.start + last.length == green.start && last.is_protected == green.is_protected => {
            last.length += green.length;
        }
        _ => greens.push(green),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn greens_of_states(states: &[(u32, &str)], cycle: u32) -> Vec<Vec<(u32, u32, bool)>> {
        let phases: Vec<Phase> = states.iter().map(|&(start, state)| Phase { start, state: state.into() }).collect();
        let plain =
            |greens: &Greens| greens.iter().map(|green| (green.start, green.length, green.is_protected)).collect();
        greens(&phases, cycle).iter().map(plain).collect()
    }

    #[test]
    fn letters_become_greens() {
        let greens = greens_of_states(&[(0, "Ggru"), (30, "Gyrr"), (33, "yrGr"), (36, "rrGo")], 60);
        assert_eq!(greens[0], [(0, 33, true)], "yellow behind green is red");
        assert_eq!(greens[1], [(0, 30, false), (30, 3, true)], "yellow lets those go who gave way");
        assert_eq!(greens[2], [(33, 27, true)]);
        assert_eq!(greens[3], [(36, 24, false)]);
    }

    #[test]
    fn the_cycle_is_round() {
        let greens = greens_of_states(&[(0, "y"), (3, "r"), (30, "g")], 60);
        assert_eq!(greens[0], [(0, 3, true), (30, 30, false)], "the yellow ends the green before the cycle's end");
        assert_eq!([second(0, 90), second(10, 90), second(-10, 90), second(190, 90)], [0, 80, 10, 80]);
    }
}
