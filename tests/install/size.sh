# SPDX-License-Identifier: Apache-2.0
# How large programs are that are linked statically with the functions that they call (shared.sh has the size of the
# shared library). A library with BAD alone describes by bad256 as the full one does and refuses other kinds.
source "$(dirname "$0")/common.inc"
grep -q '^CMAKE_BUILD_TYPE:.*=Release$' "$KEYBITS_BUILD/CMakeCache.txt" || { echo "skipped: no Release build"; exit 77; }

# program NAME LIBRARY: NAME.c as the stripped program LIBRARY/NAME.
program() {
    ${CC:-cc} -std=c11 -O2 "$scratch/$1.c" -I"$KEYBITS_SOURCE/include" "$scratch/$2/libkeybits.a" -lm -lpthread \
        -Wl,--gc-sections -s -o "$scratch/$2/$1"
}

# below FILE LIMIT: its size in bytes.
below() {
    local bytes
    bytes=$(stat -Lc %s "$scratch/$1")
    echo "$1: $bytes bytes"
    [ "$bytes" -lt "$2" ] || { echo "$1: more than $2"; exit 1; }
}

mkdir "$scratch/full"
cp "$(find "$KEYBITS_PREFIX" -name libkeybits.a)" "$scratch/full/"

# The library with BAD alone: what knows the kinds is compiled again, and put over the other objects of this build.
cmake -G "Unix Makefiles" -S "$KEYBITS_SOURCE" -B "$scratch/bad" -DCMAKE_BUILD_TYPE=Release \
    -DKEYBITS_KINDS=bad >"$scratch/log"
cd "$KEYBITS_SOURCE"
knowing=$(grep -lE 'kbi_kind_(built|has_boxes)' src/*/*.c)
# shellcheck disable=SC2086
make -s -C "$scratch/bad" ${knowing//.c/.o} generated/builtin_tables.o >>"$scratch/log"
for build in "$KEYBITS_BUILD" "$scratch/bad"; do cp -r "$build/CMakeFiles/keybits_objects.dir/." "$scratch/objects"; done
find "$scratch/objects" -name '*.o' | sort | xargs ar cr "$scratch/bad/libkeybits.a"

cat >"$scratch/match.c" <<'C'
#include <keybits/advanced.h>

int main(void)
{
    static uint8_t a[64 * 32], b[64 * 32];
    static kb_match matches[64];
    size_t count = 0;
    kb_features fa, fb;
    KB_INIT(fa);
    fa.rows = a;
    fa.n = 64;
    fa.row_bytes = 32;
    fb = fa;
    fb.rows = b;
    return kb_match_features(&fa, &fb, NULL, NULL, matches, &count, NULL) != KB_OK;
}
C
program match full
"$scratch/full/match"
below full/match 80000

cat >"$scratch/describe.c" <<'C'
#include <keybits/advanced.h>
#include <stdio.h>
#include <string.h>

/* Rows of a rendered image; then what became of the other kinds. */
int main(void)
{
    static uint8_t pixels[320 * 240], rows[300 * 32];
    static kb_keypoint keypoints[300];
    kb_image image = {pixels, 320, 240, 320, KB_FORMAT_GRAY8, 0};
    kb_model *model = NULL;
    kb_model_spec spec = {sizeof spec, KB_KIND_BAG, KB_SAMPLER_OCTAVES, 256, 1, "other", NULL, NULL, NULL, NULL, 0};
    unsigned seed = 1;
    for (int i = 0; i < 320 * 240; i++) {
        seed = seed * 1664525u + 1013904223u;
        pixels[i] = (uint8_t)(60 + 90 * ((i % 320 / 11 + i / 320 / 13) & 1) + (seed >> 28));
    }
    if (kb_model_builtin("bad256", NULL, &model) != KB_OK) return 1;
    kb_features f;
    KB_INIT(f);
    f.keypoints = keypoints;
    f.capacity = 300;
    f.rows = rows;
    f.rows_size = sizeof rows;
    if (kb_detect(&image, NULL, NULL, &f, NULL) != KB_OK || f.n < 50) return 2;
    if (kb_describe(model, &image, NULL, NULL, &f, NULL) != KB_OK) return 3;
    kb_model_free(model);
    for (size_t i = 0; i < f.n * 32; i++) printf("%02x", rows[i]);
    fprintf(stderr, "%s|%s|%d\n", kb_status_string(kb_model_builtin("bag256", NULL, &model)),
            kb_status_string(kb_model_builtin("sift", NULL, &model)), kb_model_create(&spec, NULL, &model, NULL) == KB_E_KIND);
    return 0;
}
C
for name in full bad; do
    program describe $name
    "$scratch/$name/describe" >"$scratch/$name/rows" 2>"$scratch/$name/kinds"
done
below bad/describe 270000
cmp "$scratch/full/rows" "$scratch/bad/rows"
cat "$scratch/bad/kinds"
grep -q '^\(.*\)|\1|1$' "$scratch/bad/kinds" || { echo "the small library has other kinds"; exit 1; }
grep -q '|0$' "$scratch/full/kinds"
