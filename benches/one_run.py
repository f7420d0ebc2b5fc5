#!/usr/bin/env python3
"""Puts the tables that `benches/all.sh DIR` has made into `benches/results/one-run.md`.

    benches/one_run.py DIR

What stands there above the first of them (the machine, and what is lost) is written by hand, and stays.
"""

import re
import sys
from pathlib import Path

PAGE = Path(__file__).parent / "results" / "one-run.md"

# Heading, then the files of its tables.
SECTIONS = [
    (
        "Rounds, sweeps, fork/join",
        "round sweep changed uneven fused tree joins same-core transforms batched messages".split(),
        "compare-",
    ),
    ("Programs written for Bevy, two compute threads", ["ports"], "compare-"),
    ("Programs written for Bevy, one compute thread", ["ports-1"], "compare-"),
    ("Never slower?", "calls cold schedules chains busy neighbours quota idle bursts changes skew".split(), "never-slower-"),
    ("Whole frames", "schedules matrix apps scenes game bursts start".split(), "frames-"),
    ("Frames with the plugins for drawing, without a window", ["apps-game"], "frames-"),
    ("Due rows", ["due"], ""),
    ("An app that draws, under Xvfb on a software rasteriser", ["drawing"], ""),
]

TRAFFIC = [("32 x 32", "32"), ("100 x 100", "100"), ("256 x 256", "256"), ("New York", "new-york")]

# Columns of the traffic example's table that are kept, by their places.
COLUMNS = {0: "mode", 1: "workers", 2: "steps/s", 5: "mean step", 6: "p99 step", 7: "x the first"}


def tables(path):
    """What a bench printed behind the lines about the machine."""
    text = path.read_text()
    lines = text.splitlines()
    first = next((place for place, line in enumerate(lines) if line.strip() and not line.startswith("- ")), 0)
    return "\n".join(lines[first:]).strip()


def rows(text):
    """The cells of the traffic example's table."""
    for line in text.splitlines():
        cells = [cell.strip() for cell in re.split(r"\s{2,}", line.strip())]
        if len(cells) >= 8 and cells[0] != "mode" and cells[1].isdigit():
            yield [f"{int(cell):,}" if cell.isdigit() else cell for cell in cells]


def traffic_table(path):
    text = path.read_text()
    heads = list(COLUMNS.values())
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    lines += ["| " + " | ".join(cells[place] for place in COLUMNS) + " |" for cells in rows(text)]
    state = re.search(r"^State (\w+)", text, re.MULTILINE)[1]
    return "\n".join(lines) + f"\n\nState `{state}` in all."


def traffic(folder):
    for name, file in TRAFFIC:
        path = folder / f"traffic-{file}.md"
        if not path.exists():
            continue
        cars = re.search(r"([\d,]+) cars", path.read_text())[1]
        yield f"### {name}, {cars} cars\n\n{traffic_table(path)}"
        yield "The plain program in turns with one worker, then with two:"
        yield from (traffic_table(folder / f"traffic-{file}-plain-{workers}.md") for workers in (1, 2))


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = Path(sys.argv[1])
    parts = []
    for heading, files, prefix in SECTIONS:
        paths = [folder / f"{prefix}{file}.md" for file in files]
        for path in (path for path in paths if not path.exists()):
            print(f"missing: {path}", file=sys.stderr)
        there = [tables(path) for path in paths if path.exists()]
        parts += [f"## {heading}", *there] if there else []
    parts += ["## Traffic", *traffic(folder)]
    head = PAGE.read_text().split(f"## {SECTIONS[0][0]}")[0].rstrip()
    PAGE.write_text("\n\n".join([head, *parts]) + "\n")


if __name__ == "__main__":
    main()
