//! What rendering does when: three stages between four marks in the world that is rendered.
//!
//! Bevy tells of no single step of rendering. But its sets have an order, so a system between two
//! of them knows when the ones before it are done. While nothing is recorded a mark costs one
//! relaxed load.

use std::{mem, sync::Arc};

use bevy_app::App;
use bevy_ecs::prelude::{IntoScheduleConfigs, ResMut, Resource};
use bevy_render::{
    Render, RenderApp, RenderSystems,
    renderer::{RenderGraph, RenderGraphSystems},
};

use super::recorded::PRESENT;
use crate::{
    context::WorldContext,
    pool::now,
    record::{Recorder, StageLane, StageSpan},
};

/// Where the marks leave what they saw.
#[derive(Resource)]
struct Marks {
    recorder: Arc<Recorder>,
    /// When the last mark of this frame was passed.
    last: Option<u64>,
    /// Of all stages, by [`Step`].
    names: [Arc<str>; 3],
}

/// What rendering does, in this order.
#[derive(Clone, Copy)]
enum Step {
    Prepare,
    Draw,
    Present,
}

pub(super) fn plugin(app: &mut App) {
    let Some(context) = app.world().get_resource::<WorldContext>() else { return };
    let marks = Marks {
        recorder: context.current().recorder.clone(),
        last: None,
        names: ["prepare", "draw", PRESENT].map(Arc::from),
    };
    let Some(rendering) = app.get_sub_app_mut(RenderApp) else { return };
    let begins = begins.before_ignore_deferred(RenderSystems::ExtractCommands);
    let is_prepared =
        is_prepared.after_ignore_deferred(RenderSystems::Prepare).before_ignore_deferred(RenderSystems::Render);
    let is_over = is_over.after_ignore_deferred(RenderSystems::PostCleanup);
    let is_drawn = is_drawn.after_ignore_deferred(RenderGraphSystems::Finish);
    rendering
        .insert_resource(marks)
        .add_systems(Render, (begins, is_prepared, is_over).ambiguous_with_all())
        .add_systems(RenderGraph, is_drawn.ambiguous_with_all());
}

fn begins(mut marks: ResMut<Marks>) {
    marks.last = marks.recorder.recording().is_on().then(now);
}

fn is_prepared(mut marks: ResMut<Marks>) {
    marks.end(Step::Prepare);
}

/// All commands have been given to the GPU; windows have not been presented yet.
fn is_drawn(mut marks: ResMut<Marks>) {
    marks.end(Step::Draw);
}

fn is_over(mut marks: ResMut<Marks>) {
    marks.end(Step::Present);
    marks.last = None;
}

impl Marks {
    /// Records what has gone on since the last mark.
    fn end(&mut self, step: Step) {
        let Some(last) = &mut self.last else { return };
        let end = now();
        let begin = mem::replace(last, end);
        let name = self.names[step as usize].clone();
        self.recorder.write_stage(StageSpan { lane: StageLane::Rendering, name, detail: "", begin, end });
    }
}
