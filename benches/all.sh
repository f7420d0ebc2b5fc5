#!/usr/bin/env bash
# Nearly every table of BENCHMARKS.md in one go, on one machine: builds first, then each bench by itself, its output in a file.
#
#   benches/all.sh DIR [--quick]
#
# Some forty minutes on two cores after the builds, less with --quick (for a look). The machine should do nothing else
# meanwhile: the load it had before each bench is in the file `load`. `never_slower -- quota` needs root, `drawing` a display
# (`xvfb-run` will do), `compare` a C++ compiler, New York its map in MAP. Not in it: `flow.py`, `ablations.py` and `peers`,
# which take hours or other programs.
set -euo pipefail
out=${1:?"benches/all.sh DIR [--quick]"}
quick=("${@:2}")
if [ ${#quick[@]} -gt 0 ] && [ "${quick[*]}" != --quick ]; then
    echo "error: what is ${quick[*]}? benches/all.sh DIR [--quick]" >&2
    exit 2
fi
mkdir -p "$out"
# Before the change of folder: DIR and MAP are seen from where the script is called.
out=$(realpath "$out")
map=${MAP:+$(realpath "$MAP")}
cd "$(dirname "$0")/.."
# `never_slower` has the most cells.
fewer=(--rounds 30)
if [ ${#quick[@]} -gt 0 ]; then fewer=("${quick[@]}"); fi
failed=0

cargo bench --no-run --bench never_slower --bench frames --bench due --bench plain
cargo bench --no-run --bench compare --features rivals
game=(--ignore-rust-version --features game)
cargo bench --no-run "${game[@]}" --bench drawing --bench frames
cargo build --release "${game[@]}" --example traffic

# bench NAME ARGUMENTS: what `cargo ARGUMENTS` prints, in the file NAME.md.
bench() {
    printf '%s  %s  %s\n' "$(date +%H:%M:%S)" "$1" "$(cut -d' ' -f1-3 /proc/loadavg)" | tee -a "$out/load"
    cargo "${@:2}" >"$out/$1.md" 2>"$out/$1.log" || { echo "failed: see $out/$1.log"; failed=1; }
}
compare() { bench "compare-$1" bench --bench compare --features rivals -- "$@" "${quick[@]}"; }
never_slower() { bench "never-slower-$1" bench --bench never_slower -- "$@" "${fewer[@]}"; }
frames() { bench "frames-$1" bench --bench frames -- "$@" "${quick[@]}"; }
steps() {
    if [ ${#quick[@]} -gt 0 ]; then echo $(($1 / 20)); else echo "$1"; fi
}
# traffic NAME STEPS ARGUMENTS: all modes, then the plain program in turns with lock-step by one and two workers.
traffic() {
    local args=(traffic --headless "${@:3}" --steps "$(steps "$2")")
    bench "traffic-$1" "${args[@]}" --mode all --workers 2
    bench "traffic-$1-plain-1" "${args[@]}" --mode plain-and-gang --workers 1
    bench "traffic-$1-plain-2" "${args[@]}" --mode plain-and-gang --workers 2
}

for group in round sweep changed uneven fused tree joins same-core transforms batched messages ports; do compare $group; done
bench compare-ports-1 bench --bench compare --features rivals -- ports --compute-threads 1 "${quick[@]}"
for group in calls cold schedules chains busy neighbours quota idle bursts changes skew; do never_slower $group; done
for group in schedules matrix apps scenes game bursts start; do frames $group; done
bench frames-apps-game bench "${game[@]}" --bench frames -- apps scenes "${quick[@]}"
bench due bench --bench due -- --rounds 12
bench plain bench --bench plain
if [ -n "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ]; then bench drawing bench "${game[@]}" --bench drawing; else echo "no display: without drawing"; fi
traffic 32 6000 --city 32 --warmup 3600
traffic 100 1500 --city 100 --warmup 3600
traffic 256 300 --city 256 --warmup 3600
if [ -n "$map" ]; then traffic new-york 200 --map "$map" --start 07:00 --warmup 600; else echo "no MAP: without New York"; fi
echo "done: $out"
exit "$failed"
