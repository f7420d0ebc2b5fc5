#!/usr/bin/env python3
"""What does each mechanism give? Builds the crate without each in turn, and lets the builds take turns.

    benches/ablations.py [--rounds N] [--mechanisms A,B] [--groups A,B] [--build-only]

Prints a table: how long mode Auto takes without a mechanism, as a multiple of the time with all of them;
above 1 the mechanism gives something. Medians over rounds of the geometric mean of the cells of each group.
"""
import argparse
import json
import math
import os
import shutil
import statistics
import subprocess
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
COMPLETE = ""
# The names in src/ablation.rs.
MECHANISMS = ["stealing", "balancing", "settling", "participants", "eviction", "leader-moves", "trials", "retrials", "footprints"]
# Groups of the bench `never_slower`, and what is asked of the simulation.
GROUPS = {
    "calls": ["calls", "--rows", "1000,10000", "--quick"],
    "busy": ["busy", "--quick"],
    "quota": ["quota", "--quick"],
    "changes": ["changes"],
    "skew": ["skew"],
}
CITIES = [32, 100]


def executable(arguments, env):
    """Builds with cargo and returns the path of what was built."""
    said = subprocess.run(["cargo", *arguments, "--message-format", "json"], cwd=ROOT, env=env, check=True, capture_output=True, text=True)
    built = [json.loads(line) for line in said.stdout.splitlines() if line.startswith("{")]
    return [entry["executable"] for entry in built if entry.get("executable")][-1]


def build(folder, mechanisms):
    """Copies of the bench and the simulation, without each mechanism."""
    for name in [COMPLETE, *mechanisms]:
        env = os.environ | {"AFFINITY_WITHOUT": name}
        bench = executable(["bench", "--bench", "never_slower", "--no-run"], env)
        traffic = executable(["build", "--release", "--example", "traffic"], env)
        for kind, path in [("bench", bench), ("traffic", traffic)]:
            shutil.copy(path, os.path.join(folder, f"{kind}-{name or 'complete'}"))
        print(f"built: {'all' if not name else 'without ' + name}", flush=True)


def nanoseconds_of_auto(entry):
    """The median of Auto in one cell; of `skew`, how far shares were from even in a frame, on average."""
    figures = entry["figures"]
    if "contenders" in figures:
        return next((each["median"] for each in figures["contenders"] if each["name"].endswith("Auto")), None)
    if "imbalances" in figures and entry["cell"] == "Auto":
        known = [value for value in figures["imbalances"] if value]
        return statistics.mean(known) if known else None
    return None


def run_group(folder, name, arguments):
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        command = [os.path.join(folder, f"bench-{name or 'complete'}"), "--bench", *arguments, "--json", file.name]
        subprocess.run(command, check=True, capture_output=True)
        entries = json.load(open(file.name))
    return {entry["cell"]: time for entry in entries if (time := nanoseconds_of_auto(entry))}


def run_city(folder, name, city):
    command = [os.path.join(folder, f"traffic-{name or 'complete'}"), "--headless", "--city", str(city)]
    command += ["--mode", "auto", "--workers", "2", "--steps", "600", "--warmup", "3600", "--json"]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return {"step": json.loads(said)["seconds"]}


def mean_ratio(times, complete):
    """The geometric mean of the ratios of the cells that both have."""
    logs = [math.log(time / complete[cell]) for cell, time in times.items() if complete.get(cell)]
    return math.exp(statistics.mean(logs)) if logs else math.nan


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", help="where the builds are kept [default: a temporary folder]")
    parser.add_argument("--build-only", action="store_true")
    parser.add_argument("--run-only", action="store_true", help="with what is in --folder")
    parser.add_argument("--mechanisms", default=",".join(MECHANISMS))
    parser.add_argument("--groups", default=",".join([*GROUPS, "traffic"]))
    arguments = parser.parse_args()
    folder = arguments.folder or tempfile.mkdtemp()
    os.makedirs(folder, exist_ok=True)
    mechanisms = arguments.mechanisms.split(",")
    if not arguments.run_only:
        build(folder, mechanisms)
    if arguments.build_only:
        return
    contests = {group: lambda name, group=group: run_group(folder, name, GROUPS[group]) for group in GROUPS}
    for city in CITIES:
        contests[f"traffic {city}"] = lambda name, city=city: run_city(folder, name, city)
    wanted = arguments.groups.split(",")
    contests = {group: run for group, run in contests.items() if group.split()[0] in wanted}
    ratios = {(name, group): [] for name in mechanisms for group in contests}
    for _ in range(arguments.rounds):
        for group, run in contests.items():
            complete = run(COMPLETE)
            for name in mechanisms:
                ratios[name, group].append(mean_ratio(run(name), complete))
            # Once more in the end: how far two runs of the same build are apart is what is noise.
            ratios.setdefault(("(nothing: noise)", group), []).append(mean_ratio(run(COMPLETE), complete))
    print("| without | " + " | ".join(contests) + " |")
    print("|---" * (len(contests) + 1) + "|")
    for name in [*mechanisms, "(nothing: noise)"]:
        cells = [ratios[name, group] for group in contests]
        shown = [f"{statistics.median(cell):.2f} ({min(cell):.2f} to {max(cell):.2f})" for cell in cells]
        print(f"| {name} | " + " | ".join(shown) + " |")


if __name__ == "__main__":
    main()
