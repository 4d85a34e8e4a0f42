#!/usr/bin/env bash
# Makes a .deb of a finished bundle.
#   packaging/linux/deb.sh BUNDLE FOLDER         writes FOLDER/nearfield_VERSION_ARCHITECTURE.deb
set -euo pipefail
bundle=$(cd "$1" && pwd)
out=$(mkdir -p "$2" && cd "$2" && pwd)
version=$("$bundle/nearfield-cli" --version | cut -d' ' -f2)
architecture=$(dpkg --print-architecture)
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
chmod 755 "$root"

mkdir -p "$root/opt" "$root/usr/bin" "$root/usr/share/doc/nearfield" "$root/DEBIAN"
cp -a "$bundle" "$root/opt/nearfield"
# Those are for who has no package.
rm -f "$root/opt/nearfield/install.sh" "$root/opt/nearfield/uninstall.sh"
mv "$root/opt/nearfield/share"/* "$root/usr/share/"
rmdir "$root/opt/nearfield/share"
sed -i -e '/  share\//d' -e '/  \(un\)\?install.sh$/d' "$root/opt/nearfield/SHA256SUMS"
for program in nearfield nearfield-cli; do
    ln -s "/opt/nearfield/$program" "$root/usr/bin/$program"
done
mv "$root/opt/nearfield/LICENCES.txt" "$root/usr/share/doc/nearfield/copyright"
ln -s /usr/share/doc/nearfield/copyright "$root/opt/nearfield/LICENCES.txt"
sed -i '/  LICENCES.txt$/d' "$root/opt/nearfield/SHA256SUMS"

# The oldest glibc that has what the libraries ask for.
glibc=$( (find "$root/opt" -type f \( -name '*.so*' -o -name nearfield \) -exec objdump -T {} + 2>/dev/null || true) |
    grep -o 'GLIBC_2\.[0-9]*' | sort -uV | tail -1 | cut -d_ -f2)
cat >"$root/DEBIAN/control" <<CONTROL
Package: nearfield
Version: $version
Architecture: $architecture
Maintainer: The Nearfield authors <nearfield@localhost>
Installed-Size: $(du -sk --apparent-size "$root/opt" | cut -f1)
Section: sound
Priority: optional
Depends: libc6 (>= $glibc)
Recommends: libasound2 | libasound2t64, libasound2-plugins, libegl1, libgl1, libx11-xcb1, libxcb1,
 libwayland-client0, libwayland-cursor0, fonts-dejavu-core | fonts-noto-core
Suggests: fonts-noto-cjk
Description: speech that is decoded where the listener is
 A window and a terminal program that read texts aloud. A server sends codec
 tokens, which become sound on this machine. A kiosk installs it with
 --no-install-recommends and the sound library, and needs no window.
CONTROL
dpkg-deb --root-owner-group -Z"${NEARFIELD_DEB_COMPRESSION:-xz}" --build "$root" "$out/nearfield_${version}_$architecture.deb"
