#!/bin/sh
# The proxy's whole suite: the committed artifact is what src/ compiles to, the format, the tests, the gas snapshot.
# LONG=1 runs a million fuzzed calls instead of the usual ones.
set -eu
cd "$(dirname "$0")"
./build.sh --check
node_modules/.bin/forge fmt --check src test gas
[ "${LONG:-}" = 1 ] && export FOUNDRY_PROFILE=long
node_modules/.bin/forge test
unset FOUNDRY_PROFILE
./bench-gas.sh --check
