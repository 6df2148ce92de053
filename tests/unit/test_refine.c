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
#include <sqlite3.h>

#include "collection/collection.h"
#include "pipeline/models.h"
#include "render.h"
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

static outcome run_collection(bool refine, kb_detector detector, const char *work, const char *database)
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
    const io_camera camera = {IO_PINHOLE, {FOCAL, FOCAL, WIDTH / 2.0, HEIGHT / 2.0}, true};
    const collection_options options = {.pipeline = &line, .folder = folder, .no_refine = !refine,
                                        .by = PAIRS_EXHAUSTIVE, .camera = database ? &camera : NULL};
    collection_counts counts;
    collection_open(&c, &options, &images);
    bool ok = collection_folders_make(&c, &error) && collection_describe(&c, collection_whole, &error) &&
              collection_pairs(&c, &error) && collection_match(&c, collection_whole, &error) &&
              collection_each_image(&c, take_keypoints, &o, &error) && collection_pairs_read(&c, take_pair, &o, &error) &&
              (!database || collection_merge(&c, database, &counts, &error));
    if (!ok) fail_msg("%s", error.text);
    collection_close(&c);
    pipeline_close(&line);
    return o;
}

static void outcome_free(outcome *o)
{
    for (int i = 0; i < ROOMS * VIEWS; i++) free(o->keypoints[i]);
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
        outcome plain = run_collection(false, detectors[d], work[0], NULL), refined = run_collection(true, detectors[d], work[1], NULL);
        printf("%s: %d pairs, %zu matches; rms %.3f px as detected, %.3f px refined; %zu and %zu beyond %g px\n", name,
               plain.within, plain.near, rms(&plain), rms(&refined), plain.far, refined.far, OUTLIER);
        assert_int_equal(plain.across, 0);
        assert_true(plain.within >= 9 && refined.within == plain.within);
        assert_true(refined.near + refined.far < plain.near + plain.far); /* what cannot be aligned is left out: */
        assert_true((double)refined.near > 0.9 * (double)plain.near && plain.near > 1000);
        assert_true(2 * refined.far < plain.far); /* much of that is wrong */
        assert_true(rms(&refined) < 0.67 * rms(&plain));
        outcome_free(&plain);
        outcome_free(&refined);
    }
}

/* ---- patches ---- */

enum { SIDE = 200, KEYPOINTS = 60 };

/* The picture, a quarter turned clockwise. */
static uint8_t *quarter_turn(const uint8_t *p)
{
    uint8_t *turned = malloc(SIDE * SIDE);
    assert_non_null(turned);
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++) turned[x * SIDE + SIDE - 1 - y] = p[y * SIDE + x];
    return turned;
}

/* Keypoints whose angles say nothing are aligned as others are: the rotation of the images counts. */
static void test_angles_do_not_matter(void **state)
{
    pipeline line;
    pipeline_options p;
    io_error error;
    uint64_t seed = 5;
    uint8_t *pixels[2] = {render_texture(SIDE, SIDE, 8), NULL};
    kb_keypoint k[2][KEYPOINTS];
    kb_match matches[KEYPOINTS];
    patch_shift shifts[KEYPOINTS];
    patch_side sides[2];
    kb_workspace *ws = NULL;
    (void)state;
    pixels[1] = quarter_turn(pixels[0]);
    pipeline_options_init(&p);
    assert_true(pipeline_open(&line, &p, model, NULL, &error));
    render_keypoints(k[0], KEYPOINTS, SIDE, SIDE, 60, 60, 3);
    for (int i = 0; i < KEYPOINTS; i++) {
        kb_keypoint *a = &k[0][i], *b = &k[1][i];
        a->x = 30 + (float)kbi_random_below(&seed, SIDE - 60);
        a->y = 30 + (float)kbi_random_below(&seed, SIDE - 60);
        *b = *a;
        b->angle = (float)kbi_random_below(&seed, 360);
        b->x = SIDE - 1 - a->y + 0.75f; /* where it is, and an error */
        b->y = a->x - 0.5f;
        matches[i] = (kb_match){.a = i, .b = i};
    }
    for (int side = 0; side < 2; side++) {
        const kb_image view = view_of(pixels[side], SIDE, SIDE);
        const features f = {.width = SIDE, .height = SIDE, .keypoints = {k[side], KEYPOINTS}};
        sides[side] = (patch_side){patch_sheet_make(&line, &view, &f, &error), KEYPOINTS};
        assert_non_null(sides[side].patches);
    }
    assert_int_equal(kb_workspace_create(NULL, &ws), KB_OK);
    assert_int_equal(patch_sheet_align(sides, matches, KEYPOINTS, 90, ws, shifts), KB_OK);
    for (int i = 0; i < KEYPOINTS; i++) {
        assert_true(patch_shift_known(shifts[i]));
        const float steps[2] = {(float)shifts[i].x / PATCH_SHEET_STEP, (float)shifts[i].y / PATCH_SHEET_STEP};
        kb_keypoint moved = k[1][i];
        patch_sheet_move(&line, &moved, steps);
        double off = hypot((double)(SIDE - 1 - k[0][i].y - moved.x), (double)(k[0][i].x - moved.y));
        assert_true(off < 0.05);
    }
    kb_workspace_free(ws);
    for (int side = 0; side < 2; side++) {
        free((void *)(uintptr_t)sides[side].patches);
        free(pixels[side]);
    }
    pipeline_close(&line);
}

/* The share of matches that lie within 2 px of their epipolar lines, in COLMAP's pixels. */
static double epipolar_share(const outcome *o, int a, int b, const double f[9], const uint32_t *matches, size_t n)
{
    size_t near = 0;
    for (size_t i = 0; i < n; i++) {
        const kb_keypoint *p = &o->keypoints[a][matches[2 * i]], *q = &o->keypoints[b][matches[2 * i + 1]];
        const double x1 = p->x + 0.5, y1 = p->y + 0.5, x2 = q->x + 0.5, y2 = q->y + 0.5;
        double line[3];
        for (int r = 0; r < 3; r++) line[r] = f[3 * r] * x1 + f[3 * r + 1] * y1 + f[3 * r + 2];
        near += fabs(x2 * line[0] + y2 * line[1] + line[2]) < 2 * sqrt(line[0] * line[0] + line[1] * line[1]);
    }
    return (double)near / (double)n;
}

/* With known cameras the database says calibrated, and how the camera turned. */
static void test_cameras(void **state)
{
    sqlite3 *db;
    sqlite3_stmt *rows;
    int calibrated = 0, others = 0;
    (void)state;
    const char *path = in_scratch("cameras.db");
    outcome o = run_collection(true, KB_DETECTOR_HESSIAN, "cameras", path);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT pair_id, rows, data, config, F, E, qvec, tvec FROM two_view_geometries", -1,
                                        &rows, NULL), SQLITE_OK);
    while (sqlite3_step(rows) == SQLITE_ROW) {
        const int64_t pair = sqlite3_column_int64(rows, 0);
        const int a = (int)(pair / 2147483647) - 1, b = (int)(pair % 2147483647) - 1;
        const solid_camera ca = view_camera(a % VIEWS), cb = view_camera(b % VIEWS);
        const double *f = sqlite3_column_blob(rows, 4), *q = sqlite3_column_blob(rows, 6), *t = sqlite3_column_blob(rows, 7);
        if (sqlite3_column_int(rows, 3) != 2) {
            others++;
            continue;
        }
        calibrated++;
        assert_true(epipolar_share(&o, a, b, f, sqlite3_column_blob(rows, 2), (size_t)sqlite3_column_int64(rows, 1)) > 0.95);
        /* The rotation from a to b is rb ra^T, its trace 4 w^2 - 1. */
        double trace = 0;
        for (int i = 0; i < 9; i++) trace += ca.r[i] * cb.r[i];
        assert_true(fabs(4 * q[0] * q[0] - 1 - trace) < 0.01);
        assert_true(fabs(t[0] * t[0] + t[1] * t[1] + t[2] * t[2] - 1) < 1e-9);
        double direction[3], product = 0, length = 0; /* tb - rb ra^T ta */
        for (int i = 0; i < 3; i++) {
            double centre[3];
            for (int k = 0; k < 3; k++) centre[k] = -(ca.r[k] * ca.t[0] + ca.r[3 + k] * ca.t[1] + ca.r[6 + k] * ca.t[2]);
            direction[i] = cb.r[3 * i] * centre[0] + cb.r[3 * i + 1] * centre[1] + cb.r[3 * i + 2] * centre[2] + cb.t[i];
            product += direction[i] * t[i];
            length += direction[i] * direction[i];
        }
        assert_true(product > 0.95 * sqrt(length));
    }
    sqlite3_finalize(rows);
    sqlite3_close(db);
    printf("%d pairs are calibrated, %d others\n", calibrated, others);
    assert_true(calibrated >= 20);
    outcome_free(&o);
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
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_refined_is_more_exact),
                                       cmocka_unit_test(test_angles_do_not_matter), cmocka_unit_test(test_cameras)};
    return cmocka_run_group_tests_name("refine", tests, begin, end);
}
