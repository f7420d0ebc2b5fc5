#!/usr/bin/env python3
"""The traffic example against SUMO: the same network, departures and routes.

    pip install eclipse-sumo        # SUMO 1.2x with netgenerate, duarouter and the tools
    cargo build --release --example traffic
    benches/peers/with_sumo.py [--program target/release/examples/traffic] [--out folder]

Makes grids and demand with SUMO's own tools (fixed routes by duarouter), runs SUMO's mesoscopic and
microscopic model and ours, and prints a table in Markdown. `--net` and `--routes` take a scenario
that is there instead.
"""

import argparse
import csv
import json
import os
import subprocess
import sys
import time
import xml.etree.ElementTree as xml
from collections import Counter

import sumo

TOOLS = os.path.join(sumo.SUMO_HOME, "tools")
BIN = os.path.join(sumo.SUMO_HOME, "bin")

# Name, netgenerate's options, seconds between departures: from nearly empty to above capacity.
GRIDS = [
    ("grid, right of way, quiet", ["--grid.number=8", "--default-junction-type=priority"], 2.0),
    ("grid, right of way", ["--grid.number=8", "--default-junction-type=priority"], 0.8),
    ("grid, signals, quiet", ["--grid.number=8", "--default-junction-type=traffic_light"], 2.0),
    ("grid, signals", ["--grid.number=8", "--default-junction-type=traffic_light"], 0.8),
    ("grid, signals, crowded", ["--grid.number=8", "--default-junction-type=traffic_light"], 0.4),
]

# Seconds for which edges are counted.
QUARTER = 900

# Seconds in which cars depart, and until which they may arrive.
DEPARTURES = 3600
END = 4 * 3600


def run(command, **options):
    """Runs a command to its end; what it says is shown only if it fails."""
    result = subprocess.run(command, capture_output=True, text=True, **options)
    if result.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{result.stderr or result.stdout}")
    return result.stdout


def tool(name):
    return os.path.join(BIN, name)


def make(folder, options, period):
    """A grid with demand in it: the network's and the routes' file."""
    net, routes = os.path.join(folder, "grid.net.xml"), os.path.join(folder, "grid.rou.xml")
    common = ["--grid", "--grid.length=200", "--default.lanenumber=1", "--no-turnarounds", "--seed=7", "-o", net]
    run([tool("netgenerate"), *options, *common])
    trips = [sys.executable, os.path.join(TOOLS, "randomTrips.py"), "-n", net, "-e", str(DEPARTURES), "-p", str(period)]
    run([*trips, "--seed", "3", "--min-distance", "600", "-o", routes + ".trips", "-r", routes, "--validate"], cwd=folder)
    return net, routes


def run_sumo(folder, net, routes, additional, meso):
    """Mean travel time with the wait for the first road, arrivals, flows of edges, wall clock."""
    name = "meso" if meso else "micro"
    edges, trips = os.path.join(folder, name + ".edges.xml"), os.path.join(folder, name + ".trips.xml")
    request = os.path.join(folder, name + ".add.xml")
    with open(request, "w") as out:
        out.write(f'<additional><edgeData id="all" period="{QUARTER}" file="{os.path.basename(edges)}"/></additional>')
    options = ["-n", net, "-r", routes, "-a", ",".join([request, *additional]), "--tripinfo-output", trips]
    options += ["--end", str(END), "--no-step-log", "--no-warnings", "--xml-validation", "never"]
    if meso:
        options += ["--mesosim", "--meso-junction-control"]
    start = time.monotonic()
    run([tool("sumo"), *options])
    seconds = time.monotonic() - start
    times = {}
    for trip in xml.parse(trips).getroot().iter("tripinfo"):
        times[trip.get("id")] = float(trip.get("duration")) + float(trip.get("departDelay"))
    passages = Passages()
    for interval in xml.parse(edges).getroot().iter("interval"):
        for edge in interval.iter("edge"):
            left = float(edge.get("left", 0)) + float(edge.get("arrived", 0))
            passages.add(edge.get("id"), float(interval.get("begin")), left, float(edge.get("traveltime", 0)))
    return times, passages, seconds


def run_ours(folder, program, net, routes, additional):
    out = os.path.join(folder, "ours")
    files = ",".join([*additional, routes])
    command = [program, "--headless", "--mode", "plain", "--net", net, "--routes", files, "--steps", str(END)]
    start = time.monotonic()
    figures = json.loads(run([*command, "--json"]))
    seconds = time.monotonic() - start
    run([*command, "--json", "--out", out])
    with open(os.path.join(out, "trips.csv")) as rows:
        times = {row["car"]: float(row["seconds"]) for row in csv.DictReader(rows) if row["seconds"]}
    with open(os.path.join(out, "network.geojson")) as file:
        links = [feature["properties"] for feature in json.load(file)["features"]]
    names = {link["link"]: link["id"] for link in links if "link" in link}
    passages = Passages()
    with open(os.path.join(out, "links.csv")) as rows:
        for row in csv.DictReader(rows):
            edge, begin, left = names[int(row["link"])], float(row["quarter_begins"]), float(row["left"])
            passages.add(edge, begin, left, float(row["mean_seconds"] or 0))
    return times, passages, seconds, figures


class Passages:
    """Cars that left each edge by quarter hour, and the mean seconds on each edge."""

    def __init__(self):
        self.flows, self.left, self.spent = Counter(), Counter(), Counter()

    def add(self, edge, begin, left, seconds):
        self.flows[edge, begin] += left
        self.left[edge] += left
        self.spent[edge] += left * seconds

    def seconds(self):
        return Counter({edge: self.spent[edge] / left for edge, left in self.left.items() if left})


def ranks(values):
    """Ranks from 1; equal values share their mean rank."""
    order = sorted(range(len(values)), key=values.__getitem__)
    result, first = [0.0] * len(values), 0
    while first < len(order):
        last = first
        while last + 1 < len(order) and values[order[last + 1]] == values[order[first]]:
            last += 1
        for place in range(first, last + 1):
            result[order[place]] = (first + last) / 2 + 1
        first = last + 1
    return result


def rank_correlation(a, b):
    """Spearman's, over all keys for which either counts something."""
    edges = sorted(set(edge for edge in a if a[edge]) | set(edge for edge in b if b[edge]))
    x, y = ranks([a[edge] for edge in edges]), ranks([b[edge] for edge in edges])
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    product = sum((p - mean_x) * (q - mean_y) for p, q in zip(x, y))
    squares = sum((p - mean_x) ** 2 for p in x) * sum((q - mean_y) ** 2 for q in y)
    return product / squares**0.5 if squares else float("nan")


def mean(times):
    return sum(times.values()) / max(len(times), 1)


def compare(name, folder, program, net, routes, additional):
    ours, passages, seconds, figures = run_ours(folder, program, net, routes, additional)
    row = [name, str(figures["cars"]), f"{mean(ours):.0f}", str(len(ours)), str(figures["trips_pushed"])]
    for meso in [True, False]:
        theirs, their_passages, their_seconds = run_sumo(folder, net, routes, additional, meso)
        difference = mean(ours) / mean(theirs) - 1
        row += [f"{mean(theirs):.0f} ({difference:+.0%})", str(len(theirs))]
        row += [f"{rank_correlation(passages.flows, their_passages.flows):.3f}"]
        row += [f"{rank_correlation(passages.seconds(), their_passages.seconds()):.3f}"]
        row += [f"{their_seconds / seconds:.0f} x"]
    print("| " + " | ".join(row) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="target/release/examples/traffic")
    parser.add_argument("--out", default="peers-sumo", help="folder for everything that is made")
    parser.add_argument("--net", help="a SUMO network, in the place of the grids")
    parser.add_argument("--routes", help="its vehicles")
    parser.add_argument("--additional", default="", help="files with types of vehicles, with commas between")
    parser.add_argument("--name", default="scenario")
    options = parser.parse_args()
    program = os.path.abspath(options.program)
    print(run([tool("sumo"), "--version"]).splitlines()[0])
    columns = ["scenario", "cars", "ours, mean s", "arrived", "pushed"]
    for peer in ["meso", "micro"]:
        columns += [f"{peer}, mean s (ours)", "arrived", "ranks of flows", "of times on edges", "its time / ours"]
    print("| " + " | ".join(columns) + " |\n|" + "---|" * len(columns))
    if options.net:
        os.makedirs(options.out, exist_ok=True)
        files = [os.path.abspath(path) for path in options.additional.split(",") if path]
        folder = os.path.abspath(options.out)
        compare(options.name, folder, program, os.path.abspath(options.net), os.path.abspath(options.routes), files)
        return
    for number, (name, arguments, period) in enumerate(GRIDS):
        folder = os.path.abspath(os.path.join(options.out, str(number)))
        os.makedirs(folder, exist_ok=True)
        net, routes = make(folder, arguments, period)
        compare(name, folder, program, net, routes, [])


if __name__ == "__main__":
    main()
