/* SPDX-License-Identifier: Apache-2.0 */
/* A poster that moves through a video: its four corners in every frame. The frames are rendered.
 *
 *     track [template.pgm]
 *
 * After the first frames nothing is allocated any more: the workspace has grown to what is needed. */
#include "picture.h"

enum { MOST = 1000, FRAMES = 6, WIDTH = 480, HEIGHT = 360 };

typedef struct described {
    kb_keypoint keypoints[MOST];
    uint8_t rows[MOST * 32];
    kb_features f; /* a view of the two */
} described;

static kb_model *model;
static kb_workspace *workspace;

static void describe(const picture *p, described *out)
{
    kb_image image = picture_view(p);
    kb_detect_options options;
    KB_INIT(options);
    options.max_keypoints = MOST;
    KB_INIT(out->f);
    out->f.keypoints = out->keypoints;
    out->f.capacity = MOST;
    out->f.rows = out->rows;
    out->f.rows_size = sizeof out->rows;
    check(kb_detect_and_describe(model, &image, &options, NULL, workspace, &out->f, NULL), "kb_detect_and_describe");
}

/* The fit from the template to the frame. */
static kb_fit_report find(const described *poster, const described *frame)
{
    static kb_match matches[MOST];
    static kb_point_pair pairs[MOST];
    static float quality[MOST];
    kb_fit_options options;
    kb_fit_report report;
    size_t n;
    check(kb_match_features(&poster->f, &frame->f, NULL, workspace, matches, &n, NULL), "kb_match_features");
    check(kb_match_points(&poster->f, &frame->f, matches, n, pairs, quality, NULL), "kb_match_points");
    KB_INIT(options);
    KB_INIT(report);
    options.quality = quality;
    check(kb_fit(pairs, n, &options, workspace, NULL, &report, NULL), "kb_fit");
    return report;
}

int main(int argc, char **argv)
{
    static described poster, seen;
    picture p = argc > 1 ? picture_read(argv[1]) : picture_render(240, 180, 4);
    check(kb_model_builtin("bad256", NULL, &model), "bad256");
    check(kb_workspace_create(NULL, &workspace), "kb_workspace_create");
    describe(&p, &poster);

    for (int k = 0; k < FRAMES; k++) {
        /* From the frame back to the poster; in frame 3 there is nothing to see. */
        const double turn = 0.08 * k, back[9] = {1, turn, -80.0 - 12 * k, -turn, 1, -60, 0, 0.0003 * k, 1};
        const double nowhere[9] = {1, 0, -9999, 0, 1, -9999, 0, 0, 1};
        picture frame = picture_warp(&p, WIDTH, HEIGHT, k == 3 ? nowhere : back);
        describe(&frame, &seen);
        kb_fit_report report = find(&poster, &seen);
        free(frame.pixels);
        if (report.result != KB_FIT_FOUND) {
            printf("frame %d: lost\n", k);
            continue;
        }
        printf("frame %d: %d inliers, corners", k, (int)report.inliers);
        const double corners[4][2] = {{0, 0}, {p.width - 1, 0}, {p.width - 1, p.height - 1}, {0, p.height - 1}};
        for (int i = 0; i < 4; i++) {
            double x, y;
            kb_homography_apply(report.model, corners[i][0], corners[i][1], &x, &y);
            printf(" (%.1f, %.1f)", x, y);
        }
        printf("\n");
    }
    kb_workspace_limits none;
    size_t bytes = 0;
    KB_INIT(none);
    if (kb_workspace_reserve(workspace, &none, &bytes, NULL) == KB_OK) fprintf(stderr, "workspace: %zu KB\n", bytes / 1024);
    free(p.pixels);
    kb_workspace_free(workspace);
    kb_model_free(model);
    return 0;
}
