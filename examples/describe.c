/* SPDX-License-Identifier: Apache-2.0 */
/* Keypoints and descriptors of one image, one line per keypoint: x y size angle bits.
 *
 *     describe [image.pgm]
 */
#include "picture.h"

enum { MOST = 200 };

int main(int argc, char **argv)
{
    picture p = argc > 1 ? picture_read(argv[1]) : picture_render(320, 240, 1);
    kb_image image = picture_view(&p);

    /* The strongest keypoints. Without options: the default detector, up to 2000 of them. */
    kb_keypoint keypoints[MOST];
    kb_features f;
    KB_INIT(f);
    f.keypoints = keypoints;
    f.capacity = MOST;
    check(kb_detect(&image, NULL, NULL, &f, NULL), "kb_detect");

    /* A model says what the bits mean. It never changes, so one serves all images and all threads. */
    kb_model *model;
    kb_model_info info;
    check(kb_model_builtin("bad256", NULL, &model), "bad256");
    KB_INIT(info);
    check(kb_model_get_info(model, &info), "kb_model_get_info");

    /* One row per keypoint, always, in the same order. The features know their detector, whose scale turns the size of a
     * keypoint into the width of a patch. */
    uint8_t flags[MOST];
    size_t n = f.n;
    f.rows_size = n * (size_t)info.row_bytes;
    uint8_t *rows = malloc(f.rows_size + 1);
    if (!rows) return 1;
    f.rows = rows;
    f.flags = flags;
    check(kb_describe(model, &image, NULL, NULL, &f, NULL), "kb_describe");

    for (size_t i = 0; i < n; i++) {
        printf("%.1f %.1f %.1f %.1f ", keypoints[i].x, keypoints[i].y, keypoints[i].size, keypoints[i].angle);
        for (int32_t k = 0; k < info.row_bytes; k++) printf("%02x", rows[i * (size_t)info.row_bytes + (size_t)k]);
        printf("%s\n", flags[i] & KB_KP_BORDER ? " border" : "");
    }
    fprintf(stderr, "%zu keypoints, %d bits each\n", n, 8 * (int)info.row_bytes);
    free(rows);
    free(p.pixels);
    kb_model_free(model);
    return 0;
}
