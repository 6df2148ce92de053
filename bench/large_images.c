/* SPDX-License-Identifier: Apache-2.0 */
/* How time and workspace grow with an image: detection by ORB and describing by BAG-256 of 1, 6, 24 and 100 megapixels.
 *
 *     build/bench/large_images [KEYPOINTS]        default: 20000 */
#define _POSIX_C_SOURCE 200809L
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <keybits/advanced.h>
#include "../tests/arrays.h"
#include "common/common.h"

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static uint32_t noise(uint32_t x, uint32_t y)
{
    uint32_t v = x * 0x9e3779b1u ^ y * 0x85ebca77u;
    v = (v ^ v >> 15) * 0x2c1b3c6du;
    return (v ^ v >> 13) >> 8;
}

/* Blocks of four sizes on each other, and some noise: corners of every level. */
static void render(uint8_t *pixels, int32_t width, int32_t height)
{
    for (int32_t y = 0; y < height; y++)
        for (int32_t x = 0; x < width; x++) {
            uint32_t sum = noise((uint32_t)x, (uint32_t)y) % 8;
            for (uint32_t side = 5; side < 200; side *= 3)
                sum += noise((uint32_t)x / side, (uint32_t)y / side + side) % 60;
            pixels[(size_t)y * (size_t)width + (size_t)x] = (uint8_t)sum;
        }
}

typedef struct large_job {
    kb_image image;
    kb_detect_options detect;
    kb_model *model;
    kb_keypoint *keypoints;
    uint8_t *rows;
    size_t count;
} large_job;

/* The least time of three calls, ms, and the bytes that a workspace of their own takes. */
static bool measure(large_job *j, kb_status (*call)(large_job *, kb_workspace *), double *ms, size_t *bytes)
{
    kb_workspace *workspace;
    kb_status status = kb_workspace_create(NULL, &workspace);
    *ms = 1e30;
    for (int i = 0; status == KB_OK && i < 3; i++) {
        double start = now();
        status = call(j, workspace);
        double took = now() - start;
        if (took < *ms) *ms = took;
    }
    *bytes = status == KB_OK ? kbi_workspace_bytes(workspace) : 0;
    kb_workspace_free(workspace);
    return status == KB_OK;
}

static kb_status detect(large_job *j, kb_workspace *workspace)
{
    return detect_keypoints(&j->image, &j->detect, workspace, j->keypoints, (size_t)j->detect.max_keypoints, &j->count, NULL);
}

static kb_status describe(large_job *j, kb_workspace *workspace)
{
    return describe_keypoints(j->model, &j->image, j->keypoints, j->count, NULL, workspace, j->rows, NULL);
}

static bool print_row(large_job *j)
{
    static kb_status (*const calls[3])(large_job *, kb_workspace *) = {detect, detect, describe};
    printf("%5d x %-5d", j->image.width, j->image.height);
    for (int i = 0; i < 3; i++) {
        double ms;
        size_t bytes;
        j->detect.low_memory = i == 1;
        if (!measure(j, calls[i], &ms, &bytes)) return false;
        printf("  %9.1f  %7.1f", ms, (double)bytes / 1e6);
        fflush(stdout);
    }
    printf("\n");
    return true;
}

int main(int argc, char **argv)
{
    static const int32_t sides[4][2] = {{1200, 834}, {3000, 2000}, {6000, 4000}, {12000, 8334}};
    large_job j = {.detect = {.struct_size = sizeof j.detect, .detector = kb_detector_get_info(0).detector,
                              .max_keypoints = argc > 1 ? atoi(argv[1]) : 20000}};
    if (j.detect.max_keypoints < 1 || kb_model_builtin("bag256", NULL, &j.model) != KB_OK) return 1;
    j.keypoints = malloc((size_t)j.detect.max_keypoints * sizeof *j.keypoints);
    j.rows = malloc((size_t)j.detect.max_keypoints * 32);
    printf("%d keypoints; processor time, least of 3, and workspace\n", j.detect.max_keypoints);
    printf("%-13s  %18s  %18s  %18s\n", "image", "detect ms, MB", "low_memory ms, MB", "describe ms, MB");
    bool good = j.keypoints && j.rows;
    for (int i = 0; good && i < 4; i++) {
        int32_t width = sides[i][0], height = sides[i][1];
        uint8_t *pixels = malloc((size_t)width * (size_t)height);
        j.image = (kb_image){pixels, width, height, width, KB_FORMAT_GRAY8, 0};
        good = pixels != NULL;
        if (good) render(pixels, width, height);
        good = good && print_row(&j);
        free(pixels);
    }
    free(j.keypoints);
    free(j.rows);
    kb_model_free(j.model);
    return good ? 0 : 1;
}
