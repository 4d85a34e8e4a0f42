#!/usr/bin/env bash
# Sets up Nearfield in .venv on a bare Debian or Ubuntu: system libraries, Python packages, the demo voice.
#   packaging/bootstrap.sh          what it takes to speak (nearfield say --demo …)
#   packaging/bootstrap.sh --gui    and what the window needs (nearfield --demo)
#   packaging/bootstrap.sh --kiosk  and what the kiosk needs beyond standard input (nearfield --no-gui)
#   packaging/bootstrap.sh --test   and what the tests, linters and type checks need, all of the above included
# --gui and --kiosk may be given together. Running it again is quick and changes nothing that is up to date.
set -euo pipefail
cd "$(dirname "$0")/.."

wants_gui='' wants_kiosk='' wants_test=''
libraries=(libportaudio2)
# What Qt's own libraries name and a bare system lacks (ldd of PySide6's libraries and platform plugins); the same
# as in app/gui/startup.py. And a font: without any there is no text.
window_libraries=(
    libegl1 libgl1 libfontconfig1 libdbus-1-3 libglib2.0-0 libgssapi-krb5-2 libxkbcommon0
    libxcb1 libx11-xcb1 libxcb-cursor0 libxcb-icccm4 libxcb-image0 libxcb-keysyms1 libxcb-randr0
    libxcb-render-util0 libxcb-render0 libxcb-shape0 libxcb-shm0 libxcb-sync1 libxcb-xfixes0 libxcb-xkb1
    libxkbcommon-x11-0 libwayland-client0 libwayland-cursor0 libwayland-egl1 fonts-dejavu-core
)
for argument in "$@"; do
    case $argument in
        --gui)
            wants_gui=yes
            libraries+=("${window_libraries[@]}")
            ;;
        --kiosk)
            wants_kiosk=yes
            ;;
        --test)
            wants_test=yes
            libraries+=("${window_libraries[@]}")
            # A private sound server for the tests that play through a real PortAudio stream.
            libraries+=(pulseaudio pulseaudio-utils libasound2-plugins)
            # What a screen reader talks to, for the tests of the output module.
            libraries+=(speech-dispatcher)
            ;;
        *)
            echo "bootstrap: unknown option $argument; known: --gui --kiosk --test" >&2
            exit 2
            ;;
    esac
done
extras=demo${wants_gui:+,gui}${wants_kiosk:+,kiosk}
[ -z "$wants_test" ] || extras=demo,test

# -- system libraries ---------------------------------------------------------------------------------

find_python() {
    local name
    for name in python3 python3.13 python3.12 python3.11 python3.10; do
        if command -v "$name" >/dev/null &&
            "$name" -c 'import sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null; then
            command -v "$name"
            return
        fi
    done
}

is_installed() {
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

missing=()
if command -v dpkg-query >/dev/null; then
    for library in "${libraries[@]}"; do
        # Names with t64 at the end: since Debian 13 and Ubuntu 24.04.
        is_installed "$library" || is_installed "${library}t64" || missing+=("$library")
    done
fi
python=$(find_python || true)
if [ -z "$python" ]; then
    missing+=(python3 python3-venv)
elif ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    missing+=(python3-venv)
fi

if [ ${#missing[@]} -gt 0 ]; then
    as_root=()
    if [ "$(id -u)" -ne 0 ]; then
        as_root=(sudo)
        # Without a terminal, only a sudo that asks for no password is of use.
        [ -t 0 ] || as_root=(sudo -n)
    fi
    if command -v apt-get >/dev/null && { [ ${#as_root[@]} -eq 0 ] || command -v sudo >/dev/null; }; then
        echo "bootstrap: installing ${missing[*]}"
        install=(env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}")
        if ! "${as_root[@]}" "${install[@]}" >/dev/null 2>&1; then
            "${as_root[@]}" apt-get update -q >/dev/null 2>&1 || true
            "${as_root[@]}" "${install[@]}" >/dev/null ||
                echo "bootstrap: could not install ${missing[*]}; install these packages yourself" >&2
        fi
    else
        echo "bootstrap: please install these packages: ${missing[*]}" >&2
    fi
    python=$(find_python || true)
fi
if [ -z "$python" ] || ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    echo "bootstrap: Python 3.10 to 3.13 with its venv module is needed (Debian: python3 python3-venv)" >&2
    exit 1
fi

# -- Python packages ----------------------------------------------------------------------------------

wanted=$(cat pyproject.toml packaging/constraints.txt packaging/bootstrap.sh | sha256sum | cut -d' ' -f1)
stamp=.venv/nearfield-$extras
# Whether what was installed for the extras $1 has all of the extras $2. The tests need all of the others.
covers() {
    local extra
    [ "$1" != demo,test ] || return 0
    for extra in ${2//,/ }; do
        [[ ,$1, == *,"$extra",* ]] || return 1
    done
}
if [ -x .venv/bin/nearfield ] && .venv/bin/python -c '' 2>/dev/null; then
    for known in .venv/nearfield-*; do
        if covers "${known#.venv/nearfield-}" "$extras" && [ "$(cat "$known" 2>/dev/null)" = "$wanted" ]; then
            echo "bootstrap: .venv is up to date"
            exit 0
        fi
    done
fi

if ! .venv/bin/python -c 'import pip' 2>/dev/null; then
    echo "bootstrap: making .venv with $("$python" --version)"
    "$python" -m venv --clear .venv
fi

# The CPU build of torch is a tenth of the size of the default one. Its index is asked only if it answers,
# and not at all with NEARFIELD_TORCH_INDEX= (empty), for instance for a GPU build.
torch_index=${NEARFIELD_TORCH_INDEX-https://download.pytorch.org/whl/cpu}
pip=(.venv/bin/python -m pip --disable-pip-version-check --quiet)
if [ -n "$torch_index" ] &&
    .venv/bin/python - "$torch_index" 2>/dev/null <<'PROBE'; then
import sys, urllib.request
urllib.request.urlopen(sys.argv[1] + "/torch/", timeout=4).close()
PROBE
    torch_from=(--extra-index-url "$torch_index")
else
    torch_from=()
fi

echo "bootstrap: installing Python packages (some minutes the first time)"
"${pip[@]}" install "${torch_from[@]}" -c packaging/constraints.txt -e ".[$extras]"
if [ "$extras" = demo,test ]; then
    # The reference of the parity tests; its own dependencies would exclude ours, and are not needed.
    "${pip[@]}" install --no-deps qwen-tts==0.1.1
    # The servers that our client and our plug-in are tested against. Their own dependencies would exclude ours, so
    # each stands in a folder of its own, which only processes of the tests have on their path.
    for peer in vllm-omni==0.30.0 vllm-omni==0.22.0; do
        [ -d ".venv/peers/${peer/==/-}" ] ||
            "${pip[@]}" install --no-deps --target ".venv/peers/${peer/==/-}" "$peer"
    done
    # What vLLM-Omni reads its deploy files with, for the test that compares our checker with its loader.
    [ -d .venv/peers/omegaconf-2.3.0 ] ||
        "${pip[@]}" install --no-deps --target .venv/peers/omegaconf-2.3.0 omegaconf==2.3.0 antlr4-python3-runtime==4.9.3
fi
echo "$wanted" >"$stamp"
case $extras in
    demo) echo "bootstrap: done; try  .venv/bin/nearfield say --demo \"Hello from the edge\"" ;;
    demo,kiosk) echo "bootstrap: done; try  .venv/bin/nearfield --no-gui --demo" ;;
    *) echo "bootstrap: done; try  .venv/bin/nearfield --demo" ;;
esac
