use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;

use bevy_affinity::prelude::*;
use indicatif::ProgressBar;
use serde_json::Value;

use super::*;
use crate::city::{City, Travel};
use crate::map::{Control, Link, Node};
use crate::model::{PARTS, TripRequest};
use crate::plain::Plain;
use crate::scenario::Files;
use crate::simulation::CityApp;
use crate::tests::{TempFolder, grid};

/// A folder for the files of one test.
struct Folder(TempFolder);

impl Folder {
    fn new(test: &str) -> Self {
        Self(TempFolder::not_made(test))
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.0.join(name)).unwrap()
    }

    /// Everything in it.
    fn files(&self) -> BTreeMap<String, String> {
        let names = fs::read_dir(&*self.0).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
        names.map(|name| (name.clone(), self.read(&name))).collect()
    }
}

fn two_way() -> Network {
    let nodes = vec![Node::new(-50.0, 0.0, Control::Signals), Node::new(50.0, 0.25, Control::Roundabout)];
    Network::new("a \"road\"", nodes, vec![Link::new(1, 0, 1_000, 1, 50), Link::new(0, 1, 1_000, 2, 36)])
}

/// One car drives from node 0 to node 1 in each of its rounds; seconds count from 0.
#[derive(Default)]
struct OneCar {
    now: u32,
}

impl Source for OneCar {
    fn take_ended(&mut self) -> Vec<EndedTrip> {
        self.now += 1;
        let trip = |car| EndedTrip {
            car,
            depart: self.now - 20,
            arrive: self.now - 1,
            from: 0,
            to: 1,
            free_seconds: 10,
            metres: 100,
            stuck: car == 7,
        };
        if self.now.is_multiple_of(100) { vec![trip(7), trip(3)] } else { Vec::new() }
    }

    fn totals(&mut self) -> Totals {
        let trips_arrived = u64::from(self.now / 100);
        Totals { on_road: 1, waiting: 2, trips_arrived, trips_stuck: trips_arrived, pushed: 5, ..Totals::default() }
    }

    fn links(&mut self, visit: &mut dyn FnMut(u32, LinkState)) {
        let left = u64::from(self.now / 100);
        visit(0, LinkState::default());
        visit(
            1,
            LinkState {
                entered: left + 1,
                left,
                parts_spent: 41 * left * u64::from(PARTS) / 2,
                occupancy: 1,
                queued: 0,
            },
        );
    }
}

#[test]
fn each_file_has_what_happened() {
    let folder = Folder::new("rows");
    let names = (vec!["west".into(), "ea\"st".into()], vec!["back".into(), "there".into()]);
    let mut output = Output::create(&folder.0, &two_way(), Some(&names)).unwrap();
    let mut source = OneCar::default();
    (0..950).for_each(|_| output.note_step(&mut source).unwrap());
    assert!(folder.0.join("trips.csv.part").exists() && !folder.0.join("trips.csv").exists());
    output.finish(&mut source).unwrap();
    let first = "car,depart,arrive,from,to,free_seconds,seconds\n3,80,99,0,1,10,19\n7,80,,0,1,10,\n3,180,199,";
    assert!(folder.read("trips.csv").starts_with(first));
    assert_eq!(folder.read("trips.csv").lines().count(), 1 + 2 * 9);
    let links = "link,from,to,metres,lanes,quarter_begins,entered,left,mean_seconds,mean_speed_kmh\n\
                 1,0,1,100.0,2,0,10,9,20.5,17.6\n";
    assert_eq!(folder.read("links.csv"), links, "nothing happened after the first quarter hour");
    let timeline = folder.read("timeline.csv");
    let rows: Vec<&str> = timeline.lines().collect();
    assert_eq!(
        rows[..3],
        ["second,on_road,waiting,arrived,stuck,pushed,mean_speed_kmh", "60,1,2,0,0,5,", "120,1,2,1,1,5,17.6"]
    );
    assert_eq!((rows.len(), rows[16]), (17, "950,1,2,9,9,5,"), "a last row for what is no full minute");
    let names: Vec<String> = folder.files().into_keys().collect();
    assert_eq!(names, ["day.svg", "fundamental.svg", "links.csv", "network.geojson", "timeline.csv", "trips.csv"]);
    assert!(names.len() == NAMES.len() && NAMES.iter().all(|&name| names.iter().any(|other| other == name)));
}

#[test]
fn the_network_is_json_with_all_numbers() {
    let folder = Folder::new("network");
    let names = (vec!["west".into(), "ea\"st".into()], vec!["back".into(), "there".into()]);
    let _output = Output::create(&folder.0, &two_way(), Some(&names)).unwrap();
    let map: Value = serde_json::from_str(&folder.read("network.geojson.part")).unwrap();
    assert_eq!(map["name"], "a \"road\"");
    let features = map["features"].as_array().unwrap();
    assert_eq!(features.len(), 4);
    assert_eq!(features[1]["properties"], serde_json::json!({"node": 1, "id": "ea\"st", "control": "roundabout"}));
    assert_eq!(features[0]["geometry"], serde_json::json!({"type": "Point", "coordinates": [-50.0, 0.0]}));
    let link = serde_json::json!({"link": 1, "id": "there", "from": 0, "to": 1, "metres": 100.0, "lanes": 2,
        "speed_kmh": 36, "lane_flow": 1800, "class": "residential"});
    assert_eq!(features[3]["properties"], link);
    assert_eq!(features[3]["geometry"]["coordinates"], serde_json::json!([[-50.0, 0.0], [50.0, 0.2]]));
}

#[test]
fn places_are_degrees_where_the_map_has_some() {
    let folder = Folder::new("degrees");
    let network = crate::map::isle_of_man().unwrap();
    let _output = Output::create(&folder.0, &network, None).unwrap();
    let map: Value = serde_json::from_str(&folder.read("network.geojson.part")).unwrap();
    assert_eq!(map.get("note"), None);
    let is_on_the_island = |place: &Value| {
        (-4.9..-4.2).contains(&place[0].as_f64().unwrap()) && (54.0..54.5).contains(&place[1].as_f64().unwrap())
    };
    for feature in map["features"].as_array().unwrap() {
        let (properties, places) = (&feature["properties"], &feature["geometry"]["coordinates"]);
        if let Some(number) = properties["node"].as_u64() {
            assert!(is_on_the_island(places), "{feature}");
            let node = &network.nodes[number as usize];
            assert!((properties["x"].as_f64().unwrap() - f64::from(node.x)).abs() < 0.1, "{feature}");
        } else {
            assert!(places.as_array().unwrap().iter().all(is_on_the_island), "{feature}");
        }
    }
}

#[test]
fn plots_are_well_formed_however_long_the_day() {
    let mut series = Series::default();
    for minute in 0..70_000 {
        series
            .add(60 * (minute + 1), &timeline::Minute { arrived: 2, decimetres: 6_000, parts: 60 * u64::from(PARTS) });
    }
    let mut fundamental = Fundamental::default();
    fundamental.add(&Link::new(0, 1, 1_000, 1, 50), &passage::Passage { entered: 9, left: 450, seconds: 9_000.0 });
    for plot in [series.plot(), fundamental.plot(), Series::default().plot(), Fundamental::default().plot()] {
        let mut reader = quick_xml::Reader::from_str(&plot);
        while reader.read_event().unwrap() != quick_xml::events::Event::Eof {}
        assert!(plot.len() < 100_000 && !plot.contains("NaN") && !plot.contains("inf"), "{plot}");
    }
    assert!(series.plot().contains("every 60 minutes"), "4,667 quarter hours do not fit");
    // 1,800 an hour at 100 vehicles a kilometre: in the 51st column of 75 and the 37th row of 48.
    assert!(fundamental.plot().contains(&format!("x=\"{:.1}\"", 70.0 + 560.0 * 50.0 / 75.0)));
}

#[test]
fn a_folder_that_cannot_be_written_is_told() {
    let folder = Folder::new("file");
    fs::write(&*folder.0, "in the way").unwrap();
    let error = Output::create(&folder.0, &two_way(), None).err().unwrap();
    assert!(error.contains("cannot make the folder") && error.lines().count() == 1, "{error}");
    fs::remove_file(&*folder.0).unwrap();
    fs::create_dir_all(folder.0.join("trips.csv.part")).unwrap();
    let error = Output::create(&folder.0, &two_way(), None).err().unwrap();
    assert!(error.contains("trips.csv.part: cannot write"), "{error}");
    assert!(!folder.0.join("network.geojson.part").exists(), "drafts go with what is refused");
    fs::remove_dir(folder.0.join("trips.csv.part")).unwrap();
    fs::create_dir(folder.0.join("links.csv")).unwrap();
    let error = Output::create(&folder.0, &two_way(), None).err().unwrap();
    assert!(error.contains("links.csv: cannot write: is a folder"), "{error}");
}

#[test]
fn two_runs_do_not_write_the_same_files() {
    let folder = Folder::new("twice");
    let first = Output::create(&folder.0, &two_way(), None).unwrap();
    let error = Output::create(&folder.0, &two_way(), None).err().unwrap();
    assert!(error.contains("another run is writing it"), "{error}");
    drop(first);
    assert!(Output::create(&folder.0, &two_way(), None).is_ok(), "one that was broken off is no obstacle");
}

fn requests() -> Vec<TripRequest> {
    let trip = |traveller: u32, depart, from, to| TripRequest { traveller, depart, from, to, via: None };
    let trips = |car: u32| {
        [trip(car, car % 300, car * 7 % 64, (car * 11 + 5) % 64), trip(car, 700, car * 11 % 64, car * 3 % 64)]
    };
    (0..400).flat_map(trips).filter(|trip| trip.from != trip.to).collect()
}

fn run(folder: &Folder, city: &Arc<City>, mut simulation: Box<dyn Simulation>) -> BTreeMap<String, String> {
    simulation.record();
    let mut output = Output::create(&folder.0, &city.network, None).unwrap();
    for _ in 0..2_000 {
        simulation.step();
        output.note_step(&mut *simulation).unwrap();
    }
    output.finish(&mut *simulation).unwrap();
    folder.files()
}

fn city(requests: &[TripRequest]) -> Arc<City> {
    Arc::new(City::with_trips(grid(8), Travel::default(), requests, &ProgressBar::hidden()).unwrap())
}

#[test]
fn the_files_are_the_same_whatever_runs_the_city() {
    let city = city(&requests());
    let (plain, gang) = (Folder::new("plain"), Folder::new("gang"));
    let expected = run(&plain, &city, Box::new(Plain::new(Arc::clone(&city))));
    let rows = |name: &str| expected[name].lines().count();
    assert!(rows("trips.csv") > 700 && rows("links.csv") > 150, "{} {}", rows("trips.csv"), rows("links.csv"));
    for (mode, workers) in [(SchedulerMode::LockStep, 3), (SchedulerMode::Heartbeat, 2)] {
        let settings = AffinitySettings { workers: WorkerCount::Exactly(workers), ..AffinitySettings::default() };
        let app = CityApp::on_gang(Arc::clone(&city), mode, settings);
        assert_eq!(run(&gang, &city, Box::new(app)), expected, "{mode:?}");
    }
}

#[test]
fn trips_of_a_run_can_be_run_again() {
    let city = city(&requests());
    let (first, second) = (Folder::new("first"), Folder::new("second"));
    let written = run(&first, &city, Box::new(Plain::new(Arc::clone(&city))));
    let files = Files { trips: Some(first.0.join("trips.csv")), ..Files::default() };
    let scenario = files.read(1, || Ok(grid(8))).unwrap();
    let again = self::city(&scenario.trips.unwrap());
    let rewritten = run(&second, &again, Box::new(Plain::new(Arc::clone(&again))));
    assert_eq!(rewritten["trips.csv"], written["trips.csv"]);
    assert_eq!(rewritten["links.csv"], written["links.csv"]);
}
