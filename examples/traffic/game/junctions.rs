//! F4: where most cars wait, and what came of the player's orders.

use std::time::Duration;

use bevy::prelude::*;
use bevy::time::common_conditions::on_real_timer;
use bevy_affinity::prelude::*;
use bevy_egui::{EguiContexts, EguiPrimaryContextPass, egui};

use super::journal::{Entry, Journal};
use super::orders::Wishes;
use super::shared::{Destination, GameState, Selection};
use super::style::{self, QUIET};
use crate::model::Intersection;
use crate::simulation::{Now, Number, Plan};

/// Junctions that are listed.
const LISTED: usize = 8;

/// Pixels of the list of orders; more of them are scrolled.
const ORDERS_HEIGHT: f32 = 132.0;

/// Pixels across, without the edges.
const WIDTH: f32 = 330.0;

/// Where there is room to the right of the panel until it is moved, in pixels.
pub const RIGHT_END: f32 = style::MARGIN + WIDTH + 22.0 + style::MARGIN;

/// Often enough to see a queue grow.
const INTERVAL: Duration = Duration::from_millis(500);

/// The junctions with the longest queues.
#[derive(Resource, Default)]
pub struct Junctions {
    pub is_open: bool,
    worst: Worst,
}

/// Queued cars and the number of the intersection: the most cars first.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
struct Worst([Option<(u32, u32)>; LISTED]);

impl Worst {
    fn of(node: u32, queued: u32) -> Self {
        let mut worst = Self::default();
        worst.0[0] = (queued > 0).then_some((queued, node));
        worst
    }

    /// The worst of both. Of two that are as bad the first one counts.
    fn merge(self, other: Self) -> Self {
        let mut both = [None; 2 * LISTED];
        both[..LISTED].copy_from_slice(&self.0);
        both[LISTED..].copy_from_slice(&other.0);
        both.sort_unstable_by_key(|junction| std::cmp::Reverse(junction.map(|(queued, node)| (queued, !node))));
        let mut worst = Self::default();
        worst.0.copy_from_slice(&both[..LISTED]);
        worst
    }
}

pub(super) fn plugin(app: &mut App) {
    let is_shown = |state: Res<GameState>, junctions: Res<Junctions>| *state == GameState::Playing && junctions.is_open;
    app.init_resource::<Junctions>()
        .add_systems(Update, (find.affine(), Journal::count).run_if(on_real_timer(INTERVAL).and_then(is_shown)))
        .add_systems(Update, toggle)
        .add_systems(EguiPrimaryContextPass, show.run_if(is_shown));
}

fn find(intersections: AffineQuery<(&Number, &Intersection)>, now: Res<Now>, mut junctions: ResMut<Junctions>) {
    let now = now.0;
    let of = |(number, intersection): (&Number, &Intersection)| {
        let queued = intersection.approaches().iter().map(|approach| approach.queued(now)).sum();
        Worst::of(number.0, queued)
    };
    junctions.worst = intersections.par_iter().map_reduce(Worst::default, of, Worst::merge);
}

fn toggle(keys: Res<ButtonInput<KeyCode>>, mut junctions: ResMut<Junctions>) {
    if keys.just_pressed(KeyCode::F4) {
        junctions.is_open = !junctions.is_open;
    }
}

fn show(
    mut contexts: EguiContexts,
    (mut junctions, journal, plan): (ResMut<Junctions>, Res<Journal>, Res<Plan>),
    (mut destination, mut selection): (ResMut<Destination>, ResMut<Selection>),
    mut wishes: ResMut<Wishes>,
) -> Result {
    let mut is_open = true;
    let mut go = None;
    egui::Window::new("Junctions and orders")
        .open(&mut is_open)
        .default_pos(egui::pos2(style::MARGIN, style::BELOW_BAR))
        .frame(style::panel())
        .resizable(false)
        .show(contexts.ctx_mut()?, |ui| {
            ui.set_width(WIDTH);
            ui.strong("Where most cars wait");
            worst(ui, &junctions.worst, &mut go);
            ui.separator();
            ui.strong("Your orders, and the cars within 300 m");
            if orders(ui, &journal, &mut go) {
                wishes.undo();
            }
        });
    if let Some(node) = go {
        info!("going to intersection {node}");
        let place = &plan.network.nodes[node as usize];
        (destination.0, *selection) = (Some(Vec2::new(place.x, place.y)), Selection::Intersection(node));
    }
    junctions.is_open = is_open;
    Ok(())
}

fn worst(ui: &mut egui::Ui, worst: &Worst, go: &mut Option<u32>) {
    egui::Grid::new("worst").num_columns(3).spacing([14.0, 4.0]).show(ui, |ui| {
        for &(queued, node) in worst.0.iter().flatten() {
            ui.label(format!("intersection {node}"));
            ui.label(format!("{queued} queued"));
            if ui.small_button("go there").clicked() {
                *go = Some(node);
            }
            ui.end_row();
        }
    });
    if worst.0[0].is_none() {
        ui.label(egui::RichText::new("no car waits").color(QUIET));
    }
}

/// Returns whether the last one is to be taken back.
fn orders(ui: &mut egui::Ui, journal: &Journal, go: &mut Option<u32>) -> bool {
    if journal.latest().next().is_none() {
        ui.label(egui::RichText::new("none yet").color(QUIET));
    }
    egui::ScrollArea::vertical().max_height(ORDERS_HEIGHT).auto_shrink([false, true]).show(ui, |ui| {
        egui::Grid::new("orders").num_columns(3).spacing([14.0, 4.0]).show(ui, |ui| {
            for Entry { at, text, node, cars: [before, now], .. } in journal.latest() {
                ui.label(egui::RichText::new(style::clock(*at)).color(QUIET));
                ui.label(format!("{before}, now {now}")).on_hover_text(text);
                if ui.small_button("go there").on_hover_text(text).clicked() {
                    *go = Some(*node);
                }
                ui.end_row();
            }
        });
    });
    let button = ui.add_enabled(journal.last().is_some(), egui::Button::new("take the last one back (U)"));
    let button = button.on_disabled_hover_text("there is none, or only rush hours: these stay");
    button.on_hover_text(journal.last().unwrap_or_default()).clicked()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_are_found_in_any_order_of_merging() {
        let queued = |node: u32| node * 7 % 20;
        let one = |node: u32| Worst::of(node, queued(node));
        let forward = (0..100).map(one).fold(Worst::default(), Worst::merge);
        let halves = [(0..37), (37..100)].map(|half| half.map(one).fold(Worst::default(), Worst::merge));
        assert_eq!(halves[0].merge(halves[1]), forward);
        assert_eq!(forward.0[0], Some((19, 17)));
        assert_eq!(forward.0.iter().flatten().count(), LISTED);
        assert_eq!(Worst::of(3, 0), Worst::default(), "nobody waits");
    }
}
