use crate::map::Control;
use crate::scenario::Scenario;
use crate::scenario::testing::{Folder, departures, ends, gzip, names_along};

/// A square one way round, a short cut, a street both ways, and a railway.
const NETWORK: &str = r#"<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE network SYSTEM "http://www.matsim.org/files/dtd/network_v2.dtd">
<network name="square">
  <attributes><attribute name="coordinateReferenceSystem" class="java.lang.String">Atlantis</attribute></attributes>
  <nodes>
    <node id="sw" x="4500000.0" y="5800000.0"/>
    <node id="se" x="4501000.0" y="5800000.0"/>
    <node id="ne" x="4501000.0" y="5801000.0"/>
    <node id="nw" x="4500000.0" y="5801000.0"/>
    <node id="station" x="4502000.0" y="5801000.0"/>
  </nodes>
  <links capperiod="00:30:00" effectivecellsize="7.5">
    <link id="s" from="sw" to="se" length="1000.0" freespeed="13.89" capacity="1000.0" permlanes="2.0" modes="car,bus"/>
    <link id="e" from="se" to="ne" length="1000.0" freespeed="13.89" capacity="500.0" permlanes="0.7"/>
    <link id="n" from="ne" to="nw" length="1000.0" freespeed="27.78" capacity="900.0" permlanes="1.0">
      <attributes><attribute name="type" class="java.lang.String">primary</attribute></attributes>
    </link>
    <link id="w" from="nw" to="sw" length="1000.0" freespeed="13.89" capacity="500.0" permlanes="1.0"/>
    <link id="e2" from="se" to="ne" length="1500.0" freespeed="13.89" capacity="500.0" permlanes="1.0"/>
    <link id="back" from="ne" to="se" length="1000.0" freespeed="13.89" capacity="500.0" permlanes="1.0"/>
    <link id="rail" from="ne" to="station" length="1000.0" freespeed="30" capacity="10" permlanes="1" modes="pt"/>
  </links>
</network>
"#;

fn read(test: &str, plans: &str) -> Result<Scenario, String> {
    Folder::with(test, &[("n.xml", NETWORK.as_bytes()), ("p.xml", plans.as_bytes())]).read("n.xml", "p.xml")
}

#[test]
fn networks_keep_capacities_lanes_and_names() {
    let folder = Folder::with("matsim-network", &[("n.xml.gz", &gzip(NETWORK.as_bytes()))]);
    let scenario = folder.read("n.xml.gz", "").unwrap();
    let (nodes, links) = scenario.names.as_ref().unwrap();
    let link = |name: &str| {
        let number = links.iter().position(|link| &**link == name).unwrap();
        let link = scenario.network.links[number];
        let ends = (&*nodes[link.from as usize], &*nodes[link.to as usize]);
        (ends, link.length_dm, link.speed_kmh, link.lanes, link.lane_flow)
    };
    assert_eq!(link("s"), (("sw", "se"), 10_000, 50, 2, 1_000), "1,000 in half an hour on two lanes");
    assert_eq!(link("e"), (("se", "ne"), 10_000, 50, 1, 1_000));
    assert_eq!(link("n"), (("ne", "nw"), 10_000, 100, 1, 1_800));
    assert_eq!((nodes.len(), links.len()), (4, 6), "no trains");
    assert_eq!(scenario.notes, ["1 links that are not for cars are left out"]);
    assert!(scenario.network.nodes.iter().all(|node| node.control == Control::Priority));
    assert_eq!(scenario.network.nodes[0].x.abs(), 500.0);
}

#[test]
fn the_selected_plan_becomes_trips() {
    let scenario = read(
        "matsim-v6",
        r#"<population>
          <person id="1"><attributes><attribute name="sex" class="java.lang.String">f</attribute></attributes>
            <plan score="1" selected="no"><activity type="h" link="s" end_time="01:00:00"/><leg mode="car"/>
              <activity type="w" link="n"/></plan>
            <plan score="2" selected="yes">
              <activity type="h" link="s" x="1" y="2" end_time="06:00:00"/>
              <leg mode="car" trav_time="00:05:00"><route type="links" start_link="s" end_link="w"
                trav_time="00:05:00">s e n w</route></leg>
              <activity type="w" link="w" max_dur="01:00:00"/>
              <leg mode="walk" trav_time="00:10:00"><route type="generic" start_link="w"/></leg>
              <activity type="shop" link="w" end_time="undefined" max_dur="00:30:00"/>
              <leg mode="car"/>
              <activity type="h" link="s"/>
            </plan></person>
          <person id="idle"><plan selected="yes"><activity type="h" link="s"/></plan></person>
          <person id="2"><plan selected="yes">
              <activity type="h" link="s" end_time="05:00"/><leg mode="pt"/>
              <activity type="w" link="e" end_time="07:00"/><leg mode="car"/>
              <activity type="h" link="w"/>
            </plan></person>
        </population>"#,
    );
    let scenario = scenario.unwrap();
    assert_eq!(departures(&scenario), [(0, 21_600), (0, 27_900), (1, 25_200)]);
    assert_eq!(names_along(&scenario, 0), ["e", "n", "w"], "cars begin at the end of their link");
    assert_eq!((ends(&scenario, 0), ends(&scenario, 1)), (("se", "sw"), ("sw", "se")));
    assert_eq!(scenario.trips.as_ref().unwrap()[1].via, None);
    assert_eq!(scenario.notes[1], "2 of 5 trips are left out: 2 are not by car");
}

#[test]
fn old_plans_have_nodes_for_routes() {
    let scenario = read(
        "matsim-v4",
        r#"<plans><person id="1">
          <plan><act type="h" x="0" y="0" link="w" end_time="06:00"/>
            <leg mode="car"><route>sw se ne</route></leg>
            <act type="w" link="n" dur="00:10"/>
            <leg mode="car"><route> </route></leg>
            <act type="w" link="n" dur="03:30"/>
            <leg mode="car"><route></route></leg>
            <act type="h" link="w"/></plan>
        </person></plans>"#,
    )
    .unwrap();
    assert_eq!(names_along(&scenario, 0), ["s", "e", "n"], "of two links the shorter one");
    let free = 72 + 72 + 36;
    assert_eq!(departures(&scenario)[0], (0, 21_600));
    let second = departures(&scenario)[1].1;
    assert!((21_600 + free + 13_200..21_600 + free + 13_210).contains(&second), "{second}");
    assert_eq!(scenario.notes[1], "1 of 3 trips are left out: 1 end where they begin");
}

#[test]
fn activities_without_links_are_at_the_nearest_node() {
    let scenario = read(
        "matsim-places",
        r#"<population><person id="1"><plan>
          <activity type="h" x="4500010.0" y="5799000.0" end_time="30:00:00"/><leg mode="car"/>
          <activity type="w" x="4500900.0" y="5800900.0"/></plan></person></population>"#,
    );
    let scenario = scenario.unwrap();
    assert_eq!((departures(&scenario), ends(&scenario, 0)), (vec![(0, 108_000)], ("sw", "ne")));
}

#[test]
fn routes_are_kept_where_activities_have_no_links() {
    let leg = |here: &str, route: &str, there: &str| {
        let person = format!(
            r#"<population><person id="1"><plan><activity type="h" {here} end_time="06:00"/>
              <leg mode="car"><route type="links">{route}</route></leg><activity type="w" {there}/></plan></person></population>"#
        );
        read("matsim-unlinked", &person).map(|scenario| {
            let has_route = scenario.trips.as_ref().unwrap()[0].via.is_some();
            let (from, to) = ends(&scenario, 0);
            let route = if has_route { names_along(&scenario, 0) } else { Vec::new() };
            (from.to_owned(), route.join(" "), to.to_owned())
        })
    };
    let (sw, ne) = (r#"x="4500000.0" y="5800000.0""#, r#"x="4501000.0" y="5801000.0""#);
    let trip = |from: &str, route: &str, to: &str| Ok((from.to_owned(), route.to_owned(), to.to_owned()));
    assert_eq!(leg(sw, "s e2 n", ne), trip("se", "e2 n", "nw"), "from the end of its first link to that of its last");
    assert_eq!(leg(r#"link="w""#, "w s e2", ne), trip("sw", "s e2", "ne"));
    assert_eq!(leg(sw, "s e2 n", r#"link="n""#), trip("se", "e2 n", "nw"));
    assert_eq!(leg("", "s e2 n", ""), trip("se", "e2 n", "nw"), "nobody says where the activities are");
    assert_eq!(leg(sw, "rail s e", ne), trip("sw", "", "ne"), "a route that cannot be kept is searched");
    assert_eq!(leg(sw, "s", ne), trip("sw", "", "ne"));
    assert_eq!(leg(sw, "s w n", ne), trip("sw", "", "ne"));
    assert_eq!(leg(sw, "s e", r#"link="n""#), trip("sw", "", "nw"));
}

#[test]
fn who_never_leaves_is_counted() {
    let person = |plan: &str| format!("<population><person id=\"1\"><plan>{plan}</plan></person></population>");
    let stays = r#"<activity type="h" link="s"/><leg mode="car"/><activity type="w" link="n"/>"#;
    let error = read("matsim-stays", &person(stays)).err().unwrap();
    assert!(error.contains("no trip that can be driven: 1 of 1 trips are left out: 1 have no time"), "{error}");
    let gap = r#"<activity type="h" link="s" end_time="06:00"/><leg mode="car"><route type="links">s n</route></leg>
        <activity type="w" link="n"/>"#;
    assert!(read("matsim-gap", &person(gap)).err().unwrap().contains("1 have a gap in their route"));
}

#[test]
fn mistakes_are_told_with_their_line() {
    let folder = Folder::new("matsim-mistakes");
    for (wrong, right, part) in [
        ("to=\"nowhere\"", "to=\"se\"", "n.xml, line 13: unknown node `nowhere`"),
        ("capacity=\"-5\"", "capacity=\"1000.0\"", "line 13: capacity should be above 0, found `-5`"),
        ("freespeed=\"NaN\"", "freespeed=\"13.89\"", "line 13: freespeed should be a number, found `NaN`"),
        ("length=\"long\"", "length=\"1000.0\"", "line 13: length should be a number, found `long`"),
        ("length=\"1e30\"", "length=\"1000.0\"", "line 13: too long: length may be at most 10000000 m, found `1e30`"),
        ("length=\"-1\"", "length=\"1000.0\"", "line 13: length should not be below 0, found `-1`"),
        (
            "freespeed=\"1e9\"",
            "freespeed=\"13.89\"",
            "line 13: too fast: freespeed may be at most 1000 m/s, found `1e9`",
        ),
        (
            "length=\"9e6\" freespeed=\"1\"",
            "length=\"1000.0\" freespeed=\"13.89\"",
            "line 13: too long for its speed: a drive along it may take 24 days at most",
        ),
        ("", "from=\"sw\"", "line 13: <link> has no from"),
        ("id=\"sw\"", "id=\"se\"", "line 7: a second node `sw`"),
        ("x=\"1e300\"", "x=\"4500000.0\"", "line 6: x is too large"),
        ("capperiod=\"0\"", "capperiod=\"00:30:00\"", "line 12: capperiod should be above 0"),
        ("<roads", "<network", "line 3: expected <network>, found `roads`"),
        ("&what;", "Atlantis", "line 4: unknown entity `what`"),
        ("", "</links>", "not well-formed"),
    ] {
        std::fs::write(folder.0.join("n.xml"), NETWORK.replacen(right, wrong, 1)).unwrap();
        folder.refuses("n.xml", "", part);
    }
    std::fs::write(folder.0.join("n.xml"), NETWORK).unwrap();
    for (plan, part) in [
        (r#"<act type="h" link="q"/>"#, "line 2: unknown link `q`"),
        (r#"<act link="s" end_time="noon"/>"#, "end_time should be a time, in seconds or as HH:MM:SS, found `noon`"),
        (r#"<leg mode="car"/>"#, "a leg without an activity before it"),
        (r#"<act link="s"/><act link="s"/>"#, "two activities without a leg"),
        (r#"<act link="s"/><leg/>"#, "<leg> has no mode"),
        (r#"<act link="s"/><leg mode="car"><route>sw q</route></leg>"#, "line 2: unknown node `q` in a route"),
        ("<act", "p.xml, line 2: not well-formed"),
    ] {
        let plans = format!("<plans>\n<person id=\"1\"><plan>{plan}</plan></person></plans>");
        std::fs::write(folder.0.join("p.xml"), plans).unwrap();
        folder.refuses("n.xml", "p.xml", part);
    }
    std::fs::write(folder.0.join("p.xml"), "<plans><person id=\"1\">").unwrap();
    folder.refuses("n.xml", "p.xml", "p.xml, line 1: the file is cut short");
}
