//! From turn restrictions to pairs of links.

use std::ops::Range;

use super::restrictions::{Restriction, Via};
use super::segments::Raw;
use super::unread::{Kind, Tally};
use crate::map::junctions::{Ends, Path};

/// Most links of a road that a restriction leads by way of.
const MOST_LINKS: usize = 64;

/// Most links each way at a node where a restriction is looked at: at real ones a dozen meet.
const MOST_ROADS: usize = 64;

/// What the restrictions of a map forbid.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Forbidden {
    /// Pairs of links, sorted.
    pub turns: Vec<(u32, u32)>,
    /// Turns by way of other links.
    pub paths: Vec<Path>,
}

impl Forbidden {
    pub fn of(raw: &Raw, restrictions: &[Restriction], tally: &mut Tally) -> Self {
        let map = Map::of(raw, restrictions);
        let (mut forbidden, mut only) = (Self::default(), Vec::new());
        for restriction in restrictions {
            if let Err(kind) = map.forbid(restriction, &mut forbidden, &mut only) {
                tally.add(kind, 1);
            }
        }
        map.forbid_others(only, &mut forbidden.turns);
        forbidden.turns.sort_unstable();
        forbidden.turns.dedup();
        forbidden
    }
}

/// The links of a map by way and by node.
struct Map<'a> {
    raw: &'a Raw,
    into: Ends,
    out: Ends,
    /// The ids and numbers of the ways that restrictions name, sorted.
    named: Vec<(i64, u32)>,
}

impl<'a> Map<'a> {
    fn of(raw: &'a Raw, restrictions: &[Restriction]) -> Self {
        let nodes = if restrictions.is_empty() { 0 } else { raw.nodes.len() };
        let links = if restrictions.is_empty() { &[] } else { &raw.links[..] };
        let (into, out) = (Ends::new(nodes, links, |link| link.to), Ends::new(nodes, links, |link| link.from));
        Self { raw, into, out, named: named_ways(raw, restrictions) }
    }

    /// Notes what a restriction forbids; turns that are allowed only go to `only`.
    fn forbid(
        &self,
        restriction: &Restriction,
        forbidden: &mut Forbidden,
        only: &mut Vec<(u32, u32)>,
    ) -> Result<(), Kind> {
        let (from, to) = (self.way(restriction.from)?, self.way(restriction.to)?);
        match &restriction.via {
            Via::Node(node) => {
                let node = self.raw.node(*node).ok_or(Kind::TurnsElsewhere)?;
                let from = self.single(self.roads(&self.into, node)?, from)?;
                let to = self.single(self.roads(&self.out, node)?, to)?;
                if restriction.only { only } else { &mut forbidden.turns }.push((from, to));
            }
            // What else could be done at the end of the road in between would have to be forbidden
            // to those who come from elsewhere too.
            Via::Ways(_) if restriction.only => return Err(Kind::LongTurns),
            Via::Ways(ways) => forbidden.paths.push(self.path(from, ways, to)?),
        }
        Ok(())
    }

    /// Forbids what is none of the turns that are allowed only. From one link there may be several.
    fn forbid_others(&self, mut only: Vec<(u32, u32)>, turns: &mut Vec<(u32, u32)>) {
        only.sort_unstable();
        for allowed in only.chunk_by(|(from, _), (next, _)| from == next) {
            let from = allowed[0].0;
            let others = self.out.of(self.raw.links[from as usize].to).iter().copied();
            turns.extend(others.map(|to| (from, to)).filter(|turn| !allowed.contains(turn)));
        }
    }

    /// The number of a way that is driven on.
    fn way(&self, id: i64) -> Result<u32, Kind> {
        let place = self.named.binary_search_by_key(&id, |(known, _)| *known).map_err(|_| Kind::TurnsElsewhere)?;
        Ok(self.named[place].1)
    }

    /// The links at a node, if they are few enough to look at.
    fn roads<'e>(&self, ends: &'e Ends, node: u32) -> Result<&'e [u32], Kind> {
        Some(ends.of(node)).filter(|links| links.len() <= MOST_ROADS).ok_or(Kind::UnclearTurns)
    }

    /// The only one of the links that is part of a way: a way that goes on beyond the node has two.
    fn single(&self, links: &[u32], way: u32) -> Result<u32, Kind> {
        let mut of_way = links.iter().copied().filter(|&link| self.raw.way_of[link as usize] == way);
        let link = of_way.next().ok_or(Kind::TurnsElsewhere)?;
        if of_way.next().is_some() { Err(Kind::UnclearTurns) } else { Ok(link) }
    }

    /// The links of a way, which stand side by side.
    fn links(&self, way: u32) -> Range<u32> {
        let bound = |way| self.raw.way_of.partition_point(|&of| of < way) as u32;
        bound(way)..bound(way + 1)
    }

    /// The only way from one road along others to a third.
    fn path(&self, from: u32, ways: &[i64], to: u32) -> Result<Path, Kind> {
        let mut between = Vec::new();
        for &way in ways {
            between.extend(self.links(self.way(way)?));
            if between.len() > MOST_LINKS {
                return Err(Kind::LongTurns);
            }
        }
        let mut paths = Vec::new();
        for &first in &between {
            let into = self.roads(&self.into, self.raw.links[first as usize].from)?;
            if let Ok(from) = self.single(into, from)
                && let Some((via, to)) = self.follow(first, &between, to)?
            {
                paths.push(Path { from, via, to });
            }
        }
        let path = paths.pop().ok_or(Kind::UnclearTurns)?;
        if paths.is_empty() { Ok(path) } else { Err(Kind::UnclearTurns) }
    }

    /// Goes on from a link along others until a link of the way `to` can be taken; returns the
    /// links up to there, and that one.
    fn follow(&self, first: u32, between: &[u32], to: u32) -> Result<Option<(Vec<u32>, u32)>, Kind> {
        let mut via = vec![first];
        loop {
            let last = self.raw.links[via[via.len() - 1] as usize];
            let out = self.roads(&self.out, last.to)?;
            if let Ok(to) = self.single(out, to) {
                return Ok(Some((via, to)));
            }
            let goes_on = |link: &u32| between.contains(link) && self.raw.links[*link as usize].to != last.from;
            let mut next = out.iter().copied().filter(goes_on);
            match (next.next(), next.next()) {
                (Some(link), None) if !via.contains(&link) => via.push(link),
                _ => return Ok(None),
            }
        }
    }
}

fn named_ways(raw: &Raw, restrictions: &[Restriction]) -> Vec<(i64, u32)> {
    let ids = |restriction: &Restriction| {
        let via = match &restriction.via {
            Via::Node(_) => &[][..],
            Via::Ways(ways) => ways,
        };
        [restriction.from, restriction.to].into_iter().chain(via.to_vec())
    };
    let mut wanted: Vec<i64> = restrictions.iter().flat_map(ids).collect();
    wanted.sort_unstable();
    wanted.dedup();
    let named = |(id, number): (i64, u32)| wanted.binary_search(&id).is_ok().then_some((id, number));
    let mut named: Vec<_> = raw.ways.iter().map(|way| way.id).zip(0..).filter_map(named).collect();
    named.sort_unstable();
    // Of a way that comes in several parts the first counts.
    named.dedup_by_key(|(id, _)| *id);
    named
}
