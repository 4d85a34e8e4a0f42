#!/usr/bin/env bash
# Installs a .deb in a root folder that has nothing but Debian's smallest system, and uses it there as an ordinary user:
# first as a kiosk (no recommended packages), then with a window on an Xvfb of this machine.
#   packaging/linux/try_deb.sh FILE.deb [SUITE]       SUITE: bookworm; another Debian from glibc 2.36 on
# Needs root, debootstrap, unshare, and for the window xvfb, xdotool and imagemagick. $SMOKE_OUT keeps the screenshot.
set -uo pipefail
if [ "${1:-}" != --inside ]; then
    deb=$(realpath "$1") suite=${2:-bookworm}
    build=$(dirname "$deb")
    out=${SMOKE_OUT:-$build/smoke-deb-$suite}
    mkdir -p "$out"
    clean=$build/roots/$suite
    if [ ! -e "$clean/etc/os-release" ]; then
        mkdir -p "$build/roots"
        debootstrap --variant=minbase "$suite" "$clean" >"$out/debootstrap.log" 2>&1 || exit 2
    fi
    root=$(mktemp -d "$build/roots/try.XXXXXX")
    chmod 755 "$root"
    screen=''
    end() {
        [ -z "$screen" ] || kill "$screen" 2>/dev/null
        rm -rf --one-file-system "$root"
    }
    trap end EXIT
    cp -a "$clean/." "$root"
    cp "$deb" "$root/tmp/nearfield.deb"
    cp /etc/resolv.conf "$root/etc/" 2>/dev/null
    cp "$0" "$root/tmp/try.sh"
    if command -v Xvfb >/dev/null; then
        Xvfb -displayfd 3 -screen 0 1280x900x24 -nolisten tcp 3>"$root/tmp/display" 2>/dev/null &
        screen=$!
        for _ in $(seq 100); do
            [ ! -s "$root/tmp/display" ] || break
            sleep 0.1
        done
    fi
    ROOT=$root unshare --mount --pid --fork --propagation private bash -c '
        mount -t proc proc "$ROOT/proc"
        mount --rbind /dev "$ROOT/dev"
        exec chroot "$ROOT" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
            DISPLAY=":$(cat "$ROOT/tmp/display" 2>/dev/null)" bash /tmp/try.sh --inside' &
    pid=$!
    # The window is looked at from here: there is no tool for it inside.
    export DISPLAY=:$(cat "$root/tmp/display" 2>/dev/null)
    while kill -0 $pid 2>/dev/null; do
        if [ -e "$root/tmp/look" ] && [ ! -e "$root/tmp/seen" ]; then
            xdotool search --onlyvisible --name Nearfield >/dev/null 2>&1 && sleep 6 && import -window root "$out/window.png" && touch "$root/tmp/seen"
        fi
        sleep 0.5
    done
    wait $pid
    code=$?
    cp "$root"/tmp/*.log "$root"/tmp/*.wav "$out/" 2>/dev/null
    [ $code -eq 0 ] && echo "try_deb: OK in $suite" || echo "try_deb: FAILED in $suite"
    exit $code
fi

failed=0
ok() { echo "ok      $*"; }
bad() {
    echo "FAILED  $*"
    failed=1
}
as_user=(setpriv --reuid 1000 --regid 1000 --clear-groups env -i HOME=/home/somebody LANG=C.UTF-8 PATH=/usr/bin:/bin)
cd /tmp || exit 2
useradd -m -u 1000 somebody
apt-get update -q >/tmp/apt.log 2>&1 || bad "apt-get update"
if apt-get install -y -q --no-install-recommends /tmp/nearfield.deb >>/tmp/apt.log 2>&1; then
    ok "installed, with nothing that is only recommended"
else
    tail -5 /tmp/apt.log
    bad "it is not installed"
    exit 1
fi
try() {
    local what=$1
    shift
    if "${as_user[@]}" "$@" >/tmp/last.log 2>&1; then ok "$what"; else
        bad "$what: exit code $?"
        tail -15 /tmp/last.log
    fi
    cp /tmp/last.log "/tmp/${what//[^A-Za-z]/-}.log"
}
try "nearfield-cli say --demo" nearfield-cli say --demo --no-play -o /home/somebody/demo.wav "Hello and welcome to Nearfield."
[ "$(od -An -tu4 -j40 -N4 /home/somebody/demo.wav | awk '{ print $1 / 2 }')" = 49920 ] && ok "49920 samples" || bad "not 49920 samples"
"${as_user[@]}" nearfield-cli --self-test >/tmp/self-test-kiosk.log 2>&1
"${as_user[@]}" nearfield-cli devices >/tmp/devices.log 2>&1
code=$?
[ $code -le 1 ] && ok "devices, without ALSA: $(cat /tmp/devices.log)" || bad "devices: exit code $code"
[ "$(grep -c '^FAILED' /tmp/self-test-kiosk.log)" = 1 ] && grep -q '^FAILED  window: OSError' /tmp/self-test-kiosk.log &&
    ok "self-test: all but the window, whose libraries are only recommended" || { bad "self-test"; cat /tmp/self-test-kiosk.log; }
"${as_user[@]}" DISPLAY=:77 nearfield >/tmp/no-window.log 2>&1
code=$?
[ $code -eq 2 ] && grep -q apt-get /tmp/no-window.log && ok "the window says what it lacks: $(cut -c1-150 /tmp/no-window.log)" || { bad "no window: exit code $code"; cat /tmp/no-window.log; }

apt-get remove -y -q nearfield >>/tmp/apt.log 2>&1
if apt-get install -y -q --install-recommends /tmp/nearfield.deb >>/tmp/apt.log 2>&1; then
    ok "installed, with what is recommended"
else
    bad "what is recommended"
    tail -5 /tmp/apt.log
fi
try "nearfield-cli --self-test" nearfield-cli --self-test
cat /tmp/last.log | sed 's/^/            /'
[ -s /usr/share/applications/nearfield.desktop ] && [ -s /usr/share/icons/hicolor/48x48/apps/nearfield.png ] && ok "entry and icons are there"
if [ "$DISPLAY" != : ]; then
    touch /tmp/look
    "${as_user[@]}" DISPLAY="$DISPLAY" nearfield --demo >/tmp/window.log 2>&1 &
    for _ in $(seq 120); do
        [ ! -e /tmp/seen ] || break
        sleep 0.5
    done
    [ -e /tmp/seen ] && ok "the window is seen" || { bad "no window"; tail -5 /tmp/window.log; }
    kill -TERM %1
    wait %1
    code=$?
    [ $code -eq 0 ] && ok "SIGTERM ends it: exit code 0" || bad "SIGTERM: exit code $code"
fi
apt-get remove -y -q nearfield >>/tmp/apt.log 2>&1
[ ! -e /opt/nearfield ] && [ ! -e /usr/bin/nearfield ] && ok "removed without a rest" || bad "something is left in /opt/nearfield"
exit $failed
