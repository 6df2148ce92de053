/* SPDX-License-Identifier: Apache-2.0 */
/* For scripts/walk: runs one call on two rendered views and prints the address of every function that it called, in the
 * order of the first call. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <keybits/index.h>
#include <keybits/keybits.h>

/* ---- the functions that ran, in the order of their first call ---- */

#define PLACES (1 << 16)
static void *seen[PLACES], *order[PLACES];
static int recording, count;

void __cyg_profile_func_enter(void *function, void *site);
void __cyg_profile_func_exit(void *function, void *site);

__attribute__((no_instrument_function)) void __cyg_profile_func_enter(void *function, void *site)
{
    (void)site;
    if (!recording) return;
    size_t i = (size_t)function / 16 % PLACES;
    while (seen[i] && seen[i] != function) i = (i + 1) % PLACES;
    if (seen[i]) return;
    seen[i] = order[count++] = function;
}

__attribute__((no_instrument_function)) void __cyg_profile_func_exit(void *function, void *site)
{
    (void)function;
    (void)site;
}

/* ---- two views of a texture ---- */

enum { WIDTH = 640, HEIGHT = 480, MOST = 1000 };
static uint8_t pixels[2][WIDTH * HEIGHT], rows[2][MOST * 32];
static kb_keypoint keypoints[2][MOST];
static size_t n[2];
static kb_match matches[MOST];
static kb_point_pair pairs[MOST];
static size_t matched;

static void render(void)
{
    unsigned seed = 1;
    for (int i = 0; i < 3000; i++) {
        int at[3];
        for (int k = 0; k < 3; k++) at[k] = (int)((seed = seed * 1664525u + 1013904223u) >> 8);
        int x = at[0] % WIDTH, y = at[1] % HEIGHT, side = 4 + at[2] % 20;
        for (int dy = 0; dy < side; dy++)
            for (int dx = 0; dx < side; dx++)
                for (int view = 0; view < 2; view++)
                    if (x + dx < WIDTH && y + dy + 9 * view < HEIGHT)
                        pixels[view][(y + dy + 9 * view) * WIDTH + x + dx] = (uint8_t)(at[2] >> 8);
    }
}

static void require(int good, const char *what)
{
    if (good) return;
    fprintf(stderr, "walk: %s failed\n", what);
    exit(1);
}

static kb_image image_of(int view)
{
    return (kb_image){pixels[view], WIDTH, HEIGHT, WIDTH, KB_FORMAT_GRAY8, 0};
}

static kb_features view_of(int view)
{
    kb_features f;
    KB_INIT(f);
    f.keypoints = keypoints[view];
    f.capacity = MOST;
    f.n = n[view];
    f.rows = rows[view];
    f.rows_size = sizeof rows[view];
    f.row_bytes = 32;
    f.detector = KB_DETECTOR_HESSIAN;
    return f;
}

static void detect(int view)
{
    kb_image image = image_of(view);
    kb_features f = view_of(view);
    require(kb_detect(&image, NULL, NULL, &f, NULL) == KB_OK, "kb_detect");
    n[view] = f.n;
}

static void describe(int view)
{
    kb_image image = image_of(view);
    kb_model *model = NULL;
    int before = recording;
    recording = 0;
    require(kb_model_builtin("bad256", NULL, &model) == KB_OK, "kb_model_builtin");
    recording = before;
    kb_features f = view_of(view);
    require(kb_describe(model, &image, NULL, NULL, &f, NULL) == KB_OK, "kb_describe");
    recording = 0;
    kb_model_free(model);
}

static void match(void)
{
    kb_features a = view_of(0), b = view_of(1);
    require(kb_match_features(&a, &b, NULL, NULL, matches, &matched, NULL) == KB_OK, "matching");
}

static void fit(void)
{
    kb_fit_report report;
    KB_INIT(report);
    kb_features a = view_of(0), b = view_of(1);
    require(kb_match_points(&a, &b, matches, matched, pairs, NULL, NULL) == KB_OK &&
                kb_fit(pairs, matched, NULL, NULL, NULL, &report, NULL) == KB_OK && report.result == KB_FIT_FOUND, "kb_fit");
}

static void retrieve(void)
{
    kb_vocabulary *vocabulary = NULL;
    kb_index *index = NULL;
    kb_index_result results[4];
    size_t found = 0;
    kb_features f[2];
    for (int view = 0; view < 2; view++) {
        KB_INIT(f[view]);
        f[view].rows = rows[view];
        f[view].row_bytes = 32;
        f[view].n = n[view];
        f[view].keypoints = keypoints[view];
    }
    require(kb_vocabulary_train(rows[0], n[0], 32, NULL, NULL, &vocabulary, NULL) == KB_OK &&
                kb_index_create(vocabulary, NULL, NULL, &index, NULL) == KB_OK, "kb_index_create");
    recording = 1;
    require(kb_index_add(index, &f[0], 1, NULL, NULL, NULL) == KB_OK &&
                kb_index_query(index, &f[1], NULL, NULL, results, 4, &found, NULL) == KB_OK && found == 1, "kb_index");
    recording = 0;
    kb_index_free(index);
    kb_vocabulary_free(vocabulary);
}

int main(int argc, char **argv)
{
    const char *call = argc > 1 ? argv[1] : "";
    render();
    recording = strcmp(call, "detect") == 0;
    detect(0);
    recording = 0;
    detect(1);
    describe(1);
    recording = strcmp(call, "describe") == 0;
    describe(0);
    recording = strcmp(call, "match") == 0;
    match();
    recording = strcmp(call, "fit") == 0;
    fit();
    recording = 0;
    if (strcmp(call, "index") == 0) retrieve();
    for (int i = 0; i < count; i++) printf("%p\n", order[i]);
    return 0;
}
