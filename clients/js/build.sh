#!/usr/bin/env bash
# Builds the package into dist/: lints the OpenAPI document, generates its types, compiles. The document is the committed one, or what the
# service at BRAID_API serves.
set -euo pipefail
cd "$(dirname "$0")"
document="${BRAID_API:+$BRAID_API/openapi.json}"
document="${document:-../../docs/openapi.json}"
export REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true
rm -rf dist
node_modules/.bin/redocly lint --extends recommended --format summary --max-problems 1000 "$document"
node generate.mjs "$document" src/generated.ts
if grep -nE '\bany\b|[^a-z]as [A-Z]' src/{index,problem,terms,types,viem}.ts; then
    echo "the client casts: the types should do without" >&2
    exit 1
fi
node_modules/.bin/tsc -p .
cp ../../LICENSE-MIT ../../LICENSE-APACHE .
