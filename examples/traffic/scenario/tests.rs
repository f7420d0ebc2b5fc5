//! Trips as CSV.

use super::Files;
use super::testing::{Folder, departures};
use crate::model::{Order, Timing};

const LINE: &str = r#"<network><nodes><node id="a" x="0" y="0"/><node id="b" x="100" y="0"/>
    <node id="c" x="200" y="0"/></nodes><links>
    <link id="ab" from="a" to="b" length="100" freespeed="10" capacity="1800"/>
    <link id="bc" from="b" to="c" length="100" freespeed="10" capacity="1800"/>
    <link id="ca" from="c" to="a" length="200" freespeed="10" capacity="1800"/></links></network>"#;

#[test]
fn trips_come_with_or_without_travellers() {
    for (csv, expected) in [
        ("depart,from,to\n06:00,0,1\n5,1,2\n", vec![(0, 21_600), (1, 5)]),
        ("to, from ,note,depart\n1,0,\"x, y\",7\n\n# a remark\n2,1,,8\n", vec![(0, 7), (1, 8)]),
        ("traveller,depart,from,to\n9,20,1,2\n4,5,0,1\n9,10,0,1\n", vec![(0, 5), (1, 10), (1, 20)]),
        ("car,depart,arrive,from,to\n1,5,9,0,1\n0,6,,1,2\n", vec![(0, 6), (1, 5)]),
        ("depart,from,to\r\n1,0,1\r\n2,0,0\r\n", vec![(0, 1)]),
        ("depart,from,to,note\n1,0,1,\"x\ry\"\n", vec![(0, 1)]),
    ] {
        let folder = Folder::with("csv", &[("n.xml", LINE.as_bytes()), ("t.csv", csv.as_bytes())]);
        assert_eq!(departures(&folder.read("n.xml", "t.csv").unwrap()), expected, "{csv}");
    }
}

#[test]
fn any_map_takes_trips() {
    let folder = Folder::with("csv-isle", &[("t.csv", b"depart,from,to\n0,0,4000\n")]);
    let files = Files { trips: Some(folder.0.join("t.csv")), ..Files::default() };
    let scenario = files.read(1, crate::map::isle_of_man).unwrap();
    assert_eq!((scenario.trips.as_ref().unwrap().len(), scenario.end()), (1, Some(3_600)));
}

#[test]
fn mistakes_are_told_with_their_line() {
    for (csv, part) in [
        ("", "t.csv, line 1: the columns should be depart,from,to, found ``"),
        ("start,from,to\n", "line 1: the columns should be depart,from,to, found `start,from,to`"),
        ("depart,from,to\n0,0\n", "t.csv, line 2: 2 fields, but 3 columns"),
        ("depart,from,to\n\n1,0,3\n", "line 3: unknown node 3: the nodes are 0 to 2"),
        ("depart,from,to\n1,-1,2\n", "line 2: from should be a whole number, found `-1`"),
        ("depart,from,to\n1,99999999999,2\n", "line 2: from is too large, found `99999999999`"),
        ("depart,from,to\n1,0,1\n25h,1,2\n", "line 3: depart should be a time"),
        ("depart,from,to\n1,\u{1b}[2J,2\n", "found `\\u{1b}[2J`"),
        ("traveller,depart,from,to\nJohn,1,0,1\n", "traveller should be a whole number, found `John`"),
        ("depart,from,to\r1,0,1\r", "t.csv, line 1: lines should end with LF or CRLF"),
        ("depart,from,to\n1,0,1\r2,0\n", "line 2: lines should end with LF or CRLF"),
        ("depart,from,to\n# a remark\r1,0,1\n2,0,1\n", "line 2: lines should end with LF or CRLF"),
        ("depart,from,to\n", "t.csv: no trip that can be driven"),
        ("depart,from,to\n1,1,1\n", "no trip that can be driven: 1 of 1 trips are left out: 1 end where they begin"),
    ] {
        let folder = Folder::with("csv-mistakes", &[("n.xml", LINE.as_bytes()), ("t.csv", csv.as_bytes())]);
        folder.refuses("n.xml", "t.csv", part);
    }
    let folder = Folder::with("csv-bytes", &[("n.xml", LINE.as_bytes()), ("t.csv", b"depart,from,to\n0,\xff,1\n")]);
    folder.refuses("n.xml", "t.csv", "line 2: not UTF-8 text");
    folder.refuses("n.xml", "missing.csv", "missing.csv: cannot open");
}

const ORDERS: &str = "at,order,where,cycle,green,offset\n";

fn orders(csv: &str) -> Result<Vec<(u32, Order)>, String> {
    let folder = Folder::with("orders", &[("o.csv", csv.as_bytes())]);
    let files = Files { orders: Some(folder.0.join("o.csv")), ..Files::default() };
    let scenario = files.read(1, || crate::map::city::generate(4, 1)).map_err(|error| error.to_string())?;
    Ok(scenario.orders.orders)
}

#[test]
fn orders_come_in_any_order_of_columns() {
    let timing = Timing { cycle: 60, main_green: 20, offset: 5 };
    let all = "00:02:00,signals,3,60,20,5\n7,close,12,,,\n8,reopen,12,,,\n9,rush,15,,,\n";
    let expected = [
        (120, Order::Signals { node: 3, timing }),
        (7, Order::Road { road: 12, closed: true }),
        (8, Order::Road { road: 12, closed: false }),
        (9, Order::RushHour { node: 15 }),
    ];
    assert_eq!(orders(&format!("{ORDERS}{all}")).unwrap(), expected);
    let few = "where,at,why,order\n# nothing else is needed to close a road\n3,5,works,close\n";
    assert_eq!(orders(few).unwrap(), [(5, Order::Road { road: 3, closed: true })]);
}

#[test]
fn mistakes_in_orders_are_told_with_their_line() {
    for (csv, part) in [
        ("", "o.csv, line 1: the columns should be at,order,where,cycle,green,offset, found ``"),
        ("at,order\n", "line 1: the columns should be at,order,where"),
        (
            &format!("{ORDERS}1,open,3,,,\n"),
            "line 2: order should be signals, add-signals, remove-signals, close, reopen or rush, found `open`",
        ),
        (&format!("{ORDERS}1,close,3\n"), "line 2: 3 fields, but 6 columns"),
        (&format!("{ORDERS}\n1,close,48,,,\n"), "line 3: there is no road 48: the last is 47"),
        (&format!("{ORDERS}1,rush,16,,,\n"), "line 2: there is no intersection 16: the last is 15"),
        (&format!("{ORDERS}1,signals,3,300,20,5\n"), "20 to 180 s"),
        (&format!("{ORDERS}1,signals,3,60,,5\n"), "green should be a whole number, found ``"),
        ("at,order,where\n1,signals,3\n", "line 2: signals need a column cycle"),
        (&format!("{ORDERS}-1,close,3,,,\n"), "line 2: at should be a time"),
    ] {
        let error = orders(csv).unwrap_err();
        assert!(error.contains(part) && !error.contains('\n'), "{error}");
    }
}
