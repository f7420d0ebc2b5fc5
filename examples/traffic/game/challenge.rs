//! The challenge that is played: its story, how it goes, its stars; and a list of all.

use bevy::prelude::*;
use bevy_egui::{EguiContexts, EguiPrimaryContextPass, egui};
use clap::ValueEnum;

use super::score::Score;
use super::select::Places;
use super::shared::{Clock, Frame, GameState};
use super::style::{self, PLAYED, QUIET};
use super::verdict::first_comes_in;
use crate::challenge::{Challenge, FIRST, MOST_STARS, Standing};
use crate::cli::Options;
use crate::simulation::{Now, Orders};
use crate::tally::MINUTE;

/// The challenge that is played, if one is.
#[derive(Resource, Default)]
pub struct Task {
    challenge: Option<Challenge>,
    /// The second in which the player may begin.
    begin: u32,
    standing: Option<Standing>,
}

/// Whether the list of challenges is open.
#[derive(Resource, Default)]
pub struct ChallengeList(pub bool);

/// What a challenge that is begun from the list takes over from this game.
#[derive(Resource)]
struct Kept(Vec<String>);

pub(super) fn plugin(app: &mut App, options: &Options) {
    let mut kept = vec!["--mode".to_owned(), options.mode.to_string()];
    kept.extend(options.workers.iter().flat_map(|workers| ["--workers".to_owned(), workers.to_string()]));
    app.insert_resource(Task { challenge: options.challenge, ..Task::default() })
        .insert_resource(Kept(kept))
        .init_resource::<ChallengeList>()
        .add_systems(Update, begin.run_if(resource_added::<Places>).after(Frame::Input).before(Frame::Simulate))
        .add_systems(Update, (toggle, judge.after(Frame::Simulate)).run_if(resource_equals(GameState::Playing)))
        .add_systems(EguiPrimaryContextPass, (show_task, show_list).run_if(resource_equals(GameState::Playing)));
}

impl Task {
    /// How the challenge goes, in one line; nothing if none is played.
    pub fn line(&self, now: u32) -> Option<String> {
        self.challenge.map(|_| match &self.standing {
            None => self.first_line(now),
            Some(standing) => format!("{}, {} of {MOST_STARS} stars", saved(standing), standing.stars),
        })
    }

    fn first_line(&self, now: u32) -> String {
        let minutes = now.saturating_sub(self.begin) / MINUTE;
        first_comes_in(FIRST.saturating_sub(minutes as usize).max(1))
    }

    fn is_over(&self) -> bool {
        let asked = self.challenge.map_or(0, |challenge| challenge.rules().minutes as usize);
        self.standing.as_ref().is_some_and(|standing| standing.minutes >= asked)
    }
}

/// In a challenge, and where orders of a file are still to come, the untouched city goes its own
/// way from the beginning.
fn begin(world: &mut World) {
    let now = world.resource::<Now>().0;
    let mut task = world.resource_mut::<Task>();
    task.begin = now;
    if let Some(challenge) = task.challenge {
        info!("challenge: {}", challenge.name());
        Score::part(world, Some(challenge));
    } else if world.get_resource::<Orders>().is_some_and(Orders::plans_changes) {
        Score::part(world, None);
    }
}

/// Follows the score; time stands still when the challenge is over.
fn judge(score: Res<Score>, mut task: ResMut<Task>, mut clock: ResMut<Clock>) {
    let task = task.bypass_change_detection();
    let Some(challenge) = task.challenge.filter(|_| !task.is_over()) else { return };
    task.standing = score.standing(challenge);
    if let Some(standing) = task.standing.as_ref().filter(|_| task.is_over()) {
        info!("challenge {} is over: {standing}", standing.challenge);
        clock.paused = true;
    }
}

fn toggle(keys: Res<ButtonInput<KeyCode>>, mut list: ResMut<ChallengeList>) {
    if keys.just_pressed(KeyCode::F5) {
        list.0 = !list.0;
    }
}

fn show_task(
    mut contexts: EguiContexts,
    (task, now): (Res<Task>, Res<Now>),
    mut list: ResMut<ChallengeList>,
) -> Result {
    let Some(challenge) = task.challenge else { return Ok(()) };
    let rules = challenge.rules();
    egui::Window::new(rules.title)
        .id("task".into())
        .anchor(egui::Align2::CENTER_BOTTOM, egui::vec2(0.0, -10.0))
        .frame(style::panel())
        .resizable(false)
        .show(contexts.ctx_mut()?, |ui| {
            ui.set_width(400.0);
            ui.label(rules.story);
            ui.label(egui::RichText::new(rules.advice).color(QUIET));
            ui.add_space(4.0);
            let left = rules.minutes.saturating_sub(now.0.saturating_sub(task.begin) / MINUTE);
            let time = if task.is_over() { "time is up".to_owned() } else { format!("{left} min left") };
            ui.horizontal(|ui| {
                stars(ui, task.standing.as_ref().map_or(0, |standing| standing.stars));
                ui.label(time);
                if ui.button("challenges (F5)").clicked() {
                    list.0 = true;
                }
            });
            progress(ui, task.standing.as_ref(), rules.stars);
            ui.label(match &task.standing {
                None => task.first_line(now.0),
                Some(standing) => format!(
                    "{} ({:.1} s, untouched {:.1} s)",
                    saved(standing),
                    standing.seconds_a_trip,
                    standing.untouched_seconds_a_trip
                ),
            });
        });
    Ok(())
}

/// How much of what the last star asks for is saved, with a mark for each star.
fn progress(ui: &mut egui::Ui, standing: Option<&Standing>, asked: [f64; MOST_STARS]) {
    let saved = standing.map_or(0.0, Standing::saved);
    let size = egui::vec2(ui.available_width(), 10.0);
    let (rect, _) = ui.allocate_exact_size(size, egui::Sense::hover());
    // A little room beyond the last star.
    let at = |share: f64| rect.left() + rect.width() * (share / (asked[MOST_STARS - 1] * 1.1)).clamp(0.0, 1.0) as f32;
    ui.painter().rect_filled(rect, 3.0, QUIET.gamma_multiply(0.3));
    ui.painter().rect_filled(egui::Rect::from_min_max(rect.min, egui::pos2(at(saved), rect.max.y)), 3.0, PLAYED);
    for star in asked {
        ui.painter().vline(at(star), rect.y_range().expand(3.0), egui::Stroke::new(2.0, egui::Color32::WHITE));
    }
}

fn saved(standing: &Standing) -> String {
    let (share, what) = match standing.saved() * 100.0 {
        share if share < 0.0 => (-share, "lost"),
        share => (share, "saved"),
    };
    format!("{share:.1}% of the time of a trip {what}")
}

fn stars(ui: &mut egui::Ui, earned: usize) {
    for number in 0..MOST_STARS {
        let colour = if number < earned { PLAYED } else { QUIET.gamma_multiply(0.5) };
        ui.label(egui::RichText::new("★").size(20.0).color(colour));
    }
}

fn show_list(
    mut contexts: EguiContexts,
    mut list: ResMut<ChallengeList>,
    kept: Res<Kept>,
    mut exits: MessageWriter<AppExit>,
) -> Result {
    let mut is_open = list.0;
    let mut chosen = None;
    egui::Window::new("Challenges")
        .open(&mut is_open)
        .anchor(egui::Align2::CENTER_CENTER, egui::Vec2::ZERO)
        .frame(style::panel())
        .collapsible(false)
        .resizable(false)
        .show(contexts.ctx_mut()?, |ui| {
            ui.set_width(420.0);
            ui.label("Each takes 45 minutes of the city's time: less than a minute at ×64.");
            for &challenge in Challenge::value_variants() {
                ui.separator();
                let rules = challenge.rules();
                ui.horizontal(|ui| {
                    ui.strong(rules.title);
                    if ui.button("play").clicked() {
                        chosen = Some(challenge);
                    }
                });
                ui.label(rules.story);
            }
        });
    list.bypass_change_detection().0 = is_open;
    if let Some(challenge) = chosen {
        match start(challenge, &kept.0) {
            Ok(()) => drop(exits.write(AppExit::Success)),
            Err(error) => warn!("the challenge cannot be started: {error}"),
        }
    }
    Ok(())
}

/// Another city is another game, in a process of its own.
fn start(challenge: Challenge, kept: &[String]) -> std::io::Result<()> {
    let mut game = std::process::Command::new(std::env::current_exe()?);
    game.args(kept).args(["--challenge", &challenge.name()]).spawn().map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_tells_what_the_panel_tells() {
        let mut task = Task { begin: 600, ..Task::default() };
        assert_eq!(task.line(600), None, "no challenge is played");
        task.challenge = Some(Challenge::MarketDay);
        for (now, line) in [(600, "comes in 5 min"), (719, "comes in 4 min"), (899, "comes in a minute")] {
            assert_eq!(task.line(now), Some(format!("the first verdict {line}")));
        }
        task.standing = Some(Standing {
            challenge: "market-day".to_owned(),
            minutes: 5,
            seconds_a_trip: 110.0,
            untouched_seconds_a_trip: 100.0,
            stars: 0,
        });
        assert_eq!(task.line(900).as_deref(), Some("10.0% of the time of a trip lost, 0 of 3 stars"));
    }
}
