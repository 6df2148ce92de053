/* SPDX-License-Identifier: Apache-2.0 */
/* The homography between two images: the whole pipeline in one file.
 *
 *     match [first.pgm second.pgm]
 */
#include "picture.h"

enum { MOST = 2000 };

typedef struct described {
    kb_keypoint keypoints[MOST];
    uint8_t rows[MOST * 32]; /* bad256 has rows of 32 bytes */
    kb_features f; /* a view of the two */
} described;

static void describe(const kb_model *model, const picture *p, kb_workspace *workspace, described *out)
{
    kb_image image = picture_view(p);
    KB_INIT(out->f);
    out->f.keypoints = out->keypoints;
    out->f.capacity = MOST;
    out->f.rows = out->rows;
    out->f.rows_size = sizeof out->rows;
    check(kb_detect_and_describe(model, &image, NULL, NULL, workspace, &out->f, NULL), "kb_detect_and_describe");
}

int main(int argc, char **argv)
{
    static described a, b;
    static kb_match matches[MOST];
    static kb_point_pair pairs[MOST];
    static float quality[MOST];
    static uint8_t inliers[MOST];
    const double view[9] = {0.9, -0.15, 30, 0.12, 0.95, -10, 0.0002, 0, 1};
    picture first = argc > 2 ? picture_read(argv[1]) : picture_render(400, 300, 1);
    picture second = argc > 2 ? picture_read(argv[2]) : picture_warp(&first, 400, 300, view);

    kb_model *model;
    kb_workspace *workspace; /* memory that all calls share, one after the other */
    check(kb_model_builtin("bad256", NULL, &model), "bad256");
    check(kb_workspace_create(NULL, &workspace), "kb_workspace_create");
    describe(model, &first, workspace, &a);
    describe(model, &second, workspace, &b);

    /* Pairs of rows that are each other's nearest. */
    size_t n;
    check(kb_match_features(&a.f, &b.f, NULL, workspace, matches, &n, NULL), "kb_match_features");

    /* The points of these pairs, and their distances: PROSAC tries the best pairs first. */
    check(kb_match_points(&a.f, &b.f, matches, n, pairs, quality, NULL), "kb_match_points");
    kb_fit_options options;
    kb_fit_report report;
    KB_INIT(options);
    KB_INIT(report);
    options.geometry = KB_GEOMETRY_HOMOGRAPHY;
    options.threshold = 3;
    options.quality = quality;
    check(kb_fit(pairs, n, &options, workspace, inliers, &report, NULL), "kb_fit");

    printf("keypoints %zu %zu\nmatches %zu\n", a.f.n, b.f.n, n);
    if (report.result == KB_FIT_FOUND) {
        printf("inliers %d, rms %.2f px\n", (int)report.inliers, report.rms);
        for (int i = 0; i < 9; i++) printf("%12.6g%s", report.model[i], i % 3 == 2 ? "\n" : " ");
    } else {
        printf("no homography: %s\n", kb_name(KB_NAMES_FIT_RESULT, report.result));
    }
    free(first.pixels);
    free(second.pixels);
    kb_workspace_free(workspace);
    kb_model_free(model);
    return 0;
}
