//! What pointer and keys do: click freezes, drag moves, drag with Shift selects a stretch, ctrl and
//! scroll zoom at the pointer, double-click shows the whole frame, Space pauses, arrows step from
//! frame to frame.

use bevy_egui::egui::{Event, Key, Modifiers, Pos2, Response, Ui};

use super::{Layout, Place, Stretch, Timeline};
use crate::overlay::recorded::{Lane, Recorded};

/// How far from a bar the pointer still means it, in points: bars can be narrower than a pixel.
const REACH: f32 = 2.0;

impl Timeline {
    /// Obeys the pointer, and returns the bar under it.
    pub(super) fn interact(
        &mut self,
        ui: &Ui,
        response: &Response,
        layout: &Layout,
        recorded: &Recorded,
    ) -> Option<Place> {
        self.hovered = response.hovered();
        let pointed = response.hover_pos().and_then(|pointer| self.pointed(layout, recorded, pointer));
        if response.clicked() {
            self.freeze(true);
            self.stretch = None;
            self.selected = pointed;
        }
        if response.double_clicked() {
            self.fit(recorded);
        }
        self.obey_drags(ui, response, layout);
        if let Some(pointer) = response.hover_pos() {
            self.zoom(ui, layout, pointer);
            self.obey_keys(ui);
        }
        pointed
    }

    fn obey_drags(&mut self, ui: &Ui, response: &Response, layout: &Layout) {
        let time = |at: Pos2| self.axis.time(layout.position(at.x));
        // Not egui's own record of Shift: `bevy_egui` tells it with clicks and keys only.
        self.selects = ui.input(|input| input.events.iter().find_map(press_with_shift)).unwrap_or(self.selects);
        let begins = ui.input(|input| input.pointer.press_origin());
        let is_here = response.interact_pointer_pos();
        if !response.dragged() {
            return;
        }
        match begins.zip(is_here) {
            Some((begin, end)) if self.selects => {
                self.stretch = Some(Stretch::between(time(begin), time(end)));
                self.freeze(true);
            }
            _ => {
                self.axis.pan(f64::from(response.drag_delta().x / layout.canvas().width()));
                self.fitted = false;
            }
        }
    }

    fn zoom(&mut self, ui: &Ui, layout: &Layout, pointer: Pos2) {
        let factor = ui.input(|input| input.zoom_delta());
        if factor != 1.0 {
            self.axis.zoom(layout.position(pointer.x), f64::from(factor));
            self.fitted = false;
        }
    }

    fn obey_keys(&mut self, ui: &Ui) {
        if ui.ctx().egui_wants_keyboard_input() {
            return;
        }
        let pressed = |key| ui.input_mut(|input| input.consume_key(Modifiers::NONE, key));
        if pressed(Key::Space) {
            self.freeze(!self.frozen);
        }
        let step = i64::from(pressed(Key::ArrowRight)) - i64::from(pressed(Key::ArrowLeft));
        self.steps = (step != 0).then_some(step);
    }

    fn pointed(&self, layout: &Layout, recorded: &Recorded, pointer: Pos2) -> Option<Place> {
        let lane = (0..recorded.lanes().count()).find(|&lane| layout.lane(lane).contains(pointer))?;
        let time = self.axis.time(layout.position(pointer.x));
        let reach = f64::from(REACH / layout.canvas().width()) * self.axis.span();
        Some(Place { lane, bar: nearest(recorded.lane(lane)?, time, reach)? })
    }
}

/// Of a press of a button whether Shift was held.
fn press_with_shift(event: &Event) -> Option<bool> {
    match event {
        Event::PointerButton { pressed: true, modifiers, .. } => Some(modifiers.shift),
        _ => None,
    }
}

/// The narrowest bar of those at `time`; if there is none, the nearest within `reach`.
fn nearest(lane: &Lane, time: f64, reach: f64) -> Option<usize> {
    let distance = |index: usize| {
        let bar = &lane.bars[index];
        (bar.begin - time).max(time - bar.end).max(0.0)
    };
    let length = |index: usize| lane.bars[index].end - lane.bars[index].begin;
    (0..lane.bars.len()).filter(|&index| distance(index) <= reach).min_by(|&a, &b| {
        (distance(a), length(a)).partial_cmp(&(distance(b), length(b))).unwrap_or(std::cmp::Ordering::Equal)
    })
}
