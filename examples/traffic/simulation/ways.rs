//! Other ways for drivers: around closed roads, and around what they have waited for. They are
//! searched beside the simulation and taken in a stated second, so that no result depends on how
//! long a search takes.

use std::collections::VecDeque;
use std::sync::Arc;

use bevy::prelude::{Mut, Resource, World};

use super::Now;
use super::entities::{CurrentRoutes, Directory, Plan};
use super::experience::Experience;
use super::router::{Request, Router};
use crate::model::{Intersection, ROUTING_TIME};
#[cfg(feature = "game")]
use crate::routes::Rerouter;

/// What is being searched.
#[derive(Resource, Default)]
pub struct Ways {
    /// From the first request on.
    router: Option<Router>,
    experience: Experience,
    /// When drivers take the ways that they look for now, and the waits that they know of, in
    /// order: they may look again before they have found any.
    replans: VecDeque<(u32, Vec<Option<u32>>)>,
}

impl Ways {
    /// Whether the next step can be made without waiting for a search, one that an order waits for
    /// included.
    #[cfg(feature = "game")]
    pub fn are_ready(&mut self, now: u32, an_order_waits: bool) -> bool {
        let waits = an_order_waits || self.replans.front().is_some_and(|&(due, _)| due <= now);
        !waits || self.router.as_mut().is_none_or(Router::is_ready)
    }

    #[cfg(feature = "game")]
    pub fn experience(&self) -> &Experience {
        &self.experience
    }

    /// What drivers are looking for: when they take it, and the waits that they know of.
    #[cfg(feature = "game")]
    pub fn replans(&self) -> &VecDeque<(u32, Vec<Option<u32>>)> {
        &self.replans
    }

    /// What has found the present routes, if anything has since the start.
    #[cfg(feature = "game")]
    pub fn rerouter(&self) -> Option<Arc<Rerouter>> {
        self.router.as_ref().and_then(Router::taken).map(Arc::clone)
    }
}

/// Asks for other ways. Answers come in the order of the requests.
pub fn request(world: &mut World, request: Request) {
    let (plan, routes) = (world.resource::<Plan>(), world.resource::<CurrentRoutes>());
    let (plan, routes) = (Arc::clone(&plan.0), Arc::clone(&routes.0));
    let mut ways = world.get_resource_or_init::<Ways>();
    ways.router.get_or_insert_with(|| Router::start(plan, routes)).request(request);
}

/// Drivers know the oldest answer from now on.
pub fn take(world: &mut World) {
    let mut ways = world.get_resource_or_init::<Ways>();
    if let Some(router) = &mut ways.router {
        let routes = router.take();
        world.resource_mut::<CurrentRoutes>().0 = routes;
    }
}

/// Before each second: drivers take the ways that they have found, and look for others if it is
/// time.
pub fn replan(world: &mut World) {
    let now = world.resource::<Now>().0;
    let is_due = |mut ways: Mut<Ways>| ways.replans.pop_front_if(|(due, _)| *due <= now).is_some();
    if world.get_resource_mut::<Ways>().is_some_and(is_due) {
        take(world);
    }
    if Experience::is_due(world.resource::<Plan>(), now) {
        let waits = learn(world);
        request(world, Request::Replan { waits: waits.clone() });
        world.resource_mut::<Ways>().replans.push_back((now + ROUTING_TIME, waits));
    }
}

fn learn(world: &mut World) -> Vec<Option<u32>> {
    let mut experience = std::mem::take(&mut world.get_resource_or_init::<Ways>().experience);
    let directory = world.resource::<Directory>();
    let intersection = |node| world.get::<Intersection>(directory.intersection(node));
    let nodes = 0..world.resource::<Plan>().network.nodes.len() as u32;
    let passed = nodes.filter_map(intersection).flat_map(Intersection::approaches).map(|approach| approach.passed);
    let waits = experience.learn(passed);
    world.resource_mut::<Ways>().experience = experience;
    waits
}
