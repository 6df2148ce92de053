# SPDX-License-Identifier: Apache-2.0
# Two clones in two folders make the same release, byte for byte. The first stays in KEYBITS_DIST for the other tests.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() { echo "FAILED: $*" >&2; exit 1; }
commit=$(git -C "$KEYBITS_SOURCE" rev-parse HEAD 2>/dev/null) || { echo "skipped: not a clone"; exit 77; }
for folder in one/a two/another; do
    git clone -q "$KEYBITS_SOURCE" "$scratch/$folder"
    git -C "$scratch/$folder" checkout -q --detach "$commit"
    "$scratch/$folder/scripts/release" --trial "$scratch/${folder%/*}/dist" >"$scratch/log" 2>&1 || fail "$(tail -n 20 "$scratch/log")"
done
diff "$scratch/one/dist/SHA256SUMS" "$scratch/two/dist/SHA256SUMS" || fail "two releases of one commit differ"
rm -rf "$KEYBITS_DIST"
mv "$scratch/one/dist" "$KEYBITS_DIST"
