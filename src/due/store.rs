//! What an agenda keeps from call to call.

use std::marker::PhantomData;

use bevy_ecs::prelude::{Entity, Resource};
use bevy_utils::prelude::ShortName;
use log::warn;

use super::{component::Due, hints::Hints, times::Times};
use crate::sweep::{Rows, Selection};

/// The call in which it is looked whether any row has a time: a second after the first one, in a
/// game.
const CALL_TO_LOOK: u32 = 64;

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
    /// Up to [`CALL_TO_LOOK`].
    calls: u32,
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
            calls: 0,
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

    /// Counts a call for `rows`, and says once if no entity has a time although there are rows:
    /// theirs may be of another agenda, or forgotten.
    pub(super) fn count_call(&mut self, rows: Rows<'_, '_>, times: Times<'_, A>) {
        if self.calls == CALL_TO_LOOK {
            return;
        }
        self.calls += 1;
        if self.calls == CALL_TO_LOOK && times.count() == 0 && rows.total() > 0 {
            let due = ShortName::of::<Due<A>>();
            warn!(
                "bevy_affinity: no entity has a `{due}`, so none of the {} rows of a query was due in {CALL_TO_LOOK} \
                 calls: spawn them with one, of the same agenda as the `Agenda` of the call",
                rows.total()
            );
        }
    }
}
