#!/usr/bin/env bash
# Checks the dependency tree: `deny` checks licences, sources and bans, and `audit` known vulnerabilities. The tools are
# compiled once per machine. If a tool or the database is not reachable, prints that nothing was checked, and succeeds.
set -euo pipefail
cd "$(dirname "$0")/.."
home=${XDG_CACHE_HOME:-$HOME/.cache}/braid
database=https://github.com/RustSec/advisory-db.git

not_checked() { echo "$1: the dependency tree is NOT checked for $2."; exit 0; }

# Finds this version of a tool, or installs it.
need() {
    root=$home/$1-$2
    [ -x "$root/bin/$1" ] && return
    echo "Installing $1 $2 into $root (some minutes, once)."
    # Without optimisation the build is faster, and each tool runs only for a second.
    env -u CARGO_TARGET_DIR CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_OPT_LEVEL=1 CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 \
        timeout 1500 cargo install "$1" --quiet --locked --version "$2" --no-default-features --root "$root"
}

case $1 in
    deny)
        what="licences, sources and bans"
        need cargo-deny 0.20.2 || not_checked "cargo-deny could not be installed" "$what"
        cargo fetch --quiet --locked || not_checked "crates of other platforms could not be fetched" "$what"
        "$root/bin/cargo-deny" --offline check licenses sources bans
        ;;
    audit)
        what="known vulnerabilities"
        [ -n "${RUSTSEC_DB:-}" ] || timeout 20 git ls-remote --quiet "$database" HEAD >/dev/null 2>&1 ||
            not_checked "there is no way to the RustSec database (RUSTSEC_DB names a checkout of it)" "$what"
        need cargo-audit 0.22.2 || not_checked "cargo-audit could not be installed" "$what"
        "$root/bin/cargo-audit" audit ${RUSTSEC_DB:+--db "$RUSTSEC_DB" --no-fetch --stale}
        ;;
esac
