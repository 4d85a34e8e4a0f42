#!/usr/bin/env bash
# Takes the symbols that only a debugger reads out of a bundle's libraries: torch's alone carry 90 MB of them.
#   packaging/pyinstaller/strip.sh FOLDER
set -euo pipefail
find "$1" -type f \( -name '*.so' -o -name '*.so.*' \) -print0 |
    while IFS= read -r -d '' library; do
        case $library in
            # patchelf has moved parts of these to where strip does not expect them.
            */numpy.libs/*) continue ;;
        esac
        mode=$(stat -c %a "$library")
        if strip --strip-unneeded -o "$library.stripped" "$library" 2>/dev/null; then
            chmod "$mode" "$library.stripped"
            mv -f "$library.stripped" "$library"
        else
            rm -f "$library.stripped"
        fi
    done
