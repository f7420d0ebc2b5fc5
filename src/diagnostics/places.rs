//! Which system has which place in the list of systems.

use std::sync::{Arc, Weak};

use bevy_ecs::prelude::Resource;
use bevy_platform::collections::{HashMap, HashSet};

use crate::record::{SystemTiming, SystemTimings};

/// The places of the tagged systems that have run. A place is one system's for as long as that
/// exists; vacant ones are given to the next new systems, and there are none behind the last
/// system.
///
/// They are the world's: so they stay when a user resets or removes the diagnostics, or puts back
/// those of an earlier moment.
#[derive(Resource, Debug, Default)]
pub(crate) struct Places {
    taken: Vec<Option<Taken>>,
    by_number: HashMap<usize, usize>,
    /// Those whose systems were found to be gone when it was last brought up to date.
    vacated: Vec<usize>,
}

#[derive(Debug)]
struct Taken {
    /// The system's.
    number: usize,
    name: String,
    system: Weak<SystemTiming>,
}

/// The names that systems have, while new ones are given theirs: all at once, since a program may
/// have thousands.
struct Names {
    used: HashSet<String>,
    /// By name, the number that the next system with the same name gets.
    next: HashMap<String, u32>,
}

impl Names {
    fn of(taken: &[Option<Taken>]) -> Self {
        let used = taken.iter().flatten().map(|taken| taken.name.clone()).collect();
        Self { used, next: HashMap::default() }
    }

    /// `name`, with a number behind it if another system has it; `_` for an empty one, which stands
    /// for a vacant place.
    fn take_unused(&mut self, name: &str) -> String {
        let name = if name.is_empty() { "_" } else { name };
        let mut unused = name.to_string();
        while !self.used.insert(unused.clone()) {
            let next = self.next.entry(name.to_string()).or_insert(2);
            unused = format!("{name}#{next}");
            *next += 1;
        }
        unused
    }
}

/// A system that exists, and its place.
pub(super) struct Placed<'a> {
    pub(super) place: usize,
    pub(super) name: &'a str,
    pub(super) system: Arc<SystemTiming>,
}

impl Places {
    /// Forgets systems that are gone, and gives places to those that are new.
    pub(super) fn update(&mut self, systems: &SystemTimings) {
        self.vacated.clear();
        for (index, place) in self.taken.iter_mut().enumerate() {
            if let Some(gone) = place.take_if(|taken| taken.system.strong_count() == 0) {
                self.by_number.remove(&gone.number);
                self.vacated.push(index);
            }
        }
        let (mut from, mut names) = (0, None);
        systems.take_new(|system| {
            let names = names.get_or_insert_with(|| Names::of(&self.taken));
            from = self.settle(system, from, names) + 1;
        });
        let used = self.taken.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
        self.taken.truncate(used);
    }

    /// Gives `system` the first vacant place from `from` on.
    fn settle(&mut self, system: &Arc<SystemTiming>, from: usize, names: &mut Names) -> usize {
        let vacant = (from..self.taken.len()).find(|&index| self.taken[index].is_none());
        let index = vacant.unwrap_or(self.taken.len());
        let name = names.take_unused(&system.name);
        let taken = Some(Taken { number: system.number(), name, system: Arc::downgrade(system) });
        match self.taken.get_mut(index) {
            Some(place) => *place = taken,
            None => self.taken.push(taken),
        }
        self.by_number.insert(system.number(), index);
        index
    }

    /// The place of the system with this number.
    pub(super) fn find(&self, number: usize) -> Option<usize> {
        self.by_number.get(&number).copied()
    }

    pub(super) fn vacated(&self) -> &[usize] {
        &self.vacated
    }

    pub(super) fn len(&self) -> usize {
        self.taken.len()
    }

    /// The systems that exist, with their places.
    pub(super) fn systems(&self) -> impl Iterator<Item = Placed<'_>> {
        let taken = self.taken.iter().enumerate();
        taken.filter_map(|(place, taken)| {
            let Taken { name, system, .. } = taken.as_ref()?;
            Some(Placed { place, name, system: system.upgrade()? })
        })
    }

    pub(super) fn is_vacant(&self, place: usize) -> bool {
        self.taken.get(place).is_none_or(Option::is_none)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::SchedulerMode;

    fn run(timings: &SystemTimings, name: &str) -> Arc<SystemTiming> {
        let system = Arc::new(SystemTiming::new(name.into()));
        timings.note(None, &system, &(0..1));
        timings.count(None, SchedulerMode::Auto, 1);
        system
    }

    fn names(places: &Places) -> Vec<(usize, String)> {
        places.systems().map(|placed| (placed.place, placed.name.to_string())).collect()
    }

    #[test]
    fn a_place_is_kept_as_long_as_its_system_exists() {
        let (timings, mut places) = (SystemTimings::default(), Places::default());
        let [a, b, c] = ["a", "b", "c"].map(|name| run(&timings, name));
        places.update(&timings);
        assert_eq!(names(&places), [(0, "a".into()), (1, "b".into()), (2, "c".into())]);
        let gone = b.number();
        drop((a, b));
        places.update(&timings);
        assert_eq!((names(&places), places.vacated(), places.find(gone)), (vec![(2, "c".into())], &[0, 1][..], None));
        let d = run(&timings, "d");
        places.update(&timings);
        assert_eq!((places.find(d.number()), places.find(c.number()), places.len()), (Some(0), Some(2), 3));
        drop((c, d));
        places.update(&timings);
        assert_eq!((places.len(), places.by_number.len()), (0, 0));
    }

    #[test]
    fn no_two_systems_have_one_name_and_none_that_of_a_vacant_place() {
        let (timings, mut places) = (SystemTimings::default(), Places::default());
        let [first, _second] = ["", "a"].map(|name| run(&timings, name));
        places.update(&timings);
        drop(first);
        places.update(&timings);
        assert_eq!(names(&places), [(1, "a".into())]);
        let _more = ["b", "", "a"].map(|name| run(&timings, name));
        places.update(&timings);
        assert_eq!(names(&places), [(0, "b".into()), (1, "a".into()), (2, "_".into()), (3, "a#2".into())]);
        let _same = [(); 2].map(|()| run(&timings, "a"));
        places.update(&timings);
        assert_eq!(names(&places)[4..], [(4, "a#3".into()), (5, "a#4".into())]);
    }

    #[test]
    fn a_system_that_is_gone_before_it_is_asked_for_gets_no_place() {
        let (timings, mut places) = (SystemTimings::default(), Places::default());
        (0..300).for_each(|_| drop(run(&timings, "short-lived")));
        let kept = run(&timings, "kept");
        places.update(&timings);
        assert_eq!(places.find(kept.number()), Some(0));
        assert_eq!((places.len(), timings.totals().calls), (1, 301));
    }
}
