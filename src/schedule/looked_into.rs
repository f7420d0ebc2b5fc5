//! Every schedule of a world is looked into when it has changed: what waits for its tag gets it,
//! and the schedule gets an [`AffinityExecutor`].

use std::{hash::BuildHasher, sync::Arc};

use bevy_app::First;
use bevy_ecs::{
    prelude::{DetectChanges, DetectChangesMut, Res, ResMut, Resource, Schedules},
    schedule::{InternedScheduleLabel, InternedSystemSet, Schedule, ScheduleLabel},
};
use bevy_platform::{collections::HashMap, hash::FixedHasher};

use super::configured::tag_in;
use crate::{
    executor::{AffinityExecutor, AffinitySchedules, Installed, Mark, ScheduleRecord},
    record::Recorder,
};

/// Runs once, before all others: ahead of `PreStartup` the first state may be entered. It keeps
/// Bevy's executor, and so does not show in diagnostics.
#[derive(ScheduleLabel, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct BeforeStartup;

/// A schedule that is missing in more looks than this is gone for good, if nothing has the executor
/// that it was given: one that runs while all are looked through is missing too.
const LOOKS_WITHOUT: u64 = 64;

/// What was found in the schedules of one world.
#[derive(Resource)]
pub(crate) struct LookedInto {
    /// [`BeforeStartup`].
    own: InternedScheduleLabel,
    schedules: HashMap<InternedScheduleLabel, Seen>,
    /// What was found in schedules that others have taken the place of, by their marks: they may
    /// come back.
    replaced: HashMap<InternedSystemSet, Seen>,
    /// How often all were looked through.
    looks: u64,
    /// Where runs are recorded.
    recorder: Arc<Recorder>,
}

/// What was found in one schedule.
#[derive(Default)]
struct Seen {
    shape: Shape,
    /// The executor that it was given.
    executor: Option<Installed>,
    /// Whether it was given one of which nothing is known any more, or in another world.
    had_another: bool,
    /// When it was last there.
    look: u64,
}

/// What tells in some nanoseconds that a schedule is no longer the one that was looked into.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Shape {
    systems: usize,
    memberships: usize,
    /// Since it was last built.
    changed: bool,
    /// Tells other systems that are as many: once it is built the address of the first, and before
    /// that a hash of the keys, of which none comes again.
    which: u64,
}

impl Shape {
    fn of(schedule: &Schedule) -> Self {
        let graph = schedule.graph();
        let changed = schedule.is_changed();
        let which = match schedule.systems() {
            Ok(mut built) if !changed => built.next().map_or(0, |(_, first)| std::ptr::from_ref(first).addr() as u64),
            _ => graph.systems.iter().fold(0, |all, (key, ..)| all ^ FixedHasher.hash_one(key)),
        };
        let (systems, memberships) = (graph.systems.len(), graph.hierarchy().edge_count());
        Self { systems, memberships, changed, which }
    }

    /// Whether a schedule that has this shape now, and had `before`, is sure to be the same one:
    /// one that is still to be built looks like others with as many systems.
    fn tells_it_is_as(self, before: Self) -> bool {
        self == before && (!self.changed || self.systems == 0)
    }
}

impl Seen {
    /// Tags what waits for it in `schedule`, if that has changed, and has its executor see what
    /// build passes add.
    fn follow(&mut self, schedule: &mut Schedule, shape: Shape) {
        let before = std::mem::replace(&mut self.shape, shape);
        // One that has no mark of ours may be another one, for as long as it is not built.
        if shape == before && (self.executor.is_some() || shape.tells_it_is_as(before)) {
            return;
        }
        tag_in(schedule);
        if let Some(executor) = self.executor.as_ref().filter(|executor| executor.is_in_use()) {
            executor.see_all_passes(schedule);
        }
    }

    /// The record of its executor, if that chooses.
    fn chosen_by(&self) -> Option<&ScheduleRecord> {
        let executor = self.executor.as_ref().filter(|executor| executor.is_in_use() && !executor.record.is_plain())?;
        Some(&executor.record)
    }

    /// Whether this is what was seen of another schedule than `schedule`, which has this shape, at
    /// the look with this number. One with an executor that a user has set since is the same.
    fn is_of_another(&self, schedule: &Schedule, shape: Shape, look: u64) -> bool {
        let Some(executor) = &self.executor else { return self.look + 1 < look };
        // Its mark is looked for only where it may be another one: that takes longer.
        let is_as_it_was = executor.is_in_use() && shape.tells_it_is_as(self.shape);
        !is_as_it_was && !executor.was_in(schedule)
    }

    /// After the look with this number: lets go of the conditions of a schedule that was not there
    /// and does not have its executor any more; false if it has been away for long.
    fn is_to_be_kept(&self, look: u64) -> bool {
        let executor = self.executor.as_ref().filter(|_| self.look < look);
        let unused = executor.filter(|executor| !executor.is_in_use());
        unused.iter().for_each(|executor| executor.let_go());
        let is_gone = self.executor.is_none() || unused.is_some();
        !is_gone || self.look + LOOKS_WITHOUT >= look
    }

    /// Gives `schedule` an executor. Once only: if it has another one later, a user has set that.
    fn install(&mut self, schedule: &mut Schedule, recorder: &Arc<Recorder>) {
        let executor = AffinityExecutor::install_for(schedule, None);
        executor.record.trace(schedule.label(), recorder);
        self.executor = Some(executor);
    }
}

impl LookedInto {
    pub(crate) fn new(recorder: Arc<Recorder>) -> Self {
        let (schedules, replaced) = (HashMap::default(), HashMap::default());
        Self { own: BeforeStartup.intern(), schedules, replaced, looks: 0, recorder }
    }

    /// Has the next look find all schedules changed: a build pass that is added shows in no number.
    pub(crate) fn look_again(&mut self) {
        self.schedules.values_mut().chain(self.replaced.values_mut()).for_each(|seen| seen.shape = Shape::default());
    }

    /// Looks into all schedules but those that run now: they are not in `schedules` meanwhile.
    pub(crate) fn look(&mut self, schedules: &mut Schedules, which: &AffinitySchedules) {
        self.looks += 1;
        schedules.iter_mut().for_each(|(_, schedule)| self.look_at(schedule, which));
        self.let_go_of_removed();
    }

    fn look_at(&mut self, schedule: &mut Schedule, which: &AffinitySchedules) {
        let label = schedule.label();
        if label == self.own {
            return;
        }
        let Self { schedules, replaced, recorder, looks, .. } = self;
        let shape = Shape::of(schedule);
        let seen = schedules.entry(label).or_default();
        if seen.look == 0 || seen.is_of_another(schedule, shape, *looks) {
            let known = Self::meet(schedule, which, replaced);
            let before = std::mem::replace(seen, known);
            if let Some(mark) = before.executor.as_ref().map(|executor| executor.mark) {
                replaced.insert(mark, before);
            }
        }
        seen.look = *looks;
        seen.follow(schedule, shape);
        if seen.executor.is_none() && !seen.had_another && which.includes_interned(label) {
            seen.install(schedule, recorder);
        }
    }

    /// What is known of a schedule that is new under its label. One that was given an executor once
    /// is given no other: a user may have set that.
    fn meet(schedule: &Schedule, which: &AffinitySchedules, replaced: &mut HashMap<InternedSystemSet, Seen>) -> Seen {
        let Some(mark) = Mark::of(schedule) else { return Seen::default() };
        let forgotten = || Seen { had_another: true, ..Seen::default() };
        let known = replaced.remove(&mark).unwrap_or_else(forgotten);
        if let Some(executor) = &known.executor {
            executor.record.set_plain(!which.includes_interned(schedule.label()));
        }
        known
    }

    /// Lets go of what is kept for schedules that run now with another executor. Those that stay
    /// away are forgotten.
    fn let_go_of_removed(&mut self) {
        let looks = self.looks;
        self.schedules.retain(|_, seen| seen.is_to_be_kept(looks));
        self.replaced.retain(|_, seen| seen.is_to_be_kept(looks));
    }

    /// Has the executors of schedules that are no longer to have them run as Bevy's default does.
    fn follow(&self, which: &AffinitySchedules) {
        for (&label, seen) in &self.schedules {
            if let Some(executor) = &seen.executor {
                executor.record.set_plain(!which.includes_interned(label));
            }
        }
    }

    /// The schedules that have an executor of the plugin's, in no order.
    pub(crate) fn records(&self) -> impl Iterator<Item = (InternedScheduleLabel, &ScheduleRecord)> {
        self.schedules.iter().filter_map(|(&label, seen)| Some((label, seen.chosen_by()?)))
    }

    /// What is known of one of them.
    pub(crate) fn record(&self, label: InternedScheduleLabel) -> Option<&ScheduleRecord> {
        self.schedules.get(&label)?.chosen_by()
    }
}

/// Looks into the schedules of a world in every frame.
pub(crate) fn look_into_schedules(
    looked_into: Option<ResMut<LookedInto>>,
    which: Option<Res<AffinitySchedules>>,
    schedules: Option<ResMut<Schedules>>,
) {
    // Where a user has removed them, or runs this with the schedules taken out of the world, these
    // stay as they are.
    let (Some(mut looked_into), Some(which), Some(mut schedules)) = (looked_into, which, schedules) else { return };
    looked_into.look(schedules.bypass_change_detection(), &which);
    if which.is_changed() {
        looked_into.follow(&which);
    }
}

/// Looks into `First`, which runs when the others are looked into.
pub(crate) fn look_into_first(
    looked_into: Option<ResMut<LookedInto>>,
    which: Option<Res<AffinitySchedules>>,
    schedules: Option<ResMut<Schedules>>,
) {
    let (Some(mut looked_into), Some(which), Some(mut schedules)) = (looked_into, which, schedules) else { return };
    if let Some(first) = schedules.bypass_change_detection().get_mut(First) {
        looked_into.look_at(first, &which);
    }
}

#[cfg(test)]
mod tests {
    use bevy_app::{App, Update};
    use bevy_ecs::{
        prelude::{IntoScheduleConfigs, IntoSystemSet, SystemSet, World},
        schedule::ScheduleCleanupPolicy,
    };

    use super::*;
    use crate::{AffinityParallelPlugin, IntoAffine, schedule::tagged::enter};

    #[derive(ScheduleLabel, Clone, Debug, PartialEq, Eq, Hash)]
    struct Numbered(u64);

    #[test]
    fn schedules_that_are_gone_are_forgotten() {
        let mut app = App::new();
        app.add_plugins(AffinityParallelPlugin);
        (0..3).for_each(|_| app.update());
        let known = |app: &App| app.world().resource::<LookedInto>().schedules.len();
        let before = known(&app);
        for number in 0..LOOKS_WITHOUT {
            app.add_systems(Numbered(number), || {}).update();
            app.world_mut().resource_mut::<Schedules>().remove(Numbered(number));
        }
        assert!(known(&app) > before);
        (0..=LOOKS_WITHOUT).for_each(|_| app.update());
        assert!(known(&app) <= before);
    }

    #[derive(SystemSet, Clone, Debug, PartialEq, Eq, Hash)]
    struct Changing;

    fn one() {}
    fn other() {}

    /// How many systems of a schedule that is not built wait for their tag.
    fn waiting(world: &World) -> usize {
        let schedule = world.resource::<Schedules>().get(Numbered(0)).unwrap();
        let tag = enter.into_system_set().intern();
        let systems = schedule.graph().systems.iter();
        systems.filter(|(_, system, _)| !system.default_system_sets().contains(&tag)).count()
    }

    /// As many systems, in as many sets: only their keys are others.
    #[test]
    fn a_system_in_the_place_of_another_is_tagged() {
        let mut app = App::new();
        app.add_plugins(AffinityParallelPlugin).add_systems(Update, || {});
        app.add_systems(Numbered(0), one.run_if(|| true).in_set(Changing).affine());
        assert_eq!(waiting(app.world()), 1);
        (0..3).for_each(|_| app.update());
        assert_eq!(waiting(app.world()), 0);
        let mut schedule = app.world_mut().resource_mut::<Schedules>().remove(Numbered(0)).unwrap();
        let removed =
            schedule.remove_systems_in_set(Changing, app.world_mut(), ScheduleCleanupPolicy::RemoveSystemsOnly);
        assert_eq!(removed.unwrap(), 1);
        schedule.add_systems(other.run_if(|| true).in_set(Changing).affine());
        app.world_mut().resource_mut::<Schedules>().insert(schedule);
        assert_eq!(waiting(app.world()), 1);
        app.update();
        assert_eq!(waiting(app.world()), 0);
    }

    #[test]
    fn a_schedule_that_is_left_alone_is_tagged_in_the_place_of_another() {
        let mut app = App::new();
        app.insert_resource(AffinitySchedules::none()).add_plugins(AffinityParallelPlugin);
        for system in [one, other] {
            let mut schedule = Schedule::new(Numbered(0));
            schedule.add_systems(system.run_if(|| true).affine());
            app.add_schedule(schedule);
            assert_eq!(waiting(app.world()), 1);
            app.update();
            assert_eq!(waiting(app.world()), 0);
        }
    }
}
