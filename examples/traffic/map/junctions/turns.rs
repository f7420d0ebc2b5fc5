//! Which turns a junction does not allow: those that a sign forbids, and those for which there is
//! no way between its nodes.

use super::{Junctions, Path, Roads};

/// The forbidden turns from link to link, in numbers of the old network, sorted; and how many of
/// the forbidden paths are not among them.
pub fn bans(roads: &Roads, junctions: &Junctions, paths: &[Path]) -> (Vec<(u32, u32)>, usize) {
    let outside = |link: u32| !junctions.is_inside(roads.link(link));
    let signs = roads.map.bans.iter().copied();
    let mut bans: Vec<_> = signs.filter(|&(from, to)| outside(from) && outside(to)).collect();
    bans.extend(impossible(roads, junctions));
    let before = bans.len();
    let within = |path: &&Path| outside(path.from) && outside(path.to) && !path.via.iter().any(|&link| outside(link));
    bans.extend(paths.iter().filter(within).map(|path| (path.from, path.to)));
    let long_turns = paths.len() - (bans.len() - before);
    bans.sort_unstable();
    bans.dedup();
    (bans, long_turns)
}

/// Turns at junctions of several nodes for which there is no way.
fn impossible(roads: &Roads, junctions: &Junctions) -> Vec<(u32, u32)> {
    let exits = exits(roads, junctions);
    let mut walk = Walk { seen: vec![u32::MAX; roads.map.links.len()], next: Vec::new() };
    let mut bans = Vec::new();
    for (number, link) in (0..).zip(&roads.map.links) {
        let exits = &exits[junctions.of[link.to as usize] as usize];
        if !junctions.is_inside(link) && !exits.is_empty() {
            walk.through(number, roads, junctions);
            let reached = |exit: u32| walk.seen[exit as usize] == number;
            bans.extend(exits.iter().filter(|&&exit| !reached(exit)).map(|&exit| (number, exit)));
        }
    }
    bans
}

/// The links out of every junction that has links inside.
fn exits(roads: &Roads, junctions: &Junctions) -> Vec<Vec<u32>> {
    let mut has_inside = vec![false; junctions.nodes.len()];
    // Not those that only return to their node: they lead nowhere else, and there may be many.
    for link in roads.map.links.iter().filter(|link| junctions.is_inside(link) && link.from != link.to) {
        has_inside[junctions.of[link.to as usize] as usize] = true;
    }
    let mut exits = vec![Vec::new(); junctions.nodes.len()];
    for (number, link) in (0..).zip(&roads.map.links) {
        let junction = junctions.of[link.from as usize] as usize;
        if has_inside[junction] && !junctions.is_inside(link) {
            exits[junction].push(number);
        }
    }
    exits
}

/// All ways through a junction from one of its entries.
struct Walk {
    /// The entry from which each link was last reached.
    seen: Vec<u32>,
    next: Vec<u32>,
}

impl Walk {
    fn through(&mut self, entry: u32, roads: &Roads, junctions: &Junctions) {
        self.next.push(entry);
        while let Some(link) = self.next.pop() {
            let here = roads.link(link);
            for &exit in roads.out.of(here.to) {
                // Nobody turns round on an island.
                let turns_back = link != entry && roads.link(exit).to == here.from;
                if self.seen[exit as usize] != entry && !turns_back && !is_banned(roads, link, exit) {
                    self.seen[exit as usize] = entry;
                    if junctions.is_inside(roads.link(exit)) {
                        self.next.push(exit);
                    }
                }
            }
        }
    }
}

fn is_banned(roads: &Roads, from: u32, to: u32) -> bool {
    roads.map.bans.binary_search(&(from, to)).is_ok()
}
