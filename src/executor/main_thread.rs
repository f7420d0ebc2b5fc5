//! What others leave to the main thread: Bevy's render world, above all.

use bevy_ecs::prelude::World;
#[cfg(not(target_arch = "wasm32"))]
use bevy_ecs::schedule::MainThreadExecutor;

/// Whether systems that are bound to the main thread go to another thread.
#[cfg(not(target_arch = "wasm32"))]
pub(super) fn is_main_thread_elsewhere(world: &World) -> bool {
    world.get_resource::<MainThreadExecutor>().is_some_and(|main| main.0.ticker().is_none())
}

/// There is one thread.
#[cfg(target_arch = "wasm32")]
pub(super) fn is_main_thread_elsewhere(_: &World) -> bool {
    false
}

/// Does what others wait for the main thread to do, if this is it: while Bevy's threads run a
/// schedule it does so all the time. A render thread would otherwise wait for the end of the frame.
#[cfg(not(target_arch = "wasm32"))]
pub(super) fn do_as_main_thread(world: &World) {
    let main = world.get_resource::<MainThreadExecutor>();
    if let Some(ticker) = main.and_then(|main| main.0.ticker()) {
        // One task may spawn the next.
        (0..MOST_TASKS).take_while(|_| ticker.try_tick()).count();
    }
}

#[cfg(target_arch = "wasm32")]
pub(super) fn do_as_main_thread(_: &World) {}

/// Tasks of others that the main thread does between two schedules, at most.
#[cfg(not(target_arch = "wasm32"))]
const MOST_TASKS: usize = 64;
