#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# scripts/same-bits.sh VARIANT: builds the library once more in another way or for another processor, and compares its
# hash of everything (tests/hash) with the one of the usual build. VARIANT is one of those below. Exit code 77: skipped,
# since the tools are not there. VARIANT-short runs one hash instead of three; gcc-O0 no kernels, of which it has the same,
# and avx512-emulated the kernels of its widest tier and no hash, which is made of them.
#
# Most variants are built without CMake and without -ffp-contract=off: the sources alone must give the same bits, also
# where the compiler may fuse multiplications and additions.
#
# Run by ctest, which sets KEYBITS_SOURCE, KEYBITS_BUILD and KEYBITS_HASH, the usual build's program.
set -euo pipefail

variant=${1:?"usage: same-bits.sh VARIANT"}
short=
case $variant in *-short) short=${variant%-short} variant=$short ;; esac
emulator=() needs=() link=() header= tier= run=yes start=
ways=("all 1" "sse4.2 2" "c 7") # instruction sets that may be used, and threads
flags=(-O2 -pthread)
case $variant in
gcc-O0) compiler=gcc flags=(-O0 -pthread) ;;
gcc-O3-haswell) compiler=gcc flags=(-O3 -march=haswell -pthread) needs=(fma avx2 bmi2) ;;
gcc-sapphirerapids) compiler=gcc flags+=(-march=sapphirerapids) needs=(avx512_fp16) ;;
gcc-O0-no-threads) compiler=gcc flags=(-O0 -DKB_NO_THREADS) ;;
gcc-no-threads) compiler=gcc flags=(-O1 -DKB_NO_THREADS) ;;
gcc-11-O2) compiler=gcc-11 ;; # the oldest of Debian 12
clang-O2) compiler=clang ;;
clang-13-O2) compiler=clang-13 ;;
clang-O3-haswell) compiler=clang flags=(-O3 -march=haswell -pthread) needs=(fma avx2 bmi2) ;;
i386) compiler=i686-linux-gnu-gcc flags+=(-static -msse2 -mfpmath=sse) ;;
aarch64) compiler=aarch64-linux-gnu-gcc flags+=(-static) emulator=(qemu-aarch64) ;;
cortex-a76) compiler=aarch64-linux-gnu-gcc flags=(-O3 -static -pthread -mcpu=cortex-a76) emulator=(qemu-aarch64) ;;
arm) compiler=arm-linux-gnueabihf-gcc flags+=(-static -mfpu=neon-vfpv4) emulator=(qemu-arm) ;;
riscv64) compiler=riscv64-linux-gnu-gcc flags+=(-static) emulator=(qemu-riscv64) ;;
s390x) compiler=s390x-linux-gnu-gcc flags+=(-static) emulator=(qemu-s390x) ;; # big endian
cortex-m7) # without an operating system, in an emulated board
    flags=(-O2 -mcpu=cortex-m7 -mthumb -mfloat-abi=hard -mfpu=fpv5-d16 -DKB_NO_THREADS)
    compiler=arm-none-eabi-gcc start=tests/hash/cortex_m7.c ways=("")
    link=(--specs=rdimon.specs -nostartfiles -T "$KEYBITS_SOURCE/tests/hash/cortex_m7.ld" -Wl,--no-warn-rwx-segments)
    emulator=(qemu-system-arm -M mps2-an500 -nographic -semihosting-config "enable=on,target=native" -kernel)
    ;;
wasm) # WebAssembly with its 128-bit vectors, in node; check_kernels calls its only tier by the first name that it tries
    compiler=clang flags=(-O2 --target=wasm32-wasi -msimd128) header=wasi/api.h link=(-Wl,-z,stack-size=1048576)
    emulator=(node --no-warnings "$KEYBITS_SOURCE/tests/hash/wasi.mjs") tier=sse4.2
    ;;
windows) # in wine
    compiler=x86_64-w64-mingw32-gcc link=(-static) emulator=(wine)
    export WINEDEBUG=-all WINEPREFIX=$KEYBITS_BUILD/same-bits/wine
    ;;
avx512-emulated) # the kernels for AVX-512 with functions, most of them SIMDe's, in place of the instructions
    compiler=gcc header=simde/x86/avx512.h tier=avx512
    flags+=(-Wno-psabi -I. '-DKB_EMULATE_AVX512="tests/kernels/avx512_emulated.h"')
    ;;
*) echo "same-bits: no such variant: $variant" >&2; exit 2 ;;
esac

kernels=all
[ -z "$start" ] || kernels=
case $short in
"") ;;
gcc-O0*) kernels= ways=("all 1") ;;
avx512-emulated) kernels=$tier ways=() ;;
*) ways=("all 1") ;;
esac

for tool in "$compiler" "${emulator[@]:0:1}"; do
    if ! command -v "$tool" >/dev/null; then
        echo "skipped: $tool is not installed"
        exit 77
    fi
done
if [ -n "$header" ] && ! "$compiler" "${flags[@]}" -E -include "$header" -x c /dev/null >/dev/null 2>&1; then
    echo "skipped: $header is not installed"
    exit 77
fi
if [ "$short" = avx512-emulated ] && grep -qw avx512_vpopcntdq /proc/cpuinfo; then
    echo "skipped: this processor has AVX-512, so check_kernels compares these kernels as they are"
    exit 77
fi
for feature in "${needs[@]}"; do
    grep -qw "$feature" /proc/cpuinfo || { run="this processor has no $feature"; break; }
done

# Objects in parallel; the last file that does not compile says why.
build=$KEYBITS_BUILD/same-bits/$variant${short:+-short}
rm -rf "$build"
mkdir -p "$build"
cd "$KEYBITS_SOURCE"
printf '%s\n' src/*/*.c "$KEYBITS_BUILD/generated/builtin_tables.c" tests/hash/hash_*.c ${start:-tests/kernels/*.c tests/sizes/*.c} |
    xargs -P "${KEYBITS_JOBS:-2}" -I '{}' bash -c 'name=${1#"$PWD"/}; build=$2; shift 2
        "$@" -c "${name}" -o "$build/${name//\//_}.o"' _ '{}' "$build" \
        "$compiler" -std=gnu11 -DKB_HAVE_BUILTIN_TABLES -Iinclude -Isrc "${flags[@]}"
library=("$build"/src_*.o "$build"/*builtin_tables.c.o)
"$compiler" "${flags[@]}" "${link[@]}" "${library[@]}" "$build"/tests_hash_*.o -lm -o "$build/hash_everything.exe"
if [ "$run" != yes ]; then
    echo "skipped: built, but not run, since $run"
    exit 77
fi

# Every kernel of that build against plain C; a microcontroller has no others.
checked=
if [ -n "$kernels" ]; then
    "$compiler" "${flags[@]}" "${link[@]}" "${library[@]}" "$build"/tests_kernels_*.o -lm -o "$build/check_kernels.exe"
    checked=$("${emulator[@]}" "$build/check_kernels.exe" ${kernels#all} | tr -d '\r') || { echo "$checked"; exit 1; }
    "$compiler" "${flags[@]}" "${link[@]}" "${library[@]}" "$build"/tests_sizes_*.o -lm -o "$build/sizes.exe"
    "${emulator[@]}" "$build/sizes.exe" || exit 1 # of which size_t has 32 bits or 64
    echo "$checked"
fi
if [ -n "$tier" ] && ! grep -q "^$tier:" <<<"$checked"; then
    echo "skipped: the tier $tier builds on another one that this processor lacks"
    exit 77
fi

# With every instruction set the processor has, with some, and with plain C alone.
expected=$("$KEYBITS_HASH")
for way in "${ways[@]}"; do
    found=$("${emulator[@]}" "$build/hash_everything.exe" $way </dev/null | tr -d '\r')
    if [ "$found" != "$expected" ]; then
        echo "other bits from $compiler ${flags[*]}${way:+, features and threads: $way} (<) than from the usual build (>):"
        diff <(echo "$found") <(echo "$expected")
        exit 1
    fi
done
rm -rf "$build"
echo "$expected"
