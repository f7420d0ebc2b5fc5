//! What an agenda keeps from call to call.

use std::marker::PhantomData;

use bevy_ecs::prelude::{Entity, Resource};

use super::hints::Hints;
use crate::sweep::Selection;

/// What the agenda `A` of a world keeps.
///
/// # Invariant (store)
/// While `holds`, the hint of each entity that has a `Due<A>` is at most its time, and there is
/// room for it: what writes a time notes it here, and the component's hook notes what is inserted.
/// Otherwise nothing is known, and all rows have to be looked at.
#[derive(Resource)]
pub struct Store<A: Send + Sync + 'static> {
    pub(super) hints: Hints,
    pub(super) holds: bool,
    /// Calls over rows of which none had a time, before the first that had one; no more than matter
    /// are counted.
    pub(super) calls_without: u32,
    /// Rows that sweeps looked at, beyond those that due rows made up for.
    pub(super) wasted: u64,
    /// How often all times were noted anew since rows were last found by that.
    pub(super) useless: u32,
    /// Indices of entities that may be due.
    pub(super) candidates: Vec<u32>,
    /// Storage and row of those found.
    pub(super) found: Vec<u64>,
    /// Indices and times of those that are due, but not of the query that looks.
    pub(super) of_others: Vec<(u32, u64)>,
    pub(super) selection: Selection,
    agenda: PhantomData<fn() -> A>,
}

/// At first nothing is known: there may be rows already.
impl<A: Send + Sync + 'static> Default for Store<A> {
    fn default() -> Self {
        Self {
            hints: Hints::default(),
            holds: false,
            calls_without: 0,
            wasted: 0,
            useless: 0,
            candidates: Vec::new(),
            found: Vec::new(),
            of_others: Vec::new(),
            selection: Selection::default(),
            agenda: PhantomData,
        }
    }
}

impl<A: Send + Sync + 'static> Store<A> {
    /// Notes a time that was inserted, or may be.
    pub(super) fn note(&mut self, entity: Entity, time: u64) {
        if self.holds {
            self.hints.note(entity.index_u32(), time);
        }
    }

    /// Notes a time that was inserted, in place of what was noted before.
    pub(super) fn settle(&mut self, entity: Entity, time: u64) {
        if self.holds {
            self.hints.set(entity.index_u32(), time);
        }
    }
}
