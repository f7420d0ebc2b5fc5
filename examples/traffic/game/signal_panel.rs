//! What is selected is an intersection: its signals, to see and to change, and its queues.

use bevy::ecs::system::SystemParam;
use bevy::prelude::*;
use bevy_egui::{EguiContexts, EguiPrimaryContextPass, egui};

use super::journal::Journal;
use super::orders::Wishes;
use super::select::Places;
use super::shared::{GameState, Selection};
use super::style::{self, GREEN, QUIET, RED};
use super::view::Scenery;
use crate::map::Network;
use crate::model::{Intersection, Order, Timing};
use crate::simulation::{Directory, Now, Plan};

/// Pixels across: of a phase's line in the picture of the cycle, and of a lamp.
const LINE: f32 = 9.0;

pub(super) fn plugin(app: &mut App) {
    app.add_systems(EguiPrimaryContextPass, show.run_if(resource_equals(GameState::Playing)));
}

/// What the sliders stand at.
struct Edit {
    node: u32,
    timing: Timing,
    /// What the city was told last.
    sent: Timing,
    /// What the signals did when they were last looked at.
    seen: Timing,
    /// How many orders had been taken back when it began.
    undone: usize,
}

#[derive(SystemParam)]
struct City<'w, 's> {
    plan: Res<'w, Plan>,
    directory: Res<'w, Directory>,
    scenery: Res<'w, Scenery>,
    now: Res<'w, Now>,
    places: Res<'w, Places>,
    intersections: Query<'w, 's, &'static Intersection>,
}

/// How far signals are alike after one click, in metres.
const ALIKE: f32 = 500.0;

impl City<'_, '_> {
    /// Orders that give all signals around an intersection its cycle and greens; each keeps its
    /// offset.
    fn alike(&self, node: u32, timing: Timing) -> Vec<Order> {
        let signals = |node: u32| {
            let intersection = self.intersections.get(self.directory.intersection(node)).ok()?;
            let offset = intersection.timing().offset % timing.cycle;
            let changed = Timing { offset, ..timing };
            let differs = intersection.has_signals() && intersection.timing() != changed;
            differs.then_some(Order::Signals { node, timing: changed })
        };
        self.places.intersections_around(node, ALIKE).into_iter().filter_map(signals).collect()
    }

    /// The ways out of an intersection that lead straight on to other signals: in which direction,
    /// and the orders that make a green wave of them.
    fn waves(&self, node: u32, timing: Timing) -> Vec<(&'static str, Vec<Order>)> {
        let has_signals = |node: u32| {
            let intersection = self.intersections.get(self.directory.intersection(node));
            intersection.is_ok_and(Intersection::has_signals)
        };
        let wave = |&exit: &u32| {
            let signals = self.plan.green_wave(exit, timing, has_signals);
            let orders: Vec<_> = signals.into_iter().map(|(node, timing)| Order::Signals { node, timing }).collect();
            let direction = compass(self.scenery.courses[exit as usize].directions()[0]);
            (!orders.is_empty()).then_some((direction, orders))
        };
        self.plan.exits(node).iter().filter_map(wave).collect()
    }
}

fn show(
    mut contexts: EguiContexts,
    selection: Res<Selection>,
    city: City,
    (journal, mut wishes): (Res<Journal>, ResMut<Wishes>),
    mut edit: Local<Option<Edit>>,
) -> Result {
    let Selection::Intersection(node) = *selection else {
        *edit = None;
        return Ok(());
    };
    let intersection = city.intersections.get(city.directory.intersection(node))?;
    style::inspector(format!("Intersection {node}")).show(contexts.ctx_mut()?, |ui| {
        ui.set_width(290.0);
        if intersection.has_signals() {
            let timing = intersection.timing();
            let edit = current(&mut edit, (node, timing), journal.undone);
            picture(ui, timing, city.now.0);
            sliders(ui, &mut edit.timing, edit.sent);
            let is_settled = !ui.input(|input| input.pointer.any_down());
            if is_settled && edit.timing != edit.sent {
                edit.sent = edit.timing;
                wishes.one(Order::Signals { node, timing: edit.timing });
            }
            if ui.button("the same for all signals within 500 m").clicked() {
                wishes.all(city.alike(node, edit.timing));
            }
            offer_waves(ui, city.waves(node, edit.timing), &mut wishes);
        } else if intersection.has_plan() {
            ui.label("signals with the scenario's programme");
        } else {
            ui.label("no signals: the right of way holds");
        }
        offer_lights(ui, node, intersection.has_signals(), &city.plan.network, &mut wishes);
        ui.separator();
        queues(ui, node, intersection, &city);
    });
    Ok(())
}

/// A button for each direction in which a green wave can run.
fn offer_waves(ui: &mut egui::Ui, waves: Vec<(&'static str, Vec<Order>)>, wishes: &mut Wishes) {
    if waves.is_empty() {
        return;
    }
    ui.horizontal_wrapped(|ui| {
        ui.label("green wave to the");
        for (direction, orders) in waves {
            let signals = orders.len();
            let what = format!("{signals} more signals along the road turn green as cars from here come to them");
            if ui.small_button(direction).on_hover_text(what).clicked() {
                wishes.all(orders);
            }
        }
    });
}

/// Signals can be put up where roads cross, and taken away.
fn offer_lights(ui: &mut egui::Ui, node: u32, has_signals: bool, network: &Network, wishes: &mut Wishes) {
    let order = Order::Lights { node, up: !has_signals };
    if order.check(network, |_| has_signals).is_ok() {
        let text = if has_signals { "take the signals away" } else { "put up signals" };
        if ui.button(text).clicked() {
            wishes.one(order);
        }
    }
}

/// The edit of this intersection; a new one, as after an undo, starts with what its signals do.
fn current(edit: &mut Option<Edit>, (node, timing): (u32, Timing), undone: usize) -> &mut Edit {
    if edit.as_ref().is_some_and(|edit| edit.node != node || edit.undone != undone) {
        *edit = None;
    }
    let edit = edit.get_or_insert(Edit { node, timing, sent: timing, seen: timing, undone });
    if std::mem::replace(&mut edit.seen, timing) != timing && timing != edit.sent {
        // Somebody else has changed it: an order was taken back.
        (edit.timing, edit.sent) = (timing, timing);
    }
    edit
}

/// Sliders that only reach what is possible. What is typed counts when it is complete, and a cycle
/// that is dragged to and fro gives green and offset back as they were `sent`.
fn sliders(ui: &mut egui::Ui, timing: &mut Timing, sent: Timing) {
    ui.spacing_mut().slider_width = 130.0;
    let mut slider = |value: &mut u16, range, text| {
        let slider = egui::Slider::new(value, range).text(text).update_while_editing(false);
        ui.add(slider).changed()
    };
    if slider(&mut timing.cycle, Timing::CYCLES, "s cycle") {
        (timing.main_green, timing.offset) = (sent.main_green, sent.offset);
    }
    let greens = Timing::greens(timing.cycle);
    timing.main_green = timing.main_green.clamp(*greens.start(), *greens.end());
    slider(&mut timing.main_green, greens, "s main green");
    timing.offset = timing.offset.min(timing.cycle - 1);
    slider(&mut timing.offset, 0..=timing.cycle - 1, "s offset");
    ui.label(egui::RichText::new(format!("{} s of green for what crosses", timing.crossing_green())).color(QUIET));
}

/// One line for each phase, green where it is, and where the cycle stands now.
fn picture(ui: &mut egui::Ui, timing: Timing, now: u32) {
    let size = egui::vec2(ui.available_width(), 2.0 * LINE + 4.0);
    let (rect, _) = ui.allocate_exact_size(size, egui::Sense::hover());
    let at = |second: u16| rect.left() + rect.width() * f32::from(second) / f32::from(timing.cycle);
    let crossing = timing.cycle - timing.crossing_green() - Timing::CLEARANCE;
    for (line, start, green) in [(0.0, 0, timing.main_green), (1.0, crossing, timing.crossing_green())] {
        let top = rect.top() + line * (LINE + 4.0);
        let bar = |from, to| egui::Rect::from_min_max(egui::pos2(from, top), egui::pos2(to, top + LINE));
        ui.painter().rect_filled(bar(rect.left(), rect.right()), 2.0, RED.gamma_multiply(0.45));
        ui.painter().rect_filled(bar(at(start), at(start + green)), 2.0, GREEN);
    }
    let position = (now + u32::from(timing.offset)) % u32::from(timing.cycle);
    let stroke = egui::Stroke::new(2.0, egui::Color32::WHITE);
    ui.painter().vline(at(position as u16), rect.y_range().expand(2.0), stroke);
}

fn queues(ui: &mut egui::Ui, node: u32, intersection: &Intersection, city: &City) {
    let now = city.now.0.saturating_sub(1);
    egui::Grid::new("queues").num_columns(4).spacing([14.0, 4.0]).show(ui, |ui| {
        for (road, approach) in (city.plan.first_road(node)..).zip(intersection.approaches()) {
            let (colour, phase) = match (intersection.has_signals(), approach.phase) {
                (false, _) if intersection.has_plan() => (light(intersection.is_green(approach, now)), ""),
                (false, _) => (QUIET, ""),
                (true, 0) => (light(intersection.is_green(approach, now)), "main"),
                (true, _) => (light(intersection.is_green(approach, now)), "crossing"),
            };
            lamp(ui, colour);
            ui.label(format!("from {}", compass(-city.scenery.courses[road as usize].directions()[1])));
            ui.label(egui::RichText::new(phase).color(QUIET));
            let queued = approach.cars().filter(|slot| slot.exit_time <= now).count();
            ui.label(format!("{queued} queued of {}", approach.occupancy()));
            ui.end_row();
        }
    });
    ui.label(format!("{} wait to set out here", intersection.waiting()));
}

fn lamp(ui: &mut egui::Ui, colour: egui::Color32) {
    let (rect, _) = ui.allocate_exact_size(egui::Vec2::splat(LINE), egui::Sense::hover());
    ui.painter().circle_filled(rect.center(), LINE / 2.0, colour);
}

fn light(is_green: bool) -> egui::Color32 {
    if is_green { GREEN } else { RED }
}

/// The point of the compass that a direction leads to.
pub fn compass(direction: Vec2) -> &'static str {
    const POINTS: [&str; 8] =
        ["east", "north-east", "north", "north-west", "west", "south-west", "south", "south-east"];
    let eighth = (direction.to_angle() / std::f32::consts::FRAC_PI_4).round().rem_euclid(8.0);
    POINTS[eighth as usize % 8]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directions_have_names() {
        for (x, y, name) in
            [(1.0, 0.1, "east"), (0.0, 1.0, "north"), (-1.0, -1.0, "south-west"), (1.0, -0.9, "south-east")]
        {
            assert_eq!(compass(Vec2::new(x, y)), name);
        }
    }

    #[test]
    fn another_intersection_starts_with_its_own_timing() {
        let timing = |offset| Timing { cycle: 60, main_green: 27, offset };
        let mut edit = None;
        current(&mut edit, (4, timing(1)), 0).timing.cycle = 90;
        assert_eq!(current(&mut edit, (4, timing(1)), 0).timing.cycle, 90, "edits stay");
        assert_eq!(current(&mut edit, (4, timing(1)), 1).timing, timing(1), "until one is taken back");
        assert_eq!(current(&mut edit, (4, timing(3)), 1).timing, timing(3), "which takes effect with the next step");
        assert_eq!(current(&mut edit, (5, timing(2)), 1).timing, timing(2));
    }
}
