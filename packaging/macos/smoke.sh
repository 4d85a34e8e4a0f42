#!/usr/bin/env bash
# Tries a finished application on macOS: from another folder with spaces in its name. Not run so far: see README.md.
#   packaging/macos/smoke.sh [APP]           left out: build/bundle/nearfield.app
# Every line says what was tried; the exit code is 0 if all went well.
set -uo pipefail
app=$(cd "${1:-$(dirname "$0")/../../build/bundle/nearfield.app}" && pwd) || exit 2
room=$(mktemp -d "${TMPDIR:-/tmp}/nearfield smoke.XXXXXX")
trap 'chmod -R u+w "$room"; rm -rf "$room"' EXIT
mkdir "$room/home"
ditto "$app" "$room/nearfield.app"
chmod -R a-w "$room/nearfield.app"
cli=$room/nearfield.app/Contents/MacOS/nearfield-cli
window=$room/nearfield.app/Contents/MacOS/nearfield
# Settings and history of whoever tries this stay as they are.
clean=(env -i "HOME=$room/home" "TMPDIR=$room" LANG=en_US.UTF-8 PATH=/usr/bin:/bin)
cd "$room" || exit 2
failed=0
check() {
    # check WHAT COMMAND…
    local what=$1
    shift
    if "$@"; then
        echo "ok      $what"
    else
        echo "FAILED  $what"
        failed=1
    fi
}
ends_with() {
    # ends_with CODE COMMAND…
    local expected=$1 code
    shift
    "$@"
    code=$?
    [ $code -eq "$expected" ]
}
is_frozen() {
    "${clean[@]}" "$cli" --version --json | grep -q '"frozen": true'
}
samples() {
    # Data bytes of the WAV's header, in samples of 16 bits.
    [ "$(od -An -tu4 -j40 -N4 "$1" | awk '{ print $1 / 2 }')" = "$2" ]
}
says_no_microphone() {
    ! grep -q NSMicrophone "$room/nearfield.app/Contents/Info.plist"
}
has_nothing_unwanted() {
    [ -z "$(find "$room/nearfield.app" \( -iname '*piper*' -o -iname '*espeak*' -o -iname '*joe_us*' -o -name '*.h' -o -name '*.pyi' \) -print)" ]
}
kiosk() {
    echo "Hello and welcome to Nearfield." | "${clean[@]}" "$cli" --no-gui --demo --json
}
check "version: the frozen one" is_frozen
check "self-test" "${clean[@]}" "$cli" --self-test
check "say --demo" "${clean[@]}" "$cli" say --demo --no-play -o "$room/demo.wav" "Hello and welcome to Nearfield."
check "the recorded sentence is 49920 samples" samples "$room/demo.wav" 49920
check "without a server: exit code 2" \
    ends_with 2 "${clean[@]}" "$cli" say --server ws://127.0.0.1:1 --patience 0 --no-play -o "$room/x.wav" Hello
check "the end of its input ends the kiosk" kiosk
check "the window opens, gets ready and ends" "${clean[@]}" "$window" --demo --profile-startup
check "the signature is whole" codesign --verify --deep --strict "$room/nearfield.app"
check "it asks for no microphone" says_no_microphone
check "nothing inside that must not be" has_nothing_unwanted
[ $failed -eq 0 ] && echo "smoke: OK" || echo "smoke: FAILED"
exit $failed
