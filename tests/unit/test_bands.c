/* Large images in bands: with low_memory the levels pass by, and the keypoints are the same, bit for bit, in a workspace
 * that grows with the width of the image alone. */
#include "detect/detect.h"
#include "detected.h"

/* ---- detection ---- */

static size_t bytes_of_detection(int32_t width, int32_t height, const kb_detect_options *options)
{
    kb_workspace counting;
    size_t most;
    kb_image image = {&counting, width, height, width, KB_GRAY8, 0}; /* some address; nothing is read */
    kbi_workspace_measure(&counting);
    assert_int_equal(kbi_detect_measure(&image, options, NULL, &counting, &most), KB_OK);
    return kbi_workspace_total(counting.peak);
}

/* Detects with low_memory in no more than the memory that is told, and compares with the usual way. */
static void check_detection(const kb_image *image, kb_detect_options options)
{
    static found a, b;
    kb_workspace *ws;
    options.low_memory = 0;
    assert_int_equal(kb_detect(image, &options, NULL, a.k, MANY, &a.n), KB_OK);
    options.low_memory = 1;
    size_t bytes = bytes_of_detection(image->width, image->height, &options);
    uint8_t *buffer = malloc(bytes); /* of just this size, so that the sanitizer sees its end */
    assert_non_null(buffer);
    assert_int_equal(kb_workspace_create_in(buffer, bytes, &ws), KB_OK);
    assert_int_equal(kb_detect(image, &options, ws, b.k, MANY, &b.n), KB_OK);
    assert_same(&a, &b);
    kb_workspace_free(ws);
    free(buffer);
}

/* True when this image passes by in bands: taller ones take no more memory. */
static bool in_bands(int32_t width, int32_t height, const kb_detect_options *options)
{
    return bytes_of_detection(width, 2 * height, options) < bytes_of_detection(width, height, options) * 21 / 20;
}

/* Flat, soft and busy regions on top of each other: strips with nothing, with weak corners only, and with many. */
static uint8_t *render_regions(int32_t width, int32_t height, uint64_t seed)
{
    uint8_t *pixels = render_texture(width, height, seed);
    for (int32_t y = 0; y < height; y++)
        for (int32_t x = 0; x < width; x++) {
            uint8_t *p = pixels + (size_t)y * (size_t)width + x;
            int32_t third = (int32_t)((int64_t)y * 5 / height + (x > width / 3)) % 3;
            if (third == 0) *p = (uint8_t)(100 + *p / 12);
            if (third == 1) *p = 100;
        }
    return pixels;
}

static kb_detect_options bands_options(int32_t keypoints)
{
    kb_detect_options o = options_for(KB_DETECTOR_ORB);
    o.max_keypoints = keypoints;
    o.low_memory = 1;
    return o;
}

static void test_sizes(void **state)
{
    (void)state;
    static const int32_t sizes[][2] = {{1603, 1402}, {150, 3001}, {71, 2500}, {3003, 700}, {800, 799}};
    static const int32_t keypoints[] = {1, 100, 700, MANY};
    for (size_t s = 0; s < KBI_COUNT(sizes); s++) {
        int32_t width = sizes[s][0], height = sizes[s][1];
        uint8_t *pictures[] = {render_texture(width, height, 7 + s), render_regions(width, height, 70 + s)};
        kb_detect_options o = bands_options(1);
        assert_true(in_bands(width, height, &o));
        for (size_t p = 0; p < KBI_COUNT(pictures); p++) {
            kb_image image = view_of(pictures[p], width, height);
            for (size_t k = 0; k < KBI_COUNT(keypoints); k++) check_detection(&image, bands_options(keypoints[k]));
            free(pictures[p]);
        }
    }
}

/* An image of one kind of corner: lists overflow with corners of the same score and the same response. */
static uint8_t *render_board(int32_t width, int32_t height)
{
    uint8_t *pixels = malloc((size_t)width * (size_t)height);
    assert_non_null(pixels);
    for (int32_t y = 0; y < height; y++)
        for (int32_t x = 0; x < width; x++) pixels[y * width + x] = (x / 5 + y / 5) % 2 ? 200 : 40;
    return pixels;
}

static void test_options(void **state)
{
    (void)state;
    enum { W = 500, H = 1501 };
    uint8_t *pictures[] = {render_texture(W, H, 3), render_regions(W, H, 4), render_board(W, H)};
    uint8_t *allowed = malloc((size_t)W * H);
    assert_non_null(allowed);
    for (int32_t i = 0; i < W * H; i++) allowed[i] = (i % W / 90 + i / W / 130) % 2 ? 255 : 0;
    kb_image mask = view_of(allowed, W, H);
    for (size_t p = 0; p < KBI_COUNT(pictures); p++) {
        kb_image image = view_of(pictures[p], W, H);
        for (int c = 0; c < 32; c++) {
            kb_detect_options o = bands_options(c % 3 == 0 ? 40 : c % 3 == 1 ? 600 : 3000);
            o.selection = (kb_selection)(KB_SELECT_BEST + c % 4);
            o.second_angle = c >> 2 & 1;
            o.orientation = (kb_orientation)(KB_ORIENTATION_GRADIENT + c % 3);
            o.mask = c & 16 ? &mask : NULL;
            o.whole_pixels = c >> 3 & 1;
            o.level_factor = c % 5 == 0 ? 1.05f : c % 5 == 1 ? 2.0f : c % 5 == 2 ? 1.41f : 0;
            o.levels = c % 7 == 0 ? 16 : c % 7 == 1 ? 1 : 0;
            o.cell_size = c % 6 == 0 ? 8 : c % 6 == 1 ? 100 : 0;
            o.fast_threshold = c % 9 == 0 ? 60 : 0;
            o.fast_threshold_min = c % 9 == 0 ? 5 : 0;
            check_detection(&image, o);
        }
        free(pictures[p]);
    }
    free(allowed);
}

/* Rows farther apart than they are long, and 16 bits. */
static void test_formats(void **state)
{
    (void)state;
    enum { W = 300, H = 1200, STRIDE = 333 };
    uint8_t *pixels = render_texture(STRIDE, H, 11);
    kb_image image = {pixels, W, H, STRIDE, KB_GRAY8, 0};
    check_detection(&image, bands_options(500));
    uint16_t *deep = malloc((size_t)W * H * sizeof *deep);
    assert_non_null(deep);
    for (int32_t i = 0; i < W * H; i++) deep[i] = (uint16_t)(pixels[i / W * STRIDE + i % W] * 257);
    kb_image image16 = {deep, W, H, W * 2, KB_GRAY16, 0};
    kb_detect_options o = bands_options(500);
    found *a = detect_view(&image, &o), *b = detect_view(&image16, &o);
    assert_same(a, b);
    free(a), free(b), free(deep), free(pixels);
}

static void test_detection_grows_with_width(void **state)
{
    (void)state;
    kb_detect_options o = bands_options(2000);
    size_t low = bytes_of_detection(6000, 4000, &o), high = bytes_of_detection(6000, 8000, &o);
    assert_true(high < low + low / 100);
    assert_true(low < 4000000);
    assert_true(bytes_of_detection(12000, 8334, &o) < 7000000);
    assert_true(bytes_of_detection(12000, 4000, &o) < 2 * low + low / 100);
    o.low_memory = 0;
    assert_true(bytes_of_detection(6000, 4000, &o) > 48000000);
}

/* What is reserved for an image is enough for every smaller one, whichever way it goes. */
static void test_smaller_images_fit(void **state)
{
    (void)state;
    kb_detect_options o = bands_options(300);
    for (int32_t height = 60; height < 1500; height += 7)
        for (int32_t width = 60; width < 1500; width += 97) {
            size_t bytes = bytes_of_detection(width, height, &o);
            assert_true(bytes <= bytes_of_detection(width, height + 7, &o));
            assert_true(bytes <= bytes_of_detection(width + 1, height, &o));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sizes), cmocka_unit_test(test_options),
                                       cmocka_unit_test(test_formats),
                                       cmocka_unit_test(test_detection_grows_with_width),
                                       cmocka_unit_test(test_smaller_images_fit)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
