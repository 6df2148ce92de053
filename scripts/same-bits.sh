#!/usr/bin/env bash
# scripts/same-bits.sh VARIANT: builds the library once more in another way, and compares its hash of everything
# (tests/hash) with the one of the usual build. VARIANT is one of those below. Exit code 77: the tools are not there.
#
# Run by ctest, which sets KEYBITS_SOURCE, KEYBITS_BUILD and KEYBITS_HASH, the usual build's program.
set -euo pipefail

variant=${1:?"usage: same-bits.sh VARIANT"}
emulator=() options=() header= tier=
case $variant in
gcc-O0) compiler=gcc flags=-O0 ;;
gcc-O3) compiler=gcc flags=-O3 ;;
gcc-no-threads) compiler=gcc flags=-O1 options=(-DKEYBITS_THREADS=OFF) ;;
clang-O2) compiler=clang flags=-O2 ;;
aarch64)
    compiler=aarch64-linux-gnu-gcc flags="-O2 -static" emulator=(qemu-aarch64)
    options=(-DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64)
    ;;
avx512-emulated) # the kernels for AVX-512 with SIMDe's functions in place of the instructions
    compiler=gcc flags="-O2 -Wno-psabi -DKB_EMULATE_AVX512" header=simde/x86/avx512.h tier=avx512
    ;;
*) echo "same-bits: no such variant: $variant" >&2; exit 2 ;;
esac

for tool in "$compiler" "${emulator[@]}"; do
    if ! command -v "$tool" >/dev/null; then
        echo "skipped: $tool is not installed"
        exit 77
    fi
done
if [ -n "$header" ] && ! "$compiler" -E -include "$header" -x c /dev/null >/dev/null 2>&1; then
    echo "skipped: $header is not installed"
    exit 77
fi

build=$KEYBITS_BUILD/same-bits/$variant
cmake -S "$KEYBITS_SOURCE" -B "$build" --log-level=WARNING -DCMAKE_C_COMPILER="$compiler" -DCMAKE_BUILD_TYPE=None \
    -DCMAKE_C_FLAGS="$flags" -DKEYBITS_BUILD_CLI=OFF -DKEYBITS_BUILD_EVAL=OFF -DKEYBITS_BUILD_LEARN=OFF \
    -DKEYBITS_BUILD_BENCH=OFF -DKEYBITS_BUILD_TESTS=ON "${options[@]}" >/dev/null
cmake --build "$build" --target hash_everything check_kernels >/dev/null

# Every kernel of that build against plain C.
checked=$("${emulator[@]}" "$build/tests/check_kernels") || { echo "$checked"; exit 1; }
echo "$checked"
if [ -n "$tier" ] && ! grep -q "^$tier:" <<<"$checked"; then
    echo "skipped: the tier $tier builds on another one that this processor lacks"
    exit 77
fi

# With every instruction set the processor has, and with plain C alone.
expected=$("$KEYBITS_HASH")
for features in "" c; do
    found=$("${emulator[@]}" "$build/tests/hash_everything" ${features:+"$features"})
    if [ "$found" != "$expected" ]; then
        echo "other bits from $compiler $flags${features:+, instruction sets: $features} (<) than from the usual build (>):"
        diff <(echo "$found") <(echo "$expected")
        exit 1
    fi
done
echo "$expected"
