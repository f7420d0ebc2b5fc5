//! Placing a hierarchy, on the shapes of Bevy's own stress test `transform_hierarchy`: Bevy's
//! systems against `AffinityTransformPlugin`.
//!
//! Both have a world of the same entities and the same edits. What is timed is a run of
//! `PostUpdate`, which holds nothing else.

use std::time::Instant;

use bevy::prelude::*;
use bevy_affinity::prelude::*;

use crate::ours;
use crate::race::{Race, Turn};
use crate::report::{duration, grouped, print_table};
use crate::setup::Setup;

/// Most rounds of a race: a call takes milliseconds, and there are many shapes.
const MOST_ROUNDS: u32 = 15;

/// One in so many entities is moved before each call; none if 0.
const DIRTY: [(usize, &str); 3] = [(0, "0%"), (100, "1%"), (1, "100%")];

pub fn run(setup: &Setup) -> Result<(), String> {
    let header = ["shape", "nodes", "moved", "Bevy", "AffinityTransformPlugin", "x Bevy"];
    let mut lines = vec![header.map(String::from)];
    for shape in SHAPES {
        for (dirty, share) in DIRTY {
            let mut race = Race::new(Apps::new(setup.workers, shape, dirty), fault);
            race.enter_baseline("Bevy", |apps, turn| play(&mut apps.bevy, apps.dirty, turn));
            race.enter("ours", |apps, turn| play(&mut apps.ours, apps.dirty, turn));
            let standings = race.run(setup.rounds.min(MOST_ROUNDS))?;
            let times = standings.iter().map(|standing| duration(standing.median)).collect::<Vec<_>>();
            lines.push([
                shape.name.into(),
                grouped(shape.nodes),
                share.into(),
                times[0].clone(),
                times[1].clone(),
                format!("{:.2}", standings[1].ratio),
            ]);
        }
    }
    print_table("Transform propagation", &lines);
    Ok(())
}

/// A forest, by the parent of each node: a node before it, or none.
#[derive(Clone, Copy)]
struct Shape {
    name: &'static str,
    nodes: usize,
    parent: fn(usize) -> Option<usize>,
}

const SHAPES: [Shape; 6] = [
    Shape { name: "wide: 625 x 625 below a root", nodes: 1 + 625 + 625 * 625, parent: wide },
    Shape {
        name: "binary tree, 18 levels",
        nodes: (1 << 18) - 1,
        parent: |node| node.checked_sub(1).map(|above| above / 2),
    },
    Shape { name: "156 chains of 2,500", nodes: 156 * 2500, parent: |node| (node % 2500 > 0).then(|| node - 1) },
    Shape { name: "5,800 humanoids of 67", nodes: 5800 * 67, parent: humanoid },
    Shape { name: "78,000 trees of 5", nodes: 78_000 * 5, parent: |node| (node % 5 > 0).then(|| node / 5 * 5) },
    Shape { name: "one tree of 50", nodes: 50, parent: |node| node.checked_sub(1).map(|above| above / 3) },
];

fn wide(node: usize) -> Option<usize> {
    match node {
        0 => None,
        1..=625 => Some(0),
        _ => Some(1 + (node - 626) / 625),
    }
}

/// A spine of 7, a head, two legs of 4, two arms of 4 with five fingers each: much like the rig of
/// Bevy's test.
fn humanoid(node: usize) -> Option<usize> {
    let (body, joint) = (node / 67 * 67, node % 67);
    let above = match joint {
        0 => return None,
        1..=7 => joint - 1,
        8 | 12 => 0,
        16 | 42 => 6,
        // Fingers of four joints, from the wrist.
        joint if (20..40).contains(&joint) && (joint - 20) % 4 == 0 => 19,
        joint if (46..66).contains(&joint) && (joint - 46) % 4 == 0 => 45,
        joint => joint - 1,
    };
    Some(body + above)
}

/// The same forest in two worlds.
struct Apps {
    bevy: Placed,
    ours: Placed,
    dirty: usize,
}

/// A world with a forest that is placed in `PostUpdate`.
struct Placed {
    app: App,
    nodes: Vec<Entity>,
    frame: usize,
}

impl Apps {
    fn new(workers: usize, shape: Shape, dirty: usize) -> Self {
        let mut bevy = App::new();
        bevy.add_plugins(TransformPlugin);
        let mut ours = App::new();
        ours.insert_resource(ours::settings(workers)).add_plugins((AffinityParallelPlugin, AffinityTransformPlugin));
        Self { bevy: Placed::new(bevy, shape), ours: Placed::new(ours, shape), dirty }
    }
}

impl Placed {
    fn new(mut app: App, shape: Shape) -> Self {
        ours::run_on_one_thread(&mut app, PostUpdate);
        let mut nodes = Vec::with_capacity(shape.nodes);
        for node in 0..shape.nodes {
            let rotation = Quat::from_rotation_y(node as f32 * 0.1);
            let mut entity = app.world_mut().spawn(Transform::from_xyz(0.0, 1.0, 0.0).with_rotation(rotation));
            if let Some(parent) = (shape.parent)(node) {
                entity.insert(ChildOf(nodes[parent]));
            }
            nodes.push(entity.id());
        }
        app.update();
        Self { app, nodes, frame: 0 }
    }

    /// Moves every `dirty`th node.
    fn edit(&mut self, dirty: usize) {
        self.frame += 1;
        if dirty == 0 {
            return;
        }
        for &node in self.nodes.iter().skip(self.frame % dirty).step_by(dirty) {
            if let Some(mut transform) = self.app.world_mut().get_mut::<Transform>(node) {
                transform.translation.x = (self.frame % 7) as f32;
            }
        }
    }

    /// Where a node should be, from the transforms of all that is above it.
    fn expected(&self, node: Entity) -> Option<GlobalTransform> {
        let world = self.app.world();
        let above = |&node: &Entity| Some(world.get::<ChildOf>(node)?.parent());
        let line: Vec<_> = std::iter::successors(Some(node), above).collect();
        let mut line = line.iter().rev().filter_map(|&node| world.get::<Transform>(node));
        let root = GlobalTransform::from(*line.next()?);
        Some(line.fold(root, |above, transform| above.mul_transform(*transform)))
    }
}

fn play(placed: &mut Placed, dirty: usize, turn: &mut Turn) {
    turn.repeat_timed(|| {
        placed.edit(dirty);
        let began = Instant::now();
        placed.app.world_mut().run_schedule(PostUpdate);
        began.elapsed()
    });
}

/// Some nodes of both worlds are looked at.
fn fault(apps: &mut Apps, _calls: u64) -> Option<String> {
    [&apps.bevy, &apps.ours].into_iter().find_map(|placed| {
        let nodes = placed.nodes.iter().rev().step_by(placed.nodes.len() / 40);
        let wrong = nodes.into_iter().find(|&&node| placed.app.world().get(node) != placed.expected(node).as_ref())?;
        Some(format!("{wrong} is in the wrong place"))
    })
}
