#!/usr/bin/env bash
# Builds the bundle from a clone, in an environment of its own: on a bare Debian or Ubuntu, with one command.
#   packaging/pyinstaller/build.sh               build/bundle/nearfield, a folder that runs anywhere
#   packaging/pyinstaller/build.sh --archive     and build/bundle/nearfield-VERSION-linux-ARCH.tar.xz (minutes)
#   packaging/pyinstaller/build.sh --deb         and a .deb
#   packaging/pyinstaller/build.sh --lock        only bring requirements.lock up to date
# NEARFIELD_BUILD names another folder than build/bundle.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../.."
export NEARFIELD_BUILD=${NEARFIELD_BUILD:-$PWD/build/bundle}
# The same sources make the same bundle: dates are those of the last commit.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}
export SOURCE_DATE_EPOCH PYTHONHASHSEED=1
wants_archive='' wants_deb='' wants_lock=''
for argument in "$@"; do
    case $argument in
        --archive) wants_archive=yes ;;
        --deb) wants_deb=yes ;;
        --lock) wants_lock=yes ;;
        *)
            echo "build: unknown option $argument; known: --archive --deb --lock" >&2
            exit 2
            ;;
    esac
done
mkdir -p "$NEARFIELD_BUILD"

# -- what the build machine needs -------------------------------------------------------------------------

packages=(libportaudio2 libasound2 gcc libc6-dev binutils librsvg2-bin xz-utils)
# What Qt names; PyInstaller takes some of it in.
packages+=(libegl1 libgl1 libfontconfig1 libdbus-1-3 libglib2.0-0 libgssapi-krb5-2 libxkbcommon0 libxcb-cursor0
    libxcb-icccm4 libxcb-image0 libxcb-keysyms1 libxcb-randr0 libxcb-render-util0 libxcb-render0 libxcb-shape0
    libxcb-shm0 libxcb-sync1 libxcb-xfixes0 libxcb-xkb1 libxkbcommon-x11-0 libx11-xcb1 libwayland-client0
    libwayland-cursor0)
missing=()
for package in "${packages[@]}"; do
    for name in "$package" "${package}t64"; do
        [ "$(dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null)" != installed ] || continue 2
    done
    missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
    as_root=()
    [ "$(id -u)" -eq 0 ] || as_root=(sudo)
    echo "build: installing ${missing[*]}"
    "${as_root[@]}" apt-get update -q >/dev/null
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}" >/dev/null
fi

# A Python that is a shared library, which a frozen program brings along.
python=''
for name in python3 python3.13 python3.12 python3.11 /usr/bin/python3; do
    if command -v "$name" >/dev/null && "$name" - 2>/dev/null <<'PROBE'; then
import ctypes, ensurepip, sys, sysconfig, venv
sys.exit(not ((3, 10) <= sys.version_info[:2] <= (3, 13)
    and (sysconfig.get_config_var("Py_ENABLE_SHARED") or ctypes.CDLL(sysconfig.get_config_var("INSTSONAME")))))
PROBE
        python=$(command -v "$name")
        break
    fi
done
if [ -z "$python" ]; then
    echo "build: needs Python 3.10 to 3.13 with venv and its shared library (Debian: python3-venv libpython3.11)" >&2
    exit 1
fi

# -- its own environment ----------------------------------------------------------------------------------

venv=$NEARFIELD_BUILD/venv
pip=("$venv/bin/python" -m pip --disable-pip-version-check --quiet)
wanted=$(cat pyproject.toml packaging/constraints.txt "$here/requirements.lock" "$here/build.sh" 2>/dev/null | sha256sum)
if [ "$(cat "$venv/nearfield-stamp" 2>/dev/null)" != "$wanted" ]; then
    echo "build: making an environment with $("$python" --version) (some minutes)"
    "$python" -m venv --clear "$venv"
    index=${NEARFIELD_TORCH_INDEX-https://download.pytorch.org/whl/cpu}
    from=()
    # The CPU build of torch has an index of its own; it is asked only if it answers.
    if [ -n "$index" ] && "$python" -c "import urllib.request, sys; urllib.request.urlopen(sys.argv[1], timeout=4)" \
        "$index/torch/" 2>/dev/null; then
        from=(--extra-index-url "$index")
    fi
    pinned=(-c packaging/constraints.txt)
    [ -n "$wants_lock" ] || pinned+=(-c "$here/requirements.lock")
    "${pip[@]}" install "${from[@]}" "${pinned[@]}" -r "$here/requirements.txt" ".[gui,kiosk]"
    if [ -n "$wants_lock" ]; then
        # Without the local part: the same version is pinned on machines that get torch from elsewhere.
        "${pip[@]}" freeze --exclude nearfield --exclude pip --exclude setuptools | sed 's/+cpu$//' |
            cat <(echo '# Made by build.sh --lock: every version that the bundle is made of.') - >"$here/requirements.lock"
        echo "build: requirements.lock is up to date"
        exit 0
    fi
    echo "$wanted" >"$venv/nearfield-stamp"
fi
"$venv/bin/python" -c 'import sys, torch; sys.exit(torch.version.cuda is not None or torch.version.hip is not None)' || {
    echo "build: the index gave a torch for GPUs; make the one for CPUs reachable (NEARFIELD_TORCH_INDEX)" >&2
    exit 1
}
# Our own code as others install it: a wheel, whose metadata has name and version.
"${pip[@]}" install --no-deps --force-reinstall .

# -- stand-ins for sound libraries that belong to the system: libraries.py ---------------------------------

rm -rf "$NEARFIELD_BUILD/fallback"
mkdir -p "$NEARFIELD_BUILD/fallback/alsa"
libraries=/usr/lib/$(gcc -print-multiarch)
cp -L "$libraries/libasound.so.2" "$NEARFIELD_BUILD/fallback/libasound.so.2"
# Its settings: without any, PortAudio ends the process.
(cd /usr/share/alsa && dpkg-query -L libasound2-data | grep '^/usr/share/alsa/.*\.conf$' | sed 's|^/usr/share/alsa/||' |
    xargs cp --parents -L -t "$NEARFIELD_BUILD/fallback/alsa")
export NEARFIELD_FALLBACK_FROM="$libraries/libasound.so.2 /usr/share/alsa/alsa.conf"
# JACK's library must be the one of the server that runs, so where there is none, this one says: no server. Debian's
# PortAudio names these functions, asks for a client first, and leaves JACK alone when it gets none.
nm -D --undefined-only "$libraries/libportaudio.so.2" | awk '$2 ~ /^jack_/ {
    sub(/@.*/, "", $2); print "long " $2 "(void) { return " ($2 ~ /_size$/ ? 64 : 0) "; }" }' >"$NEARFIELD_BUILD/jack.c"
gcc -shared -fPIC -O1 -s -Wl,--build-id=none -Wl,-soname,libjack.so.0 -o "$NEARFIELD_BUILD/fallback/libjack.so.0" \
    "$NEARFIELD_BUILD/jack.c"

# -- the bundle ---------------------------------------------------------------------------------------------

dist=$NEARFIELD_BUILD/made
"$venv/bin/python" -m PyInstaller --noconfirm --log-level ERROR --distpath "$dist" --workpath "$NEARFIELD_BUILD/work" \
    "$here/nearfield.spec"
bundle=$dist/nearfield
"$here/strip.sh" "$bundle"
# On Linux a windowed program is no other program: one file, two names.
ln -sf nearfield "$bundle/nearfield-cli"

version=$("$bundle/nearfield-cli" --version | cut -d' ' -f2)
share=$bundle/share
mkdir -p "$share/applications" "$share/metainfo"
cp assets/desktop/nearfield.desktop "$share/applications/"
sed -e "s/@VERSION@/$version/" -e "s/@DATE@/$(date -u -d "@$SOURCE_DATE_EPOCH" +%F)/" \
    packaging/linux/nearfield.metainfo.xml >"$share/metainfo/local.nearfield.Nearfield.metainfo.xml"
packaging/linux/icons.sh "$share/icons"
cp packaging/install.sh packaging/uninstall.sh "$bundle/"
chmod -R u+w,go+rX "$bundle"
"$venv/bin/python" "$here/contents.py" "$bundle" "$NEARFIELD_BUILD/inside.json"
rm -rf "$NEARFIELD_BUILD/nearfield"
mv "$bundle" "$NEARFIELD_BUILD/nearfield"
bundle=$NEARFIELD_BUILD/nearfield

"$venv/bin/python" "$here/contents.py" --sizes "$bundle"
if [ -n "$wants_archive" ]; then
    archive=$NEARFIELD_BUILD/nearfield-$version-linux-$(uname -m).tar.xz
    tar -C "$NEARFIELD_BUILD" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner -cf - nearfield |
        xz -T0 -6 >"$archive"
    (cd "$NEARFIELD_BUILD" && sha256sum "$(basename "$archive")" >"$(basename "$archive").sha256")
    echo "build: $(stat -c %s "$archive" | awk '{printf "%.0f MB", $1 / 1e6}') in $archive"
fi
[ -z "$wants_deb" ] || packaging/linux/deb.sh "$bundle" "$NEARFIELD_BUILD"
echo "build: $bundle; try it with packaging/pyinstaller/smoke.sh"
