#!/usr/bin/env bash
# Builds the documentation site: scripts/docs.sh MDBOOK FOLDER. Fails if a page would load anything from another origin.
set -euo pipefail
cd "$(dirname "$0")/.."
"$1" build --dest-dir "$(realpath -m "$2")"
# What a page loads without a click: scripts, style sheets, pictures, fonts, frames.
loads='(src|poster|data)="(https?:)?//|<link[^>]*href="(https?:)?//|@import[^;]*//|url\([^)]*(https?:)?//|fetch\(.https?://'
if grep -rnoE --include='*.html' --include='*.css' --include='*.js' "$loads" "$2"; then
    echo "the site asks another origin" >&2
    exit 1
fi
echo "The site is in $2/index.html."
