#!/bin/sh
# Builds a Debian package from a binary: build.sh BINARY [OUTPUT-FOLDER]. Needs dpkg-deb; prints the package's path.
set -eu
BINARY=$1
OUT=${2:-.}
HERE=$(cd "$(dirname "$0")" && pwd)
VERSION=$("$BINARY" --version | cut -d ' ' -f 2)
ARCH=$(dpkg --print-architecture)
ROOT=$(mktemp -d)
trap 'rm -rf "$ROOT"' EXIT
chmod 755 "$ROOT"
install -D -m 755 "$BINARY" "$ROOT/usr/bin/braid"
install -D -m 644 "$HERE/../braid.service" "$ROOT/lib/systemd/system/braid.service"
install -D -m 644 "$HERE/../../LICENSE-MIT" "$ROOT/usr/share/doc/braid/copyright"
install -d -m 755 "$ROOT/etc/braid"
"$BINARY" config example | sed 's|^#data-dir = .*|data-dir = "/var/lib/braid"|' > "$ROOT/etc/braid/braid.toml"
# the file may contain URLs with keys; postinst restricts it to root and the service
chmod 640 "$ROOT/etc/braid/braid.toml"
install -d "$ROOT/DEBIAN"
install -m 755 "$HERE/postinst" "$HERE/prerm" "$HERE/postrm" "$ROOT/DEBIAN/"
echo /etc/braid/braid.toml > "$ROOT/DEBIAN/conffiles"
cat > "$ROOT/DEBIAN/control" <<CONTROL
Package: braid
Version: $VERSION
Architecture: $ARCH
Maintainer: Braid <noreply@localhost>
Section: net
Priority: optional
Depends: libc6 (>= 2.36), libgcc-s1, adduser
Description: Swap routing service for Ethereum
 Finds the best way to swap tokens on Ethereum over nine protocols, exact to
 the wei, and turns it into one unsigned transaction. Needs an Ethereum
 mainnet node: set its URL in /etc/braid/braid.toml, then run
 systemctl enable --now braid.
CONTROL
# the same binary gives the same package
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-0} dpkg-deb --build --root-owner-group "$ROOT" "$OUT" >&2
echo "$OUT/braid_${VERSION}_$ARCH.deb"
