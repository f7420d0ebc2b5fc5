//! What is kept of a schedule from run to run: its tasks, what they take, and the plan that runs go
//! by until it is outgrown or another one is much better.

use std::iter;

use bevy_ecs::{prelude::World, schedule::SystemWithAccess};

use super::{
    blueprint::BlueprintSlot,
    costs::{Costs, TaskCost},
    plan::{Phase, SchedulePlan, Workload},
    run::Notes,
    tasks::{Place, Task, Tasks},
};
use crate::{
    pool::{AffinityPool, Job, JobBoard},
    settings::SchedulerMode,
};

/// What a plan has to gain in each run before it is tried, in nanoseconds: what workers take to
/// wake up at the begin of a frame.
const LEAST_GAIN: f32 = 30_000.0;

/// The same for a plan without rounds, which wakes no worker.
const LEAST_GAIN_ALONE: f32 = 2_000.0;

/// What each round of a plan has to gain.
const LEAST_GAIN_OF_ROUND: f32 = 1_000.0;

/// A new plan takes the place of the current one if it takes less than this part of it.
const BETTER: f32 = 0.9;

/// A task that leads rounds and takes fewer nanoseconds may be dealt out even so: being alone takes
/// the other workers' time from other tasks.
const SMALL: f32 = 20_000.0;

/// Timed runs between two looks at whether the plan is still a good one.
const RUNS_PER_LOOK: u32 = 64;

/// What is known of a schedule since it was last built, for one pool and one mode.
pub(super) struct Prepared {
    pub(super) pool: AffinityPool,
    mode: SchedulerMode,
    pub(super) tasks: Tasks,
    pub(super) notes: Notes,
    pub(super) costs: Costs,
    /// Whether lessons are over: what comes next begins new ones.
    pub(super) learned: bool,
    /// What a round has to gain, in nanoseconds.
    least_gain_of_round: f32,
    pub(super) plan: Option<Planned>,
}

/// A plan that runs go by.
pub(super) struct Planned {
    plan: SchedulePlan,
    pub(super) steps: Vec<Step>,
    /// By task, whether it is alone because it leads rounds.
    apart: Vec<bool>,
    /// By task, whether its sweeps stay on the leader, which otherwise would be rounds.
    pub(super) by_itself: Vec<bool>,
    /// By task, what it took by itself when the plan was made, in nanoseconds; it follows a task
    /// that takes less later. Of a task that was never seen by itself it is the most that it could
    /// take, so that a guess that was too low is not taken for growth.
    took: Vec<f32>,
    /// Timed runs since then.
    timed: u32,
}

/// A plan that could be taken.
struct Proposal {
    plan: SchedulePlan,
    apart: Vec<bool>,
    /// By how much it is shorter than all tasks one after another, in nanoseconds.
    gain: f32,
}

impl Proposal {
    /// What it has to gain.
    fn least_gain(&self) -> f32 {
        if self.plan.has_rounds() { LEAST_GAIN } else { LEAST_GAIN_ALONE }
    }
}

/// A phase, ready to be run.
pub(super) enum Step {
    Here(Vec<usize>),
    /// The board's jobs are these tasks.
    Round(JobBoard, Vec<usize>),
}

fn pool_of(world: &World) -> Option<&AffinityPool> {
    world.get_resource::<AffinityPool>().filter(|pool| pool.workers() > 1)
}

fn mode_of(world: &World) -> SchedulerMode {
    world.get_resource::<SchedulerMode>().copied().unwrap_or_default()
}

impl Prepared {
    /// For the systems of the schedule whose blueprint is in `slot`; nothing if the gang cannot run
    /// them, or the world has none. `forced` takes every round for worth it: for tests.
    pub(super) fn new(slot: &BlueprintSlot, systems: &[SystemWithAccess], world: &World, forced: bool) -> Option<Self> {
        let pool = pool_of(world)?.clone();
        let resource = world.components().component_id::<AffinityPool>();
        let tasks = Tasks::new(&*slot.blueprint()?, systems, resource)?;
        Some(Self {
            mode: mode_of(world),
            notes: Notes::new(&tasks),
            costs: Costs::new(tasks.list.len(), pool.workers()),
            pool,
            tasks,
            learned: false,
            least_gain_of_round: if forced { f32::MIN } else { LEAST_GAIN_OF_ROUND },
            plan: None,
        })
    }

    pub(super) fn fits(&self, world: &World) -> bool {
        pool_of(world).is_some_and(|pool| pool.is_same(&self.pool)) && mode_of(world) == self.mode
    }

    /// Takes the best plan by what was learned. Returns what a run by it is expected to take, in
    /// nanoseconds, if it gains enough, or is `forced`.
    pub(super) fn plan(&mut self, forced: bool) -> Option<f32> {
        self.learned = true;
        let without_rounds = || self.propose(f32::INFINITY);
        let proposals = iter::once_with(|| self.propose(self.least_gain_of_round));
        let mut proposals = proposals.chain(iter::once_with(without_rounds));
        let proposal = proposals.find(|proposal| proposal.gain >= proposal.least_gain() || forced)?;
        let span = proposal.plan.span;
        self.take(proposal);
        Some(span)
    }

    /// Where tasks may go, if these are set apart, as they lead rounds themselves.
    fn places(&self, apart: &[bool]) -> Vec<Place> {
        let tasks = self.tasks.list.iter().zip(apart);
        tasks.map(|(task, &apart)| if apart { Place::Alone } else { task.place }).collect()
    }

    /// What tasks take on average, in nanoseconds, if these lead rounds.
    fn average_costs(&self, apart: &[bool]) -> Vec<f32> {
        let tasks = self.costs.tasks.iter().zip(apart);
        tasks.map(|(cost, &apart)| cost.on_average(apart)).collect()
    }

    /// The best plan by what is known, of rounds that gain at least this, in nanoseconds. It sets
    /// apart all tasks that lead rounds, or only those that are not small.
    fn propose(&self, least_gain_of_round: f32) -> Proposal {
        let all = self.plan_with_apart(0.0, least_gain_of_round);
        let few = self.plan_with_apart(SMALL, least_gain_of_round);
        let (plan, apart) = if few.0.span < all.0.span { few } else { all };
        let serial: f32 = self.costs.tasks.iter().map(|cost| cost.on_average(cost.is_leading())).sum();
        Proposal { gain: serial - plan.span, plan, apart }
    }

    /// The best plan that sets apart the tasks that lead rounds and take `least` nanoseconds or
    /// more, and which these are.
    fn plan_with_apart(&self, least: f32, least_gain_of_round: f32) -> (SchedulePlan, Vec<bool>) {
        let is_apart = |cost: &TaskCost| cost.is_leading() && cost.when_it_runs(true) >= least;
        let apart: Vec<_> = self.costs.tasks.iter().map(is_apart).collect();
        let (tasks, places, costs) = (&*self.tasks.list, self.places(&apart), self.average_costs(&apart));
        let load = Workload { tasks, places: &places, costs: &costs };
        let homes = self.plan.as_ref().map(|planned| planned.plan.homes(tasks.len()));
        let homes = homes.unwrap_or_else(|| vec![None; tasks.len()]);
        (SchedulePlan::new(load, self.pool.workers(), &homes, least_gain_of_round), apart)
    }

    fn take(&mut self, Proposal { plan, apart, .. }: Proposal) {
        let places = self.places(&apart);
        let steps = plan.phases.iter().map(|phase| match phase {
            Phase::Here(tasks) => Step::Here(tasks.clone()),
            Phase::Round(lists) => round(&self.tasks.list, &places, lists),
        });
        let steps = steps.collect();
        let took = self.costs.tasks.iter().map(TaskCost::most_by_itself).collect();
        let by_itself =
            |task: usize| self.tasks.list[task].tagged && !apart[task] && self.costs.tasks[task].takes_less_by_itself();
        let by_itself = (0..places.len()).map(by_itself).collect();
        self.plan = Some(Planned { plan, steps, apart, by_itself, took, timed: 0 });
    }

    /// Learns from a run that was timed. From time to time the plan is made anew, and taken if it
    /// is much better than the current one: tasks stay on their cores otherwise.
    pub(super) fn observe(&mut self) {
        self.costs.observe(self.notes.took());
        let Some(current) = &mut self.plan else { return };
        current.timed += 1;
        self.costs.tasks.iter().zip(&mut current.took).for_each(|(cost, took)| cost.follow_down(took));
        // On the gang these cannot spread their work over the workers: only in lessons it is seen
        // whether they would.
        let may_lead = |&task: &usize| self.tasks.list[task].may_lead && !current.apart[task];
        let mut dealt_out = (0..current.took.len()).filter(may_lead);
        let is_surprise = |&task: &usize| self.costs.tasks[task].is_surprise(current.took[task]);
        let outgrew = |task: usize| self.costs.tasks[task].outgrew(current.took[task]);
        if let Some(task) = dealt_out.clone().find(is_surprise) {
            self.costs.tasks[task].suppose_leading();
            let proposal = self.propose(self.least_gain_of_round);
            self.take(proposal);
        } else if dealt_out.any(outgrew) {
            // What was learned does not hold any more.
            (self.plan, self.costs) = (None, Costs::new(self.tasks.list.len(), self.pool.workers()));
        } else if current.timed.is_multiple_of(RUNS_PER_LOOK) {
            self.look_at_plan();
        }
    }

    fn look_at_plan(&mut self) {
        let Some(current) = &self.plan else { return };
        let (places, costs) = (self.places(&current.apart), self.average_costs(&current.apart));
        let span = current.plan.span_with(Workload { tasks: &self.tasks.list, places: &places, costs: &costs });
        let proposal = self.propose(self.least_gain_of_round);
        // Workers are awake anyway, if the current plan has rounds.
        let to_wake = if current.plan.has_rounds() { 0.0 } else { proposal.least_gain() };
        if proposal.plan.span + to_wake < BETTER * span {
            self.take(proposal);
        }
    }
}

/// The round of these lists of tasks.
fn round(tasks: &[Task], places: &[Place], lists: &[Vec<usize>]) -> Step {
    let in_round: Vec<usize> = lists.concat();
    let mut numbers = vec![None; tasks.len()];
    in_round.iter().enumerate().for_each(|(job, &task)| numbers[task] = Some(job));
    let mut jobs = vec![Job::default(); in_round.len()];
    for (home, list) in lists.iter().enumerate() {
        for &task in list {
            let Some(job) = numbers[task] else { continue };
            (jobs[job].home, jobs[job].bound) = (home, places[task] == Place::Leader);
            // Those of earlier phases are done.
            for before in tasks[task].before.iter().filter_map(|&before| numbers[before]) {
                jobs[before].successors.push(job);
                jobs[job].predecessors += 1;
            }
        }
    }
    let of_job = |list: &Vec<usize>| list.iter().filter_map(|&task| numbers[task]).collect();
    let lists = lists.iter().map(of_job).collect();
    Step::Round(JobBoard::new(jobs, lists), in_round)
}
