# SPDX-License-Identifier: Apache-2.0
# Without its photographs `make models` says which are missing, and how to make them.
source "$(dirname "$0")/common.inc"
mkdir -p nowhere/data/train/kodak
touch nowhere/data/train/kodak/01.jpg
if KEYBITS_SHARED=$PWD/nowhere "$KEYBITS_SOURCE/scripts/train-models" "${KEYBITS%/*}" bad256 >out.txt 2>err.txt; then fail "it went on"; fi
grep -q '^photographs-convert: 1 of 449 photographs' err.txt || fail "$(cat err.txt)"
grep -q '^missing: *23 of kodak, from r0k.us/graphics/kodak' err.txt || fail "$(cat err.txt)"
grep -q 'scripts/photographs-convert --to' err.txt || fail "no word of how: $(cat err.txt)"
