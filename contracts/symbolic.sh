#!/bin/sh
# Proves the bounds of the decoder, the shares and the callback guard for every input, with halmos (PyPI, pinned).
set -eu
cd "$(dirname "$0")"
[ -d node_modules/solc ] || npm ci --ignore-scripts --silent
TOOLS=${XDG_CACHE_HOME:-$HOME/.cache}/braid/halmos-0.3.3
[ -x "$TOOLS/bin/halmos" ] || { python3 -m venv "$TOOLS" && "$TOOLS/bin/pip" install --quiet halmos==0.3.3; }
PATH="$PWD/node_modules/.bin:$PATH" FOUNDRY_PROFILE=symbolic exec "$TOOLS/bin/halmos" --forge-build-out out/symbolic --contract Symbolic "$@"
