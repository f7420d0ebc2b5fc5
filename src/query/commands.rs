//! [`AffineCommands`]: structural changes from inside a parallel sweep, in an order that depends on
//! the rows alone.

use std::{
    mem::replace,
    ops::{Deref, DerefMut, Range},
    sync::Mutex,
};

use bevy_ecs::{
    entity::{Entities, EntityAllocator},
    prelude::Commands,
    query::{IterQueryData, QueryFilter},
    system::SystemParam,
    world::CommandQueue,
};

use super::par_iter::AffineParIter;
use crate::{
    auto::Strategy,
    placement::Storage,
    sweep::{Part, Plan},
    sync::lock,
};

/// [`Commands`] (by [`Deref`]) that a parallel sweep can record too, with
/// [`for_each_with_commands`](AffineParIter::for_each_with_commands). Applied where those of a
/// `Commands` parameter would be.
///
/// [`ParallelCommands`](bevy_ecs::system::ParallelCommands) is applied in the order of threads;
/// this is applied in the order of rows, so the world comes out the same in every mode and with
/// every number of workers; but for the ids that [`Commands::spawn`] reserves while rows are
/// visited, which go to who is first.
///
/// ```
/// use bevy::prelude::*;
/// use bevy_affinity::prelude::*;
///
/// #[derive(Component)]
/// struct Egg(u32);
///
/// fn hatch(mut eggs: AffineQuery<(Entity, &mut Egg)>, mut commands: AffineCommands) {
///     eggs.par_iter_mut().for_each_with_commands(&mut commands, |commands, (entity, mut egg)| {
///         egg.0 -= 1;
///         if egg.0 == 0 {
///             commands.entity(entity).remove::<Egg>();
///         }
///     });
/// }
/// # App::new().add_plugins(AffinityParallelPlugin).add_systems(Update, hatch.affine()).update();
/// ```
#[derive(SystemParam)]
pub struct AffineCommands<'w, 's> {
    commands: Commands<'w, 's>,
    entities: &'w Entities,
    allocator: &'w EntityAllocator,
}

impl AffineCommands<'_, '_> {
    /// Calls what `visitor` makes, for each part of the plan one, with all rows of that part, and
    /// keeps in the order of rows what is commanded.
    pub(crate) fn record<V>(&mut self, plan: &Plan<'_>, visitor: impl Fn() -> V + Sync)
    where
        V: FnMut(&mut Commands, Storage, Range<u32>),
    {
        let Self { entities, allocator, ref mut commands } = *self;
        let recorded = Mutex::default();
        let rows = plan.rows();
        // One part has all: there are no rows of others between its ranges.
        let is_whole = plan.strategy == Strategy::Serial;
        let record = |part: Part<'_>| {
            let (mut visit, mut run) = (visitor(), RecordedRun::new(&recorded, is_whole));
            part.for_each_range(|ordinal, storage, range| {
                let end = range.end;
                let queue = run.come_to((ordinal, range.start));
                visit(&mut Commands::new_from_entities(queue, allocator, entities), storage, range);
                run.next = Some(if end < rows.count(storage) { (ordinal, end) } else { (ordinal + 1, 0) });
            });
            run.keep();
        };
        plan.run_then(record, || {
            let mut recorded = lock(&recorded);
            recorded.sort_unstable_by_key(|&(place, _)| place);
            recorded.iter_mut().for_each(|(_, queue)| commands.append(queue));
        });
    }
}

/// What was recorded in a call, run of rows by run.
type Recorded = Mutex<Vec<(Place, CommandQueue)>>;

/// What is recorded of rows that follow each other.
struct RecordedRun<'a> {
    recorded: &'a Recorded,
    /// Whether no other part has rows between these, whichever come.
    is_whole: bool,
    queue: CommandQueue,
    /// Where the first command was recorded.
    begins: Place,
    /// Where the rows go on.
    next: Option<Place>,
}

impl<'a> RecordedRun<'a> {
    fn new(recorded: &'a Recorded, is_whole: bool) -> Self {
        Self { recorded, is_whole, queue: silent(), begins: Place::default(), next: None }
    }

    /// Where to record what the rows from `place` on command.
    #[inline]
    fn come_to(&mut self, place: Place) -> &mut CommandQueue {
        if self.next != Some(place) && !self.is_whole {
            self.keep();
        }
        if self.queue.is_empty() {
            self.begins = place;
        }
        &mut self.queue
    }

    fn keep(&mut self) {
        if !self.queue.is_empty() {
            lock(self.recorded).push((self.begins, replace(&mut self.queue, silent())));
        }
    }
}

/// A queue that says nothing if it is dropped with commands: after a panic, inside of a round,
/// where a logger must not be called.
fn silent() -> CommandQueue {
    let mut queue = CommandQueue::default();
    queue.silence_drop_warning();
    queue
}

impl<'w, 's> Deref for AffineCommands<'w, 's> {
    type Target = Commands<'w, 's>;

    fn deref(&self) -> &Self::Target {
        &self.commands
    }
}

impl DerefMut for AffineCommands<'_, '_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.commands
    }
}

impl std::fmt::Debug for AffineCommands<'_, '_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AffineCommands").finish_non_exhaustive()
    }
}

/// Where commands were recorded: the storage's place in the order of storages, and the first row of
/// those that were visited in one go.
type Place = (u32, u32);

impl<'w, 's, D: IterQueryData, F: QueryFilter> AffineParIter<'w, 's, D, F> {
    /// Calls `f` with each item and [`Commands`] that are applied after the system, in the order of
    /// rows.
    ///
    /// Which ids [`Commands::spawn`] reserves depends on who is first; with
    /// `commands.queue(|world: &mut World| ..)` an entity gets its id when the command is applied,
    /// and that is always the same. If a closure panics, none of this call's commands is applied,
    /// and the indices of entities that it had spawned are not used again.
    ///
    /// ```
    /// use bevy::prelude::*;
    /// use bevy_affinity::prelude::*;
    ///
    /// #[derive(Component)]
    /// struct Fuse(u32);
    ///
    /// fn burn(mut fuses: AffineQuery<(Entity, &mut Fuse)>, mut commands: AffineCommands) {
    ///     fuses.par_iter_mut().for_each_with_commands(&mut commands, |commands, (bomb, mut fuse)| {
    ///         fuse.0 -= 1;
    ///         if fuse.0 == 0 {
    ///             commands.entity(bomb).despawn();
    ///         }
    ///     });
    /// }
    ///
    /// let mut app = App::new();
    /// app.add_plugins(AffinityParallelPlugin).add_systems(Update, burn.affine());
    /// let bombs = [1, 2].map(|fuse| app.world_mut().spawn(Fuse(fuse)).id());
    /// app.update();
    /// assert_eq!(bombs.map(|bomb| app.world().get_entity(bomb).is_ok()), [false, true]);
    /// ```
    pub fn for_each_with_commands(
        self,
        commands: &mut AffineCommands,
        f: impl Fn(&mut Commands, D::Item<'w, 's>) + Send + Sync,
    ) {
        let Self { sweep, site, .. } = self;
        commands.record(&Plan::new(sweep.rows, site), || {
            |commands: &mut Commands, storage, rows| {
                // SAFETY: 'access' on `Sweep`; 'parts' on `Part`; and this call consumes the
                // iterator, so each row is visited once while its items can live.
                unsafe { sweep.visit(storage, rows, |item| f(commands, item)) };
            }
        });
    }
}
