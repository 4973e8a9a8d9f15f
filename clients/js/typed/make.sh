#!/usr/bin/env bash
# Holds the OpenAPI document to what its users do with it: a linter, generated types, and a client that is compiled against them.
# The document is the committed one, or what BRAID_API serves; in that case the client runs as well.
set -euo pipefail
cd "$(dirname "$0")"
bin=../node_modules/.bin
document="${BRAID_API:+$BRAID_API/openapi.json}"
document="${document:-../../../docs/openapi.json}"
export REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true
rm -rf generated
"$bin/redocly" lint --extends recommended --format summary --max-problems 1000 "$document"
"$bin/openapi-typescript" "$document" -o generated/api.d.ts
if grep -nE '\bany\b|[^a-z]as [A-Za-z]' client.mts | grep -v '^[0-9]*://'; then
    echo "the client casts: the types should do without" >&2
    exit 1
fi
"$bin/tsc" -p .
if [ -n "${BRAID_API:-}" ]; then node generated/client.mjs; fi
