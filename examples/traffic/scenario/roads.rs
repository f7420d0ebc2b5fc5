//! From the roads of a scenario to a network, and back to the names that the files use.

use std::collections::HashMap;
use std::sync::Arc;

use crate::map::{
    Control, Link, MapError, Movement, Network, Node, SignalPlan, component, geo, hilbert, note_of_left_out, with_note,
};

/// In the place of a number: the file has such a thing, the network does not.
const LEFT_OUT: u32 = u32::MAX;

/// What is said of a link along which cars would be faster than they may be.
pub const TAKES_TOO_LONG: &str = "too long for its speed: a drive along it may take 24 days at most";

/// The names of nodes or links.
pub type Names = Vec<Arc<str>>;

/// What a file's names stand for.
#[derive(Default)]
pub struct Ids(HashMap<Arc<str>, u32>);

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Id {
    Known(u32),
    /// The file has it, but it is nothing for cars.
    LeftOut,
    Unknown,
}

impl Ids {
    /// Adds a name, or a thing that is left out. Returns whether the name is new.
    pub fn add(&mut self, id: &str, number: Option<u32>) -> bool {
        self.0.insert(id.into(), number.unwrap_or(LEFT_OUT)).is_none()
    }

    pub fn get(&self, id: &str) -> Id {
        match self.0.get(id) {
            None => Id::Unknown,
            Some(&LEFT_OUT) => Id::LeftOut,
            Some(&number) => Id::Known(number),
        }
    }

    /// The name of a number; a search through all.
    pub fn name(&self, number: u32) -> String {
        self.0.iter().find(|(_, other)| **other == number).map_or_else(String::new, |(name, _)| name.to_string())
    }

    /// Gives everything the number that `new` has for its old one.
    fn renumber(&mut self, new: &[u32]) {
        for number in self.0.values_mut().filter(|number| **number != LEFT_OUT) {
            *number = new[*number as usize];
        }
    }

    /// The names of the numbers below `count`.
    fn names(&self, count: usize) -> Names {
        let mut names = vec![Arc::from(""); count];
        for (name, &number) in self.0.iter().filter(|(_, number)| **number != LEFT_OUT) {
            names[number as usize] = Arc::clone(name);
        }
        names
    }
}

/// Which part of a network stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// All roads: the trips are given, and those that cannot be driven are left out.
    All,
    /// The largest part in which every place can be reached from every other, as random trips need
    /// it.
    Core,
}

/// A network as its file has it.
#[derive(Default)]
pub struct Draft {
    pub name: String,
    /// Metres east and north of wherever the file measures from.
    pub nodes: Vec<(f64, f64)>,
    pub controls: Vec<Control>,
    pub node_ids: Ids,
    pub links: Vec<Link>,
    pub link_ids: Ids,
    pub bans: Vec<(u32, u32)>,
    pub plans: Vec<SignalPlan>,
    pub left_hand: bool,
    pub unread: Vec<String>,
}

/// A network and what the names in its file stand for there.
pub struct Roads {
    pub network: Network,
    pub nodes: Ids,
    pub links: Ids,
    /// The file's coordinates of the network's origin.
    pub origin: (f64, f64),
}

impl Draft {
    pub fn add_node(&mut self, id: &str, place: (f64, f64), control: Control) -> bool {
        self.nodes.push(place);
        self.controls.push(control);
        self.node_ids.add(id, Some(self.nodes.len() as u32 - 1))
    }

    /// Roads that return to their own node are left out: the model has none.
    pub fn add_link(&mut self, id: &str, link: Link) -> bool {
        if link.from == link.to {
            return self.link_ids.add(id, None);
        }
        self.links.push(link);
        self.link_ids.add(id, Some(self.links.len() as u32 - 1))
    }

    /// Numbers the nodes along Hilbert's curve and the links by the node they lead to, as every
    /// network is.
    pub fn assemble(mut self, keep: Keep) -> Result<Roads, MapError> {
        let keep = self.kept(keep);
        let kept = || self.nodes.iter().zip(&keep).filter(|(_, keep)| **keep).map(|(place, _)| *place);
        let origin = (geo::middle(kept().map(|place| place.0)), geo::middle(kept().map(|place| place.1)));
        let place = |((x, y), control): (&(f64, f64), &Control)| {
            Node::new((x - origin.0) as f32, (y - origin.1) as f32, *control)
        };
        let nodes: Vec<Node> = self.nodes.iter().zip(&self.controls).map(place).collect();
        let order = hilbert::order(&nodes, &keep);
        let lost = note_of_left_out(order.len(), nodes.len(), &self.links);
        let new_nodes = inverse(&order, nodes.len());
        let (links, new_links) = renumber(&self.links, &new_nodes);
        if links.is_empty() {
            return Err(MapError::new(self.name, "empty network: no road that cars can drive"));
        }
        self.node_ids.renumber(&new_nodes);
        self.link_ids.renumber(&new_links);
        let nodes = order.iter().map(|&old| nodes[old as usize]).collect();
        let network = Network {
            bans: renumber_bans(&self.bans, &new_links),
            plans: renumber_plans(self.plans, &new_nodes, &new_links),
            left_hand: self.left_hand,
            unread: with_note(self.unread, lost),
            ..Network::new(self.name, nodes, links)
        };
        Ok(Roads { network, nodes: self.node_ids, links: self.link_ids, origin })
    }

    /// Marks the nodes that stay.
    fn kept(&self, keep: Keep) -> Vec<bool> {
        let ends = self.links.iter().map(|link| (link.from, link.to));
        match keep {
            Keep::Core => component::largest(self.nodes.len(), ends),
            Keep::All => {
                let mut used = vec![false; self.nodes.len()];
                ends.for_each(|(from, to)| (used[from as usize], used[to as usize]) = (true, true));
                used
            }
        }
    }
}

impl Roads {
    /// A place in the file's coordinates as metres from the network's origin.
    pub fn local(&self, (x, y): (f64, f64)) -> (f32, f32) {
        ((x - self.origin.0) as f32, (y - self.origin.1) as f32)
    }

    pub fn node_names(&self) -> Names {
        self.nodes.names(self.network.nodes.len())
    }

    pub fn link_names(&self) -> Names {
        self.links.names(self.network.links.len())
    }
}

/// For each old number the place it has in `order`.
fn inverse(order: &[u32], count: usize) -> Vec<u32> {
    let mut new = vec![LEFT_OUT; count];
    for (number, &old) in order.iter().enumerate() {
        new[old as usize] = number as u32;
    }
    new
}

/// The links between nodes that stay, in the network's order, and for each old number the new one.
fn renumber(links: &[Link], nodes: &[u32]) -> (Vec<Link>, Vec<u32>) {
    let moved = |(old, link): (u32, &Link)| {
        let (from, to) = (nodes[link.from as usize], nodes[link.to as usize]);
        (from != LEFT_OUT && to != LEFT_OUT).then_some((Link { from, to, ..*link }, old))
    };
    let mut kept: Vec<(Link, u32)> = (0..).zip(links).filter_map(moved).collect();
    kept.sort_unstable_by_key(|(link, old)| (link.to, link.from, link.length_dm, *old));
    let order: Vec<u32> = kept.iter().map(|(_, old)| *old).collect();
    (kept.into_iter().map(|(link, _)| link).collect(), inverse(&order, links.len()))
}

fn renumber_bans(bans: &[(u32, u32)], links: &[u32]) -> Vec<(u32, u32)> {
    let moved = |(from, to): &(u32, u32)| {
        let ban = (links[*from as usize], links[*to as usize]);
        (ban.0 != LEFT_OUT && ban.1 != LEFT_OUT).then_some(ban)
    };
    let mut bans: Vec<_> = bans.iter().filter_map(moved).collect();
    bans.sort_unstable();
    bans
}

/// The plans of nodes that stay, without the movements of links that do not.
fn renumber_plans(plans: Vec<SignalPlan>, nodes: &[u32], links: &[u32]) -> Vec<SignalPlan> {
    let moved = |plan: SignalPlan| {
        let node = nodes[plan.node as usize];
        let is_there =
            |movement: &Movement| links[movement.from as usize] != LEFT_OUT && links[movement.to as usize] != LEFT_OUT;
        let kept: Vec<u32> = (0..).zip(&plan.movements).filter(|(_, one)| is_there(one)).map(|(old, _)| old).collect();
        let new = inverse(&kept, plan.movements.len());
        let moved = |movement: Movement| Movement {
            from: links[movement.from as usize],
            to: links[movement.to as usize],
            holds: movement.holds.iter().map(|&old| new[old as usize]).filter(|&new| new != LEFT_OUT).collect(),
            ..movement
        };
        let movements = plan.movements.into_iter().filter(is_there).map(moved).collect();
        (node != LEFT_OUT).then_some(SignalPlan { node, movements, ..plan })
    };
    let mut plans: Vec<SignalPlan> = plans.into_iter().filter_map(moved).collect();
    plans.sort_unstable_by_key(|plan| plan.node);
    plans
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A ring of three, a dead end out of it, and a node on its own.
    fn draft() -> Draft {
        let mut draft = Draft { name: "x.xml".into(), ..Draft::default() };
        for (id, x) in [("a", 5e6), ("b", 5e6 + 100.0), ("c", 5e6 + 200.0), ("end", 5e6 + 300.0), ("alone", 0.0)] {
            assert!(draft.add_node(id, (x, 4e6), Control::Priority));
        }
        for (id, from, to) in [("ab", 0, 1), ("bc", 1, 2), ("ca", 2, 0), ("out", 2, 3), ("loop", 1, 1)] {
            assert!(draft.add_link(id, Link::new(from, to, 1_000, 1, 50)));
        }
        draft.bans = vec![(1, 3), (0, 1)];
        draft
    }

    #[test]
    fn names_find_their_roads_again() {
        let roads = draft().assemble(Keep::All).unwrap();
        assert_eq!((roads.network.nodes.len(), roads.network.links.len()), (4, 4));
        for (name, from, to) in [("ab", "a", "b"), ("bc", "b", "c"), ("ca", "c", "a"), ("out", "c", "end")] {
            let Id::Known(number) = roads.links.get(name) else { panic!("{name}") };
            let link = roads.network.links[number as usize];
            assert_eq!((roads.nodes.get(from), roads.nodes.get(to)), (Id::Known(link.from), Id::Known(link.to)));
            assert_eq!(&*roads.link_names()[number as usize], name);
        }
        assert_eq!(roads.links.get("loop"), Id::LeftOut);
        assert_eq!(roads.nodes.get("alone"), Id::LeftOut);
        assert_eq!(roads.links.get("none"), Id::Unknown);
        assert!(roads.network.links.is_sorted_by_key(|link| (link.to, link.from)));
        assert!(roads.network.bans.is_sorted() && roads.network.bans.len() == 2);
    }

    #[test]
    fn coordinates_keep_their_metres_far_from_the_origin() {
        let roads = draft().assemble(Keep::All).unwrap();
        assert_eq!(roads.origin, (5e6 + 150.0, 4e6));
        let Id::Known(node) = roads.nodes.get("a") else { panic!() };
        assert_eq!((roads.network.nodes[node as usize].x, roads.network.nodes[node as usize].y), (-150.0, 0.0));
    }

    #[test]
    fn the_core_has_no_dead_ends() {
        let roads = draft().assemble(Keep::Core).unwrap();
        assert_eq!(roads.network.nodes.len(), 3);
        assert_eq!((roads.links.get("out"), roads.nodes.get("end")), (Id::LeftOut, Id::LeftOut));
        assert_eq!(roads.network.bans.len(), 1);
    }
}
