/* SPDX-License-Identifier: Apache-2.0 */
/* Collections of rendered rooms whose cameras are known: which pairs are verified, and how exact matched keypoints are
 * before and after refinement. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "collection/collection.h"
#include "pipeline/models.h"
#include "scratch.h"
#include "solid.h"

enum { WIDTH = 640, HEIGHT = 480, VIEWS = 6, ROOMS = 2, FOCAL = 560 };

static kb_model *model;

static solid_camera view_camera(int i)
{
    const double place[3] = {-1.0 + 0.4 * i, 0.1 * (i % 3), 0.25 * i};
    return solid_camera_at(WIDTH, HEIGHT, FOCAL, place, 4.0 * (2 - i), 2, 3.0 * i);
}

/* Images are sorted by name: room 0 first. */
static const char *view_path(int room, int view)
{
    char name[32];
    snprintf(name, sizeof name, "room%d-%d.pgm", room, view);
    return in_scratch(name);
}

static void write_views(void)
{
    for (int i = 0; i < ROOMS * VIEWS; i++) {
        const solid_scene scene = room_scene((uint32_t)(i / VIEWS) + 3);
        const solid_camera camera = view_camera(i % VIEWS);
        uint8_t *pixels = solid_render(&scene, &camera, WIDTH, HEIGHT);
        FILE *file = fopen(view_path(i / VIEWS, i % VIEWS), "wb");
        assert_non_null(file);
        fprintf(file, "P5 %d %d 255\n", WIDTH, HEIGHT);
        assert_int_equal(fwrite(pixels, 1, WIDTH * HEIGHT, file), WIDTH * HEIGHT);
        fclose(file);
        free(pixels);
    }
}

/* ---- what comes out ---- */

typedef struct outcome {
    kb_keypoint *keypoints[ROOMS * VIEWS];
    size_t counts[ROOMS * VIEWS];
    int within, across;  /* verified pairs of one room, of two */
    double square_sum;   /* of transfer errors below OUTLIER px */
    size_t near, far;    /* matches with smaller and larger errors */
} outcome;
#define OUTLIER 4.0

static bool take_keypoints(void *context, size_t image, const features *f, io_error *error)
{
    outcome *o = context;
    (void)error;
    o->counts[image] = f->keypoints.count;
    o->keypoints[image] = malloc((f->keypoints.count + 1) * sizeof(kb_keypoint));
    memcpy(o->keypoints[image], f->keypoints.items, f->keypoints.count * sizeof(kb_keypoint));
    return true;
}

/* Where a's keypoint really is in b. */
static bool take_pair(void *context, const collection_pair *p, io_error *error)
{
    outcome *o = context;
    const solid_scene scene = room_scene(p->a / VIEWS + 3);
    const solid_camera a = view_camera((int)p->a % VIEWS), b = view_camera((int)p->b % VIEWS);
    (void)error;
    if (p->a / VIEWS != p->b / VIEWS) {
        o->across++;
        return true;
    }
    o->within++;
    for (size_t i = 0; i < p->inliers; i++) {
        const kb_keypoint *ka = &o->keypoints[p->a][p->matches[i].a], *kb = &o->keypoints[p->b][p->matches[i].b];
        double x, y;
        if (!solid_transfer(&scene, &a, ka->x, ka->y, &b, &x, &y)) continue;
        double dx = x - kb->x, dy = y - kb->y, square = dx * dx + dy * dy;
        if (square > OUTLIER * OUTLIER) {
            o->far++;
            continue;
        }
        o->near++;
        o->square_sum += square;
    }
    return true;
}

static outcome run_collection(bool refine, kb_detector detector, const char *work)
{
    outcome o = {0};
    pipeline line;
    pipeline_options p;
    io_error error;
    io_names images = {0};
    collection c;
    pipeline_options_init(&p);
    p.detect.detector = detector;
    p.detect.max_keypoints = 800;
    p.patches = refine;
    assert_true(pipeline_open(&line, &p, model, NULL, &error));
    for (int i = 0; i < ROOMS * VIEWS; i++) io_names_add(&images, view_path(i / VIEWS, i % VIEWS));
    const char *folder = in_scratch(work);
    const collection_options options = {.pipeline = &line, .folder = folder, .no_refine = !refine,
                                        .by = PAIRS_EXHAUSTIVE};
    collection_open(&c, &options, &images);
    bool ok = collection_folders_make(&c, &error) && collection_describe(&c, collection_whole, &error) &&
              collection_pairs(&c, &error) && collection_match(&c, collection_whole, &error) &&
              collection_each_image(&c, take_keypoints, &o, &error) && collection_pairs_read(&c, take_pair, &o, &error);
    if (!ok) fail_msg("%s", error.text);
    collection_close(&c);
    pipeline_close(&line);
    for (int i = 0; i < ROOMS * VIEWS; i++) free(o.keypoints[i]);
    return o;
}

static double rms(const outcome *o) { return sqrt(o->square_sum / (double)o->near); }

/* ---- tests ---- */

static void test_refined_is_more_exact(void **state)
{
    static const kb_detector detectors[] = {KB_DETECTOR_HESSIAN, KB_DETECTOR_ORB, KB_DETECTOR_SIFT};
    (void)state;
    for (size_t d = 0; d < sizeof detectors / sizeof *detectors; d++) {
        const char *name = kb_name(KB_NAMES_DETECTOR, detectors[d]);
        char work[2][32];
        snprintf(work[0], sizeof work[0], "%s-plain", name);
        snprintf(work[1], sizeof work[1], "%s-refined", name);
        outcome plain = run_collection(false, detectors[d], work[0]), refined = run_collection(true, detectors[d], work[1]);
        printf("%s: %d pairs, %zu matches; rms %.3f px as detected, %.3f px refined; %zu and %zu beyond %g px\n", name,
               plain.within, plain.near, rms(&plain), rms(&refined), plain.far, refined.far, OUTLIER);
        assert_int_equal(plain.across, 0);
        assert_true(plain.within >= 9 && refined.within == plain.within);
        assert_true(refined.near >= plain.near && plain.near > 1000);
        assert_true(rms(&refined) < 0.75 * rms(&plain));
    }
}

static int begin(void **state)
{
    io_error error;
    if (make_scratch(state) != 0) return 1;
    write_views();
    return models_open("bag256", &model, &error) ? 0 : 1;
}

static int end(void **state)
{
    kb_model_free(model);
    return remove_scratch(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_refined_is_more_exact)};
    return cmocka_run_group_tests_name("refine", tests, begin, end);
}
