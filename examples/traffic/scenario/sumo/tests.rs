use std::collections::{BTreeMap, BTreeSet};

use crate::map::hostile::memory;
use crate::map::{Class, Control, Movement, isle_of_man};
use crate::scenario::Scenario;
use crate::scenario::testing::{Folder, departures, ends, names_along};

/// Made by SUMO's netgenerate; see the README beside it.
const GRID: &[u8] = include_bytes!("../data/grid.net.xml.gz");
const GRID_ROUTES: &[u8] = include_bytes!("../data/grid.rou.xml");

/// A square with a bus street, a cycle track and a roundabout.
const NET: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<net version="1.20" lefthand="true">
    <location netOffset="0.00,0.00" convBoundary="0.00,0.00,100.00,100.00" projParameter="!"/>
    <edge id=":b_0" function="internal"><lane id=":b_0_0" index="0" speed="6" length="9"/></edge>
    <edge id="ab" from="a" to="b" priority="12" type="highway.secondary">
        <lane id="ab_0" index="0" allow="pedestrian bicycle" speed="1.00" length="100.00" shape="0,0 1,1"/>
        <lane id="ab_1" index="1" disallow="tram" speed="13.89" length="90.00"/>
        <lane id="ab_2" index="2" speed="13.89" length="90.00"><param key="x" value="y"/></lane>
    </edge>
    <edge id="bc" from="b" to="c" priority="13"><lane id="bc_0" index="0" speed="8.33" length="50"/></edge>
    <edge id="ca" from="c" to="a" priority="-1"><lane id="ca_0" index="0" speed="8.33" length="50"/></edge>
    <edge id="ba" from="b" to="a" priority="-1"><lane id="ba_0" index="0" speed="8.33" length="50"/></edge>
    <edge id="bus" from="a" to="c"><lane id="bus_0" index="0" allow="bus" speed="8.33" length="50"/></edge>
    <edge id="in" from="gate" to="a"><lane id="in_0" index="0" speed="8.33" length="50"/></edge>
    <tlLogic id="b" type="static" programID="0" offset="0"><phase duration="42" state="GG"/></tlLogic>
    <junction id="a" type="priority" x="0.00" y="0.00" incLanes="" intLanes="" shape=""/>
    <junction id="b" type="traffic_light" x="100.00" y="0.00"/>
    <junction id="c" type="right_before_left" x="100.00" y="100.00"/>
    <junction id="gate" type="dead_end" x="-100.00" y="0.00"/>
    <junction id=":b_0_1" type="internal" x="1" y="1"/>
    <connection from=":b_0" to="bc" fromLane="0" toLane="0"/>
    <connection from="ab" to="bc" fromLane="1" toLane="0" via=":b_0" tl="b" linkIndex="0" dir="l" state="o"/>
    <connection from="ab" to="ba" fromLane="1" toLane="0" dir="t" state="o"/>
    <connection from="bc" to="ca" fromLane="0" toLane="0" dir="s" state="M"/>
    <connection from="ca" to="ab" fromLane="0" toLane="1" dir="s" state="M"/>
    <connection from="in" to="ab" fromLane="0" toLane="1" dir="s" state="M"/>
    <roundabout nodes="c b" edges="bc ca"/>
</net>
"#;

fn read(test: &str, routes: &str) -> Result<Scenario, String> {
    let routes = format!("<routes>\n{routes}\n</routes>");
    Folder::with(test, &[("n.net.xml", NET.as_bytes()), ("r.rou.xml", routes.as_bytes())])
        .read("n.net.xml", "r.rou.xml")
}

#[test]
fn networks_keep_lanes_for_cars_controls_and_turns() {
    let scenario = read("sumo-net", r#"<vehicle id="0" depart="0"><route edges="ab bc"/></vehicle>"#).unwrap();
    let (nodes, links) = scenario.names.as_ref().unwrap();
    let network = &scenario.network;
    let link = |name: &str| network.links[links.iter().position(|link| &**link == name).unwrap()];
    let ab = link("ab");
    assert_eq!((ab.lanes, ab.speed_kmh, ab.length_dm, ab.class), (2, 50, 900, Class::Secondary));
    assert_eq!((link("bc").class, link("ba").class), (Class::Trunk, Class::Residential));
    let control = |name: &str| network.nodes[nodes.iter().position(|node| &**node == name).unwrap()].control;
    assert_eq!((control("a"), control("b"), control("c")), (Control::Priority, Control::Signals, Control::Roundabout));
    let name = |link: u32| &*links[link as usize];
    let bans: BTreeSet<_> = network.bans.iter().map(|&(from, to)| (name(from), name(to))).collect();
    assert_eq!(bans, BTreeSet::from([("ba", "ab")]), "no connection leads round at a");
    assert!(network.left_hand);
    assert_eq!(scenario.notes, ["1 edges without lanes for cars are left out"]);
}

/// What an edge may do at its end: the lanes, seconds of the cycle that are green and protected,
/// and the edges of movements that give way to it.
type Way = (u32, Vec<(u32, u32, bool)>, Vec<String>);

/// The ways across the junction `b`, and its cycle and offset.
fn ways(scenario: &Scenario) -> (u32, u32, BTreeMap<(String, String), Way>) {
    let (_, links) = scenario.names.as_ref().unwrap();
    let name = |link: u32| links[link as usize].to_string();
    let [plan] = &scenario.network.plans[..] else { panic!("{:?}", scenario.network.plans) };
    let way = |movement: &Movement| {
        let greens = movement.greens.iter().flat_map(|greens| greens.iter());
        let greens = greens.map(|green| (green.start, green.length, green.is_protected)).collect();
        let holds = movement.holds.iter().map(|&other| name(plan.movements[other as usize].from)).collect();
        ((name(movement.from), name(movement.to)), (movement.lanes, greens, holds))
    };
    (plan.cycle, plan.offset, plan.movements.iter().map(way).collect())
}

/// A crossroads: a road with a lane for buses and two for cars, and another one with one.
const LIGHTS: &str = r#"<net>
    <edge id="w" from="a" to="b">
        <lane id="w_0" allow="bus" speed="13.89" length="90"/><lane id="w_1" speed="13.89" length="90"/>
        <lane id="w_2" speed="13.89" length="90"/>
    </edge>
    <edge id="e" from="c" to="b"><lane id="e_0" speed="13.89" length="90"/></edge>
    <edge id="out" from="b" to="c"><lane id="out_0" speed="13.89" length="90"/></edge>
    <edge id="up" from="b" to="d"><lane id="up_0" speed="13.89" length="90"/></edge>
    <tlLogic id="t" type="static" programID="0" offset="10">
        <phase duration="30.4" state="GgG"/><phase duration="3" state="yyy"/><phase duration="26.6" state="rrr"/>
    </tlLogic>
    <junction id="a" x="0" y="0"/>
    <junction id="b" type="traffic_light" x="100" y="0">
        <request index="0" response="000" foes="000"/><request index="1" response="100" foes="100"/>
        <request index="2" response="000" foes="010"/>
    </junction>
    <junction id="c" x="200" y="0"/><junction id="d" x="100" y="100"/>
    <connection from="w" to="out" fromLane="1" toLane="0" via=":b_0_0" tl="t" linkIndex="0"/>
    <connection from="w" to="up" fromLane="2" toLane="0" via=":b_1_0" tl="t" linkIndex="1"/>
    <connection from="e" to="up" fromLane="0" toLane="0" via=":b_2_0" tl="t" linkIndex="2"/>
</net>
"#;

const LIT: &str = r#"<vehicle id="0" depart="0"><route edges="w up"/></vehicle>"#;

fn lit(test: &str, net: &str, demand: &str) -> Result<Scenario, String> {
    Folder::with(test, &[("n.net.xml", net.as_bytes()), ("r.add.xml", demand.as_bytes())])
        .read("n.net.xml", "r.add.xml")
}

#[test]
fn programmes_tell_movements_apart() {
    let scenario = lit("sumo-lights", LIGHTS, &format!("<additional>{LIT}</additional>")).unwrap();
    let (cycle, offset, ways) = ways(&scenario);
    assert_eq!((cycle, offset), (60, 50), "the cycle begins in second 10");
    let way = |from: &str, to: &str| ways[&(from.to_owned(), to.to_owned())].clone();
    assert_eq!(way("w", "out"), (0b01, vec![(0, 30, true)], vec![]), "the lane for buses is not counted");
    assert_eq!(way("w", "up"), (0b10, vec![(0, 30, false), (30, 3, true)], vec![]));
    assert_eq!(way("e", "up"), (0b01, vec![(0, 30, true)], vec!["w".to_owned()]));
    assert_eq!(scenario.notes, [""; 0]);
}

#[test]
fn the_last_programme_runs() {
    let other = r#"<tlLogic id="t" type="actuated" programID="1"><phase duration="9" state="rrG" minDur="5"/>
        <phase duration="00:01:00" state="GGr"/></tlLogic><tlLogic id="t" programID="1" offset="-5"/>
        <tlLogic id="elsewhere" programID="0"><phase duration="5" state="G"/></tlLogic>"#;
    let scenario = lit("sumo-last", LIGHTS, &format!("<additional>{other}{LIT}</additional>")).unwrap();
    let (cycle, offset, ways) = ways(&scenario);
    assert_eq!((cycle, offset), (69, 5));
    assert_eq!(ways[&("e".to_owned(), "up".to_owned())].1, [(0, 9, true)]);
    assert_eq!(scenario.notes, ["1 programmes of signals answer to traffic in SUMO: they run with their durations"]);
    let routes = lit("sumo-not-added", LIGHTS, &format!("<routes>{other}{LIT}</routes>")).unwrap();
    assert_eq!(self::ways(&routes).0, 60, "files of routes have no programmes");
}

#[test]
fn signals_without_a_programme_have_the_models_own() {
    let net = LIGHTS.replace("<tlLogic id=\"t\"", "<tlLogic id=\"other\"");
    let scenario = lit("sumo-own", &net, &format!("<additional>{LIT}</additional>")).unwrap();
    assert!(scenario.network.plans.is_empty());
    assert_eq!(scenario.network.nodes.iter().filter(|node| node.has_signals()).count(), 1);
}

#[test]
fn roads_that_the_model_cannot_hold_are_told_with_their_line() {
    let lane = |text: &str| NET.replacen("speed=\"8.33\" length=\"50\"", text, 1);
    for (net, part) in [
        (lane("speed=\"8.33\" length=\"4e7\""), "line 10: too long: length may be at most 10000000 m, found `4e7`"),
        (lane("speed=\"1e9\" length=\"50\""), "line 10: too fast: speed may be at most 1000 m/s, found `1e9`"),
        (lane("speed=\"1\" length=\"9e6\""), "line 10: too long for its speed: a drive along it may take 24 days"),
        (lane("speed=\"8.33\" length=\"0\""), "line 10: length should be above 0, found `0`"),
    ] {
        Folder::with("sumo-too-long", &[("n.net.xml", net.as_bytes())]).refuses("n.net.xml", "", part);
    }
    let trains = NET.replacen("allow=\"bus\" speed=\"8.33\"", "allow=\"rail\" speed=\"1e9\"", 1);
    Folder::with("sumo-fast", &[("n.net.xml", trains.as_bytes())]).read("n.net.xml", "").unwrap();
}

#[test]
fn mistakes_in_programmes_are_told_with_their_line() {
    for (right, wrong, part) in [
        ("GgG", "GgX", "n.net.xml, line 10: state should be of the letters r, y, g, G, u, s, o and O, found `GgX`"),
        ("yyy", "yy", "line 10: the phases have states of different lengths"),
        ("26.6", "-1", "line 10: duration should be above 0, found `-1`"),
        ("26.6", "long", "line 10: duration should be a number, found `long`"),
        ("offset=\"10\"", "offset=\"x\"", "line 9: offset should be a number"),
        ("offset=\"10\"", "offset=\"1e99\"", "line 9: offset is too large"),
        ("<tlLogic id=\"t\"", "<tlLogic id=\"t\"/><tlLogic id=\"t\"", "line 9: signals `t` have no phases"),
        ("<tlLogic id", "<tlLogic name", "line 9: <tlLogic> has no id"),
        ("linkIndex=\"2\"", "linkIndex=\"3\"", "a connection has signal 3 of `t`, whose phases have no such one"),
        ("linkIndex=\"2\"", "", "<connection> has no linkIndex"),
        ("<request index=\"2\"", "<request index=\"-2\"", "index should be a number"),
        ("fromLane=\"2\"", "fromLane=\"left\"", "fromLane should be a number"),
    ] {
        assert!(LIGHTS.contains(right));
        let error = lit("sumo-lights-wrong", &LIGHTS.replacen(right, wrong, 1), "<additional/>").err().unwrap();
        assert!(error.contains(part), "{part:?} is not in {error:?}");
    }
    let other = r#"<tlLogic id="u" programID="0"><phase duration="9" state="G"/></tlLogic><junction id="a""#;
    let two = LIGHTS.replacen(r#"tl="t" linkIndex="2""#, r#"tl="u" linkIndex="0""#, 1);
    let two = two.replacen(r#"<junction id="a""#, other, 1);
    let error = lit("sumo-two-lights", &two, "<additional/>").err().unwrap();
    assert!(error.ends_with("a junction has signals of `t` and of `u`"), "{error}");
    let added = "<additional>\n<tlLogic id=\"q\" programID=\"0\"/></additional>";
    let error = lit("sumo-added-wrong", LIGHTS, added).err().unwrap();
    assert!(error.contains("r.add.xml, line 2: signals `q` have no phases"), "{error}");
}

/// Many junctions or movements with one signal share what it does, and phases that never end do
/// not overflow.
#[test]
fn programmes_take_bounded_memory() {
    let phases = "<phase duration=\"1e300\" state=\"GgG\"/><phase duration=\"1\" state=\"rrr\"/>".repeat(20_000);
    let body = LIGHTS.find("<phase").unwrap()..LIGHTS.find("</tlLogic>").unwrap();
    let mut net = LIGHTS.to_owned();
    net.replace_range(body, &phases);
    let edge = |number: u32| {
        format!(
            "<edge id=\"x{number}\" from=\"d{number}\" to=\"f{number}\"><lane speed=\"9\" length=\"9\"/></edge>\
             <edge id=\"y{number}\" from=\"f{number}\" to=\"d{number}\"><lane speed=\"9\" length=\"9\"/></edge>\
             <junction id=\"d{number}\" x=\"0\" y=\"0\"/><junction id=\"f{number}\" x=\"0\" y=\"0\"/>\
             <connection from=\"x{number}\" to=\"y{number}\" tl=\"t\" linkIndex=\"0\" via=\":1_4294967295_9\"/>"
        )
    };
    let edges: String = (0..2_000).map(edge).collect();
    let net = net.replace("</net>", &format!("{edges}</net>"));
    // The folder's reader checks the memory.
    let scenario = lit("sumo-endless", &net, &format!("<additional>{LIT}</additional>")).unwrap();
    assert_eq!(scenario.network.plans.len(), 2_001);
    assert!(scenario.network.plans.iter().all(|plan| plan.cycle <= crate::map::LONGEST_CYCLE));
}

#[test]
fn trips_need_no_way_back() {
    let scenario = read(
        "sumo-gate",
        r#"<vehicle id="0" depart="0"><route edges="in ab"/></vehicle>
           <trip id="1" depart="1" from="in" to="bc"/>
           <trip id="2" depart="2" from="ab" to="in"/>"#,
    );
    let scenario = scenario.unwrap();
    assert_eq!(names_along(&scenario, 0), ["in", "ab"]);
    assert_eq!(ends(&scenario, 1), ("gate", "c"));
    assert_eq!(scenario.network.nodes.len(), 4);
    assert!(scenario.notes[1].starts_with("1 of 3 trips are left out: 1 end where they begin"), "{:?}", scenario.notes);
    let folder = Folder::with("sumo-core", &[("n.net.xml", NET.as_bytes())]);
    assert_eq!(folder.read("n.net.xml", "").unwrap().network.nodes.len(), 3, "random trips need one");
}

#[test]
fn vehicles_trips_and_routes_have_many_forms() {
    let scenario = read(
        "sumo-forms",
        r#"<vType id="bus" vClass="bus"/><vType id="car" vClass="passenger" sigma="0"/>
           <route id="round" edges="ab bc ca"/>
           <routeDistribution id="either"><route edges="ab bc" probability="0"/><route refId="round" probability="2"/>
           </routeDistribution>
           <vehicle id="named" type="car" route="round" depart="00:01:00"/>
           <vehicle id="drawn" route="either" depart="60.5"/>
           <vehicle id="bus" type="bus" route="round" depart="70"/>
           <vehicle id="late" route="round" depart="triggered"/>
           <vehicle id="lane" depart="75"><route edges="ca bus"/></vehicle>
           <trip id="one" depart="80" from="ab" to="ab"/>
           <trip id="zones" depart="80" fromTaz="1" toTaz="2"/>
           <person id="p" depart="0"><walk edges="ab"/></person>
           <vehicle id="nested" depart="90"><param key="a" value="b"/><routeDistribution routes="round either"
             probabilities="0 1"/></vehicle>"#,
    )
    .unwrap();
    assert_eq!(departures(&scenario), [(0, 60), (1, 61), (2, 80), (3, 90)]);
    for (trip, route) in [(0, vec!["ab", "bc", "ca"]), (1, vec!["ab", "bc", "ca"]), (2, vec!["ab"])] {
        assert_eq!(names_along(&scenario, trip), route);
    }
    let line = "5 of 9 trips are left out: 1 are not by car, 1 are not cars, 1 have no time of departure, \
                1 run between zones or junctions, 1 use edges that are left out";
    assert_eq!(scenario.notes[1], line);
}

#[test]
fn routes_are_repeated() {
    let scenario = read(
        "sumo-repeated",
        r#"<vehicle depart="0"><route edges="ab bc ca" repeat="1"/></vehicle>
           <vehicle depart="1"><route edges="ab bc" repeat="0"/></vehicle>
           <vehicle depart="2"><route edges="ab bc" repeat="2"/></vehicle>
           <vehicle depart="3"><route edges="" repeat="18446744073709551615"/></vehicle>"#,
    )
    .unwrap();
    assert_eq!(names_along(&scenario, 0), ["ab", "bc", "ca", "ab", "bc", "ca"]);
    assert_eq!(names_along(&scenario, 1), ["ab", "bc"]);
    assert_eq!(scenario.trips.as_ref().map(Vec::len), Some(2), "from the end to the begin there is a gap");
}

#[test]
fn types_tell_what_is_a_car() {
    let scenario = read(
        "sumo-types",
        r#"<vType id="car"/><vType id="bus" vClass="bus"/>
           <vTypeDistribution id="cars" vTypes="car DEFAULT_VEHTYPE"/>
           <vTypeDistribution id="buses"><vType refId="bus"/><vType id="coach" vClass="coach"/></vTypeDistribution>
           <vTypeDistribution id="all" vTypes="cars buses"><vType id="van" vClass="delivery"/></vTypeDistribution>
           <trip depart="1" type="cars" from="ab" to="bc"/><trip depart="2" type="buses" from="ab" to="bc"/>
           <trip depart="3" type="all" from="ab" to="bc"/><trip depart="4" type="van" from="ab" to="bc"/>
           <trip depart="5" type="coach" from="ab" to="bc"/><trip depart="6" type="DEFAULT_VEHTYPE" from="ab" to="bc"/>
           <trip depart="7" type="DEFAULT_BIKETYPE" from="ab" to="bc"/>"#,
    )
    .unwrap();
    assert_eq!(departures(&scenario), [(0, 1), (1, 3), (2, 4), (3, 6)]);
    let line = "3 of 7 trips are left out: 3 are not cars";
    assert_eq!(scenario.notes[1..], [line]);
}

#[test]
fn types_that_nobody_defines_are_named() {
    let trip = |name: &str| format!(r#"<trip depart="1" type="{name}" from="ab" to="bc"/>"#);
    let early = [trip("late"), r#"<vType id="late" vClass="bus"/>"#.into(), trip("late")].concat();
    let scenario = read("sumo-undefined", &format!("{early}{}", trip("van"))).unwrap();
    assert_eq!(departures(&scenario).len(), 2);
    let line = "types that no file defines before they are used, taken for cars: `late`, `van`";
    assert_eq!(scenario.notes[1..], ["1 of 3 trips are left out: 1 are not cars", line]);
    let many: String = (0..9).map(|name| trip(&name.to_string())).collect();
    let scenario = read("sumo-undefined", &many).unwrap();
    assert!(scenario.notes[1].ends_with("`0`, `1`, `2`, `3`, `4` and more"), "{:?}", scenario.notes);
}

#[test]
fn flows_keep_their_pace() {
    let flow = |attributes: &str| {
        let routes = format!("<route id=\"r\" edges=\"ab bc\"/><flow id=\"f\" route=\"r\" {attributes}/>");
        let scenario = read("sumo-flow", &routes).unwrap();
        departures(&scenario).into_iter().map(|(_, depart)| depart).collect::<Vec<_>>()
    };
    assert_eq!(flow(r#"begin="100" end="200" number="4""#), [100, 125, 150, 175]);
    assert_eq!(flow(r#"begin="100" end="130" vehsPerHour="360""#), [100, 110, 120]);
    assert_eq!(flow(r#"begin="0" end="20" period="7.5""#), [0, 8, 15]);
    assert_eq!(flow(r#"begin="5" period="2" number="3""#), [5, 7, 9]);
    assert_eq!(flow(r#"begin="3" end="6" probability="1""#), [3, 4, 5]);
    assert_eq!(flow(r#"begin="100000" period="43200""#), [100_000, 143_200], "a day");
    assert_eq!(flow(r#"begin="8639999" probability="1""#), [8_639_999], "the last second");
    // Some 1,000 each, give or take four standard deviations.
    for attributes in [r#"end="10000" probability="0.1""#, r#"end="10000" period="exp(0.1)""#] {
        let departures = flow(attributes);
        assert!((870..1_130).contains(&departures.len()), "{}", departures.len());
        assert!(departures.is_sorted() && departures.last() <= Some(&10_000));
        assert_eq!(departures, flow(attributes), "the same in every run");
    }
}

#[test]
fn intervals_tell_the_times_of_their_flows() {
    let scenario = read(
        "sumo-interval",
        r#"<route id="r" edges="ab bc"/>
           <interval begin="100" end="00:01:50"><flow id="f" route="r" period="5"/>
           <flow id="g" begin="105" end="120" period="10"><route edges="ab bc"/></flow></interval>
           <interval begin="soon"/><flow id="h" route="r" period="43200"/>"#,
    );
    let departs: Vec<u32> = departures(&scenario.unwrap()).into_iter().map(|(_, depart)| depart).collect();
    assert_eq!(departs, [100, 105, 105, 115, 0, 43_200]);
}

#[test]
fn a_generated_grid_is_read_whole() {
    let folder = Folder::with("sumo-grid", &[("g.net.xml.gz", GRID), ("g.rou.xml", GRID_ROUTES)]);
    let scenario = folder.read("g.net.xml.gz", "g.rou.xml").unwrap();
    // 3 x 3 crossings and an arm beyond each of the 12 on the edge: 12 streets and 12 arms.
    assert_eq!((scenario.network.nodes.len(), scenario.network.links.len()), (21, 48));
    let signals = scenario.network.nodes.iter().filter(|node| node.has_signals()).count();
    assert!(signals >= 9, "{signals}");
    let written = String::from_utf8_lossy(GRID_ROUTES).matches("<vehicle ").count();
    assert_eq!(scenario.trips.as_ref().unwrap().len(), written);
    assert_eq!(names_along(&scenario, 0), ["B0B1", "B1C1"]);
}

#[test]
fn mistakes_are_told_with_their_line() {
    let folder = Folder::new("sumo-mistakes");
    for (wrong, right, part) in [
        ("speed=\"0\"", "speed=\"13.89\"", "n.net.xml, line 7: speed should be above 0, found `0`"),
        ("length=\"-1\"", "length=\"90.00\"", "line 7: length should be above 0"),
        ("id=\"ab\"", "id=\"bc\"", "line 10: a second edge `ab`"),
        ("id=\"q\"", "id=\"gate\"", "n.net.xml: edges at junction `gate`, which is not there"),
        ("id=\"a\" type", "id=\"c\" type", "a second junction `a`"),
        ("nodes=\"q\"", "nodes=\"c b\"", "unknown junction `q`"),
        ("x=\"far\"", "x=\"-100.00\"", "x should be a number, found `far`"),
        ("<edge id=\"q\" from=\"a\" to=\"b\"/><tlLogic", "<tlLogic", "line 15: edge `q` has no lanes"),
        ("<roads", "<net", "line 2: expected <net>, found `roads`"),
    ] {
        std::fs::write(folder.0.join("n.net.xml"), NET.replacen(right, wrong, 1)).unwrap();
        folder.refuses("n.net.xml", "", part);
    }
    for (routes, part) in [
        (r#"<vehicle depart="0"><route edges="ab q"/></vehicle>"#, "r.rou.xml, line 2: unknown edge `q`"),
        (r#"<vehicle depart="0" route="q"/>"#, "line 2: unknown route `q`"),
        (r#"<route id="r" edges="ab" repeat="-1"/>"#, "line 2: repeat should be a number, found `-1`"),
        (r#"<vehicle depart="soon"><route edges="ab"/></vehicle>"#, "depart should be a time"),
        (r#"<trip depart="0" from="q" to="ab"/>"#, "unknown edge `q`"),
        (r#"<flow begin="9" end="5" number="1" from="ab" to="bc"/>"#, "the flow ends before it begins"),
        (
            "<interval begin=\"soon\">\n<flow number=\"1\" from=\"ab\" to=\"bc\"/></interval>",
            "line 2: begin should be a time",
        ),
        (r#"<flow begin="0" from="ab" to="bc"/>"#, "a flow needs number, period, vehsPerHour or probability"),
        (r#"<flow probability="2" from="ab" to="bc"/>"#, "probability should be above 0 and at most 1, found `2`"),
        (r#"<routeDistribution id="d"/>"#, "no routes in it"),
        (r#"<vTypeDistribution id="d"/>"#, "no types in it"),
        ("", "r.rou.xml: no trip that can be driven"),
        (r#"<person><walk/></person>"#, "no trip that can be driven: 1 of 1 trips are left out: 1 are not by car"),
    ] {
        assert!(read("sumo-mistakes", routes).err().unwrap().contains(part), "{part}");
    }
}

/// The line that refuses these routes, which may take as much memory as all that flows may make.
fn refused(test: &str, routes: &str) -> String {
    let routes = format!("<routes>{routes}</routes>");
    let folder = Folder::with(test, &[("n.net.xml", NET.as_bytes()), ("r.rou.xml", routes.as_bytes())]);
    let files = folder.files("n.net.xml", "r.rou.xml");
    let (read, peak) = memory::peak(|| files.read(1, isle_of_man));
    assert!(peak < 1 << 30, "{peak}");
    read.err().unwrap().to_string()
}

#[test]
fn flows_and_shared_routes_take_bounded_memory() {
    for flow in [r#"number="4000000000""#, r#"end="8000000" period="0.00001""#, r#"end="8640000" probability="1""#] {
        let error = refused("sumo-many", &format!("<flow id=\"f\" from=\"ab\" to=\"bc\" begin=\"0\" {flow}/>"));
        assert!(error.contains("flows make more than the 5000000 vehicles"), "{error}");
    }
    let long = "ab bc ca ".repeat(100_000);
    let vehicles = "<vehicle depart=\"0\" route=\"r\"/>".repeat(400);
    let error = refused("sumo-shared", &format!("<route id=\"r\" edges=\"{long}\"/>{vehicles}"));
    assert!(error.contains("vehicles share or repeat routes of more than 100000000 links in all"), "{error}");
    for repeat in ["40000000", "18446744073709551615"] {
        let route = format!("<route id=\"r\" edges=\"ab bc ca\" repeat=\"{repeat}\"/>");
        let error = refused("sumo-repeat", &route);
        assert!(error.contains("line 1: vehicles share or repeat routes of more than"), "{error}");
    }
    let mut laughs = "<route id=\"d0\" edges=\"ab\"/>".to_owned();
    for number in 1..10 {
        let names = format!("d{} ", number - 1).repeat(10);
        laughs += &format!("<routeDistribution id=\"d{number}\" routes=\"{names}\"/>");
    }
    assert!(refused("sumo-laughs", &laughs).contains("more than 10000 routes in a distribution"));
}
