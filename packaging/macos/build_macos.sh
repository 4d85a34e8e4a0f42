#!/usr/bin/env bash
# Builds the application on macOS 13 or later (Apple silicon), in an environment of its own. Not run so far: see README.md.
#   packaging/macos/build_macos.sh           build/bundle/nearfield.app, and a .zip with its checksum
# Needs Python 3.10 to 3.13 and Apple's command line tools. NEARFIELD_BUILD names another folder than build/bundle,
# NEARFIELD_IDENTITY a Developer ID to sign with; without one it is signed ad hoc.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../.."
spec=$PWD/packaging/pyinstaller
export NEARFIELD_BUILD=${NEARFIELD_BUILD:-$PWD/build/bundle}
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH PYTHONHASHSEED=1 PYTHONUTF8=1
mkdir -p "$NEARFIELD_BUILD"
python3 -c 'import sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 13))' || {
    echo "build: needs Python 3.10 to 3.13" >&2
    exit 1
}

venv=$NEARFIELD_BUILD/venv
python3 -m venv --clear "$venv"
pip=("$venv/bin/python" -m pip --disable-pip-version-check --quiet)
"${pip[@]}" install -c packaging/constraints.txt -c "$spec/requirements.lock" -r "$spec/requirements.txt" ".[gui,kiosk]"
# Our own code as others install it: a wheel, whose metadata has name and version.
"${pip[@]}" install --no-deps --force-reinstall .

"$venv/bin/python" "$spec/icons.py" "$NEARFIELD_BUILD/nearfield.icns"
dist=$NEARFIELD_BUILD/made
"$venv/bin/python" -m PyInstaller --noconfirm --log-level WARN --distpath "$dist" --workpath "$NEARFIELD_BUILD/work" \
    "$spec/nearfield.spec"
app=$NEARFIELD_BUILD/nearfield.app
rm -rf "$app"
mv "$dist/nearfield.app" "$app"
resources=$app/Contents/Resources
"$venv/bin/python" "$spec/contents.py" "$resources" "$NEARFIELD_BUILD/inside.json"
# The signature seals every file; a second list would be out of date once it is made.
rm "$resources/SHA256SUMS"
"$venv/bin/python" "$spec/contents.py" --sizes "$app/Contents"

# From the inside out, the program for terminals before the application that has it; PyInstaller has signed the libraries.
identity=${NEARFIELD_IDENTITY:--}
stamp=--timestamp
[ "$identity" != - ] || stamp=--timestamp=none
for part in "$app/Contents/MacOS/nearfield-cli" "$app"; do
    codesign --force --options runtime $stamp --entitlements "$here/entitlements.plist" --sign "$identity" "$part"
done
codesign --verify --deep --strict "$app"

version=$("$app/Contents/MacOS/nearfield-cli" --version | cut -d' ' -f2)
archive=$NEARFIELD_BUILD/nearfield-$version-macos-$(uname -m).zip
rm -f "$archive"
# Not zip: that loses what the signature lies in.
ditto -c -k --keepParent "$app" "$archive"
(cd "$NEARFIELD_BUILD" && shasum -a 256 "$(basename "$archive")" >"$(basename "$archive").sha256")
echo "build: $archive; try it with packaging/macos/smoke.sh"
