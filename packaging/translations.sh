#!/usr/bin/env bash
# Brings the translations up to date: new texts of the window into the .ts files, and those into .qm files.
#   packaging/translations.sh            after texts were changed, then translate what is marked unfinished
# tests/app/gui/test_translations.py fails while something is missing.
set -euo pipefail
cd "$(dirname "$0")/.."
for language in zh_CN; do
    file=assets/translations/nearfield_$language.ts
    find app/gui -name '*.py' -print0 | sort -z |
        xargs -0 sh -c '"$@" -ts "$0"' "$file" .venv/bin/pyside6-lupdate -silent -no-obsolete -locations none -target-language "$language"
    if [ -f "$file" ]; then
        .venv/bin/pyside6-lrelease -silent "$file" -qm "${file%.ts}.qm"
    fi
done
