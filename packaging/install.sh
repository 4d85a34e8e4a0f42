#!/usr/bin/env bash
# Installs the bundle for you alone: no root, nothing outside your home. Running it again replaces what was there.
#   install.sh [BUNDLE]        BUNDLE: the unpacked folder; left out, the one that this script lies in
#
#   ~/.local/lib/nearfield                       the bundle
#   ~/.local/bin/nearfield, nearfield-cli        links to its programs
#   ~/.local/share/applications, icons, metainfo what the desktop shows ($XDG_DATA_HOME is heeded)
set -euo pipefail
bundle=$(cd "${1:-$(dirname "$0")}" && pwd)
lib=$HOME/.local/lib
home=$lib/nearfield
bin=$HOME/.local/bin
share=${XDG_DATA_HOME:-$HOME/.local/share}

if [ ! -x "$bundle/nearfield" ] || [ ! -d "$bundle/share" ]; then
    echo "install: $bundle is not the bundle; name the folder that has nearfield and share in it" >&2
    exit 2
fi
if [ "$bundle" = "$home" ]; then
    echo "install: run this from the folder that you unpacked, not from the installed one" >&2
    exit 2
fi
"$bundle/nearfield-cli" --version >/dev/null || {
    echo "install: the program does not start on this machine; nothing was installed" >&2
    exit 1
}

# What runs now keeps its files: the old folder is moved aside, not written over.
mkdir -p "$lib" "$bin"
new=$(mktemp -d "$lib/nearfield.XXXXXX")
old=$new.old
trap 'rm -rf "$new" "$old"' EXIT
cp -a "$bundle/." "$new/"
chmod u+w,go+rX "$new"
[ ! -e "$home" ] || mv "$home" "$old"
mv "$new" "$home"
for program in nearfield nearfield-cli; do
    ln -sfn "$home/$program" "$bin/$program"
done

# The desktop's search path may lack ~/.local/bin: the entry names the program in full.
mkdir -p "$share/applications" "$share/metainfo" "$share/icons"
# A home with a character that means something there or to sed gets its backslash.
quoted=$(printf '%s' "$home/nearfield" | sed -e 's/\\/\\\\\\\\/g' -e 's/["`$]/\\\\&/g' -e 's/%/%%/g' -e 's/[&|\\]/\\&/g')
sed -e "s|^Exec=nearfield|Exec=\"$quoted\"|" "$home/share/applications/nearfield.desktop" \
    >"$share/applications/nearfield.desktop"
cp "$home/share/metainfo/"*.xml "$share/metainfo/"
cp -R "$home/share/icons/hicolor" "$share/icons/"
# So that menus know at once. A cache of icons that was not there would hide those that others install later.
update-desktop-database "$share/applications" 2>/dev/null || true
[ ! -e "$share/icons/hicolor/icon-theme.cache" ] || gtk-update-icon-cache -q -t "$share/icons/hicolor" 2>/dev/null || true

echo "install: $("$home/nearfield-cli" --version) is in $home"
case ":$PATH:" in
    *":$bin:"*) echo "install: start it from the menu of your desktop, or with: nearfield" ;;
    *) echo "install: start it from the menu of your desktop, or with: $bin/nearfield" ;;
esac
