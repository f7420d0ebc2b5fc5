//! What binds a tagged system to the thread that runs its schedule, and how to see it without that.
//!
//! A tag makes a system one that cannot be sent, so that Bevy's executors keep it on the thread
//! that leads the gang. The gang itself could give small ones to any of its workers, if the system
//! could be sent without its tag. Bevy tells only of both together. But what a system needs is
//! declared whenever it is initialized, and that can be done again: once more without what the tag
//! declares, and then with it.

use std::{cell::Cell, sync::OnceLock};

use bevy_ecs::{
    change_detection::Tick,
    component::ComponentId,
    prelude::{System, World},
    schedule::SystemWithAccess,
    system::{SystemAccess, SystemMeta, SystemParam, SystemParamValidationError},
    world::unsafe_world_cell::UnsafeWorldCell,
};

use crate::context::WorldContext;

thread_local! {
    /// Set while systems on this thread are initialized as if they had no tag.
    static WITHOUT_TAG: Cell<bool> = const { Cell::new(false) };
}

/// Binds its system to the thread that runs the schedule. No other parameter of the system does.
pub(crate) struct OnLeader;

// SAFETY: it accesses nothing.
unsafe impl SystemParam for OnLeader {
    /// The meta of the system as it was before.
    type State = OnceLock<SystemMeta>;
    type Item<'w, 's> = Self;

    fn init_state(_: &mut World) -> Self::State {
        OnceLock::new()
    }

    fn init_access(before: &Self::State, meta: &mut SystemMeta, _: &mut SystemAccess, _: &mut World) {
        let before = before.get_or_init(|| meta.clone());
        if WITHOUT_TAG.get() {
            *meta = before.clone();
        } else {
            meta.set_non_send();
        }
    }

    unsafe fn get_param<'w, 's>(
        _: &'s mut Self::State,
        _: &SystemMeta,
        _: UnsafeWorldCell<'w>,
        _: Tick,
    ) -> Result<Self, SystemParamValidationError> {
        Ok(Self)
    }
}

/// What a tag has to do with the thread that a system runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tag {
    /// It has none, or no other system runs beside it anyway.
    None,
    /// But for its tag it could be sent to any thread.
    BindsAlone,
    /// Something else binds it to the leader's thread too, or may do so.
    AmongOthers,
}

impl Tag {
    /// The tag of a system, which is `known` if it was seen before. A system that ran before it was
    /// seen is not asked: initialized again it would forget when that was.
    pub(super) fn of(system: &mut SystemWithAccess, world: &mut World, known: Option<Self>) -> Self {
        let access = system.access().clone();
        Self::by(&access, system, world, known)
    }

    fn by(access: &SystemAccess, system: &mut impl System, world: &mut World, known: Option<Self>) -> Self {
        let Some(context) = world.components().component_id::<WorldContext>() else { return Self::None };
        // All tagged systems name what they share, and nothing else does.
        if !names(access, context) || system.is_send() {
            return Self::None;
        }
        // A new one may be where another was.
        if !has_not_run(system, world) {
            return known.unwrap_or(Self::AmongOthers);
        }
        if is_send_without_tag(system, world) { Self::BindsAlone } else { Self::AmongOthers }
    }
}

fn is_send_without_tag(system: &mut impl System, world: &mut World) -> bool {
    /// Puts the tag back, also if the system panics.
    struct Tagless;
    impl Drop for Tagless {
        fn drop(&mut self) {
            WITHOUT_TAG.set(false);
        }
    }
    WITHOUT_TAG.set(true);
    let tagless = Tagless;
    system.initialize(world);
    let is_send = system.is_send();
    drop(tagless);
    system.initialize(world);
    is_send
}

/// Whether a system has not run yet, or so long ago that it makes no difference: it takes all that
/// there is for changed.
fn has_not_run(system: &impl System, world: &World) -> bool {
    world.read_change_tick().get().wrapping_sub(system.get_last_run().get()) >= Tick::MAX.get()
}

/// Whether a system may read this resource, as it asks for it or for all there is.
pub(super) fn may_read(access: &SystemAccess, resource: ComponentId) -> bool {
    match access {
        SystemAccess::None => false,
        SystemAccess::Exclusive => true,
        SystemAccess::Shared(access) => access.combined_access().has_read(resource),
    }
}

/// Whether a system asks for just this resource, and not only for all there is, or for all but
/// something.
pub(in crate::executor) fn names(access: &SystemAccess, resource: ComponentId) -> bool {
    let SystemAccess::Shared(access) = access else { return false };
    let parts = access.filtered_accesses().iter();
    parts.filter_map(|part| part.access().reads().as_finite_set()).any(|reads| reads.contains(resource))
}

#[cfg(test)]
mod tests {
    use bevy_app::prelude::*;
    use bevy_ecs::{
        prelude::*,
        system::NonSendMarker,
        world::{EntityRef, EntityRefExcept},
    };

    use super::Tag;
    use crate::{affine_system, prelude::*};

    fn tag_of<Marker>(system: impl IntoSystem<(), (), Marker>) -> Tag {
        let mut app = App::new();
        app.add_plugins(AffinityParallelPlugin);
        let world = app.world_mut();
        let mut system = IntoSystem::into_system(system);
        let access = system.initialize(world);
        Tag::by(&access, &mut system, world, None)
    }

    #[test]
    fn tags_are_seen_also_of_systems_that_read_everything() {
        fn nothing() {}
        fn all(_: Query<EntityRef>) {}
        fn all_but_one(_: Query<EntityRefExcept<Name>>) {}
        fn bound(_: NonSendMarker) {}
        assert_eq!(tag_of(nothing), Tag::None);
        assert_eq!(tag_of(all), Tag::None);
        assert_eq!(tag_of(all_but_one), Tag::None);
        assert_eq!(tag_of(bound), Tag::None);
        assert_eq!(tag_of(affine_system(nothing)), Tag::BindsAlone);
        assert_eq!(tag_of(affine_system(all)), Tag::BindsAlone);
        assert_eq!(tag_of(affine_system(all_but_one)), Tag::BindsAlone);
        assert_eq!(tag_of(affine_system(bound)), Tag::AmongOthers);
    }
}
