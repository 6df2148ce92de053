# SPDX-License-Identifier: Apache-2.0
# A detector and a selection rule more, in a copy of the sources: only the files that CONTRIBUTING.md names are touched, and
# then the library lists, checks, measures and runs both. new_kinds.sh program: so does the program.
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

int main(void)
{
    static uint8_t pixels[160 * 120];
    kb_image image = {pixels, 160, 120, 160, KB_FORMAT_GRAY8, 0};
    int32_t n = 0, known = 0;
    for (size_t i = 0; i < sizeof pixels; i++) pixels[i] = (uint8_t)(i / 160 / 9 * 41 + i % 160 / 7 * 59);
    for (; kb_detector_at(n); n++) known += kb_detector_at(n) == KB_DETECTOR_MIDDLE;
    assert(known == 1 && !strcmp(kb_name(KB_NAMES_DETECTOR, KB_DETECTOR_MIDDLE), "middle"));
    assert(kb_detector_revision(KB_DETECTOR_MIDDLE) == 1 && kb_model_scale(NULL, kb_name(KB_NAMES_DETECTOR, KB_DETECTOR_MIDDLE)) == 2.5f);
    assert(find(&image, KB_DETECTOR_MIDDLE, 0, 0, keypoints) == 1 && keypoints[0].x == 80 && keypoints[0].y == 60);
    assert(find(&image, KB_DETECTOR_MIDDLE, 0, 4, keypoints) == 0); /* an option of others */
    assert(!strcmp(kb_name(KB_NAMES_SELECTION, KB_SELECTION_LAST), "last"));
    assert(find(&image, 0, KB_SELECTION_BEST, 0, best) == 10 && find(&image, 0, KB_SELECTION_LAST, 0, keypoints) == 10);
    assert(keypoints[0].response < best[0].response);
    return 0;
}
END
flags=(-std=gnu11 -O1 -DKB_NO_THREADS -I include -I src -ffp-contract=off)
printf '%s\n' src/{common,image,detect,describe,match,fit,model,pair,track,simd}/*.c "$work/main.c" |
    xargs -P 2 -I {} sh -c '"$@" -c "$0" -o "$(mktemp -u "'"$work"'/XXXXXXXX").o"' {} "${CC:-cc}" "${flags[@]}"
"${CC:-cc}" "$work"/*.o -o "$work/main" -lm
"$work/main"
