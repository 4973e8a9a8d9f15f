#!/bin/sh
# Builds artifacts/ExecutionProxy.json from src/; with --check compares instead of writing, and fails on a difference.
set -eu
cd "$(dirname "$0")"
[ -d node_modules/solc ] || npm ci --ignore-scripts --silent
exec node tools/build.cjs "$@"
