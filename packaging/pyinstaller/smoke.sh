#!/usr/bin/env bash
# Tries a finished bundle as somebody else would run it: from another folder with spaces in its name, read-only, as an
# ordinary user with next to no environment, where neither this checkout nor a system PortAudio is to be seen.
#   packaging/pyinstaller/smoke.sh [BUNDLE]      left out: build/bundle/nearfield. Root is needed to become somebody else
# Every line says what was tried; the last says OK or FAILED, with exit code 0 or 1. Screenshots and logs: $SMOKE_OUT.
set -uo pipefail

if [ "${1:-}" != --inside ]; then
    here=$(cd "$(dirname "$0")" && pwd)
    repo=$(cd "$here/../.." && pwd)
    build=${NEARFIELD_BUILD:-$repo/build/bundle}
    bundle=$(cd "${1:-$build/nearfield}" && pwd) || exit 2
    if [ "$(id -u)" -ne 0 ]; then
        echo "smoke: run it as root: it becomes another user, and hides files from it" >&2
        exit 2
    fi
    for tool in Xvfb import setpriv unshare xdotool; do
        command -v $tool >/dev/null || {
            echo "smoke: needs $tool (Debian: xvfb imagemagick util-linux xdotool)" >&2
            exit 2
        }
    done
    out=${SMOKE_OUT:-$build/smoke}
    rm -rf "$out"
    mkdir -p "$out"
    room=$(mktemp -d /tmp/nearfield-smoke.XXXXXX)
    server='' screen=''
    end() {
        # Only what was started here, by number.
        [ -z "$server" ] || kill "$server" 2>/dev/null
        [ -z "$screen" ] || kill "$screen" 2>/dev/null
        chmod -R u+w "$room" && rm -rf "$room"
    }
    trap end EXIT
    chmod 755 "$room"
    mkdir -p "$room/a folder with spaces"
    cp -a "$bundle" "$room/a folder with spaces/nearfield"
    chown -R root:root "$room/a folder with spaces"
    chmod -R a-w,a+rX "$room/a folder with spaces"
    mkdir -p "$room/home" "$room/out" "$room/tmp"
    mkdir -m 700 "$room/run"
    cp -a "$bundle/lib/assets/demo_voice" "$room/home/a checkpoint"
    cp "$here/smoke.sh" "$room/smoke.sh"
    chown -R 65534:65534 "$room/home" "$room/out" "$room/tmp" "$room/run"

    # A server for the test with a checkpoint of one's own: from the environment of the build, which the bundle does not see.
    if [ -x "$build/venv/bin/python" ]; then
        "$build/venv/bin/python" -m server.emulator --port 0 --voice tapes >"$out/server.log" 2>&1 &
        server=$!
        for _ in $(seq 100); do
            url=$(grep -o 'ws://[^ ]*' "$out/server.log" | head -1)
            [ -z "$url" ] || break
            sleep 0.2
        done
        url=${url:-none}
    fi
    Xvfb -displayfd 3 -screen 0 1280x900x24 -nolisten tcp 3>"$room/display" 2>/dev/null &
    screen=$!
    for _ in $(seq 100); do
        [ ! -s "$room/display" ] || break
        sleep 0.1
    done

    REPO=$repo BUILD=$build URL=${url:-} DISPLAY_NUMBER=$(cat "$room/display") ROOM=$room \
        unshare --mount --propagation private bash -c '
            mkdir -p "$ROOM/nothing"
            # This checkout, the environment of the build, and Pythons of other places.
            for folder in "$REPO" "$BUILD" "$HOME/.pyenv"; do
                [ ! -d "$folder" ] || mount --bind "$ROOM/nothing" "$folder" || exit 2
            done
            ldconfig -p | awk "/libportaudio/ {print \$NF}" | while read -r library; do
                mount --bind /dev/null "$(readlink -f "$library")" || exit 2
            done
            exec setpriv --reuid 65534 --regid 65534 --clear-groups --no-new-privs --inh-caps=-all \
                env -i HOME="$ROOM/home" TMPDIR="$ROOM/tmp" XDG_RUNTIME_DIR="$ROOM/run" LANG=C.UTF-8 ROOM="$ROOM" \
                URL="$URL" DISPLAY_NUMBER="$DISPLAY_NUMBER" PATH= /bin/bash "$ROOM/smoke.sh" --inside
        '
    code=$?
    cp -a "$room/out/." "$out/"

    # -- size: as files, and compressed -----------------------------------------------------------------
    bytes=$(find "$bundle" -type f -printf '%s\n' | awk '{ sum += $1 } END { print sum }')
    echo "$bytes" | awk '{ printf "%s  %.0f MB unpacked, of 650\n", $1 <= 650e6 ? "ok    " : "FAILED", $1 / 1e6; exit $1 > 650e6 }' || code=1
    archive=$(ls -t "$build"/nearfield-*.tar.xz 2>/dev/null | head -1)
    if [ -n "$archive" ]; then
        stat -c %s "$archive" |
            awk '{ printf "%s  %.0f MB compressed, of 250\n", $1 <= 250e6 ? "ok    " : "FAILED", $1 / 1e6; exit $1 > 250e6 }' || code=1
    else
        echo "        not compressed: build.sh --archive"
    fi
    [ $code -eq 0 ] && echo "smoke: OK" || echo "smoke: FAILED"
    exit $code
fi

# ---------------------------------------------------------------------------------------------------------
# From here on: an ordinary user. The tools' own path is for this script; the programs get none.

tools=/usr/local/bin:/usr/bin:/bin
PATH=$tools
program="$ROOM/a folder with spaces/nearfield/nearfield"
cli=$program-cli
out=$ROOM/out
failed=0
cd "$HOME" || exit 2

# Programs get no path at all. Not a function: in the background that would be a shell of its own.
run=(env -u PATH)
ok() {
    echo "ok      $*"
}
bad() {
    echo "FAILED  $*"
    failed=1
}
try() {
    # try WHAT COMMAND…: it ends well; what it said is kept, and shown if not.
    local what=$1 begun code
    shift
    begun=$(date +%s.%N)
    "$@" >"$out/last.log" 2>&1
    code=$?
    if [ $code -eq 0 ]; then
        ok "$what ($(echo "$(date +%s.%N) - $begun" | awk '{ printf "%.1f s", $1 - $3 }'))"
    else
        bad "$what: exit code $code"
        sed 's/^/            /' "$out/last.log" | tail -20
    fi
    cp "$out/last.log" "$out/${what//[^A-Za-z0-9]/-}.log"
    return $code
}
wav_samples() {
    # Data bytes of its header, in samples of 16 bits.
    od -An -tu4 -j40 -N4 "$1" 2>/dev/null | awk '{ print $1 / 2 }'
}
processes_of() {
    # PID and those that it started.
    local pid=$1 child
    echo "$pid"
    for child in $(cat "/proc/$pid/task/"*/children 2>/dev/null); do
        processes_of "$child"
    done
}
ends_with() {
    # ends_with WHAT PID EXPECTED
    local code
    wait "$2"
    code=$?
    [ $code -eq "$3" ] && ok "$1: exit code $code" || bad "$1: exit code $code instead of $3"
}
appears() {
    # appears TEXT FILE: within a minute
    for _ in $(seq 300); do
        grep -qs -- "$1" "$2" && return 0
        sleep 0.2
    done
    return 1
}

echo "        as $(id -un), in $PWD, the bundle read-only in ${program%/*}"
if touch "${program%/*}/lib/x" 2>/dev/null; then bad "the folder can be written"; else ok "the folder cannot be written"; fi
if ls /usr/lib/*/libportaudio* >/dev/null 2>&1 && head -c1 /usr/lib/*/libportaudio.so.2 2>/dev/null | grep -q .; then
    bad "a system PortAudio is to be seen"
else
    ok "no system PortAudio is to be seen"
fi

# -- what must not be inside ------------------------------------------------------------------------------
unwanted=$(find "${program%/*}" \( -iname '*piper*' -o -iname '*espeak*' -o -iname '*joe_us*' -o -iname 'libcu*.so*' -o -iname '*nvidia*' \
    -o -iname 'libtorch_cuda*' -o -name '*.h' -o -name '*.pyi' -o -iname '*matplotlib*' -o -iname '*transformers*' -o -iname '*qwen_tts*' \
    -o -name 'test_*.py*' -o -name tests -o -iname '*readline*' -o -iname '*gdbm*' -o -iname 'libdb-*' \) -print)
[ -z "$unwanted" ] && ok "nothing inside that must not be" || bad "inside: $unwanted"

# -- the terminal program ---------------------------------------------------------------------------------
try "version" "${run[@]}" "$cli" --version --json
grep -q '"frozen": true' "$out/last.log" || bad "version: not the frozen one"
try "self-test" "${run[@]}" "$cli" --self-test && sed 's/^/            /' "$out/last.log"
try "self-test of the windowed program" "${run[@]}" "$program" --self-test
try "say --demo" "${run[@]}" "$cli" say --demo --no-play -o "$out/demo.wav" "Hello and welcome to Nearfield."
[ "$(wav_samples "$out/demo.wav")" = 49920 ] && ok "the recorded sentence is 49920 samples" || bad "demo.wav has $(wav_samples "$out/demo.wav") samples"
try "a checkpoint given by path" "${run[@]}" "$cli" bench --checkpoint "$HOME/a checkpoint" --rounds 1 --json
if [ "$URL" = none ]; then
    bad "the emulator did not start: server.log"
elif [ -n "$URL" ]; then
    try "a server, and a checkpoint given by path" \
        "${run[@]}" "$cli" say --server "$URL" --checkpoint "$HOME/a checkpoint" --no-play -o "$out/server.wav" "Hello and welcome to Nearfield."
    cmp -s "$out/demo.wav" "$out/server.wav" && ok "both sound the same" || bad "the two recordings differ"
fi
"${run[@]}" "$cli" say --demo --no-play -o "$out/closed.wav" "Hello and welcome to Nearfield." <&- >&- 2>&-
code=$?
[ $code -eq 0 ] && cmp -s "$out/demo.wav" "$out/closed.wav" && ok "with stdin, stdout and stderr closed" || bad "with its streams closed: exit code $code"
"${run[@]}" "$cli" say --server ws://127.0.0.1:1 --patience 0 --no-play -o "$out/x.wav" Hello >"$out/last.log" 2>&1
code=$?
[ $code -eq 2 ] && ok "without a server: exit code 2" || bad "without a server: exit code $code instead of 2"
"${run[@]}" "$cli" devices >"$out/devices.log" 2>&1
code=$?
[ $code -le 1 ] && ! grep -qi "install PortAudio" "$out/devices.log" && ok "devices: $(tail -1 "$out/devices.log")" || bad "devices: exit code $code, $(cat "$out/devices.log")"
"${run[@]}" "$cli" doctor --demo --json >"$out/doctor.json" 2>"$out/doctor.log"
code=$?
grep -q '"check": "speed"\|rtf_1' "$out/doctor.json" && ok "doctor measures in a process of its own (exit code $code)" ||
    bad "doctor: exit code $code, $(tail -3 "$out/doctor.log")"

# -- a real stream: into a sound server of its own, whose output is recorded ---------------------------------
if command -v pulseaudio >/dev/null && command -v parec >/dev/null; then
    pulseaudio -n --daemonize=no --exit-idle-time=-1 --use-pid-file=no -L "module-null-sink sink_name=sink rate=24000" \
        -L module-native-protocol-unix >"$out/pulse.log" 2>&1 &
    sound=$!
    for _ in $(seq 100); do
        pactl info >/dev/null 2>&1 && break
        sleep 0.1
    done
    parec --device sink.monitor --rate 24000 --channels 1 --format s16le >"$out/heard.pcm" 2>/dev/null &
    ear=$!
    try "say --demo through PortAudio" "${run[@]}" "$cli" say --demo --device "ALSA: pulse" "Hello and welcome to Nearfield."
    sleep 0.5
    kill $ear $sound 2>/dev/null
    wait $ear $sound 2>/dev/null
    loud=$(od -An -v -td2 -w2 "$out/heard.pcm" | awk '$1 > 1000 || $1 < -1000 { n++ } END { print n + 0 }')
    [ "$loud" -gt 10000 ] && ok "it was heard: $loud loud samples" || bad "it was not heard: $loud loud samples, $(tail -2 "$out/last.log")"
    rm -f "$out/heard.pcm"
else
    echo "        not tried: a real stream (Debian: pulseaudio pulseaudio-utils)"
fi

# -- the kiosk --------------------------------------------------------------------------------------------
kiosk() {
    mkfifo "$out/lines"
    "${run[@]}" "$cli" --no-gui --demo --json <"$out/lines" >"$out/kiosk.log" 2>&1 &
    pid=$!
    exec 9>"$out/lines"
    rm "$out/lines"
    echo "Hello and welcome to Nearfield." >&9
    appears '"state": "complete"\|complete' "$out/kiosk.log" || bad "the kiosk did not speak: $(tail -3 "$out/kiosk.log")"
}
kiosk
family=$(processes_of $pid)
[ "$(echo "$family" | wc -l)" -eq 1 ] && ok "the kiosk is one process" || bad "the kiosk has children: $(ps -o pid,ppid,args -p "$(echo $family | tr ' ' ,)")"
maps=$(awk '{ $1 = $2 = $3 = $4 = $5 = ""; print }' "/proc/$pid/maps" | sed 's/^ *//' | sort -u | grep '^/')
echo "$maps" >"$out/maps.log"
echo "$maps" | grep -q "spaces/nearfield/lib/libportaudio" && ok "PortAudio is the bundle's" || bad "PortAudio is not the bundle's: $(echo "$maps" | grep -i portaudio)"
echo "            $(echo "$maps" | grep -v "spaces/nearfield/" | grep -c '\.so') libraries of the system, all in maps.log"
awk '/VmRSS/ { printf "            %.0f MB of memory\n", $2 / 1e3 }' "/proc/$pid/status"
kill -TERM $pid
ends_with "SIGTERM ends the kiosk" $pid 0
exec 9>&-
kiosk
exec 9>&-
ends_with "the end of its input ends the kiosk" $pid 0

# -- the window -------------------------------------------------------------------------------------------
export DISPLAY=:$DISPLAY_NUMBER
"${run[@]}" "$program" --demo >"$out/window.log" 2>&1 &
pid=$!
seen=''
for _ in $(seq 300); do
    seen=$(xdotool search --onlyvisible --name Nearfield 2>/dev/null | head -1)
    [ -z "$seen" ] || break
    sleep 0.2
done
if [ -n "$seen" ]; then
    ok "the window is seen"
    sleep 6
    import -window root "$out/window.png"
    [ "$(processes_of $pid | wc -l)" -eq 1 ] && ok "the window is one process" || bad "the window has children"
    grep -o '/.*/libq[a-z]*\.so' "/proc/$pid/maps" | sort -u | sed 's|.*/|            |'
    kill -TERM $pid
    ends_with "SIGTERM ends the window" $pid 0
else
    bad "no window: $(tail -5 "$out/window.log")"
    kill $pid 2>/dev/null
fi
[ ! -s "$out/window.log" ] || sed 's/^/            /' "$out/window.log" | tail -5

best=''
for round in 1 2 3; do
    "${run[@]}" "$program" --demo --profile-startup >"$out/startup-$round.log" 2>&1 || bad "--profile-startup: exit code $?"
    visible=$(awk '/window visible/ { print $1 }' "$out/startup-$round.log")
    [ -z "$best" ] || [ "${visible:-99999}" -lt "$best" ] && best=$visible
done
sed 's/^/            /' "$out/startup-3.log"
[ -n "$best" ] && [ "$best" -le 2500 ] && ok "the window is visible after $best ms, of 2500" || bad "the window is visible after ${best:-?} ms, of 2500"
load=$(cut -d' ' -f1 /proc/loadavg)
echo "            (best of three; load of this machine $load on $(nproc) CPUs)"

# -- nothing has changed ------------------------------------------------------------------------------------
if (cd "${program%/*}" && sha256sum --quiet -c SHA256SUMS) >"$out/sums.log" 2>&1; then ok "all files have their checksums"; else bad "checksums: $(head -3 "$out/sums.log")"; fi
[ -s "${program%/*}/LICENCES.txt" ] && ok "licences: $(wc -l <"${program%/*}/LICENCES.txt") lines" || bad "no licences"
exit $failed
