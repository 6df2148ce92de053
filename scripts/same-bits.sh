#!/usr/bin/env bash
# scripts/same-bits.sh VARIANT: builds the library once more in another way, and compares its hash of everything
# (tests/hash) with the one of the usual build. VARIANT is one of those below. Exit code 77: the tools are not there.
#
# Run by ctest, which sets KEYBITS_SOURCE, KEYBITS_BUILD and KEYBITS_HASH, the usual build's program.
set -euo pipefail

variant=${1:?"usage: same-bits.sh VARIANT"}
emulator=()
case $variant in
gcc-O0) compiler=(gcc -O0) ;;
gcc-O3) compiler=(gcc -O3) ;;
gcc-no-threads) compiler=(gcc -O2 -DKB_NO_THREADS) ;;
clang-O2) compiler=(clang -O2) ;;
aarch64) compiler=(aarch64-linux-gnu-gcc -O2 -static) emulator=(qemu-aarch64) ;;
*) echo "same-bits: no such variant: $variant" >&2; exit 2 ;;
esac

for tool in "${compiler[0]}" "${emulator[@]}"; do
    if ! command -v "$tool" >/dev/null; then
        echo "skipped: $tool is not installed"
        exit 77
    fi
done

program=$(mktemp)
trap 'rm -f "$program"' EXIT
cd "$KEYBITS_SOURCE"
"${compiler[@]}" -ffp-contract=off -DKB_HAVE_BUILTIN_TABLES -Iinclude -Isrc src/*/*.c \
    "$KEYBITS_BUILD/generated/builtin_tables.c" tests/hash/hash_everything.c -lm -lpthread -o "$program"

expected=$("$KEYBITS_HASH")
found=$("${emulator[@]}" "$program")
if [ "$found" != "$expected" ]; then
    echo "other bits from ${compiler[*]} (<) than from the usual build (>):"
    diff <(echo "$found") <(echo "$expected")
    exit 1
fi
echo "$expected"
