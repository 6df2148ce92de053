# SPDX-License-Identifier: Apache-2.0
# The bare-metal example in the emulator: the same keypoints, rows and matches as on this machine, within the memory of
# a small microcontroller.
set -euo pipefail
for tool in arm-none-eabi-gcc qemu-system-arm; do
    command -v $tool >/dev/null || { echo "skipped: $tool is missing (Debian: gcc-arm-none-eabi libnewlib-arm-none-eabi qemu-system-arm)"; exit 77; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mcu=$KEYBITS_SOURCE/examples/mcu

bash "$mcu/build.sh" host "$work/host"
bash "$mcu/build.sh" arm "$work/mcu.elf" 2>"$work/words" || { cat "$work/words" >&2; exit 1; }
"$work/host" >"$work/host.txt"
timeout 3000 qemu-system-arm -M mps2-an500 -nographic -semihosting-config enable=on,target=native -icount shift=0 \
    -kernel "$work/mcu.elf" </dev/null >"$work/mcu.txt" 2>&1 || { cat "$work/mcu.txt" >&2; exit 1; }
tr -d '\r' <"$work/mcu.txt" | sed 's/^/mcu: /'
arm-none-eabi-size "$work/mcu.elf"

results() { tr -d '\r' <"$1" | grep -E '^(size|keypoints|matches|agreeing|hash|done)'; }
diff <(results "$work/host.txt") <(results "$work/mcu.txt") || { echo "other results than on this machine" >&2; exit 1; }

# value NAME N: the N-th number of that name
value() { tr -d '\r' <"$work/mcu.txt" | sed -n "s/^$1 //p" | sed -n "${2}p"; }
below() { [ "$2" -lt "$3" ] || { echo "$1 is $2, not below $3" >&2; exit 1; }; }
below "workspace of 320x240" "$(value workspace_bytes 1)" 163840
below "workspace of 160x120" "$(value workspace_bytes 2)" 49152
below "instructions of detection, 320x240" "$(value detect_instructions 1)" 35000000
below "stack" "$(value stack_bytes 1)" 12288
below "code" "$(arm-none-eabi-size "$work/mcu.elf" | awk 'NR == 2 { print $1 }')" 73728
[ "$(value agreeing 1)" -ge 100 ] || { echo "too few matches agree" >&2; exit 1; }
