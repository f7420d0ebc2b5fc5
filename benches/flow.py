#!/usr/bin/env python3
"""Does traffic flow? Runs the traffic example for simulated hours and prints, for each map, how
many trips arrived in the second and the tenth hour, and how long they took.

    cargo build --release --example traffic
    benches/flow.py [--binary target/release/examples/traffic] [--night] [--map FILE ...] [--cars N]

--night runs on to the second morning with half as many cars again, and shows how jams dissolve.
"""

import argparse
import csv
import json
import subprocess
import tempfile
from pathlib import Path

HOUR = 3600
MAPS = ["Isle of Man", "--city 16", "--city 32", "--city 100"]


def run(binary, arguments, hours, folder):
    """The JSON of a run, which leaves its minutes in `folder`."""
    command = [binary, "--headless", "--json", "--mode", "plain", "--warmup", "0"]
    command += ["--steps", str(hours * HOUR), "--out", folder, *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def by_hour(folder):
    """For every hour: trips that arrived, stood stuck and pushed, and cars on the road at its end."""
    with open(Path(folder) / "timeline.csv", newline="") as file:
        minutes = {int(row["second"]): row for row in csv.DictReader(file)}
    marks = [minutes[second] for second in sorted(minutes) if second % HOUR == 0]
    if int(marks[0]["second"]) != 0:
        marks.insert(0, dict.fromkeys(marks[0], "0"))
    count = lambda before, after, key: int(after[key]) - int(before[key])
    return [
        {key: count(before, after, key) for key in ("arrived", "stuck", "pushed")}
        | {"on_road": int(after["on_road"])}
        for before, after in zip(marks, marks[1:])
    ]


def means(folder, hours):
    """For every hour: mean seconds of the trips that arrived in it, and on empty roads."""
    sums = [[0, 0, 0] for _ in range(hours + 1)]
    with open(Path(folder) / "trips.csv", newline="") as file:
        for trip in csv.DictReader(file):
            one = sums[min(int(trip["arrive"]) // HOUR, hours)]
            one[0] += 1
            one[1] += int(trip["seconds"])
            one[2] += int(trip["free_seconds"])
    return [(taken / max(trips, 1), taken / max(free, 1)) for trips, taken, free in sums]


def row(*cells):
    print("| " + " | ".join(str(cell) for cell in cells) + " |")


def measure(binary, name, arguments, hours):
    with tempfile.TemporaryDirectory() as folder:
        figures = run(binary, arguments, hours, folder)
        counted, taken = by_hour(folder), means(folder, hours)
    return figures, counted, taken


def day(binary, maps):
    row("map", "cars", "arrived in hour 2", "in hour 10", "ratio", "stuck", "pushed", "mean s, 11 to 12 h",
        "x empty roads", "in hour 10", "steps/s")
    row(*["---"] * 11)
    for name, arguments in maps:
        figures, counted, taken = measure(binary, name, arguments, 10)
        second, tenth = counted[1]["arrived"], counted[9]["arrived"]
        stuck, pushed = (sum(hour[key] for hour in counted) for key in ("stuck", "pushed"))
        row(name, f"{figures['cars']:,}", f"{second:,}", f"{tenth:,}", f"{tenth / second:.2f}", stuck, f"{pushed:,}",
            f"{taken[5][0]:.0f}", f"{taken[5][1]:.2f}", f"{taken[9][1]:.2f}", f"{figures['steps_per_second']:,.0f}")


def night(binary, maps):
    row("map", "cars", *[f"{hour % 24:02}:00" for hour in range(7, 32, 3)])
    row(*["---"] * 11)
    for name, arguments in maps:
        with tempfile.TemporaryDirectory() as folder:
            carries = run(binary, arguments, 1, folder)["cars"]
        cars = str(carries * 3 // 2)
        _, counted, taken = measure(binary, name, [*arguments, "--cars", cars], 25)
        cells = [f"{counted[hour]['on_road']:,} ({taken[hour][1]:.2f} x)" for hour in range(0, 25, 3)]
        row(name, cars, *cells)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--binary", default="target/release/examples/traffic")
    options.add_argument("--night", action="store_true")
    options.add_argument("--map", action="append", default=[], help="more maps, after the built-in ones")
    options.add_argument("--cars", help="cars on the maps that --map names")
    options.add_argument("--only", action="store_true", help="the maps that --map names and no others")
    given = options.parse_args()
    maps = [] if given.only else [(name, name.split() if name.startswith("--") else []) for name in MAPS]
    cars = ["--cars", given.cars] if given.cars else []
    maps += [(Path(file).name, ["--map", file, *cars]) for file in given.map]
    (night if given.night else day)(given.binary, maps)


if __name__ == "__main__":
    main()
