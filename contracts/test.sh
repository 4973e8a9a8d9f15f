#!/bin/sh
# The proxy's whole suite: the committed artifact is what src/ compiles to, the NatSpec of the public ABI, the format, the tests, the gas snapshot.
# LONG=1 runs 700,000 random orders of each of three kinds, more than two million calls, instead of 40,000 in all; CALLS and SEED choose others.
set -eu
cd "$(dirname "$0")"
# keeps the compiled tests with cargo's output, which can outlive a clone
target=$(cd .. && realpath -m "${CARGO_TARGET_DIR:-target}")
export FOUNDRY_OUT="$target/contracts/tests/out" FOUNDRY_CACHE_PATH="$target/contracts/tests/cache"
./build.sh --check
node tools/natspec.cjs
node_modules/.bin/forge fmt --check src test gas
[ "${LONG:-}" = 1 ] && export FOUNDRY_PROFILE=long CALLS="${CALLS:-700000}"
# what the random orders were, and how many succeeded, is in the log
node_modules/.bin/forge test -vv
unset FOUNDRY_PROFILE
./bench-gas.sh --check
