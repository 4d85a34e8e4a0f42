#!/usr/bin/env bash
# Draws the application's icon in the usual sizes, as freedesktop's icon themes are laid out.
#   packaging/linux/icons.sh FOLDER      makes FOLDER/hicolor/48x48/apps/nearfield.png and so on
# Needs rsvg-convert (Debian: librsvg2-bin).
set -euo pipefail
icon=$(dirname "$0")/../../assets/icons/nearfield.svg
for size in 16 22 24 32 48 64 96 128 256 512; do
    folder=$1/hicolor/${size}x$size/apps
    mkdir -p "$folder"
    rsvg-convert --width $size --height $size --output "$folder/nearfield.png" "$icon"
done
mkdir -p "$1/hicolor/scalable/apps"
cp "$icon" "$1/hicolor/scalable/apps/nearfield.svg"
