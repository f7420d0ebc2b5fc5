use super::{
    plan::{Phase, SchedulePlan, Workload},
    tasks::{Act, Place, Task},
};

const WORKERS: usize = 2;

/// Before a task that waits for none.
const NONE: &[usize] = &[];

fn task(number: usize, place: Place, before: &[usize]) -> Task {
    Task { act: Act::System(number), place, tagged: false, may_lead: false, before: before.to_vec() }
}

/// Tasks that may run anywhere, each after those given.
fn tasks(before: &[&[usize]]) -> Vec<Task> {
    before.iter().enumerate().map(|(number, before)| task(number, Place::Anywhere, before)).collect()
}

fn places(tasks: &[Task]) -> Vec<Place> {
    tasks.iter().map(|task| task.place).collect()
}

fn plan(tasks: &[Task], costs: &[f32]) -> SchedulePlan {
    plan_from(tasks, costs, WORKERS, &vec![None; tasks.len()])
}

fn plan_from(tasks: &[Task], costs: &[f32], workers: usize, homes: &[Option<usize>]) -> SchedulePlan {
    SchedulePlan::new(Workload { tasks, places: &places(tasks), costs }, workers, homes, 0.0)
}

fn span_with(plan: &SchedulePlan, tasks: &[Task], costs: &[f32]) -> f32 {
    plan.span_with(Workload { tasks, places: &places(tasks), costs })
}

/// All tasks, each once, those before a task earlier; in a list at least.
fn assert_is_whole(plan: &SchedulePlan, tasks: &[Task]) {
    let mut done = vec![false; tasks.len()];
    for phase in &plan.phases {
        let lists = match phase {
            Phase::Here(here) => vec![here.clone()],
            Phase::Round(lists) => lists.clone(),
        };
        let of_phase = lists.concat();
        for list in &lists {
            for (at, &task) in list.iter().enumerate() {
                let mut before = tasks[task].before.iter();
                assert!(
                    before.all(|before| done[*before] || of_phase.contains(before) && !list[at..].contains(before))
                );
            }
        }
        of_phase.iter().for_each(|&task| assert!(!std::mem::replace(&mut done[task], true)));
    }
    assert!(done.iter().all(|&done| done));
}

#[test]
fn independent_tasks_are_dealt_out_evenly() {
    let tasks = tasks(&[NONE; 100]);
    let plan = plan(&tasks, &[5_000.0; 100]);
    assert_is_whole(&plan, &tasks);
    let [Phase::Round(lists)] = &plan.phases[..] else { panic!("{plan:?}") };
    assert_eq!(lists.iter().map(Vec::len).collect::<Vec<_>>(), [50, 50]);
    assert!(plan.span < 0.51 * 500_000.0, "{}", plan.span);
}

#[test]
fn a_chain_stays_on_this_thread() {
    let tasks = tasks(&[&[], &[0], &[1], &[2]]);
    let plan = plan(&tasks, &[5_000.0; 4]);
    assert_eq!(plan.phases, [Phase::Here(vec![0, 1, 2, 3])]);
    assert_eq!(plan.span, 20_000.0);
}

#[test]
fn empty_tasks_stay_on_this_thread() {
    let tasks = tasks(&[NONE; 10]);
    assert_eq!(plan(&tasks, &[50.0; 10]).phases, [Phase::Here((0..10).collect())]);
}

#[test]
fn the_longest_chain_begins_first() {
    let tasks = tasks(&[&[], &[], &[], &[2], &[3]]);
    let plan = plan(&tasks, &[9_000.0; 5]);
    let [Phase::Round(lists)] = &plan.phases[..] else { panic!("{plan:?}") };
    assert_eq!(lists[0], [2, 3, 4]);
    assert_eq!(lists[1], [0, 1]);
}

#[test]
fn tasks_of_the_leader_are_in_its_list() {
    let mut tasks = tasks(&[NONE; 10]);
    (0..4).for_each(|number| tasks[number].place = Place::Leader);
    let plan = plan(&tasks, &[9_000.0; 10]);
    let homes = plan.homes(10);
    assert_eq!(homes[..4], [Some(0); 4]);
    assert_eq!(homes.iter().filter(|&&home| home == Some(1)).count(), 5);
}

#[test]
fn tasks_that_are_alone_part_rounds_as_seldom_as_can_be() {
    let mut tasks = tasks(&[&[], &[], &[], &[], &[2], &[4], &[]]);
    (tasks[1].place, tasks[4].place) = (Place::Alone, Place::Alone);
    let plan = plan(&tasks, &[9_000.0; 7]);
    assert_is_whole(&plan, &tasks);
    let kinds: Vec<_> = plan.phases.iter().map(|phase| matches!(phase, Phase::Round(_))).collect();
    assert_eq!(kinds, [true, false]);
    assert_eq!(plan.phases[1], Phase::Here(vec![1, 4, 5]));
}

#[test]
fn tasks_stay_where_they_were() {
    let tasks = tasks(&[NONE; 40]);
    let mut costs = [9_000.0; 40];
    let first = plan_from(&tasks, &costs, WORKERS, &[None; 40]);
    costs[7] = 9_500.0;
    let homes = first.homes(40);
    let second = plan_from(&tasks, &costs, WORKERS, &homes);
    let moved = second.homes(40).iter().zip(&homes).filter(|(now, before)| now != before).count();
    assert!(moved <= 4, "{moved} moved");
    assert!(second.span <= 1.05 * first.span);
}

#[test]
fn a_plan_for_other_costs_takes_what_its_lists_take() {
    let tasks = tasks(&[NONE; 4]);
    let plan = plan(&tasks, &[9_000.0; 4]);
    let mut costs = [9_000.0; 4];
    assert!((span_with(&plan, &tasks, &costs) - plan.span).abs() < 1.0);
    let Phase::Round(lists) = &plan.phases[0] else { panic!("{plan:?}") };
    costs[lists[1][0]] = 90_000.0;
    assert!(span_with(&plan, &tasks, &costs) > 98_000.0);
}

mod random {
    use proptest::prelude::*;

    use super::*;

    fn task() -> impl Strategy<Value = (u32, u8, f32)> {
        (any::<u32>(), 0..10_u8, 0.0..50_000.0_f32)
    }

    proptest! {
        #[test]
        fn plans_are_whole_and_no_longer_than_one_thread(given in prop::collection::vec(task(), 0..40), workers in 1..5_usize) {
            let tasks: Vec<_> = given.iter().enumerate().map(|(number, &(before, place, _))| {
                let place = match place { 0 => Place::Alone, 1 => Place::Leader, _ => Place::Anywhere };
                let before: Vec<_> = (0..number.min(32)).filter(|bit| before >> bit & (before >> 7) & 1 == 1).collect();
                super::task(number, place, &before)
            }).collect();
            let costs: Vec<_> = given.iter().map(|given| given.2).collect();
            let plan = plan_from(&tasks, &costs, workers, &vec![None; tasks.len()]);
            assert_is_whole(&plan, &tasks);
            let serial: f32 = costs.iter().map(|cost| cost.max(30.0)).sum();
            prop_assert!(plan.span <= serial * 1.001 + 1.0);
            prop_assert!((span_with(&plan, &tasks, &costs) - plan.span).abs() < 1.0 + plan.span * 1e-3);
        }
    }
}
