# What both sanitizers do. Sourced, with $name (how the sanitizer signs its reports) and $sanitizer (as rustc calls it).
#
# The tests are those whose threads share memory; nothing that draws is built. The profile `sanitize` and `--cfg affinity_sanitize`
# (smaller cases, and the planted faults of `tests/planted.rs`) keep them short. A target folder of its own, outside the clone, keeps
# what was built: only a first run takes long.

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
cache="$HOME/.cache/bevy_affinity"
target=x86_64-unknown-linux-gnu
if [ "$(uname -s)-$(uname -m)" != Linux-x86_64 ]; then
    echo "$name: skipped: set up for Linux on x86-64 only"
    exit 0
fi

# Both sanitizers need flags that are unstable; this lets a stable compiler take them.
export RUSTC_BOOTSTRAP=1
export CARGO_TARGET_DIR="$cache/target-$sanitizer"
export RUSTFLAGS="-Zsanitizer=$sanitizer --cfg=affinity_sanitize"
export PROPTEST_CASES="${PROPTEST_CASES:-32}"

tests=(faults gang it stealing)

# Seconds that the tests may take at most: a guard against hangs.
patience=600

# `cargo COMMAND ...`, instrumented. Arguments that only one of the sanitizers needs are in $extra.
extra=()
instrumented() {
    cargo "$1" --quiet --profile sanitize --target "$target" "${extra[@]}" "${@:2}"
}

# Builds all that is run. A first build takes long. Where SANITIZER_SECONDS is set, building and running end by then: what was not
# built in time is not run, which the last line says, and the next call goes on with the build.
build_all() {
    build test --lib --test=planted "${tests[@]/#/--test=}" --no-run
    build build --example traffic
}

build() {
    local status=0 seconds=0
    if [ -n "${SANITIZER_SECONDS:-}" ]; then
        seconds=$((SANITIZER_SECONDS - patience - SECONDS))
        [ "$seconds" -gt 0 ] || skip
    fi
    timeout "$seconds" cargo "$1" --quiet --profile sanitize --target "$target" "${extra[@]}" "${@:2}" || status=$?
    [ "$status" -ne 124 ] || skip
    return "$status"
}

skip() {
    echo "$name: skipped: it was not built in the time it was given; another call goes on with that"
    exit 0
}

# Fails unless the sanitizer reports a fault that is there: $1 is the planted fault, $2 what the report must call it.
expect_report() {
    local output
    if output=$(instrumented test --test planted -- --ignored --exact "$1" 2>&1); then
        echo "$name: sees nothing: the planted fault '$1' passed" >&2
        exit 1
    fi
    if ! grep -q "$name: $2" <<<"$output"; then
        printf '%s\n%s: the planted fault %s failed, but not for "%s"\n' "$output" "$name" "$1" "$2" >&2
        exit 1
    fi
    echo "$name: reports the planted fault '$1' ($2)"
}

# All tests, but for those that $@ skips. The patience is for them, not for their build.
run_tests() {
    timeout --kill-after=10s "$patience" \
        cargo test --quiet --no-fail-fast --profile sanitize --target "$target" "${extra[@]}" \
        --lib "${tests[@]/#/--test=}" -- "$@"
}

# A small city in each of the gang's modes, without a window.
run_traffic() {
    for mode in lock-step heartbeat auto; do
        timeout --kill-after=10s 120 "$CARGO_TARGET_DIR/$target/sanitize/examples/traffic" \
            --headless --city 24 --cars 3000 --rest 60 --workers 2 --steps 40 --warmup 10 --mode "$mode" >/dev/null
        echo "$name: traffic in mode $mode: no report"
    done
}
