# SPDX-License-Identifier: Apache-2.0
# HEIC: read as the picture that it was made of, by libheif, which is loaded for the first such file and only then.
source "$(dirname "$0")/common.inc"
"$KEYBITS" info | grep -q HEIC || { echo "skipped: this build does not read HEIC"; exit 77; }
if command -v readelf >/dev/null; then
    ! readelf -d "$KEYBITS" | grep -q heif || fail "the program is linked with libheif"
fi

# Where the library is not there, or is another one: a clear word; everything else works.
render a.pgm 240 160
printf '\0\0\0\x18ftypheic' >cut.heic
mkdir nowhere
: >nowhere/libheif.so.1
if [ "$(uname)" = Linux ]; then
    refuse 1 "cut.heic: a HEIC image, which needs libheif (Debian: apt-get install libheif1): " \
        env LD_LIBRARY_PATH=nowhere "$KEYBITS" detect cut.heic -o -
    run env LD_LIBRARY_PATH=nowhere "$KEYBITS" detect a.pgm -o a.csv
    printf 'int x;' >empty.c
    if ${CC:-cc} -shared -o nowhere/libheif.so.1 empty.c 2>/dev/null; then
        refuse 1 "heif_context_alloc" env LD_LIBRARY_PATH=nowhere "$KEYBITS" detect cut.heic -o -
    fi
fi
refuse 1 "cut.heic: damaged or truncated HEIC" "$KEYBITS" detect cut.heic -o -

# FROM.pgm TO.heic
cat >encode.c <<'C'
#include <libheif/heif.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    int width, height, stride, v;
    struct heif_context *context = heif_context_alloc();
    struct heif_encoder *encoder;
    struct heif_image *image;
    FILE *from = fopen(argv[argc - 2], "r");
    if (heif_context_get_encoder_for_format(context, heif_compression_HEVC, &encoder).code) return 77;
    if (fscanf(from, "P2 %d %d 255", &width, &height) != 2) return 1;
    heif_encoder_set_lossy_quality(encoder, 90);
    heif_image_create(width, height, heif_colorspace_RGB, heif_chroma_interleaved_RGB, &image);
    heif_image_add_plane(image, heif_channel_interleaved, width, height, 24);
    unsigned char *plane = heif_image_get_plane(image, heif_channel_interleaved, &stride);
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width && fscanf(from, "%d", &v) == 1; x++)
            for (int c = 0; c < 3; c++) plane[y * stride + 3 * x + c] = (unsigned char)v;
    return heif_context_encode_image(context, image, encoder, NULL, NULL).code ||
           heif_context_write_to_file(context, argv[argc - 1]).code;
}
C
${CC:-cc} encode.c -o encode -lheif 2>cc.txt && ./encode a.pgm a.heic 2>encode.txt ||
    { echo "nothing here writes a HEIC: that one is read is not tested"; exit 0; }
run "$KEYBITS" match a.pgm a.heic --json >match.json
python3 - match.json <<'PY' || fail "another picture was read: $(cat match.json)"
import json, sys
match = json.load(open(sys.argv[1]))
assert match["inliers"] > 500, match
assert all(abs(m - (i % 4 == 0)) < 0.1 for i, m in enumerate(match["model"])), match
PY
head -c 600 a.heic >half.heic
refuse 1 "half.heic: damaged" "$KEYBITS" detect half.heic -o -
