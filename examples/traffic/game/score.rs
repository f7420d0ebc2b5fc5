//! The score: trips an hour and mean delay, against the same city without the player's orders.

use bevy::ecs::schedule::ScheduleLabel;
use bevy::prelude::*;
use bevy_egui::{EguiContexts, EguiPrimaryContextPass, egui};
use egui_plot::{Corner, Legend, Line, Plot, PlotPoints};

use super::census::{Census, CountNow};
use super::shared::GameState;
use super::style::{self, PLAYED, UNTOUCHED};
use super::tally::Tally;
use super::untouched::Untouched;
use crate::simulation::{self, Now};

/// Points that a rate is averaged over: ten minutes, several cycles of the signals and most trips.
const AVERAGED: usize = 10;

/// Points that are shown: four hours.
const SHOWN: usize = 240;

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
}

struct Rival {
    city: Untouched,
    /// How many points the curves had when they parted.
    parted: usize,
}

pub(super) fn plugin(app: &mut App) {
    app.init_resource::<Score>()
        .add_systems(Minute, note)
        .add_systems(Update, (listen, toggle).run_if(resource_equals(GameState::Playing)))
        .add_systems(EguiPrimaryContextPass, show.run_if(resource_equals(GameState::Playing)));
}

impl Score {
    /// With the first order the city that never gets one goes its own way.
    pub fn begin(world: &mut World) {
        if world.resource::<Self>().rival.is_some() {
            return;
        }
        let city = Untouched::start(simulation::fork(world));
        let mut score = world.resource_mut::<Self>();
        score.untouched = score.played.clone();
        let parted = score.played.len();
        score.rival = Some(Rival { city, parted });
        info!("score: the untouched city goes on by itself");
    }

    /// How the player does, in one line.
    pub fn verdict(&self) -> String {
        let Some(rival) = &self.rival else { return "even: nothing has been changed yet".to_owned() };
        let minutes = self.untouched.len().min(self.played.len());
        if minutes <= rival.parted {
            return "wait a minute for the first comparison".to_owned();
        }
        let start = rival.parted.checked_sub(1).map_or(Tally::default(), |last| self.played[last]);
        let (played, untouched) = (self.played[minutes - 1], self.untouched[minutes - 1]);
        let trips = played.trips_per_hour(&start) / untouched.trips_per_hour(&start).max(1.0) - 1.0;
        let delay = played.mean_delay(&start) - untouched.mean_delay(&start);
        format!("{:+.1}% trips/h, {delay:+.1} s delay a trip", trips * 100.0)
    }
}

/// Points in time and value: each averaged over the minutes before it.
fn curve(tallies: &[Tally], value: fn(&Tally, &Tally) -> f64) -> PlotPoints<'static> {
    let first = tallies.len().saturating_sub(SHOWN).max(1);
    let point = |index: usize| {
        let tally = &tallies[index];
        [style::hours(tally.second), value(tally, &tallies[index.saturating_sub(AVERAGED)])]
    };
    (first..tallies.len()).map(point).collect()
}

fn note(world: &mut World) {
    world.run_schedule(CountNow);
    let now = world.resource::<Now>().0;
    let tally = Tally::new(now, world.resource::<Census>());
    let mut score = world.resource_mut::<Score>();
    score.played.push(tally);
    if let Some(rival) = &mut score.rival {
        rival.city.follow(now);
    }
}

fn listen(mut score: ResMut<Score>) {
    let Score { untouched, rival, .. } = score.bypass_change_detection();
    if let Some(rival) = rival {
        untouched.extend(rival.city.tallies());
    }
}

fn toggle(keys: Res<ButtonInput<KeyCode>>, mut score: ResMut<Score>) {
    if keys.just_pressed(KeyCode::F2) {
        score.is_open = !score.is_open;
    }
}

fn show(mut contexts: EguiContexts, mut score: ResMut<Score>) -> Result {
    let score = score.bypass_change_detection();
    let mut is_open = score.is_open;
    egui::Window::new("Score")
        .open(&mut is_open)
        .anchor(egui::Align2::LEFT_BOTTOM, egui::vec2(10.0, -64.0))
        .frame(style::panel())
        .resizable(false)
        .show(contexts.ctx_mut()?, |ui| {
            ui.set_width(380.0);
            ui.label(egui::RichText::new(score.verdict()).strong());
            plot(ui, "trips an hour", score, Tally::trips_per_hour);
            plot(ui, "seconds of delay a trip", score, Tally::mean_delay);
        });
    score.is_open = is_open;
    Ok(())
}

fn plot(ui: &mut egui::Ui, name: &str, score: &Score, value: fn(&Tally, &Tally) -> f64) {
    ui.label(name);
    Plot::new(name)
        .height(110.0)
        .allow_drag(false)
        .allow_zoom(false)
        .allow_scroll(false)
        .x_axis_formatter(|mark, _| style::clock((mark.value * 3_600.0).round() as u32))
        .legend(Legend::default().position(Corner::LeftBottom))
        .show(ui, |plot| {
            plot.line(Line::new("yours", curve(&score.played, value)).color(PLAYED).width(2.0));
            if score.rival.is_some() {
                plot.line(Line::new("untouched", curve(&score.untouched, value)).color(UNTOUCHED).width(1.5));
            }
        });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tallies(arrived: u64, delay: u64) -> Vec<Tally> {
        (1..=20)
            .map(|minute| Tally {
                second: minute * 60,
                arrived: u64::from(minute) * arrived,
                delay: u64::from(minute) * delay,
            })
            .collect()
    }

    #[test]
    fn rates_are_per_hour_and_per_trip() {
        let tallies = tallies(30, 600);
        assert_eq!(tallies[19].trips_per_hour(&tallies[3]), 1_800.0);
        assert_eq!(tallies[19].mean_delay(&tallies[3]), 20.0);
        assert_eq!(tallies[5].mean_delay(&tallies[5]), 0.0);
    }

    #[test]
    fn the_score_is_even_until_something_changes() {
        let score = Score { played: tallies(30, 600), ..Score::default() };
        assert!(score.verdict().starts_with("even"));
    }
}
