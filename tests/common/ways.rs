//! The plugin in each mode, with schedules that go each way.

use bevy::{ecs::schedule::InternedScheduleLabel, prelude::*};
use bevy_affinity::{AffinityExecutor, Forced, ScheduleWay, prelude::*};

use crate::common::{Scheduling, start_compute_threads};

/// By Bevy's two executors; then on the gang, and each way in turn, in each mode with one to three
/// workers.
pub fn ways_and_modes() -> impl Iterator<Item = (Scheduling, Forced)> {
    let bevys = [ScheduleWay::OneThread, ScheduleWay::BevysThreads];
    let bevys = bevys.map(|way| (Scheduling::auto(2), Forced::Always(way)));
    let forced = [Forced::Always(ScheduleWay::OnTheGang), Forced::Any(1)];
    let schedulings = Scheduling::all().filter(|scheduling| scheduling.workers <= 3);
    let gangs = schedulings.flat_map(move |scheduling| forced.map(|forced| (scheduling, forced)));
    bevys.into_iter().chain(gangs)
}

/// An app to which `add` adds systems: of plain Bevy, or with the plugin in a mode and with these
/// schedules going a way.
pub fn app_going(
    runner: Option<(Scheduling, Forced)>,
    schedules: &[InternedScheduleLabel],
    add: impl FnOnce(&mut App),
) -> App {
    start_compute_threads();
    let mut app = runner.map_or_else(App::new, |(scheduling, _)| scheduling.bare_app());
    if runner.is_some() {
        // It would exchange executors.
        app.insert_resource(AffinitySchedules::none()).add_plugins(AffinityParallelPlugin);
    }
    add(&mut app);
    if let Some((_, forced)) = runner {
        for &schedule in schedules {
            app.edit_schedule(schedule, |schedule| AffinityExecutor::install_forced(schedule, forced));
        }
    }
    app
}
