/* SPDX-License-Identifier: Apache-2.0 */
/* How many pairs of photographs are verified (kb_pair_verify).
 *
 *   verify [-u] <pairs.txt      two paths per line, without spaces in them; -u: upright rows
 *
 * Prints a line per verified pair, with its places and geometry, and at the end how many of all they are. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/image_io.h"
#include "keybits/index.h"
#include "../tests/arrays.h"

#define KEYPOINTS 2000
#define PATH 1024

typedef struct photograph {
    char path[PATH];
    kb_keypoint keypoints[KEYPOINTS];
    uint8_t *rows;
    kb_features view;
} photograph;

typedef struct bench {
    kb_model *model;
    kb_model_info info;
    kb_workspace *workspace;
    kb_detect_options detect;
    photograph **photographs; /* described so far */
    size_t count;
} bench;

static void stop(const char *path, const char *why)
{
    fprintf(stderr, "verify: %s: %s\n", path, why);
    exit(1);
}

static photograph *describe(bench *b, const char *path)
{
    photograph *p = calloc(1, sizeof *p);
    io_image image;
    io_error error;
    kb_error why;
    if (!p) stop(path, "out of memory");
    if (!io_image_read(path, NULL, &image, &error)) stop(path, error.text);
    snprintf(p->path, sizeof p->path, "%s", path);
    p->rows = calloc(KEYPOINTS, (size_t)b->info.row_bytes);
    KB_INIT(p->view);
    if (!p->rows || detect_and_describe(b->model, &image.view, &b->detect, NULL, b->workspace, p->keypoints, KEYPOINTS,
                                           p->rows, NULL, &p->view.n, &why) != KB_OK)
        stop(path, "cannot be described");
    p->view.rows = p->rows;
    p->view.row_bytes = (size_t)b->info.row_bytes;
    p->view.keypoints = p->keypoints;
    io_image_free(&image);
    return p;
}

static const photograph *find(bench *b, const char *path)
{
    for (size_t i = 0; i < b->count; i++)
        if (strcmp(b->photographs[i]->path, path) == 0) return b->photographs[i];
    b->photographs = realloc(b->photographs, (b->count + 1) * sizeof *b->photographs);
    if (!b->photographs) stop(path, "out of memory");
    return b->photographs[b->count++] = describe(b, path);
}

int main(int argc, char **argv)
{
    static kb_match matches[KEYPOINTS];
    static uint8_t inliers[KEYPOINTS];
    char a[PATH], c[PATH];
    size_t pairs = 0, verified = 0;
    bench b = {0};
    KB_INIT(b.detect);
    KB_INIT(b.info);
    if (argc > 1 && strcmp(argv[1], "-u") == 0) b.detect.orientation = KB_ORIENTATION_NONE;
    else if (argc > 1) stop(argv[1], "usage: verify [-u] <pairs.txt");
    if (kb_model_builtin("bag256", NULL, &b.model) != KB_OK || kb_model_get_info(b.model, &b.info) != KB_OK ||
        kb_workspace_create(NULL, &b.workspace) != KB_OK)
        stop("bag256", "out of memory");
    for (; scanf("%1023s %1023s", a, c) == 2; pairs++) {
        kb_verification v;
        KB_INIT(v);
        const photograph *p = find(&b, a), *q = find(&b, c);
        if (kb_pair_verify(&p->view, &q->view, NULL, b.workspace, matches, inliers, &v, NULL) != KB_OK) stop(a, c);
        verified += (size_t)v.verified;
        if (v.verified) printf("%s %s %d places, %s\n", a, c, v.places, kb_name(KB_NAMES_GEOMETRY, v.geometry));
    }
    printf("%zu of %zu pairs verified\n", verified, pairs);
    for (size_t i = 0; i < b.count; i++) free(b.photographs[i]->rows), free(b.photographs[i]);
    free(b.photographs);
    kb_workspace_free(b.workspace);
    kb_model_free(b.model);
    return 0;
}
