/* SPDX-License-Identifier: Apache-2.0 */
/* keybits on a microcontroller, without an operating system: finds keypoints in two rendered pictures of one scene,
 * describes them with BAD, matches, and counts the matches that agree with the motion. No heap: the model, the
 * workspace and the results live in arrays. Prints what it took in memory and instructions.
 *
 * build.sh compiles it for a Cortex-M7 (an MPS2 board with AN500, which QEMU emulates) or, to compare, for this
 * machine. */
#include <stdio.h>
#include <string.h>

#include "board.h"
#include "keybits/advanced.h"

#define WIDTH 320
#define HEIGHT 240
#define MOST 200
#define ROW 32       /* bytes of bad256 */
#define SHIFT_X 7    /* the motion between the pictures */
#define SHIFT_Y (-4)

extern const unsigned char model_start[], model_end[];

/* All memory of the program but its stack. */
static uint8_t frame[WIDTH * HEIGHT];
static _Alignas(8) uint8_t model_memory[28 * 1024];
static _Alignas(8) uint8_t workspace_memory[(sizeof(void *) > 4 ? 512 : 160) * 1024]; /* wide vectors take more */
static kb_keypoint keypoints[2][MOST];
static uint8_t rows[2][MOST * ROW];
static kb_features features[2];
static kb_match matches[MOST];

/* ---- the model's memory: handed out, never taken back ---- */

static size_t model_used;

static void *model_allocate(void *self, size_t bytes)
{
    size_t aligned = (bytes + 7) / 8 * 8;
    (void)self;
    if (aligned > sizeof model_memory - model_used) return NULL;
    model_used += aligned;
    return model_memory + model_used - aligned;
}

static void model_release(void *self, void *memory)
{
    (void)self;
    (void)memory;
}

/* ---- pictures ---- */

static uint32_t noise(int32_t x, int32_t y)
{
    uint32_t h = (uint32_t)x * 0x9e3779b1u ^ (uint32_t)y * 0x85ebca77u;
    h = (h ^ h >> 15) * 0x2c1b3c6du;
    return (h ^ h >> 13) & 255;
}

/* Tiles of random brightness with some texture, seen from (dx, dy). */
static void render(int32_t width, int32_t height, int32_t dx, int32_t dy)
{
    for (int32_t y = 0; y < height; y++)
        for (int32_t x = 0; x < width; x++) {
            int32_t u = x + dx + 1000, v = y + dy + 1000;
            uint32_t coarse = noise(u / 23, v / 17), fine = noise(u / 6, v / 7);
            frame[y * width + x] = (uint8_t)((15 * coarse + fine) / 16);
        }
}

/* ---- the pipeline ---- */

static void say(const char *name, unsigned long value)
{
    char line[80];
    snprintf(line, sizeof line, "%s %lu\n", name, value);
    board_print(line);
}

static int failed(const char *what, kb_status status)
{
    board_print(what);
    board_print(": ");
    board_print(kb_status_string(status));
    board_print("\n");
    return 1;
}

static uint32_t hash_of(const void *data, size_t bytes, uint32_t hash)
{
    const uint8_t *p = data;
    for (size_t i = 0; i < bytes; i++) hash = (hash ^ p[i]) * 16777619u;
    return hash;
}

/* The choices that take the least memory and time. */
static kb_detect_options detect_options(void)
{
    kb_detect_options options;
    KB_INIT(options);
    options.max_keypoints = MOST;
    options.low_memory = 1;
    options.selection = KB_SELECTION_BEST;
    options.orientation = KB_ORIENTATION_CENTROID;
    return options;
}

/* Detects and describes what is in `frame`; *instructions receives what detection took. */
static kb_status describe_frame(int which, int32_t width, int32_t height, const kb_model *model, kb_workspace *workspace,
                                unsigned long *instructions)
{
    kb_image image = {frame, width, height, width, KB_FORMAT_GRAY8, 0};
    kb_detect_options options = detect_options();
    unsigned long before = board_instructions();
    kb_features *f = &features[which];
    KB_INIT(*f);
    f->keypoints = keypoints[which];
    f->capacity = MOST;
    f->rows = rows[which];
    f->rows_size = sizeof rows[which];
    kb_status status = kb_detect(&image, &options, workspace, f, NULL);
    *instructions = board_instructions() - before;
    return status == KB_OK ? kb_describe(model, &image, NULL, workspace, f, NULL) : status;
}

/* Matches whose keypoints moved as the picture did, to within two pixels. */
static unsigned long agreeing(size_t n)
{
    unsigned long good = 0;
    for (size_t i = 0; i < n; i++) {
        const kb_keypoint *a = &keypoints[0][matches[i].a], *b = &keypoints[1][matches[i].b];
        float dx = a->x - b->x - SHIFT_X, dy = a->y - b->y - SHIFT_Y;
        good += dx * dx + dy * dy < 4;
    }
    return good;
}

static size_t workspace_needed(int32_t width, int32_t height, const kb_model *model)
{
    kb_detect_options detect = detect_options();
    kb_workspace_limits limits;
    size_t bytes = 0;
    KB_INIT(limits);
    limits.width = width;
    limits.height = height;
    limits.detect = &detect;
    limits.model = model;
    limits.rows_a = limits.rows_b = MOST;
    return kb_workspace_reserve(NULL, &limits, &bytes, NULL) == KB_OK ? bytes : 0;
}

static int run_size(int32_t width, int32_t height, const kb_model *model)
{
    size_t needed = workspace_needed(width, height, model), n = 0;
    unsigned long detection = 0;
    kb_workspace *workspace;
    kb_status status = needed > sizeof workspace_memory ? KB_E_SPACE
                                                        : kb_workspace_create_in(workspace_memory, needed, &workspace);
    if (status != KB_OK) return failed("workspace", status);
    for (int which = 0; which < 2 && status == KB_OK; which++) {
        render(width, height, which * SHIFT_X, which * SHIFT_Y);
        status = describe_frame(which, width, height, model, workspace, &detection);
    }
    if (status == KB_OK)
        status = kb_match_features(&features[0], &features[1], NULL, workspace, matches, &n, NULL);
    if (status != KB_OK) return failed("frame", status);
    uint32_t hash = hash_of(keypoints[1], features[1].n * sizeof(kb_keypoint), 2166136261u);
    hash = hash_of(rows, sizeof rows, hash);
    say("size", (unsigned long)width);
    say("workspace_bytes", (unsigned long)needed);
    say("detect_instructions", detection);
    say("keypoints", (unsigned long)features[1].n);
    say("matches", (unsigned long)n);
    say("agreeing", agreeing(n));
    say("hash", hash);
    return 0;
}

int main(void)
{
    kb_allocator allocator = {model_allocate, model_release, NULL};
    kb_model *model;
    kb_status status = kb_model_load(model_start, (size_t)(model_end - model_start), &allocator, &model, NULL);
    if (status != KB_OK) return failed("model", status);
    if (run_size(320, 240, model) || run_size(160, 120, model)) return 1;
    say("model_bytes", (unsigned long)model_used);
    say("stack_bytes", board_stack_used());
    board_print("done\n");
    return 0;
}
