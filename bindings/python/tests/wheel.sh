#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# wheel.sh PLATFORM: makes the wheel for another platform (scripts/python-wheel), looks at what is in it, and runs a C
# program with its library in an emulator: there is no Python for these platforms here. Exit code 77: skipped.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
platform=${1:?names a platform of scripts/python-wheel}
fail() { echo "FAILED: $*" >&2; exit 1; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

wheel=$("$root/scripts/python-wheel" "$scratch" "$platform")
python3 -m zipfile -e "$wheel" "$scratch/wheel"
package=$scratch/wheel/keybits
grep -q '^Tag: py3-none-' "$scratch"/wheel/*.dist-info/WHEEL || fail "the tag of $wheel"
for file in LICENSE NOTICE; do
    [ -n "$(find "$scratch/wheel" -path '*.dist-info*' -name $file)" ] || fail "no $file in the wheel"
done
for file in __init__.py _abi.py py.typed vocabularies/bag256-1k.kbv; do
    [ -e "$package/$file" ] || fail "no $file in the wheel"
done

case $platform in
linux-aarch64)
    library=libkeybits.so compiler=aarch64-linux-gnu-gcc emulator=(qemu-aarch64 -L /usr/aarch64-linux-gnu)
    newest=$(readelf -V --wide "$package/$library" | grep -o 'GLIBC_2\.[0-9]*' | sort -t. -k2n | tail -1)
    case ${wheel##*/} in
    *-py3-none-manylinux_2_"${newest#GLIBC_2.}"_aarch64.whl) ;;
    *) fail "${wheel##*/} needs $newest" ;;
    esac
    needs=$(readelf -d "$package/$library" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | grep -v '^lib[cm]\.so\.6$\|^ld-linux' || true)
    ;;
windows-x86_64)
    library=keybits.dll compiler=x86_64-w64-mingw32-gcc emulator=(wine)
    export WINEDEBUG=-all WINEPREFIX=$scratch/wine
    case ${wheel##*/} in *-py3-none-win_amd64.whl) ;; *) fail "${wheel##*/}" ;; esac
    needs=$(x86_64-w64-mingw32-objdump -p "$package/$library" | sed -n 's/.*DLL Name: //p' |
            grep -vi '^\(kernel32\|msvcrt\|ucrtbase\|api-ms-.*\)\.dll' || true)
    ;;
esac
[ -z "$needs" ] || fail "the library needs $needs"
command -v "${emulator[0]}" >/dev/null || { echo "skipped: ${emulator[0]} is not installed"; exit 77; }
"$compiler" -DKB_SHARED -I"$root/include" "$root/tests/install/consumer.c" "$package/$library" \
    -Wl,-rpath,"$package" -o "$package/consumer.exe"
version=$(sed -n 's/^#define KB_VERSION_STRING "\(.*\)"/\1/p' "$root/include/keybits/keybits.h")
found=$("${emulator[@]}" "$package/consumer.exe" | tr -d '\r')
case $platform in windows-*) wineserver -w 2>/dev/null || true ;; esac # it writes into the scratch folder
[ "$found" = "keybits $version" ] || fail "the library for $platform printed: $found"
