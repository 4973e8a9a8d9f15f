#!/usr/bin/env bash
# Builds the documentation as a site: scripts/docs.sh MDBOOK FOLDER. Fails where a page of it would ask anybody but its own origin.
set -euo pipefail
cd "$(dirname "$0")/.."
"$1" build --dest-dir "$(realpath -m "$2")"
# what a page loads by itself: scripts, style sheets, pictures, fonts, frames
loads='(src|poster|data)="(https?:)?//|<link[^>]*href="(https?:)?//|@import[^;]*//|url\([^)]*(https?:)?//|fetch\(.https?://'
if grep -rnoE --include='*.html' --include='*.css' --include='*.js' "$loads" "$2"; then
    echo "the site asks another origin" >&2
    exit 1
fi
echo "The site is in $2/index.html."
