#!/usr/bin/env bash
# Builds the package into dist/: lints the OpenAPI document, generates its types, compiles. The document is the committed one, or the one that
# is named: a file, or the address of a service's.
set -euo pipefail
cd "$(dirname "$0")"
document="${1:-../../docs/openapi.json}"
export REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true
rm -rf dist
node_modules/.bin/redocly lint --extends recommended --format summary --max-problems 1000 "$document"
node generate.mjs "$document" src/generated.ts
if grep -nE '\bany\b|[^a-z]as [A-Z]' src/{index,problem,proxy,terms,types,viem}.ts; then
    echo "the client casts: the types should do without" >&2
    exit 1
fi
node_modules/.bin/tsc -p .
cp ../../LICENSE-MIT ../../LICENSE-APACHE .
