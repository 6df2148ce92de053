/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes that do not fit into size_t are KB_E_MEMORY, never a small number: what a workspace needs grows with every limit,
 * and once it is too much it stays so. A program without cmocka, so that scripts/same-bits.sh can run it where size_t has
 * 32 bits. */
#include <stdio.h>
#include <stdlib.h>

#include "keybits/advanced.h"

static int failures;

typedef struct limit {
    const char *name;
    double most;     /* the largest value that is tried */
    size_t least;    /* bytes that one of them takes at least */
    void (*set)(kb_workspace_limits *limits, double value);
} limit;

static void set_pairs(kb_workspace_limits *l, double value) { l->pairs = (size_t)value; }
static void set_rows(kb_workspace_limits *l, double value)
{
    l->rows_a = l->rows_b = (size_t)value;
    l->row_bytes = 64;
}
static void set_rows_b(kb_workspace_limits *l, double value)
{
    l->rows_a = 100;
    l->rows_b = (size_t)value;
    l->threads = 256;
}
static void set_keypoints(kb_workspace_limits *l, double value)
{
    l->width = l->height = 64;
    l->keypoints = (size_t)value;
}
static void set_side(kb_workspace_limits *l, double value)
{
    l->width = l->height = (int32_t)value;
    l->keypoints = 10;
}

static void check(const char *what, const limit *row, const kb_model *model, const kb_detect_options *detect)
{
    size_t before = 0, bytes = 0;
    int enough = 0;
    for (double value = 16; value <= row->most; value = value * 1.25 + 1) {
        kb_workspace_limits l;
        KB_INIT(l);
        l.model = model;
        l.detect = detect;
        row->set(&l, value);
        kb_status status = kb_workspace_reserve(NULL, &l, &bytes, NULL);
        int wrong = status == KB_OK ? enough || bytes < before || (double)bytes < value * (double)row->least
                                    : status != KB_E_MEMORY && status != KB_E_ARGUMENT;
        if (wrong) {
            printf("%s, %s %.0f: %s, %lu bytes after %lu\n", what, row->name, value, kb_status_string(status),
                   (unsigned long)bytes, (unsigned long)before);
            failures++;
            return;
        }
        enough = status != KB_OK;
        before = bytes;
    }
}

/* Boxes like these in the image itself, where the two of a pair are of one size. */
static kb_model *image_sampled(const kb_model_spec *from)
{
    static kb_box_pair boxes[KB_MAX_BITS];
    kb_model_spec spec = *from;
    kb_model *model = NULL;
    kb_error error;
    for (int32_t i = 0; i < spec.bits; i++) {
        boxes[i] = from->boxes[i];
        boxes[i].x1 = boxes[i].y1 = boxes[i].x2 = boxes[i].y2 = 16;
        boxes[i].radius1 = boxes[i].radius2 = 3;
    }
    spec.boxes = boxes;
    spec.sampler = KB_SAMPLER_IMAGE;
    if (kb_model_create(&spec, NULL, &model, &error) != KB_OK) failures += puts(error.text) >= 0;
    return model;
}

int main(void)
{
    static const limit numbers[] = {{"pairs", 4e8, 32, set_pairs}, {"rows", 2e9, 64, set_rows},
                                    {"rows_b", 2e9, 32, set_rows_b}};
    static const limit images[] = {{"keypoints", 2e9, 8, set_keypoints}, {"side", 65535, 0, set_side}};
    static const char *const names[] = {"bad256", "bag256", "hashsift256", "sift"};
    for (size_t i = 0; i < 3; i++) check("no model", &numbers[i], NULL, NULL);
    for (size_t m = 0; m < 5; m++) {
        kb_model *model = NULL, *of_image = NULL;
        kb_model_info info;
        KB_INIT(info);
        if (kb_model_builtin(names[m % 4], NULL, &model) != KB_OK || kb_model_get_info(model, &info) != KB_OK) continue;
        if (m == 4) of_image = image_sampled(info.spec);
        for (size_t i = 0; i < 2; i++)
            check(m == 4 ? "image sampler" : names[m], &images[i], of_image ? of_image : model, NULL);
        kb_model_free(of_image);
        kb_model_free(model);
    }
    for (int d = 1; kb_model_scale(NULL, kb_name(KB_NAMES_DETECTOR, (kb_detector)d)) > 0; d++) {
        kb_detect_options detect;
        KB_INIT(detect);
        detect.detector = (kb_detector)d;
        check("detector", &images[1], NULL, &detect);
    }
    puts(failures ? "FAILED" : "sizes: all checks passed");
    return failures != 0;
}
