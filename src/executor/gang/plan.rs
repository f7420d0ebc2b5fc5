//! Which tasks go to the gang together, and in whose list each of them is. Pure: tasks and what
//! they take in, a plan out.

use std::ops::Range;

use super::tasks::{Place, Task};

/// Nanoseconds until the leader has called the workers of a round and has seen them arrive.
const ROUND: f32 = 800.0;

/// Until a worker begins, and until it sees that a task of another one is done, in nanoseconds:
/// some cache lines on their way.
const HANDOVER: f32 = 200.0;

/// What a task takes at least, in nanoseconds: claiming it, and noting that it is done.
const LEAST: f32 = 30.0;

/// A task stays on its core if that makes it no later than this part of what it takes.
const STICKINESS: f32 = 0.25;

/// Tasks that follow each other.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Phase {
    /// On the thread that runs the schedule, which may lead rounds meanwhile.
    Here(Vec<usize>),
    /// In a round: the tasks of each worker, in the order in which it takes them.
    Round(Vec<Vec<usize>>),
}

/// What is to be planned: tasks, where each may go, and what each takes, in nanoseconds.
#[derive(Clone, Copy)]
pub(super) struct Workload<'a> {
    pub(super) tasks: &'a [Task],
    pub(super) places: &'a [Place],
    pub(super) costs: &'a [f32],
}

impl Workload<'_> {
    fn cost(&self, task: usize) -> f32 {
        self.costs[task].max(LEAST)
    }

    /// What these take one after another.
    fn serial(&self, tasks: &[usize]) -> f32 {
        tasks.iter().map(|&task| self.cost(task)).sum()
    }
}

/// How the tasks of a schedule run on the gang.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SchedulePlan {
    pub(super) phases: Vec<Phase>,
    /// What a run takes, in nanoseconds.
    pub(super) span: f32,
}

impl SchedulePlan {
    /// A plan for this many workers; `homes` are those that had the tasks so far. Rounds have to
    /// gain `least_gain` nanoseconds.
    pub(super) fn new(load: Workload<'_>, workers: usize, homes: &[Option<usize>], least_gain: f32) -> Self {
        let (mut phases, mut span) = (Vec::new(), 0.0);
        for (alone, tasks_of_phase) in stretches(load) {
            let serial = load.serial(&tasks_of_phase);
            let dealt = (!alone).then(|| Deal::of(load, &tasks_of_phase, workers, homes));
            match dealt.filter(|dealt| dealt.span + ROUND + least_gain < serial) {
                Some(dealt) => {
                    span += dealt.span + ROUND;
                    phases.push(Phase::Round(dealt.lists));
                }
                None => {
                    span += serial;
                    add_here(&mut phases, tasks_of_phase);
                }
            }
        }
        Self { phases, span }
    }

    /// What a run takes if tasks take what they do in this `load`.
    pub(super) fn span_with(&self, load: Workload<'_>) -> f32 {
        let span_of = |phase: &Phase| match phase {
            Phase::Here(here) => load.serial(here),
            Phase::Round(lists) => Deal::as_it_is(load, lists).span + ROUND,
        };
        self.phases.iter().map(span_of).sum()
    }

    /// Whether it needs other workers for more than what tasks lead.
    pub(super) fn has_rounds(&self) -> bool {
        self.phases.iter().any(|phase| matches!(phase, Phase::Round(_)))
    }

    /// By task, in whose list it is, if it is dealt out.
    pub(super) fn homes(&self, tasks: usize) -> Vec<Option<usize>> {
        let mut homes = vec![None; tasks];
        for phase in &self.phases {
            let Phase::Round(lists) = phase else { continue };
            for (worker, list) in lists.iter().enumerate() {
                list.iter().for_each(|&task| homes[task] = Some(worker));
            }
        }
        homes
    }
}

/// Adds tasks for this thread behind those that are there.
fn add_here(phases: &mut Vec<Phase>, tasks: Vec<usize>) {
    match phases.last_mut() {
        Some(Phase::Here(here)) => here.extend(tasks),
        _ => phases.push(Phase::Here(tasks)),
    }
}

/// Tasks that may run at a time, then such that are alone, and so on, with as few changes as there
/// can be: each stretch takes all that it may. With whether they are alone.
fn stretches(Workload { tasks, places, .. }: Workload<'_>) -> Vec<(bool, Vec<usize>)> {
    let mut is_placed = vec![false; tasks.len()];
    let mut stretches = Vec::new();
    let mut alone = false;
    while is_placed.contains(&false) {
        let mut stretch = Vec::new();
        for (number, task) in tasks.iter().enumerate() {
            let is_of_kind = (places[number] == Place::Alone) == alone;
            if !is_placed[number] && is_of_kind && task.before.iter().all(|&before| is_placed[before]) {
                is_placed[number] = true;
                stretch.push(number);
            }
        }
        if !stretch.is_empty() {
            stretches.push((alone, stretch));
        }
        alone = !alone;
    }
    stretches
}

/// Tasks dealt out to workers: the one that most has to follow first, each to the worker that can
/// begin it first.
struct Deal<'a> {
    load: Workload<'a>,
    homes: &'a [Option<usize>],
    lists: Vec<Vec<usize>>,
    /// When each worker has nothing to do any more.
    free: Vec<f32>,
    /// By task, when it is done and by whom, if it is of this stretch.
    done: Vec<Option<(f32, usize)>>,
    span: f32,
}

impl<'a> Deal<'a> {
    fn new(load: Workload<'a>, workers: usize, homes: &'a [Option<usize>]) -> Self {
        Self {
            load,
            homes,
            lists: vec![Vec::new(); workers],
            // The leader calls one worker after another.
            free: (0..workers).map(|worker| worker as f32 * HANDOVER).collect(),
            done: vec![None; load.tasks.len()],
            span: 0.0,
        }
    }

    /// The tasks of these lists, each dealt to who has it.
    fn as_it_is(load: Workload<'a>, lists: &[Vec<usize>]) -> Self {
        let tasks = load.tasks;
        let mut deal = Self::new(load, lists.len(), &[]);
        let mut is_waiting = vec![false; tasks.len()];
        lists.iter().flatten().for_each(|&task| is_waiting[task] = true);
        let mut next = vec![0; lists.len()];
        // Lists are in an order of tasks that wait for each other, so each turn finds one.
        while deal.lists.iter().zip(lists).any(|(dealt, list)| dealt.len() < list.len()) {
            for (worker, list) in lists.iter().enumerate() {
                let is_ready = |&task: &usize| !tasks[task].before.iter().any(|&before| is_waiting[before]);
                if let Some(&task) = list.get(next[worker]).filter(|task| is_ready(task)) {
                    next[worker] += 1;
                    is_waiting[task] = false;
                    deal.give(task, worker);
                }
            }
        }
        deal
    }

    fn of(load: Workload<'a>, stretch: &[usize], workers: usize, homes: &'a [Option<usize>]) -> Self {
        let mut deal = Self::new(load, workers, homes);
        let mut in_order = stretch.to_vec();
        let follow = follow(load, stretch);
        // Stable: what is as urgent stays in the order of the schedule.
        in_order.sort_by(|&a, &b| follow[b].total_cmp(&follow[a]));
        in_order.into_iter().for_each(|task| deal.deal(task));
        deal
    }

    fn deal(&mut self, task: usize) {
        let bound = self.load.places[task] == Place::Leader;
        let workers: Range<usize> = 0..if bound { 1 } else { self.lists.len() };
        let first = |worker: &usize| self.begin(task, *worker);
        let first = workers.clone().min_by(|a, b| first(a).total_cmp(&first(b))).unwrap_or(0);
        let latest = self.begin(task, first) + self.load.cost(task) * STICKINESS;
        let home = self.homes[task].filter(|&home| workers.contains(&home) && self.begin(task, home) <= latest);
        self.give(task, home.unwrap_or(first));
    }

    fn give(&mut self, task: usize, worker: usize) {
        let end = self.begin(task, worker) + self.load.cost(task);
        (self.free[worker], self.done[task]) = (end, Some((end, worker)));
        self.span = self.span.max(end);
        self.lists[worker].push(task);
    }

    /// When `worker` could begin the task.
    fn begin(&self, task: usize, worker: usize) -> f32 {
        let done = self.load.tasks[task].before.iter().filter_map(|&before| self.done[before]);
        done.fold(self.free[worker], |begin, (end, by)| begin.max(if by == worker { end } else { end + HANDOVER }))
    }
}

/// By task, what it and those that wait for it take at least, in nanoseconds.
fn follow(load: Workload<'_>, stretch: &[usize]) -> Vec<f32> {
    let mut follow = vec![0.0_f32; load.tasks.len()];
    for &task in stretch.iter().rev() {
        follow[task] += load.cost(task);
        for &before in &load.tasks[task].before {
            follow[before] = follow[before].max(follow[task]);
        }
    }
    follow
}
