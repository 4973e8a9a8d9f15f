#!/bin/sh
# Makes every mutant of tools/mutations.cjs and runs the tests against it, in a copy of this folder; takes about twenty minutes of one core. Not a part of CI.
# `mutate.sh fuzz` runs the fuzzed properties instead; names (or their numbers) pick mutants.
set -eu
cd "$(dirname "$0")"
[ -d node_modules/solc ] || npm ci --ignore-scripts --silent
COPY=$(mktemp -d)
trap 'rm -rf "$COPY"' EXIT
mkdir -p "$COPY/contracts"
for part in src test devnet tools artifacts foundry.toml out cache; do [ ! -e "$part" ] || cp -R "$part" "$COPY/contracts/"; done
cp -al node_modules "$COPY/contracts/node_modules" 2>/dev/null || cp -R node_modules "$COPY/contracts/node_modules"
cd "$COPY/contracts"
node tools/mutate.cjs "$@"
