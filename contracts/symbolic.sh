#!/bin/sh
# Proves the bounds of the decoder, the shares, the callback guard and the flat entry for every input, with halmos (PyPI, pinned).
# `symbolic.sh mutants` shows that each proof can fail: it breaks the proxy in a copy and asks halmos to refute the same properties.
set -eu
cd "$(dirname "$0")"
[ -d node_modules/solc ] || npm ci --ignore-scripts --silent
TOOLS=${XDG_CACHE_HOME:-$HOME/.cache}/braid/halmos-0.3.3
[ -x "$TOOLS/bin/halmos" ] || { python3 -m venv "$TOOLS" && "$TOOLS/bin/pip" install --quiet halmos==0.3.3; }
export PATH="$PWD/node_modules/.bin:$PATH" FOUNDRY_PROFILE=symbolic
# five turns of a loop: the callback's names are four, paths have two hops at most
OPTIONS="--forge-build-out out/symbolic --contract Symbolic --loop 5"
if [ "${1:-}" = mutants ]; then
  COPY=$(mktemp -d)
  trap 'rm -rf "$COPY"' EXIT
  for part in src symbolic tools foundry.toml; do cp -R "$part" "$COPY/"; done
  cp -al node_modules "$COPY/node_modules" 2>/dev/null || cp -R node_modules "$COPY/node_modules"
  cd "$COPY"
  node tools/refute.cjs "$TOOLS/bin/halmos" $OPTIONS
else
  exec "$TOOLS/bin/halmos" $OPTIONS "$@"
fi
