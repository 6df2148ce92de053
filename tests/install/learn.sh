# SPDX-License-Identifier: Apache-2.0
# The trainer's library and header, found by pkg-config and used from outside.
source "$(dirname "$0")/common.inc"
need pkg-config
file=$(find "$KEYBITS_PREFIX" -name keybits-learn.pc)
[ -n "$file" ] || { echo "skipped: this build was made without the trainer"; exit 77; }
export PKG_CONFIG_PATH=${file%/*}
[ "$(pkg-config --modversion keybits-learn)" = "$version" ]
cat >"$scratch/learn.c" <<'C'
#include <stdio.h>
#include <keybits/learn.h>

static unsigned char pixels[32 * 1024];
static unsigned labels[32];

int main(void)
{
    kb_learn_patches patches;
    kb_learn_options options;
    kb_learn_hash_options hash;
    kb_box_pair boxes[8];
    static int8_t weights[8 * KB_SIFT_VALUES];
    int32_t bias[8];
    kb_error error;
    unsigned noise = 1;
    for (int i = 0; i < 32 * 1024; i++) pixels[i] = (unsigned char)((noise = noise * 1664525u + 1013904223u) >> 24);
    for (unsigned i = 0; i < 32; i++) labels[i] = i / 2;
    KB_INIT(patches);
    KB_INIT(options);
    KB_INIT(hash);
    patches.pixels = pixels;
    patches.labels = labels;
    patches.count = 32;
    options.bits = hash.bits = 8;
    options.triplets = 64;
    options.candidates = 10;
    hash.steps = 3;
    if (kb_learn_boxes(&patches, &options, boxes, NULL, &error) != KB_OK ||
        kb_learn_hashsift(&patches, &hash, weights, bias, NULL, &error) != KB_OK) {
        puts(error.text);
        return 1;
    }
    printf("keybits %s\n", kb_version());
    return 0;
}
C
# shellcheck disable=SC2046
${CC:-cc} -Wall -Wextra -Werror "$scratch/learn.c" $(pkg-config --cflags --libs keybits-learn) -o "$scratch/learn"
library=$(find "$KEYBITS_PREFIX" -name 'libkeybits.*' -print -quit)
LD_LIBRARY_PATH=${library%/*} check "$scratch/learn"
