#!/usr/bin/env python3
"""What does a call cost the compiler? Builds programs of few and of many systems, and shares out the difference.

    benches/build_times.py [--few N] [--many N] [--turns N] [--profile release|dev]

Prints a table: seconds of one core, and kilobytes of the program, for each system more; medians of turns.
"""
import argparse
import os
import re
import resource
import shutil
import statistics
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
COMPONENTS = """#![allow(dead_code)]
use bevy::prelude::*;
use bevy_affinity::prelude::*;
#[derive(Component)]
pub struct A(f32);
#[derive(Component)]
pub struct B(f32);
"""
# What one system is, with its number in place of `N`; a tag behind it, if it has one.
SYSTEMS = {
    "Bevy `iter_mut`": ("mut rows: Query<(&mut A, &B)>", "rows.iter_mut().for_each(|(mut a, b)| a.0 = a.0 * N.5 + b.0);", ""),
    "Bevy `par_iter_mut`": ("mut rows: Query<(&mut A, &B)>", "rows.par_iter_mut().for_each(|(mut a, b)| a.0 = a.0 * N.5 + b.0);", ""),
    "`for_each`": ("mut rows: AffineQuery<(&mut A, &B)>", "rows.par_iter_mut().for_each(|(mut a, b)| a.0 = a.0 * N.5 + b.0);", ".affine()"),
    "`for_each_chunk`": (
        "mut rows: AffineQuery<(&mut A, &B)>",
        "rows.par_iter_mut().for_each_chunk(|(a, b)| for (a, b) in a.iter_mut().zip(b) { a.0 = a.0 * N.5 + b.0; });",
        ".affine()",
    ),
    "`map_reduce`": (
        "rows: AffineQuery<(&A, &B)>, mut sum: Local<f32>",
        "*sum += rows.par_iter().map_reduce(|| 0.0, |(a, b)| a.0 * N.5 + b.0, |a, b| a + b);",
        ".affine()",
    ),
    "`due`": (
        "mut rows: AffineQuery<(&mut A, &B)>, mut agenda: Agenda",
        "rows.par_iter_mut().due(&mut agenda, 5).for_each(|(mut a, b)| { a.0 = a.0 * N.5 + b.0; Some(a.0 as u64) });",
        ".affine()",
    ),
    "`scatter_within`": (
        "mut rows: AffineQuery<(Entity, &mut A)>",
        "rows.par_iter_mut().scatter_within(|outbox, (entity, a)| outbox.send(entity, a.0 * N.5), |(_, mut a), more| a.0 += more);",
        ".affine()",
    ),
}


def program(system, count):
    parameters, body, tag = system
    functions = [f"fn system_{n}({parameters}) {{ {body.replace('N.5', f'{n}.5')} }}" for n in range(count)]
    added = [f"    app.add_systems(Update, system_{n}{tag});" for n in range(count)]
    main = ["fn main() {", "    let mut app = App::new();", "    app.add_plugins(AffinityParallelPlugin);", *added, "    app.update();", "}"]
    return "\n".join([COMPONENTS, *functions, *main, ""])


def manifest():
    """Bevy with the features of this crate's examples, so that it is built once."""
    ours = open(os.path.join(ROOT, "Cargo.toml")).read()
    bevy = re.search(r"^bevy = .*$", ours, re.MULTILINE).group()
    return f"""
[package]
name = "build_times"
edition = "2024"

[dependencies]
bevy_affinity = {{ path = "{ROOT}" }}
{bevy}

[profile.dev]
opt-level = 1

[profile.dev.package."*"]
opt-level = 0

[workspace]
"""


def build(folder, source, profile):
    """Seconds of one core that the program takes, without what it depends on, and its bytes."""
    open(os.path.join(folder, "src", "main.rs"), "w").write(source)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(["cargo", "build", "--quiet", "--profile", profile], cwd=folder, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    target = os.environ["CARGO_TARGET_DIR"]
    path = os.path.join(target, "debug" if profile == "dev" else profile, "build_times")
    return seconds, os.path.getsize(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--few", type=int, default=5)
    parser.add_argument("--many", type=int, default=25)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--profile", choices=["release", "dev"], default="release")
    args = parser.parse_args()
    if args.many <= args.few:
        parser.error("--many is to be more than --few")
    # Cargo runs in a folder of its own.
    target = os.path.abspath(os.environ.get("CARGO_TARGET_DIR", os.path.join(ROOT, "target")))
    os.environ["CARGO_TARGET_DIR"] = target
    os.environ["CARGO_INCREMENTAL"] = "0"
    os.environ.pop("CARGO_BUILD_TARGET", None)
    folder = os.path.join(target, "build-times")
    os.makedirs(os.path.join(folder, "src"), exist_ok=True)
    open(os.path.join(folder, "Cargo.toml"), "w").write(manifest())
    shutil.copy(os.path.join(ROOT, "Cargo.lock"), folder)
    # What all of them depend on.
    build(folder, "fn main() {}\n", args.profile)
    print(f"| {args.profile}, each system more | seconds of one core | KB of the program |\n|---|---|---|")
    for name, system in SYSTEMS.items():
        turns = [[build(folder, program(system, count), args.profile) for count in (args.few, args.many)] for _ in range(args.turns)]
        each = [[(many[n] - few[n]) / (args.many - args.few) for few, many in turns] for n in (0, 1)]
        print(f"| {name} | {statistics.median(each[0]):.2f} | {statistics.median(each[1]) / 1e3:.0f} |", flush=True)


if __name__ == "__main__":
    main()
