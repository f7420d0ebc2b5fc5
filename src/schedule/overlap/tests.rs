use bevy_ecs::{
    prelude::{IntoScheduleConfigs, ResMut, Resource, World},
    schedule::InternedSystemSet,
};
use proptest::prelude::*;

use super::*;

const SETS: usize = 6;
const SYSTEMS: usize = 2 * SETS;

#[derive(SystemSet, Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Set(usize);

#[derive(Resource, Default)]
struct Everyones;

fn conflicting(_: ResMut<Everyones>) {}

/// The set of one system, to be ordered by.
#[derive(SystemSet, Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Only(usize);

/// Systems that all conflict, sets (empty ones too), and what is known of their order.
#[derive(Clone, Debug)]
struct Plan {
    /// Per system, the set that it is in.
    homes: Vec<Option<usize>>,
    /// Per set, the set that it is in, unless it is a later one.
    parents: Vec<Option<usize>>,
    /// Nodes (every third is a set), of which the lower comes first.
    orders: Vec<(usize, usize)>,
}

fn plan() -> impl Strategy<Value = Plan> {
    let homes = prop::collection::vec(prop::option::of(0..SETS), SYSTEMS);
    let parents = prop::collection::vec(prop::option::of(0..SETS), SETS);
    let orders = prop::collection::vec((0..SYSTEMS + SETS, 0..SYSTEMS + SETS), 0..12);
    (homes, parents, orders).prop_map(|(homes, parents, orders)| Plan { homes, parents, orders })
}

fn node(number: usize) -> InternedSystemSet {
    if number % 3 == 2 { Set(number / 3).intern() } else { Only(number - number / 3).intern() }
}

impl Plan {
    fn schedule(&self) -> Schedule {
        let mut schedule = Schedule::default();
        for (number, home) in self.homes.iter().enumerate() {
            let system = conflicting.in_set(Only(number));
            schedule.add_systems(match home {
                Some(home) => system.in_set(Set(*home)),
                None => system,
            });
        }
        for (number, parent) in self.parents.iter().enumerate() {
            if let Some(parent) = parent.filter(|&parent| parent < number) {
                schedule.configure_sets(Set(number).in_set(Set(parent)));
            }
        }
        for &(a, b) in self.orders.iter().filter(|(a, b)| a != b) {
            schedule.configure_sets(node(a.min(b)).before(node(a.max(b))));
        }
        schedule
    }
}

proptest! {
    #![proptest_config(ProptestConfig { max_global_rejects: 100_000, ..ProptestConfig::with_cases(300) })]

    /// Bevy lists the systems that conflict and are in no order; here all conflict.
    #[test]
    fn systems_are_in_order_where_bevy_says_so(plan in plan()) {
        let mut schedule = plan.schedule();
        let order = Order::of(schedule.graph());
        let mut world = World::new();
        world.init_resource::<Everyones>();
        // Plans with cycles, and with orders between sets and their own systems.
        prop_assume!(schedule.initialize(&mut world).is_ok());
        let order = order.expect("a schedule that can be built has an order");

        let unordered = &schedule.graph().conflicting_systems().0;
        prop_assert_eq!(order.places.len(), SYSTEMS);
        let in_order = order.apart.iter().map(|later| later.count_ones(..)).sum::<usize>();
        prop_assert_eq!(in_order + unordered.len(), SYSTEMS * (SYSTEMS - 1) / 2);
        for (a, b, _) in unordered {
            let (a, b) = (order.places[a], order.places[b]);
            prop_assert!(!order.apart[a.min(b)].contains(a.max(b)));
        }
    }
}
