#!/usr/bin/env bash
# Removes what install.sh has put there, and nothing else.
#   uninstall.sh            settings, history and downloaded checkpoints stay, and it says where they are
set -euo pipefail
home=$HOME/.local/lib/nearfield
bin=$HOME/.local/bin
share=${XDG_DATA_HOME:-$HOME/.local/share}

for program in nearfield nearfield-cli; do
    # Only a link to our own program: somebody may have put another there.
    if [ "$(readlink "$bin/$program" 2>/dev/null)" = "$home/$program" ]; then
        rm -f "$bin/$program"
    fi
done
if grep -qs '^Exec=.*/lib/nearfield/nearfield"' "$share/applications/nearfield.desktop"; then
    rm -f "$share/applications/nearfield.desktop"
fi
rm -f "$share"/metainfo/*.nearfield.Nearfield.metainfo.xml
rm -f "$share"/icons/hicolor/*/apps/nearfield.png "$share/icons/hicolor/scalable/apps/nearfield.svg"
# Last: this script may lie in it.
rm -rf "$home"
update-desktop-database "$share/applications" 2>/dev/null || true
[ ! -e "$share/icons/hicolor/icon-theme.cache" ] || gtk-update-icon-cache -q -t "$share/icons/hicolor" 2>/dev/null || true

echo "uninstall: Nearfield is removed"
for kept in "${XDG_CONFIG_HOME:-$HOME/.config}/nearfield" "$share/nearfield" \
    "${XDG_CACHE_HOME:-$HOME/.cache}/nearfield" "${XDG_STATE_HOME:-$HOME/.local/state}/nearfield"; do
    [ ! -e "$kept" ] || echo "uninstall: $kept stays"
done
