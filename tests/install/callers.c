/* SPDX-License-Identifier: Apache-2.0 */
/* A program that was built against a newer version's header (callers.sh makes it): NEWER has a field `future` at the end
 * of every struct. It must work with the library of today, unless it uses a field that this library does not know. */
#include <keybits/advanced.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPECT(condition)                                                     \
    do {                                                                      \
        if (condition) break;                                                 \
        fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);       \
        exit(1);                                                              \
    } while (0)

/* An unknown field that is not zero is refused, and so is a size that no version had; zero is fine. */
#ifdef NEWER
#    define REFUSES_UNKNOWN(struct, call) \
        (struct).future = 1;              \
        EXPECT((call) == KB_E_STRUCT);    \
        (struct).future = 0
#else
#    define REFUSES_UNKNOWN(struct, call) (void)0
#endif
#define CHECK(struct, call)                              \
    do {                                                 \
        uint32_t kept_ = (struct).struct_size;           \
        REFUSES_UNKNOWN(struct, call);                   \
        (struct).struct_size = 0;                        \
        EXPECT((call) == KB_E_STRUCT);                   \
        (struct).struct_size = 4;                        \
        EXPECT((call) == KB_E_STRUCT);                   \
        (struct).struct_size = kept_;                    \
        EXPECT((call) == KB_OK);                         \
        EXPECT((struct).struct_size == sizeof(struct));  \
    } while (0)

enum { SIDE = 64, KEYPOINTS = 9 };
static uint8_t pixels[SIDE * SIDE], rows[KEYPOINTS * 32];
static kb_keypoint keypoints[KEYPOINTS];
static kb_features features;

static kb_model *create_model(void)
{
    static kb_box_pair boxes[256];
    kb_model *model = NULL;
    kb_model_spec spec;
    KB_INIT(spec);
    for (int i = 0; i < 256; i++) {
        const kb_box_pair pair = {0, (uint8_t)(4 + i % 24), (uint8_t)(4 + i / 11), 2, 0, 16, 16, 2, 0};
        boxes[i] = pair;
    }
    spec.kind = KB_KIND_BAD;
    spec.bits = 256;
    spec.name = "caller";
    spec.boxes = boxes;
    CHECK(spec, (kb_model_free(model), model = NULL, kb_model_create(&spec, NULL, &model, NULL)));
    return model;
}

static void describe(const kb_model *model)
{
    kb_image image = {pixels, SIDE, SIDE, SIDE, KB_FORMAT_GRAY8, 0};
    kb_describe_options options;
    struct {
        kb_model_info info;
        uint8_t guard[16];
    } out;
    KB_INIT(out.info);
    memset(out.guard, 0x5a, sizeof out.guard);
    CHECK(out.info, kb_model_get_info(model, &out.info));
    EXPECT(out.info.row_bytes == 32 && strcmp(out.info.spec->name, "caller") == 0);
    for (int i = 0; i < 16; i++) EXPECT(out.guard[i] == 0x5a);
    KB_INIT(options);
    options.scale = 1;
    CHECK(options, kb_describe(model, &image, &options, NULL, &features, NULL));
    CHECK(features, kb_describe(model, &image, &options, NULL, &features, NULL));
    EXPECT(features.row_bytes == 32 && features.model_id == out.info.id);
}

static void match_and_fit(void)
{
    kb_match matches[KEYPOINTS];
    kb_point_pair pairs[KEYPOINTS];
    kb_match_options match_options;
    kb_fit_options fit_options;
    size_t count;
    struct {
        kb_fit_report report;
        uint8_t guard[16];
    } out;
    KB_INIT(match_options);
    CHECK(match_options, kb_match_features(&features, &features, &match_options, NULL, matches, &count, NULL));
    EXPECT(count == KEYPOINTS);
    EXPECT(kb_match_points(&features, &features, matches, count, pairs, NULL, NULL) == KB_OK);
    KB_INIT(fit_options);
    KB_INIT(out.report);
    memset(out.guard, 0x5a, sizeof out.guard);
    CHECK(fit_options, kb_fit(pairs, count, &fit_options, NULL, NULL, &out.report, NULL));
    CHECK(out.report, kb_fit(pairs, count, NULL, NULL, NULL, &out.report, NULL));
    EXPECT(out.report.result == KB_FIT_FOUND && out.report.inliers == KEYPOINTS);
    for (int i = 0; i < 16; i++) EXPECT(out.guard[i] == 0x5a);
}

int main(void)
{
    uint32_t random = 1;
    for (int i = 0; i < SIDE * SIDE; i++) pixels[i] = (uint8_t)((random = random * 1664525u + 1013904223u) >> 24);
    for (int i = 0; i < KEYPOINTS; i++) {
        kb_keypoint *k = &keypoints[i];
        memset(k, 0, sizeof *k);
        k->x = (float)(12 + 15 * (i % 3) + i), k->y = (float)(12 + 15 * (i / 3)), k->size = 24;
    }
    KB_INIT(features);
    features.keypoints = keypoints;
    features.n = KEYPOINTS;
    features.rows = rows;
    features.rows_size = sizeof rows;
    kb_model *model = create_model();
    describe(model);
    match_and_fit();
    kb_model_free(model);
    printf("keybits %s\n", kb_version());
    return 0;
}
