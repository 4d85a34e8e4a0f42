#!/usr/bin/env bash
# Checks, on any machine, that requirements-aarch64.txt can be installed on a Jetson: every line has a wheel for Linux
# aarch64 and Python 3.10, and nothing that one of them or Nearfield needs there is left out. Downloads about 40 MB, and
# leaves nothing behind. torch is not looked for: it comes from NVIDIA's index.
#   packaging/jetson/check_wheels.sh [PYTHON]       PYTHON: one with pip; default: .venv/bin/python, else python3
set -euo pipefail
cd "$(dirname "$0")/../.."
python=${1:-}
[ -n "$python" ] || { [ -x .venv/bin/python ] && python=.venv/bin/python || python=python3; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# What JetPack 6, with the glibc 2.35 of Ubuntu 22.04, takes.
platforms=()
for tag in manylinux2014 manylinux_2_17 manylinux_2_26 manylinux_2_28 manylinux_2_31 manylinux_2_34 manylinux_2_35; do
    platforms+=(--platform "${tag}_aarch64")
done
"$python" -m pip --disable-pip-version-check download --quiet --no-deps --only-binary=:all: "${platforms[@]}" \
    --python-version 3.10 --implementation cp --abi cp310 --abi abi3 --abi none \
    --dest "$folder" -r packaging/jetson/requirements-aarch64.txt
# pip looks at conditions such as python_version < "3.11" with the Python it runs in, so they are looked at here.
"$python" packaging/jetson/closure.py "$folder" pyproject.toml
echo "check_wheels: $(find "$folder" -name '*.whl' | wc -l) wheels, $(du -sm "$folder" | cut -f1) MB; nothing is missing"
