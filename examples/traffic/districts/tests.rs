//! The districts cover the city, and their counts are those of its streets, whoever adds them up.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bevy_affinity::prelude::*;
use proptest::prelude::*;

use super::quadtree::Quadtree;
use super::{Districts, Square, Traffic};
use crate::map::{Control, Node};
use crate::measure::Simulation;
use crate::simulation::CityApp;
use crate::tests::crowded;

fn node(x: f32, y: f32) -> Node {
    Node::new(x, y, Control::Priority)
}

fn places() -> impl Strategy<Value = Vec<Node>> {
    let crowded = (0..50_u8, 0..50_u8).prop_map(|(x, y)| node(x.into(), y.into()));
    let spread = (-5_000.0..5_000.0_f32, -5_000.0..5_000.0_f32).prop_map(|(x, y)| node(x, y));
    prop::collection::vec(prop_oneof![3 => crowded, 1 => spread], 1..2_000)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn each_intersection_is_in_one_undivided_district(nodes in places()) {
        let tree = Quadtree::new(&nodes);
        let mut found = vec![0; nodes.len()];
        for district in tree.districts().iter().filter(|district| !district.is_divided()) {
            for &member in tree.members(district) {
                let (node, square) = (&nodes[member as usize], district.square);
                // Quarters are cut in floating-point numbers: to a centimetre.
                prop_assert!((square.x - 0.01..=square.x + square.side + 0.01).contains(&node.x));
                prop_assert!((square.y - 0.01..=square.y + square.side + 0.01).contains(&node.y));
                found[member as usize] += 1;
            }
        }
        prop_assert!(found.iter().all(|&times| times == 1));
    }

    #[test]
    fn a_district_counts_what_its_intersections_count(nodes in places(), workers in 1..4_usize) {
        let tree = Quadtree::new(&nodes);
        let mut districts = Districts { traffic: vec![Traffic::default(); tree.districts().len()], tree, turn: 0 };
        let at = |number: u32| Traffic { cars: u64::from(number) + 1, queued: 1, ..Traffic::default() };
        let settings = AffinitySettings { workers: WorkerCount::Exactly(workers), ..Default::default() };
        districts.refit(&AffinityPool::new(&settings), at);
        for (district, traffic) in districts.tree.districts().iter().zip(&districts.traffic) {
            let expected: Traffic = districts.tree.members(district).iter().map(|&number| at(number)).sum();
            prop_assert_eq!(*traffic, expected);
        }
    }

    #[test]
    fn a_cover_of_any_size_is_the_whole_city(nodes in places(), side in 1.0..20_000.0_f32) {
        let tree = Quadtree::new(&nodes);
        let members = tree.cover(tree.districts()[0].square, side).map(|place| tree.members(&tree.districts()[place]).len());
        prop_assert_eq!(members.sum::<usize>(), nodes.len());
    }
}

#[test]
fn districts_of_a_large_city_take_turns() {
    let nodes: Vec<_> = (0..40_000).map(|number| node((number % 200) as f32, (number / 200) as f32)).collect();
    let tree = Quadtree::new(&nodes);
    let mut districts = Districts { traffic: vec![Traffic::default(); tree.districts().len()], tree, turn: 0 };
    let pool = AffinityPool::new(&AffinitySettings { workers: WorkerCount::Exactly(2), ..Default::default() });
    for frame in 1..=6 {
        let looks = AtomicU64::new(0);
        districts.refit(&pool, |_| {
            looks.fetch_add(1, Ordering::Relaxed);
            Traffic { cars: frame, ..Traffic::default() }
        });
        assert!((10_000..17_000).contains(&looks.into_inner()), "a third of the city in each frame");
    }
    assert_eq!(districts.turns(), 3);
    assert!((4 * 40_000..6 * 40_000).contains(&districts.traffic[0].cars), "all have been counted in frames 4 to 6");
}

#[test]
fn a_view_is_covered_by_the_districts_it_touches() {
    let nodes: Vec<_> = (0..10_000).map(|number| node((number % 100) as f32, (number / 100) as f32)).collect();
    let tree = Quadtree::new(&nodes);
    let point = Square { x: 30.5, y: 70.5, side: 0.0 };
    let places: Vec<_> = tree.cover(point, 0.0).collect();
    assert_eq!(places.len(), 1);
    assert!(tree.members(&tree.districts()[places[0]]).contains(&7_030));
    let elsewhere = Square { x: 200.0, y: 0.0, side: 10.0 };
    assert_eq!(tree.cover(elsewhere, 10.0).count(), 0);
}

#[test]
fn no_mode_changes_the_counts_and_they_are_those_of_the_city() {
    let city = Arc::new(crowded());
    let mut counts = Vec::new();
    for &mode in SchedulerMode::ALL {
        for workers in 1..=3 {
            let settings = AffinitySettings { workers: WorkerCount::Exactly(workers), ..Default::default() };
            let mut app = CityApp::on_gang(Arc::clone(&city), mode, settings);
            (0..200).for_each(|_| app.step());
            let (on_road, districts) = (app.totals().on_road, app.districts());
            assert_eq!(districts.traffic[0].cars, on_road, "{mode:?}, {workers} workers");
            assert!(districts.traffic[0].queued > 0 && districts.traffic[0].mean_speed().is_some());
            counts.push(districts.traffic.clone());
        }
    }
    assert!(counts.iter().all(|count| *count == counts[0]));
}
