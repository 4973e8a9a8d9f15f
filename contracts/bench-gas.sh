#!/bin/sh
# Gas of whole transactions, the proxy's beside Uniswap's own single-purpose routers. Writes snapshots/;
# with --check compares with the committed ones, and fails on a difference.
set -eu
cd "$(dirname "$0")"
[ -d node_modules/solc ] || npm ci --ignore-scripts --silent
[ "${1:-}" = --check ] && export FORGE_SNAPSHOT_CHECK=true
# keeps what it compiles apart, because forge would throw away what contracts/test.sh compiled
target=$(cd .. && realpath -m "${CARGO_TARGET_DIR:-target}")
export FOUNDRY_OUT="$target/contracts/gas/out" FOUNDRY_CACHE_PATH="$target/contracts/gas/cache"
FOUNDRY_PROFILE=gas node_modules/.bin/forge test --silent || { echo "the gas bench failed; run it without --check to see how" >&2; exit 1; }
exec node tools/gas-table.cjs
