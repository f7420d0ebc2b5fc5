//! Forests with values to pass down and to add up.

use bevy::prelude::*;
use bevy_affinity::{TreeFold, TreeReport, prelude::*};

use crate::{common::Scheduling, mix::mix_slowly};

/// A forest in which each node comes after its parent.
pub struct Forest {
    pub parents: Vec<Option<usize>>,
}

/// A node's own number.
#[derive(Component)]
pub struct Number(pub u64);

/// What a walk down leaves in a node.
#[derive(Component, Default)]
pub struct Down(pub u64);

/// What a walk up leaves in a node.
#[derive(Component, Default)]
pub struct Up(pub u64);

#[derive(Resource, Default)]
struct Roots(Vec<Entity>);

#[derive(Resource, Default)]
struct Nodes(Vec<Entity>);

#[derive(Resource, Default)]
struct Reports {
    down: TreeReport,
    up: Option<TreeFold<u64>>,
}

/// All that walks over a forest leave behind.
#[derive(PartialEq)]
pub struct Outcome {
    pub nodes: Vec<(u64, u64)>,
    pub roots: Vec<u64>,
    pub visited: u64,
}

/// What a node passes on: depends on the order of its children, and on all of them.
pub fn add_up(number: u64, children: &[u64]) -> u64 {
    children.iter().fold(number, |sum, child| sum.wrapping_mul(31).wrapping_add(*child))
}

fn down(mut nodes: AffineTree<(&Number, &mut Down)>, roots: Res<Roots>, mut reports: ResMut<Reports>) {
    let roots = roots.0.iter().map(|&root| (root, 0));
    reports.down = nodes.propagate(roots, |above, _, (number, mut down)| {
        down.0 = mix_slowly(above ^ number.0);
        Some(down.0)
    });
}

fn up(mut nodes: AffineTree<(&Number, &mut Up)>, roots: Res<Roots>, mut reports: ResMut<Reports>) {
    reports.up = Some(nodes.fold(roots.0.iter().copied(), |_, (number, mut up), children: &[u64]| {
        up.0 = add_up(mix_slowly(number.0), children);
        up.0
    }));
}

pub fn app(forest: &Forest, scheduling: Scheduling) -> App {
    let mut app = scheduling.app();
    app.init_resource::<Reports>().add_systems(Update, (down, up).affine().chain());
    let world = app.world_mut();
    let (mut nodes, mut roots) = (Vec::new(), Vec::new());
    for (number, parent) in forest.parents.iter().enumerate() {
        let mut node = world.spawn((Number(number as u64), Down::default(), Up::default()));
        match parent {
            Some(parent) => _ = node.insert(ChildOf(nodes[*parent])),
            None => roots.push(node.id()),
        }
        nodes.push(node.id());
    }
    world.insert_resource(Roots(roots));
    world.insert_resource(Nodes(nodes));
    app
}

impl Outcome {
    pub fn of_next_frame(app: &mut App) -> Self {
        let mut values = app.world_mut().query::<(&mut Down, &mut Up)>();
        values.iter_mut(app.world_mut()).for_each(|(mut down, mut up)| (down.0, up.0) = (0, 0));
        app.update();
        let world = app.world();
        let (reports, roots) = (world.resource::<Reports>(), &world.resource::<Roots>().0);
        let up = reports.up.as_ref().expect("the system ran");
        assert_eq!(up.report, reports.down);
        assert!(up.roots.iter().map(|(root, _)| root).eq(roots));
        let value = |&node: &Entity| (world.get::<Down>(node).unwrap().0, world.get::<Up>(node).unwrap().0);
        Self {
            nodes: world.resource::<Nodes>().0.iter().map(value).collect(),
            roots: up.roots.iter().map(|(_, value)| *value).collect(),
            visited: reports.down.visited,
        }
    }
}

impl Forest {
    /// What each walk should leave, node by node.
    pub fn expected(&self) -> Outcome {
        let mut down = vec![0; self.parents.len()];
        let mut children = vec![Vec::new(); self.parents.len()];
        for (node, parent) in self.parents.iter().enumerate() {
            down[node] = mix_slowly(parent.map_or(0, |parent| down[parent]) ^ node as u64);
            if let Some(parent) = parent {
                children[*parent].push(node);
            }
        }
        let mut up = vec![0; self.parents.len()];
        for node in (0..self.parents.len()).rev() {
            let below: Vec<_> = children[node].iter().map(|child| up[*child]).collect();
            up[node] = add_up(mix_slowly(node as u64), &below);
        }
        let roots = self.parents.iter().zip(&up).filter(|(parent, _)| parent.is_none());
        Outcome {
            roots: roots.map(|(_, up)| *up).collect(),
            nodes: down.into_iter().zip(up).collect(),
            visited: self.parents.len() as u64,
        }
    }
}
