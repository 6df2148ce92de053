/* SPDX-License-Identifier: Apache-2.0 */
/* Describing: the arithmetic against straightforward doubles, the promises of the header, and wild input. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "describe/describe.h"
#include "render.h"
#include "../arrays.h"

enum { W = 320, H = 240, N = 150 };

static int bit_of(const uint8_t *row, int i) { return row[i / 8] >> (7 - i % 8) & 1; }

/* ---- arithmetic ---- */

static double mean_of(const double *plane, int side, int left, int right, int top, int bottom)
{
    double sum = 0;
    for (int y = top; y < bottom; y++)
        for (int x = left; x < right; x++) sum += plane[side * y + x];
    return sum / ((right - left) * (bottom - top));
}

/* Channel c of side x side samples by its definition in docs/bag.md, with exact roots; 0 is gray. Returns the mean
 * gradient. */
static double plane_of(const uint8_t *grid, int side, int c, double *plane)
{
    static const int dx[8] = {1, 1, 0, -1, -1, -1, 0, 1}, dy[8] = {0, 1, 1, 1, 0, -1, -1, -1};
    double sum = 0;
    for (int i = 0; i < side * side; i++) {
        int x = i % side, y = i / side;
        int gx = grid[x < side - 1 ? i + 1 : i] - grid[x ? i - 1 : i];
        int gy = grid[y < side - 1 ? i + side : i] - grid[y ? i - side : i];
        sum += fmax(abs(gx), abs(gy));
        if (c == 0) {
            plane[i] = grid[i];
        } else if (c % 2) { /* along an axis */
            int along = dx[c - 1] * gx + dy[c - 1] * gy, across = dx[c - 1] ? gy : gx;
            plane[i] = fmax(0, along - abs(across));
        } else {
            plane[i] = sqrt(2) * fmax(0, fmin(dx[c - 1] * gx, dy[c - 1] * gy));
        }
    }
    return sum / (side * side);
}

static double box_mean_of(const double *plane, int side, bool cells, int x, int y, int r)
{
    int odd = !cells;
    return mean_of(plane, side, x - r, x + r + odd, y - r, y + r + odd);
}

/* n bits of one grid against means in doubles; returns how many are not within the tolerance of their threshold. */
static int compare_bits(const kb_box_pair *pairs, int n, bool cells, const uint8_t *grid, int side, double tolerance,
                        const uint8_t *row)
{
    static double planes[KB_CHANNELS][KBI_PATCH_BYTES];
    double contrast = 0;
    int clear = 0;
    for (int c = 0; c < KB_CHANNELS; c++) contrast = plane_of(grid, side, c, planes[c]);
    assert_true(contrast > 2);
    for (int i = 0; i < n; i++) {
        const kb_box_pair *p = &pairs[i];
        double d = box_mean_of(planes[p->channel1], side, cells, p->x1, p->y1, p->radius1) -
                   box_mean_of(planes[p->channel2], side, cells, p->x2, p->y2, p->radius2);
        double threshold = (double)p->threshold * (p->channel1 ? contrast : 1);
        if (fabs(d - threshold) < tolerance) continue;
        assert_int_equal(bit_of(row, i), d <= threshold);
        clear++;
    }
    return clear;
}

static void box_bits_compare_means(void **state)
{
    (void)state;
    kb_model *models[] = {render_box_model(KB_KIND_BAD, KB_SAMPLER_PATCH, 512, true, 1),
                          render_box_model(KB_KIND_BAD, KB_SAMPLER_CELLS, 512, true, 3)};
    uint8_t *patch = render_texture(32, 32, 9), row[128];
    for (int m = 0; m < 2; m++) {
        assert_int_equal(describe_patches(models[m], patch, 1, 32, NULL, NULL, row), KB_OK);
        /* within the precision of a mean; cells of gray are rounded, and those of a box up or down */
        assert_true(compare_bits(models[m]->spec.boxes, 512, m == 1, patch, 32, m == 1 ? 0.5 : 0.04, row) > 460);
        kb_model_free(models[m]);
    }
    free(patch);
}

/* Every octave has every fourth byte, its own samples and its own contrast. */
static void bits_of_octaves_compare_means(void **state)
{
    (void)state;
    static const int32_t bits[] = {1024, 256, 96, 32};
    for (size_t m = 0; m < KBI_COUNT(bits); m++) {
        kb_model *model = render_box_model(KB_KIND_BAG, KB_SAMPLER_OCTAVES, bits[m], true, 2 + m);
        uint8_t *octaves = render_texture(KB_OCTAVE_SIDE, KB_OCTAVES * KB_OCTAVE_SIDE, 9 + m), row[128];
        int clear = 0;
        for (int i = 0; i < KBI_OCTAVE_BYTES; i++) octaves[i] = (uint8_t)(50 + octaves[i] / 4);
        assert_int_equal(describe_patches(model, octaves, 1, KB_OCTAVE_SIDE, NULL, NULL, row), KB_OK);
        for (int byte = 0; byte < bits[m] / 8; byte++)
            clear += compare_bits(model->spec.boxes + 8 * byte, 8, true, octaves + byte % KB_OCTAVES * KBI_OCTAVE_BYTES,
                                  KB_OCTAVE_SIDE, 0.04, row + byte);
        assert_true(clear > bits[m] * 9 / 10);
        kb_model_free(model);
        free(octaves);
    }
}

static void channels_point_where_gray_rises(void **state)
{
    (void)state;
    /* A ramp towards direction 45 c degrees fills channel c + 1 alone. */
    enum { SIDE = KBI_OCTAVE_CELLS_SIDE };
    static const int dx[8] = {1, 1, 0, -1, -1, -1, 0, 1}, dy[8] = {0, 1, 1, 1, 0, -1, -1, -1};
    for (int c = 0; c < 8; c++) {
        uint8_t samples[KBI_OCTAVE_BYTES];
        kbi_channels g;
        for (int y = 0; y < 16; y++)
            for (int x = 0; x < 16; x++)
                samples[16 * y + x] = (uint8_t)(128 + 3 * (dx[c] * (x - 8) + dy[c] * (y - 8)));
        kbi_channels_of(samples, &g);
        assert_true(g.contrast > 5 * 128 && g.contrast <= 6 * 128);
        for (int k = 0; k < 8; k++)
            for (int i = 0; i < KBI_OCTAVE_CELLS; i++) {
                int x = i % SIDE, y = i / SIDE;
                if (x == 0 || y == 0 || x == SIDE - 1 || y == SIDE - 1) continue;
                assert_int_equal(g.cells[k][i], k == c ? 4 * 6 : 0);
            }
    }
}

/* Also of one octave alone: none has a part in another's contrast. */
static void bits_of_bag_ignore_contrast_and_offset(void **state)
{
    (void)state;
    enum { BYTES = KB_OCTAVES * KBI_OCTAVE_BYTES };
    uint8_t *octaves = render_texture(KB_OCTAVE_SIDE, KB_OCTAVES * KB_OCTAVE_SIDE, 10), weak[BYTES], rows[2][32];
    kb_model *model = render_box_model(KB_KIND_BAG, KB_SAMPLER_OCTAVES, 256, true, 4);
    assert_int_equal(describe_patches(model, octaves, 1, KB_OCTAVE_SIDE, NULL, NULL, rows[0]), KB_OK);
    for (int which = -1; which < KB_OCTAVES; which++) {
        int different = 0;
        for (int i = 0; i < BYTES; i++)
            weak[i] = which < 0 || i / KBI_OCTAVE_BYTES == which ? (uint8_t)(60 + octaves[i] / 3) : octaves[i];
        assert_int_equal(describe_patches(model, weak, 1, KB_OCTAVE_SIDE, NULL, NULL, rows[1]), KB_OK);
        for (int i = 0; i < 256; i++) {
            bool other = bit_of(rows[0], i) != bit_of(rows[1], i);
            if (which >= 0 && i / 8 % KB_OCTAVES != which) assert_false(other);
            different += other;
        }
        assert_true(different < (which < 0 ? 10 : 5));
    }
    kb_model_free(model);
    free(octaves);
    uint8_t flat[KBI_OCTAVE_BYTES];
    kbi_channels g;
    memset(flat, 77, sizeof flat);
    kbi_channels_of(flat, &g);
    assert_int_equal(g.contrast, 2 * 128);
    for (int c = 0; c < 8; c++)
        for (int i = 0; i < KBI_OCTAVE_CELLS; i++) assert_int_equal(g.cells[c][i], 0);
    /* the largest there is: black and white pixels, two and two, where every difference is 255 or 0 */
    for (int i = 0; i < KBI_OCTAVE_BYTES; i++) flat[i] = (i % 16 / 2 + i / 16 / 2) % 2 ? 255 : 0;
    kbi_channels_of(flat, &g);
    assert_true(g.contrast > 250 * 128);
}

/* SIFT in doubles, with exact angle and magnitude, a true Gaussian and no rounding. */
static void sift_reference(const uint8_t *patch, double h[128])
{
    double sigma = sqrt(1.6 * 1.6 - 0.5 * 0.5), kernel[11], total = 0, rows[1024], b[1024];
    for (int i = -5; i <= 5; i++) total += kernel[i + 5] = exp(-i * i / (2 * sigma * sigma));
    for (int pass = 0; pass < 2; pass++)
        for (int y = 0; y < 32; y++)
            for (int x = 0; x < 32; x++) {
                double sum = 0;
                for (int i = -5; i <= 5; i++) {
                    int q = (pass ? y : x) + i;
                    q = q < 0 ? -q : q > 31 ? 62 - q : q;
                    sum += kernel[i + 5] / total * (pass ? rows[32 * q + x] : patch[32 * y + q]);
                }
                (pass ? b : rows)[32 * y + x] = sum;
            }
    memset(h, 0, 128 * sizeof *h);
    for (int y = 1; y < 31; y++)
        for (int x = 1; x < 31; x++) {
            double gx = b[32 * y + x + 1] - b[32 * y + x - 1], gy = b[32 * y - 32 + x] - b[32 * y + 32 + x];
            double u = (x - 16) / 8.0, v = (y - 16) / 8.0, angle = atan2(gy, gx) * 4 / 3.14159265358979;
            double weight = sqrt(gx * gx + gy * gy) * exp(-(u * u + v * v) / 8);
            if (angle < 0) angle += 8;
            int o = (int)angle;
            for (int r = 0; r < 4; r++)
                for (int c = 0; c < 4; c++) {
                    double share = fmax(0, 1 - fabs(u + 1.5 - c)) * fmax(0, 1 - fabs(v + 1.5 - r)) * weight;
                    h[(r * 4 + c) * 8 + o % 8] += share * (1 - (angle - o));
                    h[(r * 4 + c) * 8 + (o + 1) % 8] += share * (angle - o);
                }
        }
    for (int pass = 0; pass < 2; pass++) {
        double norm = 0;
        for (int i = 0; i < 128; i++) norm += h[i] * h[i];
        for (int i = 0; i < 128; i++) h[i] = pass ? h[i] / sqrt(norm) : fmin(h[i], 0.2 * sqrt(norm));
    }
}

static void sift_agrees_with_doubles(void **state)
{
    (void)state;
    kb_model *sift = builtin_model("sift"), *root = builtin_model("rootsift");
    for (uint64_t seed = 20; seed < 30; seed++) {
        uint8_t *patch = render_texture(32, 32, seed), bytes[128], root_bytes[128];
        float floats[128], root_floats[128];
        double h[128], error = 0, length = 0, root_length = 0;
        sift_reference(patch, h);
        assert_int_equal(describe_patches_float(sift, patch, 1, 32, NULL, NULL, floats), KB_OK);
        assert_int_equal(describe_patches_float(root, patch, 1, 32, NULL, NULL, root_floats), KB_OK);
        assert_int_equal(describe_patches(sift, patch, 1, 32, NULL, NULL, bytes), KB_OK);
        assert_int_equal(describe_patches(root, patch, 1, 32, NULL, NULL, root_bytes), KB_OK);
        double sum = 0;
        for (int i = 0; i < 128; i++) sum += (double)floats[i];
        for (int i = 0; i < 128; i++) {
            double f = (double)floats[i], g = (double)root_floats[i];
            error += (f - h[i]) * (f - h[i]);
            length += f * f;
            root_length += g * g;
            assert_true(fabs(fmin(255, 512 * f) - bytes[i]) < 0.52);
            assert_true(fabs(fmin(255, 512 * g) - root_bytes[i]) < 1.1);
            assert_true(fabs(g - sqrt(f / sum)) < 1e-5);
        }
        assert_true(sqrt(error) < 0.03); /* of a vector of length 1 */
        assert_true(fabs(length - 1) < 1e-5 && fabs(root_length - 1) < 1e-5);
        free(patch);
    }
    kb_model_free(sift);
    kb_model_free(root);
}

static void hashsift_is_the_sign_of_a_product(void **state)
{
    (void)state;
    kb_model *model = render_hash_model(256, 3), *sift = builtin_model("sift");
    uint8_t *patch = render_texture(32, 32, 31), values[128], row[32];
    kb_model_info info;
    KB_INIT(info);
    kb_model_get_info(model, &info);
    assert_int_equal(describe_patches(sift, patch, 1, 32, NULL, NULL, values), KB_OK);
    assert_int_equal(describe_patches(model, patch, 1, 32, NULL, NULL, row), KB_OK);
    for (int i = 0; i < 256; i++) {
        long sum = info.spec->bias[i];
        for (int j = 0; j < 128; j++) sum += (long)info.spec->weights[128 * i + j] * values[j];
        assert_int_equal(bit_of(row, i), sum > 0);
    }
    free(patch);
    kb_model_free(model);
    kb_model_free(sift);
}

/* ---- promises ---- */

/* All kinds of models, for tests that hold for each. */
#define MODELS 7
static size_t all_models(kb_model **models)
{
    models[0] = render_box_model(KB_KIND_BAD, KB_SAMPLER_PATCH, 256, true, 1);
    models[1] = render_box_model(KB_KIND_BAD, KB_SAMPLER_IMAGE, 512, false, 2);
    models[2] = render_box_model(KB_KIND_BAG, KB_SAMPLER_OCTAVES, 256, false, 3);
    models[3] = render_hash_model(256, 4);
    models[4] = builtin_model("sift");
    models[5] = builtin_model("rootsift");
    models[6] = render_box_model(KB_KIND_BAD, KB_SAMPLER_CELLS, 256, true, 5);
    return MODELS;
}

static uint8_t *rows_of(const kb_model *model, const kb_image *image, const kb_keypoint *k, size_t n,
                        const kb_describe_options *options, kb_workspace *workspace, uint8_t *flags, size_t *bytes)
{
    kb_model_info info;
    KB_INIT(info);
    assert_int_equal(kb_model_get_info(model, &info), KB_OK);
    *bytes = n * (size_t)info.row_bytes;
    uint8_t *rows = malloc(*bytes + 1);
    memset(rows, 0xa5, *bytes + 1);
    assert_int_equal(describe_keypoints(model, image, k, n, options, workspace, rows, flags), KB_OK);
    assert_int_equal(rows[*bytes], 0xa5);
    return rows;
}

static void threads_and_workspaces_do_not_matter(void **state)
{
    (void)state;
    uint8_t *pixels = render_texture(W, H, 40);
    kb_image image = view_of(pixels, W, H);
    kb_keypoint k[N];
    kb_model *models[MODELS];
    render_keypoints(k, N, W, H, 3, 150, 41);
    k[7].x = NAN;
    for (size_t m = 0, count = all_models(models); m < count; m++) {
        size_t bytes;
        uint8_t flags[N], flags2[N], *expected = rows_of(models[m], &image, k, N, NULL, NULL, flags, &bytes);
        kb_workspace *workspace = NULL;
        assert_int_equal(kb_workspace_create(NULL, &workspace), KB_OK);
        for (int32_t threads = 1; threads <= 5; threads += 2) {
            kb_parallel *pool = NULL;
            assert_int_equal(kb_pool_create(threads, NULL, &pool), KB_OK);
            kb_describe_options options;
            KB_INIT(options);
            options.parallel = pool;
            size_t held = 0;
            for (int frame = 0; frame < 3; frame++) {
                uint8_t *rows = rows_of(models[m], &image, k, N, &options, workspace, flags2, &bytes);
                assert_memory_equal(rows, expected, bytes);
                assert_memory_equal(flags, flags2, N);
                free(rows);
                if (frame)
                    assert_int_equal(kbi_workspace_bytes(workspace),
                                     held); /* the first frame was the last to allocate */
                held = kbi_workspace_bytes(workspace);
            }
            kb_pool_free(pool);
        }
        kb_workspace_free(workspace);
        free(expected);
        kb_model_free(models[m]);
    }
    free(pixels);
}

static void a_row_depends_on_its_keypoint_alone(void **state)
{
    (void)state;
    uint8_t *pixels = render_texture(W, H, 42);
    kb_image image = view_of(pixels, W, H);
    kb_keypoint k[N];
    kb_model *models[MODELS];
    render_keypoints(k, N, W, H, 3, 150, 43);
    for (size_t m = 0, count = all_models(models); m < count; m++) {
        size_t bytes, one;
        uint8_t *all = rows_of(models[m], &image, k, N, NULL, NULL, NULL, &bytes);
        for (size_t i = 0; i < N; i += 13) {
            uint8_t *alone = rows_of(models[m], &image, &k[i], 1, NULL, NULL, NULL, &one);
            assert_memory_equal(alone, all + i * one, one);
            free(alone);
        }
        free(all);
        kb_model_free(models[m]);
    }
    free(pixels);
}

static void strides_and_16_bits(void **state)
{
    (void)state;
    uint8_t *pixels = render_texture(W, H, 44), *wide = calloc((W + 13) * H, 1);
    uint16_t *deep = calloc(W * H, 2), *twelve = calloc(W * H, 2);
    for (int y = 0; y < H; y++) memcpy(wide + y * (W + 13), pixels + y * W, W);
    for (int i = 0; i < W * H; i++) {
        deep[i] = (uint16_t)(pixels[i] * 257);
        twelve[i] = (uint16_t)((pixels[i] * 4095 + 127) / 255);
    }
    kb_image image = view_of(pixels, W, H), others[3] = {{wide, W, H, W + 13, KB_FORMAT_GRAY8, 0},
                                                         {deep, W, H, 2 * W, KB_FORMAT_GRAY16, 0},
                                                         {twelve, W, H, 2 * W, KB_FORMAT_GRAY16, 4095}};
    kb_keypoint k[N];
    kb_model *models[MODELS];
    render_keypoints(k, N, W, H, 3, 90, 45);
    for (size_t m = 0, count = all_models(models); m < count; m++) {
        size_t bytes;
        uint8_t *expected = rows_of(models[m], &image, k, N, NULL, NULL, NULL, &bytes);
        for (int i = 0; i < 3; i++) {
            uint8_t *rows = rows_of(models[m], &others[i], k, N, NULL, NULL, NULL, &bytes);
            assert_memory_equal(rows, expected, bytes);
            free(rows);
        }
        free(expected);
        kb_model_free(models[m]);
    }
    free(pixels);
    free(wide);
    free(deep);
    free(twelve);
}

static void large_images_do_not_overflow(void **state)
{
    (void)state;
    /* A bright image beyond 2^32 / 255 pixels: the integral image has wrapped around at its end. */
    enum { LW = 5000, LH = 3500, C = 400 };
    uint8_t *pixels = malloc((size_t)LW * LH), *corner = render_texture(C, C, 46);
    memset(pixels, 255, (size_t)LW * LH);
    for (size_t y = 0; y < C; y++) memcpy(pixels + (LH - C + y) * LW + LW - C, corner + y * C, C);
    kb_image large = view_of(pixels, LW, LH), small = view_of(corner, C, C);
    kb_model *model = render_box_model(KB_KIND_BAD, KB_SAMPLER_IMAGE, 256, false, 6);
    kb_keypoint a[20], b[20];
    for (int i = 0; i < 20; i++) {
        a[i] =
            (kb_keypoint){.x = (float)(150 + 5 * i), .y = (float)(250 - 5 * i), .size = 31, .angle = (float)(17 * i)};
        b[i] = a[i];
        b[i].x += LW - C;
        b[i].y += LH - C;
    }
    size_t bytes;
    uint8_t *rows_a = rows_of(model, &small, a, 20, NULL, NULL, NULL, &bytes),
            *rows_b = rows_of(model, &large, b, 20, NULL, NULL, NULL, &bytes);
    assert_memory_equal(rows_a, rows_b, bytes);
    free(rows_a);
    free(rows_b);
    free(pixels);
    free(corner);
    kb_model_free(model);
}

/* A region of a fraction of a pixel in the corner: rounding alone moves boxes out of the image, which has to count as
 * border (a sanitizer sees the read outside). */
static void tiny_regions_in_corners_stay_inside(void **state)
{
    (void)state;
    kb_box_pair boxes[8];
    for (int i = 0; i < 8; i++)
        boxes[i] = i % 2 ? (kb_box_pair){0, 1, 1, 1, 0, 15, 16, 1, 0} : (kb_box_pair){0, 30, 30, 1, 0, 16, 16, 1, 0};
    kb_model_spec spec;
    KB_INIT(spec);
    spec.kind = KB_KIND_BAD;
    spec.sampler = KB_SAMPLER_IMAGE;
    spec.bits = 8;
    spec.name = "corner";
    spec.boxes = boxes;
    kb_model *model;
    assert_int_equal(kb_model_create(&spec, NULL, &model, NULL), KB_OK);
    uint8_t *pixels = render_texture(64, 48, 3), row, flags;
    kb_image image = view_of(pixels, 64, 48);
    const kb_keypoint corners[] = {{.x = 63.49f, .y = 47.49f, .size = 0.32f}, {.x = 0.3f, .y = 0.3f, .size = 0.3f},
                                   {.x = 63.49f, .y = 20, .size = 0.32f, .angle = 45},
                                   {.x = 20, .y = 0.3f, .size = 0.33f, .angle = 225}};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(describe_keypoints(model, &image, &corners[i], 1, NULL, NULL, &row, &flags), KB_OK);
        if (i == 0) assert_true(flags & KB_KP_BORDER);
    }
    free(pixels);
    kb_model_free(model);
}

/* Rows that begin every `stride` bytes hold what rows without gaps hold, and nothing else is written. */
static void assert_rows_with_gaps(const uint8_t *gapped, const uint8_t *packed, size_t row_bytes, size_t stride)
{
    for (size_t i = 0; i < N; i++) {
        assert_memory_equal(gapped + i * stride, packed + i * row_bytes, row_bytes);
        for (size_t k = row_bytes; k < stride; k++) assert_int_equal(gapped[i * stride + k], 0x5a);
    }
}

static void rows_may_have_gaps(void **state)
{
    (void)state;
    enum { GAP = 12, MOST = N * (KBI_PATCH_BYTES + GAP) };
    uint8_t *pixels = render_texture(W, H, 61), *gapped = malloc(MOST), *packed = malloc(MOST);
    uint8_t *patches = malloc(N * KBI_PATCH_BYTES);
    kb_image image = view_of(pixels, W, H);
    kb_keypoint k[N];
    kb_model *models[MODELS];
    render_keypoints(k, N, W, H, 10, 60, 62);
    k[3].size = NAN, k[70].x = -50; /* rows of zeros */
    assert_int_equal(sample_patches(&image, k, N, NULL, NULL, patches, NULL), KB_OK);
    for (size_t m = 0, count = all_models(models); m < count; m++) {
        size_t bytes;
        uint8_t *rows = rows_of(models[m], &image, k, N, NULL, NULL, NULL, &bytes);
        kb_features f = arrays_features(k, gapped, N, 0);
        f.row_stride = bytes / N + GAP;
        f.rows_size = (N - 1) * f.row_stride + bytes / N;
        memset(gapped, 0x5a, MOST);
        assert_int_equal(kb_describe(models[m], &image, NULL, NULL, &f, NULL), KB_OK);
        assert_rows_with_gaps(gapped, rows, bytes / N, f.row_stride);
        memset(gapped, 0x5a, MOST);
        assert_int_equal(kb_describe_patches(models[m], patches, 32, NULL, NULL, &f, NULL), KB_OK);
        assert_int_equal(describe_patches(models[m], patches, N, 32, NULL, NULL, packed), KB_OK);
        assert_rows_with_gaps(gapped, packed, bytes / N, f.row_stride);
        f.rows_size--; /* one byte too few */
        kb_error error;
        assert_int_equal(kb_describe(models[m], &image, NULL, NULL, &f, &error), KB_E_SPACE);
        assert_string_equal(error.field, "rows_size");
        assert_int_equal(kb_describe_patches(models[m], patches, 32, NULL, NULL, &f, NULL), KB_E_SPACE);
        free(rows);
    }
    for (size_t m = 0; m < MODELS; m++) kb_model_free(models[m]);
    free(pixels), free(gapped), free(packed), free(patches);
}

static void float_rows_may_have_gaps(void **state)
{
    (void)state;
    enum { ROW = 128 * sizeof(float), STRIDE = ROW + 20 };
    uint8_t *pixels = render_texture(W, H, 63), *gapped = malloc(N * STRIDE), *packed = malloc(N * ROW);
    kb_image image = view_of(pixels, W, H);
    kb_keypoint k[N];
    kb_model *sift;
    render_keypoints(k, N, W, H, 10, 60, 64);
    assert_int_equal(kb_model_builtin("sift", NULL, &sift), KB_OK);
    kb_features f = arrays_features(k, gapped, N, 0);
    f.row_stride = STRIDE;
    f.floats = 1;
    memset(gapped, 0x5a, N * STRIDE);
    assert_int_equal(kb_describe(sift, &image, NULL, NULL, &f, NULL), KB_OK);
    assert_int_equal(describe_keypoints_float(sift, &image, k, N, NULL, NULL, (float *)(void *)packed, NULL), KB_OK);
    assert_rows_with_gaps(gapped, packed, ROW, STRIDE);
    kb_model_free(sift);
    free(pixels), free(gapped), free(packed);
}

static void ready_patches_equal_cut_ones(void **state)
{
    (void)state;
    uint8_t *pixels = render_texture(W, H, 47), *patches = malloc(N * KBI_PATCH_BYTES);
    kb_image image = view_of(pixels, W, H);
    kb_keypoint k[N];
    kb_model *models[MODELS];
    render_keypoints(k, N, W, H, 10, 60, 48);
    kb_describe_options options;
    KB_INIT(options);
    options.scale = 2.5f;
    assert_int_equal(sample_patches(&image, k, N, &options, NULL, patches, NULL), KB_OK);
    for (size_t m = 0, count = all_models(models); m < count; m++) {
        if (m == 1 || m == 2 || m == 6) continue; /* the other samplers look elsewhere */
        size_t bytes;
        uint8_t *expected = rows_of(models[m], &image, k, N, &options, NULL, NULL, &bytes), *rows = malloc(bytes);
        assert_int_equal(describe_patches(models[m], patches, N, 32, NULL, NULL, rows), KB_OK);
        assert_memory_equal(rows, expected, bytes);
        free(rows);
        free(expected);
    }
    for (size_t m = 0; m < MODELS; m++) kb_model_free(models[m]);
    free(pixels);
    free(patches);
}

static void support_widens_the_region(void **state)
{
    (void)state;
    kb_box_pair boxes[8];
    for (int i = 0; i < 8; i++) boxes[i] = (kb_box_pair){0, (uint8_t)(8 + i), 10, 3, 0, 20, 20, 3, 1.5f};
    kb_model_spec spec = {
        .struct_size = sizeof spec, .kind = KB_KIND_BAD, .bits = 8, .name = "x", .boxes = boxes, .support = 1.5f};
    kb_model *wide = NULL, *plain = NULL;
    assert_int_equal(kb_model_create(&spec, NULL, &wide, NULL), KB_OK);
    spec.support = 1;
    assert_int_equal(kb_model_create(&spec, NULL, &plain, NULL), KB_OK);
    uint8_t *pixels = render_texture(W, H, 49), a[N], b[N];
    kb_image image = view_of(pixels, W, H);
    kb_keypoint k[N], larger[N];
    render_keypoints(k, N, W, H, 20, 40, 50);
    for (int i = 0; i < N; i++) larger[i] = k[i], larger[i].size *= 1.5f;
    assert_int_equal(describe_keypoints(wide, &image, k, N, NULL, NULL, a, NULL), KB_OK);
    assert_int_equal(describe_keypoints(plain, &image, larger, N, NULL, NULL, b, NULL), KB_OK);
    assert_memory_equal(a, b, N);
    free(pixels);
    kb_model_free(wide);
    kb_model_free(plain);
}

/* ---- wild input ---- */

static void odd_keypoints_are_flagged_and_kept(void **state)
{
    (void)state;
    static const struct {
        kb_keypoint k;
        int flags;
    } cases[] = {
        {{.x = 160, .y = 120, .size = 31, .angle = 10}, 0},
        {{.x = 160, .y = 120, .size = 31, .angle = -1}, 0},
        {{.x = 160, .y = 120, .size = 31, .angle = 1e20f}, 0},
        {{.x = 2, .y = 120, .size = 31}, KB_KP_BORDER},
        {{.x = 160, .y = 120, .size = 5}, KB_KP_SMALL},
        {{.x = 160, .y = 120, .size = 1e-30f}, KB_KP_SMALL},
        {{.x = 0, .y = 0, .size = 1}, KB_KP_SMALL | KB_KP_BORDER},
        {{.x = 160, .y = 120, .size = 250000}, KB_KP_BORDER},
        {{.x = -0.6f, .y = 120, .size = 31}, KB_KP_OUTSIDE},
        {{.x = 319.6f, .y = 120, .size = 31}, KB_KP_OUTSIDE},
        {{.x = 1e30f, .y = -1e30f, .size = 31}, KB_KP_OUTSIDE},
        {{.x = NAN, .y = 120, .size = 31}, KB_KP_INVALID},
        {{.x = 160, .y = INFINITY, .size = 31}, KB_KP_INVALID},
        {{.x = 160, .y = 120, .size = 0}, KB_KP_INVALID},
        {{.x = 160, .y = 120, .size = -5}, KB_KP_INVALID},
        {{.x = 160, .y = 120, .size = NAN}, KB_KP_INVALID},
        {{.x = 160, .y = 120, .size = 3e38f}, KB_KP_INVALID},
        {{.x = 160, .y = 120, .size = 31, .angle = NAN}, KB_KP_INVALID},
        {{.x = 160, .y = 120, .size = 31, .angle = -INFINITY}, KB_KP_INVALID},
    };
    enum { COUNT = KBI_COUNT(cases) };
    uint8_t *pixels = render_texture(W, H, 51), flags[COUNT];
    kb_image image = view_of(pixels, W, H);
    kb_keypoint k[COUNT], before[COUNT];
    kb_model *models[MODELS];
    for (size_t i = 0; i < COUNT; i++) k[i] = before[i] = cases[i].k;
    for (size_t m = 0, count = all_models(models); m < count; m++) {
        size_t bytes;
        kb_describe_options options;
        KB_INIT(options);
        if (m == 2) options.scale = 4; /* so that its octave 2 is as wide as the region of the others */
        uint8_t *rows = rows_of(models[m], &image, k, COUNT, &options, NULL, flags, &bytes), zero[128] = {0};
        assert_memory_equal(k, before, sizeof k);
        for (size_t i = 0; i < COUNT; i++) {
            if (m == 1 && cases[i].flags == (KB_KP_SMALL | KB_KP_BORDER)) assert_true(flags[i] & KB_KP_SMALL);
            else assert_int_equal(flags[i], cases[i].flags);
            if (flags[i] & (KB_KP_OUTSIDE | KB_KP_INVALID))
                assert_memory_equal(rows + i * bytes / COUNT, zero, bytes / COUNT);
        }
        free(rows);
        kb_model_free(models[m]);
    }
    free(pixels);
}

static void images_of_every_odd_shape(void **state)
{
    (void)state;
    static const int32_t shapes[][2] = {{1, 1}, {1, 50}, {50, 1}, {2, 2}, {3, 7}, {33, 31}, {65535, 2}, {2, 65535}};
    kb_model *models[MODELS];
    size_t count = all_models(models);
    for (size_t s = 0; s < KBI_COUNT(shapes); s++) {
        int32_t width = shapes[s][0], height = shapes[s][1];
        uint8_t *pixels = malloc((size_t)width * (size_t)height); /* exactly as large: the sanitizer guards its end */
        memset(pixels, 100, (size_t)width * (size_t)height);
        kb_image image = view_of(pixels, width, height);
        kb_keypoint k[40];
        render_keypoints(k, 40, width, height, 0.1f, 400, 52 + s);
        k[0] = (kb_keypoint){.x = (float)(width - 1), .y = (float)(height - 1), .size = 100000, .angle = 45};
        for (size_t m = 0; m < count; m++) {
            size_t bytes;
            free(rows_of(models[m], &image, k, 40, NULL, NULL, NULL, &bytes));
        }
        free(pixels);
    }
    for (size_t m = 0; m < count; m++) kb_model_free(models[m]);
}

static void arguments_are_checked(void **state)
{
    (void)state;
    kb_model *model = render_box_model(KB_KIND_BAD, KB_SAMPLER_PATCH, 64, false, 1), *sift = builtin_model("sift");
    uint8_t pixels[64] = {0}, row[128];
    float floats[128];
    kb_image image = view_of(pixels, 8, 8), bad;
    kb_keypoint k = {.x = 1, .y = 1, .size = 4};
    assert_int_equal(describe_keypoints(NULL, &image, &k, 1, NULL, NULL, row, NULL), KB_E_ARGUMENT);
    assert_int_equal(describe_keypoints(model, NULL, &k, 1, NULL, NULL, row, NULL), KB_E_ARGUMENT);
    assert_int_equal(describe_keypoints(model, &image, NULL, 1, NULL, NULL, row, NULL), KB_E_ARGUMENT);
    assert_int_equal(describe_keypoints(model, &image, &k, 1, NULL, NULL, NULL, NULL), KB_E_ARGUMENT);
    assert_int_equal(describe_keypoints(model, &image, NULL, 0, NULL, NULL, NULL, NULL), KB_OK);
    assert_int_equal(describe_keypoints_float(model, &image, &k, 1, NULL, NULL, floats, NULL), KB_E_KIND);
    assert_int_equal(describe_keypoints_float(sift, &image, &k, 1, NULL, NULL, floats, NULL), KB_OK);
    assert_int_equal(describe_patches(model, NULL, 1, 32, NULL, NULL, row), KB_E_ARGUMENT);
    assert_int_equal(describe_patches(model, NULL, 0, 32, NULL, NULL, NULL), KB_OK);
    assert_int_equal(describe_patches(model, pixels, 1, 31, NULL, NULL, row), KB_E_ARGUMENT);
    assert_int_equal(describe_patches(model, pixels, 1, 1025, NULL, NULL, row), KB_E_ARGUMENT);
    static const kb_image wrong[] = {{NULL, 8, 8, 8, KB_FORMAT_GRAY8, 0}, {"", 0, 8, 8, KB_FORMAT_GRAY8, 0},
                                     {"", 8, 0, 8, KB_FORMAT_GRAY8, 0},   {"", 8, -8, 8, KB_FORMAT_GRAY8, 0},
                                     {"", 8, 8, 7, KB_FORMAT_GRAY8, 0},   {"", 65536, 8, 65536, KB_FORMAT_GRAY8, 0},
                                     {"", 8, 8, 15, KB_FORMAT_GRAY16, 0}, {"", 8, 8, -8, KB_FORMAT_GRAY8, 0},
                                     {"", 8, 8, 8, (kb_format)7, 0}};
    for (size_t i = 0; i < KBI_COUNT(wrong); i++) {
        bad = wrong[i];
        assert_int_equal(describe_keypoints(model, &bad, &k, 1, NULL, NULL, row, NULL), KB_E_IMAGE);
    }
    kb_model *bag = render_box_model(KB_KIND_BAG, KB_SAMPLER_OCTAVES, 64, false, 1);
    uint8_t octaves[KB_OCTAVES * KBI_OCTAVE_BYTES] = {0};
    assert_int_equal(describe_patches(bag, octaves, 1, 16, NULL, NULL, row), KB_OK);
    assert_int_equal(describe_patches(bag, octaves, 1, 32, NULL, NULL, row), KB_OK);
    assert_int_equal(describe_patches(bag, NULL, 1, 16, NULL, NULL, row), KB_E_ARGUMENT);
    assert_int_equal(describe_patches(bag, octaves, 1, 15, NULL, NULL, row), KB_E_ARGUMENT);
    assert_int_equal(describe_patches(bag, octaves, 1, 31, NULL, NULL, row), KB_E_ARGUMENT);
    assert_int_equal(describe_patches(model, octaves, 1, 16, NULL, NULL, row), KB_E_ARGUMENT); /* no octaves */
    assert_int_equal(describe_patches_float(sift, octaves, 1, 16, NULL, NULL, floats), KB_E_ARGUMENT);
    assert_int_equal(describe_keypoints_float(bag, &image, &k, 1, NULL, NULL, floats, NULL), KB_E_KIND);
    kb_model_free(bag);
    kb_describe_options options;
    KB_INIT(options);
    options.scale = -1;
    assert_int_equal(describe_keypoints(model, &image, &k, 1, &options, NULL, row, NULL), KB_E_ARGUMENT);
    options.scale = NAN;
    assert_int_equal(describe_keypoints(model, &image, &k, 1, &options, NULL, row, NULL), KB_E_ARGUMENT);
    options.struct_size = 1;
    assert_int_equal(describe_keypoints(model, &image, &k, 1, &options, NULL, row, NULL), KB_E_STRUCT);
    kb_features f = arrays_features(&k, row, 1, 0);
    f.row_stride = 7; /* rows of 8 bytes would overlap */
    assert_int_equal(kb_describe(model, &image, NULL, NULL, &f, NULL), KB_E_ARGUMENT);
    f.row_stride = SIZE_MAX;
    assert_int_equal(kb_describe(model, &image, NULL, NULL, &f, NULL), KB_E_ARGUMENT);
    f.rows = floats;
    f.floats = 1;
    f.row_stride = 128 * sizeof(float) + 2; /* floats would not be aligned */
    assert_int_equal(kb_describe(sift, &image, NULL, NULL, &f, NULL), KB_E_ARGUMENT);
    kb_error error;
    f = arrays_features(&k, row, 1, 0);
    f.detector = (kb_detector)0; /* whose scale nobody knows */
    assert_int_equal(kb_describe(model, &image, NULL, NULL, &f, &error), KB_E_ARGUMENT);
    assert_string_equal(error.field, "scale");
    kb_model_free(model);
    kb_model_free(sift);
}

static void presets_have_names(void **state)
{
    (void)state;
    assert_true(kb_model_scale(NULL, "SIFT") == 6.75f && kb_model_scale(NULL, "orb") == 1.0f &&
                kb_model_scale(NULL, "Akaze") == 5.0f);
    assert_true(kb_model_scale(NULL, "surf") == 6.25f && kb_model_scale(NULL, "none") == 0 && kb_model_scale(NULL, NULL) == 0 &&
                kb_model_scale(NULL, "") == 0);
    int32_t n = 0;
    while (kb_name(KB_NAMES_PRESET, n)) n++;
    assert_int_equal(n, 11);
    assert_null(kb_name(KB_NAMES_PRESET, -1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(box_bits_compare_means),
        cmocka_unit_test(bits_of_octaves_compare_means),
        cmocka_unit_test(channels_point_where_gray_rises),
        cmocka_unit_test(bits_of_bag_ignore_contrast_and_offset),
        cmocka_unit_test(sift_agrees_with_doubles),
        cmocka_unit_test(hashsift_is_the_sign_of_a_product),
        cmocka_unit_test(threads_and_workspaces_do_not_matter),
        cmocka_unit_test(a_row_depends_on_its_keypoint_alone),
        cmocka_unit_test(strides_and_16_bits),
        cmocka_unit_test(large_images_do_not_overflow),
        cmocka_unit_test(tiny_regions_in_corners_stay_inside),
        cmocka_unit_test(rows_may_have_gaps),
        cmocka_unit_test(float_rows_may_have_gaps),
        cmocka_unit_test(ready_patches_equal_cut_ones),
        cmocka_unit_test(support_widens_the_region),
        cmocka_unit_test(odd_keypoints_are_flagged_and_kept),
        cmocka_unit_test(images_of_every_odd_shape),
        cmocka_unit_test(arguments_are_checked),
        cmocka_unit_test(presets_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
