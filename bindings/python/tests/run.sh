#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# run.sh [LIBRARY]: makes the wheel, of a library that was built before or of the sdist alone, installs it into a folder
# of its own, and runs the tests and the type checker there. KEYBITS names the program to compare with. A library with the
# address sanitizer is tested with that loaded before Python.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
source "$root/scripts/python.inc"
python=$(find_python numpy pip setuptools wheel pytest)

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
[ $# -eq 0 ] || export KEYBITS_LIBRARY_FILE=$1
export PYTHON=$python KEYBITS_SOURCE=$root PYTHONDONTWRITEBYTECODE=1
if [ $# -gt 0 ]; then
    wheel=$("$root/scripts/python-wheel" "$scratch")
else
    sdist=$("$root/scripts/python-wheel" "$scratch" sdist)
    env -C "$scratch" -u KEYBITS_SOURCE "$python" -m pip wheel -v --disable-pip-version-check --no-build-isolation \
        --no-index --no-deps -w "$scratch" "$sdist" >"$scratch/log" 2>&1 || { tail -n 30 "$scratch/log"; exit 1; }
    grep -q 'compiling the C library' "$scratch/log" # pip install -v shows it
    wheel=$(echo "$scratch"/keybits-*.whl)
fi
case ${wheel##*/} in
*-py3-none-*) ;;
*) echo "not a wheel for every Python 3: $wheel" >&2; exit 1 ;;
esac
"$python" -m pip install -q --disable-pip-version-check --no-index --no-deps --target "$scratch/site" "$wheel" 2>&1 |
    grep -v 'as the .root. user' || true
export PYTHONPATH=$scratch/site
cd "$scratch"
tests=$here
[ $# -gt 0 ] || tests="$here/test_features.py $here/test_abi.py" # the same package; only the library is another
sanitizer=$([ $# -eq 0 ] || ldd "$1" | awk '/libasan/ { print $3 }')
if [ -n "$sanitizer" ]; then # Python keeps memory until it ends, and does not end on Ctrl-C inside the sanitizer
    export KEYBITS_ROUNDS=40 KEYBITS_FUZZ=1000
    # OpenCV throws, and the sanitizer must find what catches before it starts
    LD_PRELOAD="$sanitizer libstdc++.so.6" ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 \
        "$python" -m pytest -q -p no:cacheprovider --rootdir "$scratch" \
        -k 'not ctrl_c and not memory and not leak and not dask and not tour' "$tests"
    exit 0
fi
# shellcheck disable=SC2086
"$python" -m pytest -q -p no:cacheprovider --rootdir "$scratch" $tests
[ $# -gt 0 ] || exit 0
if "$python" -c 'import mypy' 2>/dev/null; then
    MYPYPATH=$scratch/site "$python" -m mypy --strict --cache-dir "$scratch/mypy" --python-version 3.11 -p keybits
    "$python" -m mypy --strict --cache-dir "$scratch/mypy" "$root/bindings/python/generate_abi.py"
else
    echo "mypy is not there: types are not checked"
fi
