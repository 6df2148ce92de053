# SPDX-License-Identifier: Apache-2.0
# A detector, a selection rule, a descriptor kind and a kernel more, in a copy of the sources: only the files that
# CONTRIBUTING.md names are touched, and then the library lists, checks, measures and runs them. new_kinds.sh program: so
# does the program.
set -euo pipefail
source=${KEYBITS_SOURCE:?names the sources}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $*" >&2; exit 1; }
mkdir "$work/tree"
tar -C "$source" --exclude=./build --exclude=./.git -cf - . | tar -C "$work/tree" -xf -
cd "$work/tree"

# named KIND FILE [NAME]: the row of KIND in CONTRIBUTING.md names the file, with <name> instead of NAME
named() {
    local row
    row=$(grep -F "| $1 |" CONTRIBUTING.md) || fail "CONTRIBUTING.md has no row for $1"
    for file in "${2//${3:-\?}/<name>}" "$(basename "$2")"; do [[ $row == *"\`$file\`"* ]] && return; done
    fail "to add $1, $2 is touched, which CONTRIBUTING.md does not name"
}
# edit KIND FILE SED: changes a file that is named
edit() {
    named "$1" "$2"
    cp "$2" "$work/before"
    sed -i "$3" "$2"
    ! cmp -s "$2" "$work/before" || fail "nothing changed in $2"
}
# add KIND FILE NAME <TEXT: adds a file that is named
add() {
    named "$1" "$2" "$3"
    cat >"$2"
}
next() { echo $(($(grep -oE "^    $1_[A-Z]+ = [0-9]+," include/keybits/keybits.h | grep -oE '[0-9]+' | sort -n | tail -1) + 1)); }

# The detector: one keypoint, in the middle.
edit "a detector" include/keybits/keybits.h "s/^    KB_DETECTOR_INT32/    KB_DETECTOR_MIDDLE = $(next KB_DETECTOR),\n&/"
edit "a detector" src/detect/detectors.h 's/^#define KBI_MAX_DETECTORS/extern const kbi_detector kbi_detector_middle;\n&/'
edit "a detector" src/detect/detectors_list.c 's/&kbi_detector_sift}/\&kbi_detector_sift, \&kbi_detector_middle}/'
edit "a detector" src/common/presets.c 's/{"mser", 3.0f, 0}/&, {"middle", 2.5f, KB_DETECTOR_MIDDLE}/'
add "a detector" src/detect/middle.c middle <<'END'
#include "detect/detectors.h"

static kb_status detect_middle(const kbi_detect_job *job, kb_keypoint **found, size_t *count)
{
    *count = 0;
    *found = kbi_workspace_get(job->workspace, sizeof **found);
    if (!*found) return KB_E_MEMORY;
    if (job->workspace->measures) return KB_OK;
    **found = (kb_keypoint){(float)job->image.width / 2, (float)job->image.height / 2, 20, 0, 1, 0, -1};
    *count = 1;
    return KB_OK;
}

static const char *const middle_options[] = {NULL};
const kbi_detector kbi_detector_middle = {KB_DETECTOR_MIDDLE, "middle", 1, middle_options, detect_middle, NULL};
END

# The rule: the weakest.
edit "a selection rule" include/keybits/keybits.h "s/^    KB_SELECTION_INT32/    KB_SELECTION_LAST = $(next KB_SELECTION),\n&/"
edit "a selection rule" src/detect/select.h 's/^#endif/void kbi_select_last(kbi_selection *s, size_t n);\n&/'
edit "a selection rule" src/detect/select_rules.c 's/}};$/},\n    [KB_SELECTION_LAST] = {"last", NULL, kbi_select_last}};/'
add "a selection rule" src/detect/select_last.c last <<'END'
#include "detect/select.h"

void kbi_select_last(kbi_selection *s, size_t n) { memmove(s->entries, s->entries + s->finite - n, n * sizeof *s->entries); }
END

# The descriptor kind: bit i is set where sample i of the patch is dark.
edit "a descriptor kind" include/keybits/keybits.h "s/^    KB_KIND_INT32/    KB_KIND_DARK = $(next KB_KIND),\n&/"
edit "a descriptor kind" src/model/kinds.c 's/^    \[KB_KIND_ROOTSIFT\].*/&\n    [KB_KIND_DARK] = {"dark", true, SAMPLER_IS(PATCH), 0, {0}},/'
edit "a descriptor kind" src/describe/describe.h 's/^#endif/void kbi_dark_describe(const uint8_t *patch, int32_t bytes, uint8_t *row);\n&/'
edit "a descriptor kind" src/describe/measure.c 's/^    if (kbi_kind_has_boxes(m->model->spec.kind)) measure_boxes/    if (m->model->spec.kind == KB_KIND_DARK)\n        for (int32_t i = 0, bytes = m->model->row_bytes; i < n; i++)\n            kbi_dark_describe(grids + i * KBI_PATCH_BYTES, bytes, s->parts + i * bytes);\n    else &/'
add "a descriptor kind" src/describe/dark.c dark <<'END'
#include "describe/describe.h"

void kbi_dark_describe(const uint8_t *patch, int32_t bytes, uint8_t *row)
{
    for (int32_t i = 0; i < bytes; i++) {
        row[i] = 0;
        for (int k = 0; k < 8; k++) row[i] |= (uint8_t)((*patch++ < 128) << (7 - k));
    }
}
END

# The kernel: twice the numbers of a row. Steps 1 and 2 of "Adding a kernel" are text, so their files are named there.
steps=$(sed -n '/^## Adding a kernel/,/^## Adding an instruction set/p' CONTRIBUTING.md)
for file in kernels.h 'src/simd/tmpl_<name>.h' 'src/simd/kernels_<set>.c' 'plain table'; do
    [[ $steps == *"$file"* ]] || fail "Adding a kernel does not name $file"
done
sed -i 's/^} kbi_fit_kernels;/    void (*twice)(const uint16_t *row, int32_t n, uint16_t *out);\n&/
    s/SLOT(fit, transfer_sums)$/& SLOT(fit, twice)/' src/fit/kernels.h
sed -i 's/^const kbi_fit_kernels kbi_fit_kernels_c = {/static void twice(const uint16_t *row, int32_t n, uint16_t *out)\n{\n    for (int32_t i = 0; i < n; i++) out[i] = (uint16_t)(2 * row[i]);\n}\n\n&.twice = twice, /' src/fit/homography.c
cat >src/simd/tmpl_twice.h <<'END'
#include "simd/vec.h"

VEC_KERNEL void KERNEL(twice)(const uint16_t *row, int32_t n, uint16_t *out)
{
    int32_t i = 0;
    for (; i + VEC_LANES <= n; i += VEC_LANES) v_storeu(out + i, v_add(v_loadu(row + i), v_loadu(row + i)));
    for (; i < n; i++) out[i] = (uint16_t)(2 * row[i]);
}
END
for set in avx2 neon; do
    sed -i 's/^#    include "simd\/tmpl_transfer.h"/&\n#    include "simd\/tmpl_twice.h"/
        s/^const kbi_fit_kernels .* = {/&.twice = KERNEL(twice), /' src/simd/kernels_$set.c
done

if [ "${1:-}" = program ]; then
    cmake -S . -B "$work/build" -DCMAKE_BUILD_TYPE=Debug >"$work/words" 2>&1 || { tail -20 "$work/words" >&2; exit 1; }
    cmake --build "$work/build" --target keybits-cli -j2 >"$work/words" 2>&1 || { tail -20 "$work/words" >&2; exit 1; }
    program=$work/build/keybits
    "$program" detect --help | tr -s ' \n' ' ' >"$work/help"
    for name in middle last; do grep -qw "$name" "$work/help" || fail "keybits detect --help does not name $name"; done
    { echo "P5 64 48 255"; head -c 3072 /dev/zero | tr '\0' 'x'; } >"$work/flat.pgm"
    "$program" detect "$work/flat.pgm" --detector middle -o "$work/middle.csv" || fail "keybits detect --detector middle"
    grep -q '^32,24,' "$work/middle.csv" || fail "not the middle: $(cat "$work/middle.csv")"
    exit 0
fi

cat >"$work/main.c" <<'END'
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <keybits/advanced.h>

#include "simd/kernels.h"

static kb_keypoint keypoints[100], best[100];

static size_t find(const kb_image *image, kb_detector detector, kb_selection selection, int32_t levels, kb_keypoint *out)
{
    kb_detect_options options;
    kb_features found;
    KB_INIT(options);
    KB_INIT(found);
    found.keypoints = out;
    found.capacity = 100;
    options.detector = detector;
    options.selection = selection;
    options.levels = levels;
    options.max_keypoints = 10;
    kb_status status = kb_detect(image, &options, NULL, &found, NULL);
    assert(status == KB_OK || levels > 0);
    return status == KB_OK ? found.n : 0;
}

static void try_kind(void)
{
    kb_model_spec spec;
    kb_model *model = NULL, *loaded = NULL;
    kb_features rows;
    uint8_t patch[32 * 32], row[8], file[200];
    size_t size;
    KB_INIT(spec);
    KB_INIT(rows);
    spec.kind = KB_KIND_DARK;
    spec.name = "dark64";
    spec.bits = 63;
    assert(!strcmp(kb_name(KB_NAMES_KIND, KB_KIND_DARK), "dark"));
    assert(kb_model_create(&spec, NULL, &model, NULL) == KB_E_TABLE);
    spec.bits = 64;
    assert(kb_model_create(&spec, NULL, &model, NULL) == KB_OK);
    assert(kb_model_save(model, file, sizeof file, &size) == KB_OK);
    assert(kb_model_load(file, size, NULL, &loaded, NULL) == KB_OK);
    for (int i = 0; i < 32 * 32; i++) patch[i] = (uint8_t)(i % 3 * 100);
    rows.rows = row;
    rows.rows_size = sizeof row;
    rows.n = 1;
    assert(kb_describe_patches(loaded, patch, 32, NULL, NULL, &rows, NULL) == KB_OK);
    for (int i = 0; i < 64; i++) assert((row[i / 8] >> (7 - i % 8) & 1) == (patch[i] < 128));
    kb_model_free(model);
    kb_model_free(loaded);
}

static void try_kernel(void)
{
    const kbi_kernels plain = kbi_kernels_for(0), best = kbi_kernels_for(UINT32_MAX & kbi_cpu_flags());
    uint16_t row[100], one[100], two[100];
    int32_t listed = 0;
    for (int i = 0; i < 100; i++) row[i] = (uint16_t)(i * 661);
    for (int32_t n = 0; n <= 100; n++) {
        memset(one, 7, sizeof one), memset(two, 7, sizeof two);
        plain.fit->twice(row, n, one);
        best.fit->twice(row, n, two);
        assert(memcmp(one, two, sizeof one) == 0 && (n == 0 || one[n - 1] == (uint16_t)(2 * row[n - 1])));
    }
    for (int32_t i = 0; kb_kernel_at(i).name; i++) listed += strcmp(kb_kernel_at(i).name, "twice") == 0;
    assert(listed == 1);
}

int main(void)
{
    static uint8_t pixels[160 * 120];
    kb_image image = {pixels, 160, 120, 160, KB_FORMAT_GRAY8, 0};
    for (size_t i = 0; i < sizeof pixels; i++) pixels[i] = (uint8_t)(i / 160 / 9 * 41 + i % 160 / 7 * 59);
    assert(!strcmp(kb_name(KB_NAMES_DETECTOR, KB_DETECTOR_MIDDLE), "middle"));
    assert(kb_detector_get_info(KB_DETECTOR_MIDDLE).revision == 1 && kb_model_scale(NULL, kb_name(KB_NAMES_DETECTOR, KB_DETECTOR_MIDDLE)) == 2.5f);
    assert(find(&image, KB_DETECTOR_MIDDLE, 0, 0, keypoints) == 1 && keypoints[0].x == 80 && keypoints[0].y == 60);
    assert(find(&image, KB_DETECTOR_MIDDLE, 0, 4, keypoints) == 0); /* an option of others */
    assert(!strcmp(kb_name(KB_NAMES_SELECTION, KB_SELECTION_LAST), "last"));
    assert(find(&image, 0, KB_SELECTION_BEST, 0, best) == 10 && find(&image, 0, KB_SELECTION_LAST, 0, keypoints) == 10);
    assert(keypoints[0].response < best[0].response);
    try_kind();
    try_kernel();
    return 0;
}
END
flags=(-std=gnu11 -O1 -DKB_NO_THREADS -I include -I src -ffp-contract=off)
printf '%s\n' src/{common,image,detect,describe,match,fit,model,pair,track,simd}/*.c "$work/main.c" |
    xargs -P 2 -I {} sh -c '"$@" -c "$0" -o "$(mktemp -u "'"$work"'/XXXXXXXX").o"' {} "${CC:-cc}" "${flags[@]}"
"${CC:-cc}" "$work"/*.o -o "$work/main" -lm
"$work/main"
