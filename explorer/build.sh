#!/usr/bin/env bash
# Builds the page into dist/, which is committed and embedded in the binary. `--check` builds elsewhere and fails where dist/ differs.
set -euo pipefail
cd "$(dirname "$0")"

npx --no-install openapi-typescript ../docs/openapi.json -o src/api/generated.d.ts >/dev/null
npx --no-install tsc --noEmit
if [ "${1:-}" = --check ]; then
    fresh=$(mktemp -d)
    trap 'rm -rf "$fresh"' EXIT
    npx --no-install vite build --logLevel warn --outDir "$fresh" --emptyOutDir
    diff -r "$fresh" dist || { echo "explorer/dist is not what explorer/ builds: run 'make explorer' and commit it" >&2; exit 1; }
else
    npx --no-install vite build --logLevel warn
    cat dist/app.js dist/app.css dist/index.html | gzip -9 | wc -c | awk '{ printf "The page takes %d bytes, compressed.\n", $1 }'
fi
