#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# examples/mcu/build.sh arm|host OUT: the example for the board or for this machine, as the program OUT.
# CC chooses another compiler. The library is compiled from its sources, for BAD alone and without threads.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
target=$1 out=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

flags=(-std=c11 -Os -ffp-contract=off -fno-math-errno -ffunction-sections -fdata-sections
       "-DKB_KINDS=(1<<KB_KIND_BAD)" -DKB_NO_THREADS -I "$root/include" -I "$root/src" -I "$here")
case $target in
arm)
    CC=${CC:-arm-none-eabi-gcc}
    flags+=(-mcpu=cortex-m7 -mthumb -mfloat-abi=hard -mfpu=fpv5-d16)
    link=(--specs=nano.specs --specs=nosys.specs -nostartfiles -T "$here/an500.ld" -Wl,--no-warn-rwx-segments)
    board=$here/board_an500.c
    ;;
host)
    CC=${CC:-cc}
    link=()
    board=$here/board_host.c
    ;;
*) echo "build.sh: no such target: $target" >&2; exit 2 ;;
esac

# The model file as it is, between two names.
cat >"$work/model.S" <<END
    .section .rodata.model, "a"
    .global model_start, model_end
    .balign 4
model_start:
    .incbin "$root/models/bad256.kbm"
model_end:
    .section .note.GNU-stack, "", %progbits
END

sources=("$root"/src/{common,image,detect,describe,match,fit,model,pair,track,simd}/*.c "$here/main.c" "$board" "$work/model.S")
number=0
for source in "${sources[@]}"; do
    printf '%s\0%s\0' "$work/$((number += 1)).o" "$source"
done | xargs -0 -P 2 -n 2 "$CC" "${flags[@]}" -c -o
"$CC" "${flags[@]}" -Wl,--gc-sections "$work"/*.o "${link[@]}" -lm -o "$out"
