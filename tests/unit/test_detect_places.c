/* SPDX-License-Identifier: Apache-2.0 */
/* src/detect: one keypoint per place, up to the border, in small images, with sizes that follow the image; and with
 * every_level the keypoints of ORB-SLAM's extractor, bit for bit. */
#include "detect/peaks.h"
#include "detected.h"

/* Rectangles of many sizes over each other. */
static uint8_t *render_pile(int32_t width, int32_t height, uint64_t seed)
{
    uint8_t *p = malloc((size_t)width * (size_t)height);
    assert_non_null(p);
    memset(p, 128, (size_t)width * (size_t)height);
    for (int i = 0; i < 1500; i++) {
        int32_t x0 = (int32_t)kbi_random_below(&seed, (uint32_t)width);
        int32_t y0 = (int32_t)kbi_random_below(&seed, (uint32_t)height);
        int32_t w = 4 + (int32_t)kbi_random_below(&seed, 40), h = 4 + (int32_t)kbi_random_below(&seed, 40);
        uint8_t value = (uint8_t)kbi_random_below(&seed, 256);
        for (int32_t y = y0; y < y0 + h && y < height; y++)
            for (int32_t x = x0; x < x0 + w && x < width; x++) p[y * width + x] = value;
    }
    return p;
}

static uint8_t *render_either(int which, int32_t width, int32_t height, uint64_t seed)
{
    return which ? render_pile(width, height, seed) : render_texture(width, height, seed);
}

static kb_detector corner_detector(int which) { return which ? KB_DETECTOR_HESSIAN : KB_DETECTOR_ORB; }

/* How many lie at least 2 px from all that are stronger and count. */
static size_t count_places(const found *f)
{
    static uint8_t counts[MANY];
    size_t places = 0;
    for (size_t i = 0; i < f->n; i++) {
        counts[i] = 1;
        for (size_t j = 0; j < i && counts[i]; j++)
            counts[i] = !counts[j] || hypot(f->k[i].x - f->k[j].x, f->k[i].y - f->k[j].y) >= 2;
        places += counts[i];
    }
    return places;
}

static void test_keypoints_are_different_places(void **state)
{
    (void)state;
    for (int c = 0; c < 8; c++) {
        uint8_t *p = render_either(c & 1, 400, 300, (uint64_t)(50 + c));
        kb_image image = view_of(p, 400, 300);
        kb_detect_options o = options_for(corner_detector(c / 2 % 2));
        o.selection = c / 4 ? KB_SELECTION_GRID : KB_SELECTION_BEST;
        o.max_keypoints = 1000;
        found *f = detect_view(&image, &o);
        assert_true(f->n > 500);
        /* FAST's are moved between pixels after the choice */
        assert_true(count_places(f) >= f->n * (o.detector == KB_DETECTOR_HESSIAN ? 97 : 93) / 100);
        o.every_level = 1;
        found *often = detect_view(&image, &o);
        assert_true(count_places(often) < often->n * 90 / 100); /* so it is not the image that keeps them apart */
        free(f), free(often), free(p);
    }
}

/* Also after places were moved between pixels and levels; the mask has holes everywhere. */
static void test_nothing_is_found_behind_a_mask(void **state)
{
    (void)state;
    enum { W = 250, H = 220 };
    uint64_t seed = 12;
    uint8_t *p = render_texture(W, H, 41), *mask = malloc(W * H);
    kb_image image = view_of(p, W, H), view = view_of(mask, W, H);
    for (int i = 0; i < W * H; i++) mask[i] = kbi_random_below(&seed, 3) != 0;
    for (int c = 0; c < 8; c++) {
        kb_detect_options o = options_for(corner_detector(c & 1));
        o.every_level = c / 2 % 2;
        o.low_memory = c / 4;
        o.mask = &view;
        found *f = detect_view(&image, &o);
        assert_true(f->n > 200);
        for (size_t i = 0; i < f->n; i++)
            assert_true(mask[(int)floor(f->k[i].y + 0.5) * W + (int)floor(f->k[i].x + 0.5)]);
        free(f);
    }
    free(p), free(mask);
}

/* A corner needs 5 px of its level around it for FAST, 6 for the Hessian; all four borders have keypoints there. */
static void test_keypoints_reach_the_border(void **state)
{
    (void)state;
    enum { W = 300, H = 260 };
    for (int c = 0; c < 4; c++) {
        uint8_t *p = render_either(c & 1, W, H, (uint64_t)(60 + c));
        found *f = detect_pixels(p, W, H, corner_detector(c / 2));
        double reach = c / 2 ? 6 : 5;
        size_t near[4] = {0};
        for (size_t i = 0; i < f->n; i++) {
            const kb_keypoint *k = &f->k[i];
            double margin = (reach - 0.5) * pow(1.2, k->octave) - 1;
            double beside[4] = {k->x, k->y, W - 1 - k->x, H - 1 - k->y};
            for (int side = 0; side < 4; side++) {
                assert_true(beside[side] > margin);
                near[side] += beside[side] < 10;
            }
        }
        for (int side = 0; side < 4; side++) assert_true(near[side] >= 3);
        free(f), free(p);
    }
}

static void test_small_images_have_keypoints(void **state)
{
    (void)state;
    for (int c = 0; c < 4; c++) {
        uint8_t *p = render_either(c & 1, 128, 128, (uint64_t)(70 + c));
        kb_detector detector = corner_detector(c / 2);
        found *f = detect_pixels(p, 128, 128, detector), *tiny = detect_pixels(p, 20, 20, detector);
        assert_true(f->n > 150);
        assert_true(tiny->n > 0); /* the first 20 rows of 20 pixels */
        free(f), free(tiny), free(p);
    }
}

/* Blobs of many sizes, seen at a zoom. */
static uint8_t *render_blobs(int32_t side, double zoom)
{
    uint64_t seed = 3;
    int32_t n = (int32_t)(side * zoom);
    double *canvas = malloc(sizeof *canvas * (size_t)n * (size_t)n);
    uint8_t *p = malloc((size_t)n * (size_t)n);
    assert_true(canvas && p);
    for (int32_t i = 0; i < n * n; i++) canvas[i] = 128;
    for (int b = 0; b < 400; b++) {
        double x = kbi_random_below(&seed, 1000) * 0.001 * side, y = kbi_random_below(&seed, 1000) * 0.001 * side;
        double sigma = 1.5 + kbi_random_below(&seed, 100) * 0.04, height = kbi_random_below(&seed, 120) - 60.0;
        double cx = (x + 0.5) * zoom - 0.5, cy = (y + 0.5) * zoom - 0.5, s = sigma * zoom;
        for (int32_t v = kbi_max_i((int32_t)(cy - 4 * s), 0); v < kbi_min_i((int32_t)(cy + 4 * s), n); v++)
            for (int32_t u = kbi_max_i((int32_t)(cx - 4 * s), 0); u < kbi_min_i((int32_t)(cx + 4 * s), n); u++)
                canvas[v * n + u] += height * exp(-((u - cx) * (u - cx) + (v - cy) * (v - cy)) / (2 * s * s));
    }
    for (int32_t i = 0; i < n * n; i++) p[i] = (uint8_t)fmin(255, fmax(0, canvas[i] + 0.5));
    free(canvas);
    return p;
}

static void test_sizes_follow_a_zoom(void **state)
{
    (void)state;
    enum { SIDE = 260 };
    uint8_t *p = render_blobs(SIDE, 1), *q = render_blobs(SIDE, 2);
    for (int d = 0; d < 2; d++) {
        found *a = detect_pixels(p, SIDE, SIDE, corner_detector(d));
        found *b = detect_pixels(q, 2 * SIDE, 2 * SIDE, corner_detector(d));
        size_t asked = 0, doubled = 0;
        for (size_t i = 0; i < a->n; i++) {
            const kb_keypoint *k = &a->k[i];
            if (k->octave == 0) continue; /* what is strongest before the first level has its size cut */
            double x = (k->x + 0.5) * 2 - 0.5, y = (k->y + 0.5) * 2 - 0.5;
            doubled += nearest_to(b, x, y, k->size * 2 / 1.15, k->size * 2 * 1.15, 0.1 * k->size) != NULL;
            asked++;
        }
        assert_true(asked > 50);
        assert_true(doubled > asked * (d ? 7 : 4) / 10); /* FAST has no scale: Harris's response on it decides */
        free(a), free(b);
    }
    free(p), free(q);
}

static void test_upright_changes_angles_alone(void **state)
{
    (void)state;
    uint8_t *p = render_texture(260, 230, 80);
    kb_image image = view_of(p, 260, 230);
    for (int c = 0; c < 4; c++) {
        kb_detect_options o = options_for(corner_detector(c & 1));
        o.every_level = c / 2;
        found *turned = detect_view(&image, &o);
        o.orientation = KB_ORIENTATION_NONE;
        found *upright = detect_view(&image, &o);
        assert_true(turned->n > 200);
        for (size_t i = 0; i < turned->n; i++) {
            assert_true(turned->k[i].angle >= 0 && upright->k[i].angle == -1);
            turned->k[i].angle = -1;
        }
        assert_same(turned, upright);
        free(turned), free(upright);
    }
    free(p);
}

/* ---- kb::OrbSlamExtractor ---- */

static uint64_t hash_keypoints(const found *f)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < f->n; i++) {
        uint32_t word[7];
        memcpy(word, &f->k[i], sizeof word);
        for (int k = 0; k < 7; k++) hash = (hash ^ word[k]) * 0x100000001b3u;
    }
    return hash;
}

/* The options of kb::OrbSlamExtractor, and what they gave when every detection was of this kind. */
static void test_every_level_is_what_orb_slam_had(void **state)
{
    static const struct {
        int32_t width, height;
        uint64_t hash[2]; /* of 500 and 1000 keypoints */
    } images[] = {{640, 480, {0x037506b87c3bd391, 0xe69e5769f0092bc2}},
                  {752, 480, {0xd2472971e9aaf7f3, 0xd4050189dfb4e04d}},
                  {401, 333, {0x1a387b4fbc403379, 0x9749e371a9ac8723}},
                  {640, 480, {0x2c66bb441c618205, 0x555c367d26b367a4}},
                  {752, 480, {0x970f16890d8bb23e, 0x843c678a9e9dc71c}},
                  {401, 333, {0x81fe993aca9e70bb, 0x25d0fcd5dd8996c8}}};
    (void)state;
    for (size_t i = 0; i < KBI_COUNT(images); i++) {
        uint8_t *p = render_either(i >= 3, images[i].width, images[i].height, 40 + i);
        kb_image image = view_of(p, images[i].width, images[i].height);
        for (int n = 0; n < 2; n++) {
            kb_detect_options o = options_for(KB_DETECTOR_ORB);
            o.max_keypoints = n ? 1000 : 500;
            o.selection = KB_SELECTION_QUADTREE;
            o.every_level = 1;
            o.levels = 8;
            o.level_factor = 1.2f;
            o.fast_threshold = 20;
            o.fast_threshold_min = 7;
            found *f = detect_view(&image, &o);
            assert_int_equal(f->n, o.max_keypoints);
            assert_true(hash_keypoints(f) == images[i].hash[n]);
            free(f);
        }
        free(p);
    }
}

static kbi_peaks peak_list(kb_workspace *workspace, size_t keep, size_t spare)
{
    kbi_peaks list;
    assert_true(kbi_peaks_get(&list, keep, spare, SIZE_MAX, workspace));
    kbi_peaks_start(&list, 0);
    return list;
}

/* Peaks that several lists found one after the other are kept or dropped as those of one list, many of them equal,
 * whatever room there is. */
static void test_joined_lists_keep_what_one_list_keeps(void **state)
{
    (void)state;
    enum { LISTS = 4 };
    uint64_t seed = 9;
    kb_workspace *workspace = NULL;
    assert_int_equal(kb_workspace_create(NULL, &workspace), KB_OK);
    for (int round = 0; round < 300; round++) {
        size_t mark = kbi_workspace_mark(workspace), keep = 1 + kbi_random_below(&seed, 60), spare = 33 + round % 40;
        uint32_t different = 1 + kbi_random_below(&seed, 40);
        kbi_peaks one = peak_list(workspace, keep, 100000), joined = peak_list(workspace, keep, spare), part[LISTS];
        for (int i = 0; i < LISTS; i++) part[i] = peak_list(workspace, keep, spare);
        for (uint32_t i = 0, n = kbi_random_below(&seed, 400); i < n; i++) {
            kbi_peak peak = {.x = (uint16_t)i, .level = (uint8_t)(8 - i / 50)};
            peak.response = (float)kbi_random_below(&seed, different) / 64 / (round % 3 ? 1 : 64);
            kbi_peaks_add(&one, peak);
            kbi_peaks_add(&part[i * LISTS / n], peak);
        }
        kbi_peaks_join(&joined, part, LISTS);
        kbi_peaks_prune(&one);
        kbi_peaks_prune(&joined);
        assert_int_equal(one.count, joined.count);
        for (size_t i = 0; i < one.count; i++) {
            assert_int_equal(one.peak[i].x, joined.peak[i].x);
            assert_true(one.peak[i].response == joined.peak[i].response);
        }
        kbi_workspace_rewind(workspace, mark);
    }
    kb_workspace_free(workspace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keypoints_are_different_places),
        cmocka_unit_test(test_nothing_is_found_behind_a_mask),
        cmocka_unit_test(test_keypoints_reach_the_border),
        cmocka_unit_test(test_small_images_have_keypoints),
        cmocka_unit_test(test_sizes_follow_a_zoom),
        cmocka_unit_test(test_upright_changes_angles_alone),
        cmocka_unit_test(test_every_level_is_what_orb_slam_had),
        cmocka_unit_test(test_joined_lists_keep_what_one_list_keeps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
