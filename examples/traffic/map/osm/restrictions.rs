//! Turn restrictions: relations from a road by way of a node or of roads to a road.

use super::unread::Kind;
use super::wire::Broken;

/// Where the value of a tag says `no_` or `only_`.
const TURNS: [&str; 6] = ["left_turn", "right_turn", "straight_on", "u_turn", "entry", "exit"];

/// Whom it concerns to drive a car.
const CARS: [&str; 3] = ["vehicle", "motor_vehicle", "motorcar"];

/// Most roads that a restriction leads by way of: more is a route and no junction.
const MOST_VIA: usize = 16;

/// A map has so many restrictions, and one for so many bytes of the file. In a real extract each
/// takes 20 bytes or more, and its roads hundreds.
const FREE: u64 = 64 << 10;
const BYTES_EACH: u64 = 8;

/// A turn that is forbidden, or the only one that is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restriction {
    pub only: bool,
    /// The ids of ways.
    pub from: i64,
    pub to: i64,
    pub via: Via,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Via {
    Node(i64),
    Ways(Box<[i64]>),
}

/// The restrictions of an extract.
#[derive(Default)]
pub struct Restrictions {
    pub list: Vec<Restriction>,
    most: u64,
}

/// What the tags of a relation say, in whatever order they come.
#[derive(Clone, Copy, Debug, Default)]
pub struct RelationTags {
    is_restriction: bool,
    only: Option<bool>,
    /// The value says something else.
    unclear: bool,
    except_cars: bool,
    conditional: bool,
}

/// The members of a relation that say where a restriction holds.
#[derive(Clone, Debug, Default)]
pub struct Members {
    from: Vec<i64>,
    to: Vec<i64>,
    via_node: Option<i64>,
    via_ways: Vec<i64>,
    /// Some member does not belong into a restriction.
    odd: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberKind {
    Node,
    Way,
    Relation,
}

impl RelationTags {
    pub fn is_restriction(&self) -> bool {
        self.is_restriction
    }

    pub fn add(&mut self, key: &str, value: &str) {
        match key {
            "type" => self.is_restriction = value == "restriction",
            "restriction" => {
                self.only = self.only.or(rule(value));
                self.unclear = rule(value).is_none();
            }
            "except" => self.except_cars = value.split(';').any(|whom| CARS.contains(&whom.trim())),
            "hour_on" | "hour_off" | "day_on" | "day_off" => self.conditional = true,
            _ => match key.strip_prefix("restriction:") {
                Some("conditional") => self.conditional = true,
                // What is said of cars comes before what is said of all.
                Some(whom) if CARS.contains(&whom) => self.only = rule(value).or(self.only),
                _ => {}
            },
        }
    }
}

/// Whether only this turn is allowed, or it alone is not; of several values all have to say the
/// same.
fn rule(value: &str) -> Option<bool> {
    let mut rules = value.split(';').map(|value| single_rule(value.trim()));
    let first = rules.next()??;
    rules.all(|rule| rule == Some(first)).then_some(first)
}

fn single_rule(value: &str) -> Option<bool> {
    let known = |turn: &str| TURNS.contains(&turn);
    match value.split_once('_')? {
        ("no", turn) if known(turn) => Some(false),
        ("only", turn) if known(turn) => Some(true),
        _ => None,
    }
}

impl Members {
    pub fn add(&mut self, role: &[u8], kind: MemberKind, id: i64) {
        match (role, kind) {
            (b"from", MemberKind::Way) => self.from.push(id),
            (b"to", MemberKind::Way) => self.to.push(id),
            (b"via", MemberKind::Way) => self.via_ways.push(id),
            (b"via", MemberKind::Node) => self.odd |= self.via_node.replace(id).is_some(),
            (b"from" | b"to" | b"via", _) => self.odd = true,
            _ => {}
        }
        let longest = self.from.len().max(self.to.len()).max(self.via_ways.len());
        if longest > MOST_VIA {
            self.odd = true;
            [&mut self.from, &mut self.to, &mut self.via_ways].into_iter().for_each(|list| list.truncate(MOST_VIA));
        }
    }
}

impl Restrictions {
    /// None, in a file of so many bytes.
    pub fn new(file: u64) -> Self {
        Self { list: Vec::new(), most: file / BYTES_EACH + FREE }
    }

    /// Adds the restrictions of a relation; `Some` is what there is that cannot be used.
    pub fn add(&mut self, tags: RelationTags, members: &Members) -> Result<Option<Kind>, Broken> {
        if !tags.is_restriction || tags.except_cars {
            return Ok(None);
        }
        if tags.conditional {
            return Ok(Some(Kind::Conditional));
        }
        let Some(only) = tags.only else {
            return Ok(tags.unclear.then_some(Kind::UnclearTurns));
        };
        let Some(via) = members.via() else {
            return Ok(Some(Kind::UnclearTurns));
        };
        for (&from, &to) in members.from.iter().flat_map(|from| members.to.iter().map(move |to| (from, to))) {
            self.list.push(Restriction { only, from, to, via: via.clone() });
            if self.list.len() as u64 > self.most {
                let most = self.most;
                return Err(Broken::new(format_args!(
                    "more than {most} turn restrictions, too many for the file's size"
                )));
            }
        }
        Ok(None)
    }
}

impl Members {
    /// `None` if the members are no restriction. No entry has several roads that it comes from, no
    /// exit several that it leads to; none has both.
    fn via(&self) -> Option<Via> {
        if self.odd || self.from.is_empty() || self.to.is_empty() || self.from.len().min(self.to.len()) > 1 {
            return None;
        }
        match (self.via_node, &self.via_ways[..]) {
            (Some(node), []) => Some(Via::Node(node)),
            (None, ways) if !ways.is_empty() => Some(Via::Ways(ways.into())),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(tags: &[(&str, &str)], members: &[(&str, MemberKind, i64)]) -> (Vec<Restriction>, Option<Kind>) {
        let (mut all, mut read, mut list) = (Restrictions::new(0), RelationTags::default(), Members::default());
        tags.iter().for_each(|(key, value)| read.add(key, value));
        members.iter().for_each(|(role, kind, id)| list.add(role.as_bytes(), *kind, *id));
        let unread = all.add(read, &list).unwrap();
        (all.list, unread)
    }

    const TURN: [(&str, MemberKind, i64); 3] =
        [("from", MemberKind::Way, 1), ("via", MemberKind::Node, 5), ("to", MemberKind::Way, 2)];

    /// What a restriction at a node with these tags says: whether it is the only turn allowed.
    fn at_node(tags: &[(&str, &str)]) -> Option<bool> {
        let (list, _) = read(&[&[("type", "restriction")], tags].concat(), &TURN);
        list.first().map(|restriction| restriction.only)
    }

    #[test]
    fn the_rule_is_in_the_value() {
        assert_eq!(at_node(&[("restriction", "no_left_turn")]), Some(false));
        assert_eq!(at_node(&[("restriction", "no_u_turn")]), Some(false));
        assert_eq!(at_node(&[("restriction", "only_straight_on")]), Some(true));
        assert_eq!(at_node(&[("restriction", "no_left_turn;no_u_turn")]), Some(false));
        assert_eq!(at_node(&[("restriction", "only_left_turn; only_u_turn")]), Some(true));
        for value in [
            "",
            "no",
            "no_right_turn_on_red",
            "only_",
            "left_turn",
            "no_parking",
            "no_u_turn;only_left_turn",
            "no_u_turn;",
        ] {
            let read = read(&[("type", "restriction"), ("restriction", value)], &TURN);
            assert_eq!(read, (Vec::new(), Some(Kind::UnclearTurns)), "{value}");
        }
        assert_eq!(read(&[("type", "route"), ("restriction", "no_exit")], &TURN), (Vec::new(), None));
    }

    #[test]
    fn only_what_holds_for_cars_is_read() {
        let no_left = ("restriction", "no_left_turn");
        assert_eq!(at_node(&[no_left, ("except", "bus;motorcar")]), None);
        assert_eq!(at_node(&[no_left, ("except", "bicycle;psv")]), Some(false));
        assert_eq!(at_node(&[("restriction:hgv", "no_left_turn")]), None);
        assert_eq!(at_node(&[("restriction:motorcar", "only_left_turn"), no_left]), Some(true));
        assert_eq!(at_node(&[no_left, ("restriction:motor_vehicle", "only_left_turn")]), Some(true));
        let timed = [("type", "restriction"), no_left, ("hour_on", "7:00")];
        assert_eq!(read(&timed, &TURN), (Vec::new(), Some(Kind::Conditional)));
    }

    #[test]
    fn several_roads_may_have_no_entry_or_no_exit() {
        let tags = [("type", "restriction"), ("restriction", "no_entry")];
        let (list, _) = read(&tags, &[&TURN[..], &[("from", MemberKind::Way, 7)]].concat());
        assert_eq!(list.iter().map(|turn| (turn.from, turn.to)).collect::<Vec<_>>(), [(1, 2), (7, 2)]);
    }

    #[test]
    fn members_that_do_not_add_up_are_counted() {
        let tags = [("type", "restriction"), ("restriction", "no_exit")];
        let unclear = (Vec::new(), Some(Kind::UnclearTurns));
        assert_eq!(read(&tags, &TURN[..2]), unclear, "leads nowhere");
        assert_eq!(read(&tags, &[TURN[0], TURN[2]]), unclear, "by way of nothing");
        assert_eq!(read(&tags, &[&TURN[..], &[("via", MemberKind::Node, 6)]].concat()), unclear);
        assert_eq!(read(&tags, &[&TURN[..], &[("via", MemberKind::Way, 6)]].concat()), unclear);
        assert_eq!(read(&tags, &[&TURN[..], &[("to", MemberKind::Node, 6)]].concat()), unclear);
        let many: Vec<_> = (0..100).map(|id| ("via", MemberKind::Way, id)).collect();
        assert_eq!(read(&tags, &[&TURN[..1], &many, &TURN[2..]].concat()), unclear);
        let (list, _) = read(&tags, &[TURN[0], ("via", MemberKind::Way, 6), TURN[2]]);
        assert_eq!(list[0].via, Via::Ways([6].into()));
    }
}
