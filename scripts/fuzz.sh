#!/usr/bin/env bash
# Runs each target of crates/fuzz under libFuzzer for FUZZ_S seconds, one after the other. TARGETS selects some of them.
set -euo pipefail
cd "$(dirname "$0")/.."
command -v cargo-fuzz >/dev/null || { echo "cargo-fuzz is not installed: cargo install cargo-fuzz --locked"; exit 1; }
cargo run --quiet -p braid-fuzz -- fuzz/corpus
# The workspace's versions of the dependencies; cargo adds those that only the fuzzer needs.
cp Cargo.lock fuzz/Cargo.lock
for target in ${TARGETS:-$(ls fuzz/targets | sed 's/\.rs$//')}; do
    cargo +nightly fuzz run --fuzz-dir fuzz --sanitizer none "$target" -- -max_total_time="${FUZZ_S:-600}" -timeout=10 -max_len=65536 -print_final_stats=1
done
