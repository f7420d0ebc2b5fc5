//! What the score is made of: both cities minute by minute, the played one and the same without the
//! player's orders.

use bevy::ecs::schedule::ScheduleLabel;
use bevy::prelude::*;

use super::census::{Census, CountNow};
use super::select::Places;
use super::shared::GameState;
use super::untouched::Untouched;
use super::verdict::Verdict;
use crate::challenge::{Challenge, Standing};
use crate::measure::Simulation;
use crate::model::{Intersection, Order};
use crate::simulation::{self, Directory, Now, Orders, Plan};
use crate::tally::Tally;

/// The district of an order reaches this far from it, in metres: its own roads and those that cars
/// take instead.
const DISTRICT: f32 = 1_000.0;

/// Runs at the end of every minute of the city's time.
#[derive(ScheduleLabel, Clone, Debug, PartialEq, Eq, Hash)]
pub struct Minute;

/// Both cities, minute by minute.
#[derive(Resource, Default)]
pub struct Score {
    pub is_open: bool,
    played: Vec<Tally>,
    /// The same as `played` until the first order.
    untouched: Vec<Tally>,
    rival: Option<Rival>,
    /// The last rush hour, which is for both cities, and the second of its begin.
    rush: Option<(u32, Order)>,
    /// The intersections around the last order.
    district: Vec<u32>,
}

struct Rival {
    city: Untouched,
    /// How many points the curves had when they parted.
    parted: usize,
    /// How many they had when the district was last another one.
    moved: usize,
}

pub(super) fn plugin(app: &mut App) {
    app.init_resource::<Score>()
        .add_systems(Minute, note)
        .add_systems(Update, listen.run_if(resource_equals(GameState::Playing)));
}

impl Score {
    /// Notes an order that takes effect in second `at`. A rush hour comes to both cities; with the
    /// first order of another kind the city that never gets one goes its own way.
    pub fn note_order(world: &mut World, at: u32, order: Order) {
        match order {
            Order::RushHour { .. } => world.resource_mut::<Self>().share(at, order),
            Order::Signals { node, .. } | Order::Lights { node, .. } => Self::compete(world, node),
            Order::Road { road, .. } => {
                let (node, _) = world.resource::<Plan>().road_start(road);
                Self::compete(world, node);
            }
        }
    }

    fn share(&mut self, at: u32, order: Order) {
        self.rush = Some((at, order));
        if let Some(rival) = &mut self.rival {
            rival.city.obey(at, order);
        }
    }

    /// The cities part if they have not, and are compared around this intersection too.
    fn compete(world: &mut World, node: u32) {
        if world.resource::<Self>().rival.is_none() {
            Self::part(world, None);
        }
        let district = world.resource::<Places>().intersections_around(node, DISTRICT);
        let score = world.resource_mut::<Self>().into_inner();
        if let Some(rival) = &mut score.rival {
            rival.city.watch(district.clone());
            rival.moved = score.played.len();
        }
        score.district = district;
    }

    /// The untouched city goes its own way from now on; what a challenge gives comes to it too, and
    /// rush hours that are planned.
    pub fn part(world: &mut World, challenge: Option<Challenge>) {
        if world.resource::<Self>().played.is_empty() {
            // Before the first minute has ended: a comparison begins with what both cities share.
            let shared = tally(world);
            world.resource_mut::<Self>().played.push(shared);
        }
        let mut city = simulation::fork(world);
        let now = world.resource::<Now>().0;
        let mut given = challenge.map(|challenge| challenge.given(world.resource::<Plan>())).unwrap_or_default();
        // A rush hour of the challenge is among the planned ones, as those of a file are.
        given.retain(|&(at, order)| at >= now && !order.is_for_all());
        given.extend(world.get_resource::<Orders>().into_iter().flat_map(Orders::planned_for_all));
        if let Err(refusal) = city.plan(&given) {
            warn!("the untouched city refuses: {refusal}");
        }
        let mut city = Untouched::start(city);
        let score = world.resource_mut::<Self>().into_inner();
        if let Some((at, order)) = score.rush.filter(|&(at, _)| at >= now) {
            // It was ordered and has not begun: the copy knows nothing of it.
            city.obey(at, order);
        }
        score.untouched = score.played.clone();
        let parted = score.played.len();
        score.rival = Some(Rival { city, parted, moved: parted });
        info!("score: the untouched city goes on by itself");
    }

    /// How a challenge stands that began when the cities parted.
    pub fn standing(&self, challenge: Challenge) -> Option<Standing> {
        let parted = self.rival.as_ref()?.parted;
        Standing::of(challenge, &self.played[parted..], self.untouched.get(parted..)?)
    }

    /// Whether a rush hour was ordered that has not begun.
    pub fn awaits_rush(&self, now: u32) -> bool {
        self.rush.is_some_and(|(at, _)| at >= now)
    }

    /// How the player does.
    pub fn verdict(&self) -> Verdict {
        self.rival.as_ref().map_or(Verdict::Even, |rival| self.since(rival.parted))
    }

    /// The same, around the last order and since then.
    pub fn nearby(&self) -> Verdict {
        self.rival.as_ref().map_or(Verdict::Even, |rival| self.since(rival.moved))
    }

    /// The played city, minute by minute.
    pub fn played(&self) -> &[Tally] {
        &self.played
    }

    /// The untouched one, once it goes its own way.
    pub fn untouched(&self) -> Option<&[Tally]> {
        self.rival.is_some().then_some(&self.untouched)
    }

    fn since(&self, minute: usize) -> Verdict {
        let from = |tallies: &'_ [Tally]| minute.saturating_sub(1).min(tallies.len());
        Verdict::of(&self.played[from(&self.played)..], &self.untouched[from(&self.untouched)..])
    }
}

fn note(world: &mut World) {
    let tally = tally(world);
    let mut score = world.resource_mut::<Score>();
    score.played.push(tally);
    if let Some(rival) = &mut score.rival {
        rival.city.follow(tally.second);
    }
}

/// The played city now.
fn tally(world: &mut World) -> Tally {
    world.run_schedule(CountNow);
    let now = world.resource::<Now>().0;
    let (directory, district) = (world.resource::<Directory>(), &world.resource::<Score>().district);
    let nearby = district.iter().filter_map(|&node| world.get::<Intersection>(directory.intersection(node)));
    Tally::new(now, world.resource::<Census>(), nearby)
}

fn listen(mut score: ResMut<Score>) {
    let Score { untouched, rival, .. } = score.bypass_change_detection();
    if let Some(rival) = rival {
        untouched.extend(rival.city.tallies());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bevy_affinity::prelude::*;

    use super::*;
    use crate::simulation::CityApp;
    use crate::tally::MINUTE;
    use crate::tests::crowded;

    /// Cities that part before the first minute of the game has ended, as those of a challenge.
    #[test]
    fn the_first_verdict_comes_after_a_quarter_of_an_hour_from_the_beginning_too() {
        let mut app = CityApp::on_gang(Arc::new(crowded()), SchedulerMode::Serial, AffinitySettings::default());
        let world = app.world();
        world.init_resource::<Score>();
        world.init_resource::<Census>();
        world.add_schedule(Schedule::new(CountNow));
        Score::part(world, None);
        let score = world.resource_mut::<Score>().into_inner();
        for minute in 1..=15 {
            assert_eq!(score.verdict(), Verdict::In(16 - minute as usize));
            let tally = Tally { second: minute * MINUTE, ..Tally::default() };
            score.played.push(tally);
            score.untouched.push(tally);
        }
        assert!(matches!(score.verdict(), Verdict::Found { .. }), "{:?}", score.verdict());
        assert_eq!(score.standing(Challenge::MarketDay).unwrap().minutes, 15, "the shared point is none of them");
    }

    #[test]
    fn the_score_is_even_until_something_changes() {
        let played = (1..=20).map(|minute| Tally { second: minute * 60, ..Tally::default() }).collect();
        let score = Score { played, ..Score::default() };
        assert_eq!(score.verdict(), Verdict::Even);
    }
}
