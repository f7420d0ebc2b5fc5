//! Walks over trees.

use bevy::prelude::*;
use bevy_affinity::prelude::*;

use super::{Log, Script, Side, Step};
use crate::{
    components::{A, Number, Sum},
    dice::{Trail, mix},
};

type Node<'a> = (&'a Number, &'a mut Sum, Option<&'a A>);
type Roots<'w, 's> = Query<'w, 's, Entity, (With<Sum>, Without<ChildOf>)>;

pub fn steps(side: Side) -> Vec<Step> {
    let propagate = side.step("propagate", plain_propagate, our_propagate);
    let fold = side.step("fold", plain_fold, our_fold);
    vec![propagate, fold]
}

/// What a node hands to its children; some have none of it.
fn hand_down(salt: u64, parent: u64, (number, mut sum, a): (&Number, Mut<Sum>, Option<&A>)) -> Option<u64> {
    let value = mix(parent ^ u64::from(number.0) ^ a.map_or(0, |a| a.0));
    sum.set_if_neq(Sum(value));
    (!(value ^ salt).is_multiple_of(16)).then_some(value)
}

/// The order of children makes a difference.
fn sum_up(children: &[u64], (number, mut sum, a): (&Number, Mut<Sum>, Option<&A>)) -> u64 {
    let own = u64::from(number.0) ^ a.map_or(0, |a| a.0);
    let value = children.iter().copied().chain([own]).collect::<Trail>().hash();
    sum.set_if_neq(Sum(value));
    value
}

fn note(log: &mut Log, report: TreeReport) {
    log.note("visited", report.visited);
    log.note("no nodes", report.unmatched);
    log.note("repeated or gone", report.repeated + report.despawned);
}

fn our_propagate(mut nodes: AffineTree<Node<'static>>, roots: Roots, script: Res<Script>, mut log: ResMut<Log>) {
    let salt = script.salt;
    let roots = roots.iter().map(|root| (root, salt));
    let report = nodes.propagate(roots, |parent, _, node| hand_down(salt, *parent, node));
    note(&mut log, report);
}

fn plain_propagate(
    mut nodes: Query<Node>,
    below: Query<&Children>,
    roots: Roots,
    script: Res<Script>,
    mut log: ResMut<Log>,
) {
    let mut report = TreeReport::default();
    let mut open: Vec<_> = roots.iter().map(|root| (root, script.salt)).collect();
    while let Some((entity, parent)) = open.pop() {
        let Ok(node) = nodes.get_mut(entity) else {
            report.unmatched += 1;
            continue;
        };
        report.visited += 1;
        if let Some(value) = hand_down(script.salt, parent, node) {
            open.extend(below.get(entity).into_iter().flatten().map(|&child| (child, value)));
        }
    }
    note(&mut log, report);
}

fn our_fold(mut nodes: AffineTree<Node<'static>>, roots: Roots, mut log: ResMut<Log>) {
    let folded = nodes.fold(roots, |_, node, children: &[u64]| sum_up(children, node));
    log.note("folded", folded.roots.iter().map(|&(_, value)| value).fold(0, u64::wrapping_add));
    note(&mut log, folded.report);
}

fn plain_fold(mut nodes: Query<Node>, below: Query<&Children>, roots: Roots, mut log: ResMut<Log>) {
    let mut report = TreeReport::default();
    let roots: Vec<_> = roots.iter().collect();
    let sums: Vec<_> = roots.iter().filter_map(|&root| fold(root, &mut nodes, &below, &mut report)).collect();
    log.note("folded", sums.into_iter().fold(0, u64::wrapping_add));
    note(&mut log, report);
}

fn fold(root: Entity, nodes: &mut Query<Node>, below: &Query<&Children>, report: &mut TreeReport) -> Option<u64> {
    if !nodes.contains(root) {
        report.unmatched += 1;
        return None;
    }
    let children: Vec<_> = below.get(root).into_iter().flatten().copied().collect();
    let sums: Vec<_> = children.into_iter().filter_map(|child| fold(child, nodes, below, report)).collect();
    report.visited += 1;
    nodes.get_mut(root).ok().map(|node| sum_up(&sums, node))
}
