//! Scenarios that nobody would make: whatever the files hold, reading ends with a scenario or one
//! line, and takes memory in proportion to them. `map/hostile` tells how to try other cases.

use proptest::prelude::*;

use super::testing::{Folder, gzip};
use crate::map::hostile::fuzz::{change, changed, config};

const NETWORK: &str = r#"<network><nodes><node id="a" x="0" y="0"/><node id="b" x="100" y="0"/></nodes>
<links capperiod="01:00:00"><link id="1" from="a" to="b" length="100" freespeed="10" capacity="1800" permlanes="1"/>
<link id="2" from="b" to="a" length="100" freespeed="10" capacity="1800" permlanes="1" modes="car,bus"/></links></network>"#;

const PLANS: &str = r#"<population><person id="1"><plan selected="yes">
<activity type="h" link="1" x="0" y="0" end_time="06:00:00"/>
<leg mode="car" trav_time="00:01:00"><route type="links">1 2</route></leg><activity type="w" link="2" max_dur="01:00:00"/>
<leg mode="car"/><activity type="h" link="1"/></plan></person></population>"#;

const ROUTES: &str = r#"<routes><vType id="t" vClass="taxi"/><route id="r" edges="A0A1 A1A2"/>
<vehicle id="0" type="t" depart="1.5" route="r"/><trip id="1" depart="2" from="A0A1" to="A2B2"/>
<flow id="f" begin="0" end="60" number="7" from="A0A1" to="A1A2"/>
<flow id="g" begin="0" end="60" period="exp(0.1)"><route edges="B0B1 B1C1"/></flow></routes>"#;

/// What `--routes` reads for the sake of the grid's signals.
const LIGHTS: &str = r#"<additional><tlLogic id="A0" type="actuated" programID="1" offset="5">
<phase duration="31" state="GgrrGgrrGgrr"/><phase duration="00:00:05" state="yyrryyrryyrr" next="0 2"/>
<phase duration="26.5" state="rrGGrrGGrrGG"/></tlLogic><tlLogic id="A0" programID="1" offset="-7.5"/>
<vehicle id="0" depart="1"><route edges="A0A1 A1A2"/></vehicle></additional>"#;

const GRID: &[u8] = include_bytes!("data/grid.net.xml.gz");

const TRIPS: &str = "traveller,depart,from,to\n0,06:00,0,1\n0,25000,1,0\n1,5.5,0,1\n";

/// Attributes, times and tags that readers stumble over.
const TAGS: [&str; 19] = [
    "<tlLogic id=\"A0\"><phase duration=\"9\" state=\"",
    "<phase duration=\"1e30\" state=\"Gg\"/>",
    "<request index=\"1\" response=\"111\"/>",
    "<link id=\"",
    "<route edges=\"A0A1\"/>",
    "<edge>",
    "</edge>",
    "<lane length=\"1\" speed=\"1\"/>",
    "<plan>",
    "</plan>",
    "<leg mode=\"car\">",
    "<activity end_time=\"1\"/>",
    "<![CDATA[",
    "]]>",
    "<!--",
    "&lt;&#0;&#x110000;&x;",
    "<?xml version=\"1.0\" encoding=\"UTF-16\"?>",
    "<!DOCTYPE a [<!ENTITY b \"&b;&b;\">]>",
    " xmlns:a=\"b\" a:id='1' id='",
];

/// Which tag goes where, in thousandths of the file.
fn with_tags(file: &[u8], tags: &[(usize, usize)]) -> Vec<u8> {
    let mut file = file.to_vec();
    for (place, tag) in tags {
        let at = file.len() * place / 1_000;
        file.splice(at..at, TAGS[*tag].bytes());
    }
    file
}

fn read(test: &str, files: &[(&str, &[u8])]) {
    let demand = files.get(1).map_or("", |file| file.0);
    // Whether it is still a scenario does not matter: what holds for all is asserted.
    let _ = Folder::with(&format!("hostile-{test}"), files).read(files[0].0, demand);
}

fn grid() -> Vec<u8> {
    let mut text = Vec::new();
    std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(GRID), &mut text).unwrap();
    text
}

proptest! {
    #![proptest_config(config(1))]

    #[test]
    fn changed_matsim(
        network in prop::collection::vec(change(), 0..3),
        plans in prop::collection::vec(change(), 0..4),
        tags in prop::collection::vec((0..1_000_usize, 0..TAGS.len()), 0..3),
    ) {
        let plans = with_tags(&changed(PLANS.as_bytes(), &plans), &tags);
        read("matsim", &[("n.xml", &changed(NETWORK.as_bytes(), &network)), ("p.xml", &plans)]);
    }

    #[test]
    fn changed_matsim_networks(
        changes in prop::collection::vec(change(), 0..5),
        tags in prop::collection::vec((0..1_000_usize, 0..TAGS.len()), 0..3),
    ) {
        read("network", &[("n.xml", &with_tags(&changed(NETWORK.as_bytes(), &changes), &tags))]);
    }

    #[test]
    fn changed_sumo_demand(
        changes in prop::collection::vec(change(), 0..5),
        tags in prop::collection::vec((0..1_000_usize, 0..TAGS.len()), 0..3),
    ) {
        let routes = with_tags(&changed(ROUTES.as_bytes(), &changes), &tags);
        read("sumo", &[("n.net.xml.gz", GRID), ("r.rou.xml", &routes)]);
    }

    #[test]
    fn changed_programmes(
        changes in prop::collection::vec(change(), 0..5),
        tags in prop::collection::vec((0..1_000_usize, 0..TAGS.len()), 0..3),
    ) {
        let added = with_tags(&changed(LIGHTS.as_bytes(), &changes), &tags);
        read("programmes", &[("n.net.xml.gz", GRID), ("l.add.xml", &added)]);
    }

    #[test]
    fn changed_trips(changes in prop::collection::vec(change(), 1..6)) {
        read("trips", &[("n.xml", NETWORK.as_bytes()), ("t.csv", &changed(TRIPS.as_bytes(), &changes))]);
    }
}

proptest! {
    #![proptest_config(config(4))]

    #[test]
    fn changed_sumo_networks(
        changes in prop::collection::vec(change(), 1..5),
        tags in prop::collection::vec((0..1_000_usize, 0..TAGS.len()), 0..3),
        packed: bool,
    ) {
        if packed {
            read("net-packed", &[("n.net.xml.gz", &changed(GRID, &changes))]);
        } else {
            read("net", &[("n.net.xml", &with_tags(&changed(&grid(), &changes), &tags))]);
        }
    }
}

#[test]
fn every_prefix_is_refused_or_whole() {
    let folder = Folder::with("cut", &[("n.xml", NETWORK.as_bytes()), ("m.xml", NETWORK.as_bytes())]);
    for end in (0..NETWORK.len()).step_by(7) {
        std::fs::write(folder.0.join("n.xml"), &NETWORK[..end]).unwrap();
        assert!(folder.read("n.xml", "").is_err(), "{end}");
    }
    for end in (0..PLANS.len()).step_by(7) {
        std::fs::write(folder.0.join("p.xml"), &PLANS[..end]).unwrap();
        assert!(folder.read("m.xml", "p.xml").is_err(), "{end}");
    }
}

#[test]
fn bombs_are_refused() {
    let folder = Folder::new("bombs");
    let node = "<node id=\"a\" x=\"0\" y=\"0\"/>\n";
    let spaces = format!("<network>{}</network>", " ".repeat(40 << 20));
    let same = format!("<network>{}", "<a/>\n".repeat(8 << 20));
    for (name, text, part) in [
        ("spaces.xml.gz", spaces, "no end within 1048576 bytes"),
        ("same.xml.gz", same, "the file unpacks to more than 100 times its size"),
        ("node.xml", format!("<network>{}", node.repeat(9)), "line 2: a second node `a`"),
        ("deep.xml", "<network>".to_owned() + &"<a>".repeat(1_000_000), "elements within elements, more than 64 deep"),
        ("tag.xml", format!("<network a=\"{}\">", "x".repeat(2 << 20)), "no end within 1048576 bytes"),
        (
            "laughs.xml",
            "<!DOCTYPE network [<!ENTITY a \"aa\"><!ENTITY b \"&a;&a;\">]><network>&b;".into(),
            "unknown entity `b`",
        ),
        ("names.xml", format!("<network {}/>", "a=\"\" ".repeat(150_000)), "empty network"),
    ] {
        let bytes = if name.ends_with(".gz") { gzip(text.as_bytes()) } else { text.into_bytes() };
        std::fs::write(folder.0.join(name), bytes).unwrap();
        folder.refuses(name, "", part);
    }
}

#[test]
fn many_edges_at_a_junction_are_refused_before_their_turns_take_memory() {
    let edge = |number: u32| {
        format!(
            "<edge id=\"{number}\" from=\"a\" to=\"b\"><lane length=\"1\" speed=\"9\"/></edge><edge id=\"-{number}\" \
                 from=\"b\" to=\"a\"><lane length=\"1\" speed=\"9\"/></edge>"
        )
    };
    let net = format!(
        "<net>{}<junction id=\"a\" x=\"0\" y=\"0\"/><junction id=\"b\" x=\"0\" y=\"9\"/><connection from=\"1\" to=\"-1\"/></net>",
        (0..20_000).map(edge).collect::<String>()
    );
    let folder = Folder::with("hub", &[("n.net.xml", net.as_bytes())]);
    folder.refuses("n.net.xml", "", "junction `a` has more than the 254 edges that are supported");
}
