#!/usr/bin/env bash
# Makes a Jetson with JetPack 6.1 or 6.2 a kiosk of Nearfield, for the user who calls it: torch from NVIDIA's index, the rest
# from pinned wheels, settings if there are none, and the user service. Not run on a Jetson yet: README.md beside this file.
#   packaging/jetson/install.sh               all of it
#   packaging/jetson/install.sh --check       only say whether this machine is one that it is for
#   packaging/jetson/install.sh --no-service  without the service
# Running it again brings what changed up to date, and changes no settings. NEARFIELD_TORCH_INDEX names another index.
set -euo pipefail
cd "$(dirname "$0")/../.."

here=packaging/jetson
home=$HOME/.local/lib/nearfield
config=${XDG_CONFIG_HOME:-$HOME/.config}
release=${NEARFIELD_L4T_RELEASE:-/etc/nv_tegra_release}
wants_service=yes only_check=''

say() { echo "install: $*"; }
# The first line says what is wrong, the second what to do.
give_up() {
    printf 'install: %s\n' "$@" >&2
    exit 1
}
for argument in "$@"; do
    case $argument in
        --check) only_check=yes ;;
        --no-service) wants_service='' ;;
        *)
            echo "install: unknown option $argument; known: --check --no-service" >&2
            exit 2
            ;;
    esac
done

# -- is this the right machine? -------------------------------------------------------------------------

[ "$(id -u)" -ne 0 ] || give_up "this is root" \
    "run it as the user whose sound server is to be heard; sudo is asked for where it is needed"
[ "$(uname -m)" = aarch64 ] || give_up "this machine is $(uname -m), not a Jetson" \
    "on other machines: packaging/bootstrap.sh --kiosk"
[ -r "$release" ] || give_up "$release is not there, so this is no Jetson Linux (L4T)" \
    "on other aarch64 machines: packaging/bootstrap.sh --kiosk"
# Such as: # R36 (release), REVISION: 4.3, GCID: …
line=$(head -1 "$release")
if [[ ! $line =~ ^#\ R([0-9]+)\ .*REVISION:\ ([0-9]+)\.([0-9]+) ]]; then
    give_up "$release begins with: $line" "that is a form which this script does not know; see README.md beside it"
fi
major=${BASH_REMATCH[1]} minor=${BASH_REMATCH[2]} l4t=R${BASH_REMATCH[1]}.${BASH_REMATCH[2]}.${BASH_REMATCH[3]}
if [ "$major" -lt 36 ]; then
    give_up "this is L4T $l4t, older than JetPack 6" "flash JetPack 6.2: JetPack 5 has Python 3.8, which is too old"
elif [ "$major" -gt 36 ]; then
    give_up "this is L4T $l4t, newer than JetPack 6" \
        "JetPack 7 has Python 3.12 and takes torch from elsewhere; set it up by hand, see README.md beside this script"
elif [ "$minor" -lt 4 ] && [ -z "${NEARFIELD_TORCH_INDEX:-}" ]; then
    give_up "this is L4T $l4t, JetPack 6.0, with a CUDA for which NVIDIA's index no longer has torch" \
        "upgrade to JetPack 6.1 or 6.2 (L4T R36.4), or name an index that has it in NEARFIELD_TORCH_INDEX"
fi
index=${NEARFIELD_TORCH_INDEX:-https://pypi.jetson-ai-lab.io/jp6/cu126/+simple/}
python3 -c 'import sys; sys.exit(sys.version_info[:2] != (3, 10))' ||
    give_up "python3 is $(python3 --version), not JetPack 6's 3.10" "put /usr/bin in front of PATH"
free_mb=$(df -Pm "$HOME" | awk 'NR == 2 { print $4 }')
[ "$free_mb" -ge 4000 ] || give_up "only $free_mb MB are free in $HOME" "4000 are needed, most of it for torch"
say "L4T $l4t, Python 3.10, $free_mb MB free"
[ -z "$only_check" ] || exit 0

# -- what the system has to have ------------------------------------------------------------------------

missing=()
for package in libasound2-plugins libopenblas0 libportaudio2 python3-venv; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
    say "installing ${missing[*]}"
    { sudo apt-get update -q && sudo apt-get install -y -q --no-install-recommends "${missing[@]}"; } >/dev/null ||
        give_up "could not install ${missing[*]}" "install them, and run this again"
fi
if ! id -nG | tr ' ' '\n' | grep -qx audio; then
    # Without a screen nobody sits at the machine, and only this group may open its sound cards.
    say "adding $(id -un) to the group audio; it counts from the next start of the machine on"
    sudo usermod -aG audio "$(id -un)" || say "that failed: without a screen there may be no sound"
fi

# -- Python packages ------------------------------------------------------------------------------------

python=$home/bin/python
if ! "$python" -c 'import pip' 2>/dev/null; then
    say "making $home"
    # None of the system's packages: JetPack's are old, and some would be found first.
    python3 -m venv --clear "$home"
fi
pip=("$python" -m pip --disable-pip-version-check --quiet)
# Prints torch's version if it is new enough and sees the GPU, else why not.
look_at_torch() {
    "$python" - 2>&1 <<'LOOK'
import sys
try:
    import torch
except ImportError as error:
    sys.exit(f"torch cannot be imported: {error}")
if tuple(map(int, torch.__version__.split(".")[:2])) < (2, 5):
    sys.exit(f"torch is {torch.__version__}, and 2.5 is needed")
if not torch.cuda.is_available():
    sys.exit(f"torch {torch.__version__} sees no GPU")
torch.ones(1, device="cuda").add_(1).cpu().numpy()
print(torch.__version__)
LOOK
}
if ! found=$(look_at_torch); then
    say "installing torch from $index (some hundred MB)"
    # As the only index: PyPI has the same version numbers, built for other GPUs or for none.
    "${pip[@]}" install --upgrade --force-reinstall --index-url "$index" -c $here/requirements-aarch64.txt 'torch>=2.5,<3' ||
        give_up "torch cannot be had from $index" "that index is away at times: try later, or see README.md, Where torch comes from"
fi
say "installing Nearfield and what it needs"
"${pip[@]}" install --only-binary :all: -r $here/requirements-aarch64.txt
"${pip[@]}" install --no-deps --force-reinstall .
"$home/bin/nearfield" --version >/dev/null || give_up "nearfield does not start" "its message is above"
if ! found=$(look_at_torch); then
    give_up "${found##*$'\n'}" "see README.md beside this script, If torch does not load"
fi
say "torch $found sees the GPU"
mkdir -p "$HOME/.local/bin"
ln -sfn "$home/bin/nearfield" "$HOME/.local/bin/nearfield"

# -- settings and service -------------------------------------------------------------------------------

if [ ! -e "$config/nearfield/config.yaml" ]; then
    mkdir -p "$config/nearfield"
    cat >"$config/nearfield/config.yaml" <<'SETTINGS'
# Made by packaging/jetson/install.sh, and never changed by it again.
#server:
#  url: ws://192.168.1.20:8001
decoder:
  device: cuda            # cpu if the doctor finds that wanting
audio:
  lead_in_s: 0.3          # HDMI and USB loudspeakers swallow the first moment
kiosk:
  sources: [http]
SETTINGS
    say "wrote $config/nearfield/config.yaml; say there which server speaks"
fi
if [ -n "$wants_service" ]; then
    mkdir -p "$config/systemd/user"
    cp packaging/systemd/nearfield.service "$config/systemd/user/"
    export XDG_RUNTIME_DIR=${XDG_RUNTIME_DIR:-/run/user/$(id -u)}
    loginctl enable-linger "$(id -un)" || sudo loginctl enable-linger "$(id -un)"
    systemctl --user daemon-reload
    systemctl --user enable nearfield
    systemctl --user restart nearfield
    say "the service runs; it starts with the machine, without anyone logging in"
fi
say "done. Next: $HOME/.local/bin/nearfield fetch Qwen/Qwen3-TTS-12Hz-0.6B-CustomVoice, then nearfield doctor --tone"
