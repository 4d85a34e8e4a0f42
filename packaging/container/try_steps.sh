#!/usr/bin/env bash
# Does the steps of both Dockerfiles in root folders that debootstrap makes, and uses what they leave: a sentence of the
# emulator is decoded by this checkout; the kiosk is heard in a PulseAudio whose socket is mounted. For machines where no
# container engine runs. Needs root, debootstrap, unshare, curl, pulseaudio, and .venv (packaging/bootstrap.sh --kiosk).
#   packaging/container/try_steps.sh [emulator|voice|kiosk]…      voice: the emulator with its demo voice
# $TRY_FOLDER keeps the roots (default: build/container). A folder of wheels in $PIP_FIND_LINKS is used inside, too;
# $TORCH_INDEX is handed to the kiosk's build.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 2
here=packaging/container
work=${TRY_FOLDER:-build/container}
suite=bookworm
python=.venv/bin/python
failed=0 running=()
mkdir -p "$work"
work=$(realpath "$work")

ok() { echo "ok      $*"; }
bad() {
    echo "FAILED  $*"
    failed=1
}
# Says which of two it was, by the exit code $1.
judge() { if [ "$1" -eq 0 ]; then ok "$2"; else bad "$3"; fi; }
# What was started here is the only child of the process whose number is kept: unshare itself takes no SIGTERM.
inner() { pgrep -P "$1"; }
# shellcheck disable=SC2317  # it is the trap's
end() {
    local pid
    for pid in "${running[@]}"; do
        kill -KILL "$pid" 2>/dev/null
    done
}
trap end EXIT
wait_for() {
    local _
    for _ in $(seq "$1"); do
        "${@:2}" >/dev/null 2>&1 && return
        sleep 0.5
    done
    return 1
}
is_root() { [ "$(awk '/^Uid/ { print $2 }' "/proc/$(inner "$1")/status")" = 0 ]; }
# Ends the process $1 as an engine would, and compares its exit code with 0.
stop() {
    kill -TERM "$(inner "$1")"
    wait "$1"
    local code=$?
    judge $code "SIGTERM ends the $2: exit code 0" "SIGTERM: the $2 ended with $code"
}

# What this machine needs to reach the registries.
reach=(--bind /etc/resolv.conf:/etc/resolv.conf)
certificates=/etc/ssl/certs/ca-certificates.crt
[ ! -e "$certificates" ] || reach+=(--bind "$certificates:/tmp/certificates.crt" --env PIP_CERT=/tmp/certificates.crt)
[ ! -d "${PIP_FIND_LINKS:-}" ] || reach+=(--bind "$PIP_FIND_LINKS:/tmp/wheels" --env PIP_FIND_LINKS=/tmp/wheels)

if [ ! -e "$work/$suite/etc/os-release" ]; then
    debootstrap --variant=minbase $suite "$work/$suite" >"$work/debootstrap.log" 2>&1 || {
        tail -3 "$work/debootstrap.log"
        exit 2
    }
    # As in Debian's images: packages are not kept once they are installed.
    cat >"$work/$suite/etc/apt/apt.conf.d/docker-clean" <<'CLEAN'
DPkg::Post-Invoke { "rm -f /var/cache/apt/archives/*.deb /var/cache/apt/*.bin || true"; };
APT::Keep-Downloaded-Packages "false";
Dir::Cache::pkgcache "";
Dir::Cache::srcpkgcache "";
CLEAN
    chroot "$work/$suite" apt-get clean
fi
build() {
    local started=$SECONDS
    if "$python" "$here/dockerfile.py" build "$here/Dockerfile.$1" --base "$work/$suite" --root "$work/$1" \
        "${reach[@]}" "${@:2}" >"$work/$1.log" 2>&1; then
        ok "$1: $(grep -c '^RUN' "$work/$1.log") RUN and all other steps in $((SECONDS - started)) s," \
            "$(($(du -sm "$work/$1" | cut -f1) - $(du -sm "$work/$suite" | cut -f1))) MB on top of the base"
    else
        tail -8 "$work/$1.log"
        bad "$1: a step"
        return 1
    fi
}
run() { exec "$python" "$here/dockerfile.py" run "$here/Dockerfile.$1" --root "$work/$1" "${@:2}"; }

try_emulator() {
    build emulator "$@" || return
    [ -z "$(find "$work/emulator" -type d -path '*site-packages/torch')" ]
    judge $? "no torch inside" "torch is inside"
    run emulator >"$work/emulator.out" 2>&1 &
    local pid=$!
    running+=("$pid")
    if wait_for 40 curl -fsS http://127.0.0.1:8001/health; then ok "the emulator answers"; else
        cat "$work/emulator.out"
        bad "no answer of the emulator"
        return
    fi
    (run emulator --health) >/dev/null 2>&1
    judge $? "its health check passes" "its health check"
    ! is_root "$pid"
    judge $? "it is not root" "it is root"
    if .venv/bin/nearfield say --server ws://127.0.0.1:8001 --checkpoint assets/demo_voice --no-play \
        -o "$work/emulator.wav" "Hello from a container" >"$work/say.out" 2>&1; then
        ok "nearfield say: $(tail -1 "$work/say.out")"
    else
        cat "$work/say.out"
        bad "nearfield say"
    fi
    grep -q "recorded sentences" "$work/emulator.out"
    local has_voice=$?
    [ $has_voice -eq $(($# > 0)) ]
    judge $? "it has $([ $# -gt 0 ] && echo "the demo voice" || echo "tapes")" "$(cat "$work/emulator.out")"
    stop "$pid" emulator
}

try_kiosk() {
    build kiosk --build-arg "TORCH_INDEX=${TORCH_INDEX-https://download.pytorch.org/whl/cpu}" || return
    (run kiosk -- --self-test) >"$work/self-test.out" 2>&1
    # The window is not part of this image.
    if [ "$(grep '^FAILED' "$work/self-test.out" | grep -vcE 'window|keyring')" = 0 ] && grep -q '^ok' "$work/self-test.out"; then
        ok "self-test: all but the window"
    else
        cat "$work/self-test.out"
        bad "self-test"
    fi
    # A sound server with one output that nobody hears, and its socket, as a desktop has it.
    local sound=$work/sound
    rm -rf "$sound" && mkdir -p "$sound" && chmod 755 "$sound"
    XDG_RUNTIME_DIR=$sound HOME=$sound pulseaudio -n --daemonize=no --exit-idle-time=-1 --use-pid-file=no \
        -L "module-native-protocol-unix socket=$sound/native auth-cookie=$sound/cookie" \
        -L "module-null-sink sink_name=nobody" >"$sound/log" 2>&1 &
    running+=("$!")
    wait_for 20 test -S "$sound/native" || bad "no sound server"
    chmod 644 "$sound/cookie"
    PULSE_COOKIE=$sound/cookie PULSE_SERVER=unix:$sound/native parec -d nobody.monitor --format=s16le --rate=24000 --channels=1 \
        >"$sound/heard.raw" 2>/dev/null &
    running+=("$!")
    run kiosk --bind "$sound/native:/run/pulse/native" --bind "$sound/cookie:/run/pulse/cookie" -- --no-gui --demo \
        >"$work/kiosk.out" 2>&1 &
    local pid=$!
    running+=("$pid")
    healthy() { (run kiosk --health); }
    if wait_for 60 healthy; then ok "its health check passes: server, decoder and loudspeaker are there"; else
        healthy
        tail -5 "$work/kiosk.out"
        bad "its health check"
    fi
    ! is_root "$pid"
    judge $? "it is not root" "it is root"
    curl -fsS --json '{"text": "Hello and welcome to Nearfield."}' http://127.0.0.1:8181/speak >"$work/speak.out" 2>&1
    judge $? "a text is taken" "a text: $(cat "$work/speak.out")"
    sleep 5
    # Loudest sample of what the sound server was given.
    local peak
    peak=$(od -An -v -td2 -w2 "$sound/heard.raw" | awk '{ v = $1 < 0 ? -$1 : $1; if (v > m) m = v } END { print m + 0 }')
    [ "$peak" -gt 1000 ]
    judge $? "heard through the mounted socket, peak $peak of 32767" "nothing was heard"
    stop "$pid" kiosk
}

"$python" "$here/dockerfile.py" check $here/Dockerfile.* packaging/jetson/Dockerfile || failed=1
[ $# -gt 0 ] || set -- emulator voice kiosk
for name in "$@"; do
    case $name in
        emulator) try_emulator ;;
        voice) try_emulator --build-arg DEMO_VOICE=yes ;;
        kiosk) try_kiosk ;;
        *) bad "unknown: $name; known: emulator voice kiosk" ;;
    esac
done
exit $failed
