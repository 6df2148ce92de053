/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of detecting and matching. */
#include <math.h>
#include <stdlib.h>

#include "check.h"
#include "match/kernels.h"

void check_resize(const kbi_kernels *c, const kbi_kernels *t)
{
    for (int32_t width = 2; width <= 300; width += 1 + width / 80) {
        size_t bytes = (size_t)width;
        uint8_t *a = guarded(bytes), *b = guarded(bytes), *expected = guarded(bytes), *found = guarded(bytes);
        fill_bytes(a, bytes, 1000, (uint32_t)width);
        fill_bytes(b, bytes, 1000, (uint32_t)width / SORTS);
        int32_t weight = (int32_t)below(KBI_RESIZE_ONE + 1);
        c->detect->blend_rows(a, b, width, weight, expected);
        t->detect->blend_rows(a, b, width, weight, found);
        same("blend_rows", expected, found, bytes);

        double factor = 1.05 + below(96) * 0.01;
        int32_t n = (int32_t)(width / factor);
        size_t less = (size_t)n;
        kbi_resize_map map = {(int32_t *)(void *)guarded(less * sizeof(int32_t)), guarded(less), guarded(2 * less),
                              guarded(2 * less), t->detect->resize_group};
        expected = guarded(less);
        found = guarded(less);
        kbi_resize_plan(map, 0, n, factor, width);
        c->detect->resize_row(a, width, map, n, expected);
        t->detect->resize_row(a, width, map, n, found);
        same("resize_row", expected, found, less);
        guard_reset();
    }
}

/* Few and many pixels, of which those beyond the last need not be scored. */
void check_fast_scores(const kbi_kernels *c, const kbi_kernels *t)
{
    for (uint32_t i = 0; i < 200; i++) {
        uint8_t *pixels = guarded(sizeof(kbi_fast_circles)), *expected = guarded(KBI_FAST_BATCH);
        uint8_t *found = guarded(KBI_FAST_BATCH);
        const uint8_t(*circles)[KBI_FAST_BATCH] = (const uint8_t(*)[KBI_FAST_BATCH])pixels;
        int32_t n = 1 + (int32_t)(i % KBI_FAST_BATCH);
        fill_bytes(pixels, sizeof(kbi_fast_circles), KBI_FAST_BATCH, i);
        for (size_t k = 0; i % 3 == 0 && k < sizeof(kbi_fast_circles); k++) pixels[k] = (uint8_t)(pixels[k] / 64 + 90);
        c->detect->fast_scores(circles, n, expected);
        t->detect->fast_scores(circles, n, found);
        same("fast_scores", expected, found, (size_t)n);
        guard_reset();
    }
}

void check_fast(const kbi_kernels *c, const kbi_kernels *t)
{
    enum { SHORT = 140, LONG = 6, LONGEST = 4300 }; /* long ones are searched in several stretches */
    static uint16_t x[(LONGEST + 1) / 2], found_x[(LONGEST + 1) / 2];
    for (int32_t i = 0; i <= SHORT + LONG; i++) {
        int32_t width = i <= SHORT ? i : LONGEST - 620 * (i - SHORT - 1) - i % 3;
        size_t row = (size_t)width, stride = row + 2 * KBI_FAST_RADIUS, bytes = stride * (2 * KBI_FAST_RADIUS + 1);
        uint8_t *pixels = guarded(bytes), *expected = guarded(row), *found = guarded(row);
        fill_bytes(pixels, bytes, stride, (uint32_t)width);
        for (size_t k = 0; width % 3 == 0 && k < bytes; k++)
            pixels[k] = (uint8_t)(pixels[k] / 8 + 90); /* few corners */
        int32_t threshold = width & 1 ? 1 + (int32_t)below(255) : 1 + (int32_t)below(20);
        const uint8_t *centre = pixels + KBI_FAST_RADIUS * stride + KBI_FAST_RADIUS;
        c->detect->fast_row(centre, (ptrdiff_t)stride, width, threshold, expected);
        t->detect->fast_row(centre, (ptrdiff_t)stride, width, threshold, found);
        same("fast_row", expected, found, row);

        uint8_t *score[3];
        for (int r = 0; r < 3; r++) {
            score[r] = guarded(row);
            for (size_t k = 0; k < row; k++) score[r][k] = (uint8_t)(below(4) ? 0 : below(width & 2 ? 4 : 256));
        }
        int32_t n = c->detect->peaks_row(score[0], score[1], score[2], width, x);
        int32_t m = t->detect->peaks_row(score[0], score[1], score[2], width, found_x);
        same("number of peaks", &n, &m, sizeof n);
        if (n == m) same("peaks_row", x, found_x, (size_t)n * sizeof *x);
        guard_reset();
    }
}

void check_corners(const kbi_kernels *c, const kbi_kernels *t)
{
    for (uint32_t i = 0; i < 200; i++) {
        size_t extra = below(5), side = 2 * KBI_HARRIS_REACH + 1, stride = side + 1 + extra;
        uint8_t *pixels = guarded(stride * (side - 1) + side + 1);
        fill_bytes(pixels, stride * (side - 1) + side + 1, stride, i);
        const uint8_t *centre = pixels + KBI_HARRIS_REACH * (stride + 1);
        int64_t harris = c->detect->harris(centre, (ptrdiff_t)stride), found = t->detect->harris(centre, (ptrdiff_t)stride);
        same("harris", &harris, &found, sizeof harris);

        side = 2 * KBI_DISC_RADIUS + 1;
        stride = side + 1 + extra;
        pixels = guarded(stride * (side - 1) + side + 1);
        fill_bytes(pixels, stride * (side - 1) + side + 1, stride, i);
        centre = pixels + KBI_DISC_RADIUS * (stride + 1);
        float angle = c->detect->disc_angle(centre, (ptrdiff_t)stride), found_angle = t->detect->disc_angle(centre, (ptrdiff_t)stride);
        same("disc_angle", &angle, &found_angle, sizeof angle);
        guard_reset();
    }
}

/* Sums of blocks, of every pixel that is read and no other, and the harmonics of their gradients; flat ones too. */
void check_gradient(const kbi_kernels *c, const kbi_kernels *t)
{
    for (uint32_t i = 0; i < 100; i++) {
        const size_t side = 4 * KBI_GRADIENT_BLOCKS, count = KBI_GRADIENT_ROOM;
        size_t stride = side + below(40), bytes = stride * (side - 1) + side;
        uint8_t *pixels = guarded(bytes);
        fill_bytes(pixels, bytes, stride, i);
        const uint8_t *centre = pixels + KBI_GRADIENT_REACH * (stride + 1);
        uint16_t *blocks = (uint16_t *)(void *)guarded(count * sizeof *blocks);
        uint16_t *found_blocks = (uint16_t *)(void *)guarded(count * sizeof *blocks);
        memset(blocks, 0, count * sizeof *blocks);
        memset(found_blocks, 0, count * sizeof *blocks);
        c->detect->gradient_blocks(centre, (ptrdiff_t)stride, blocks);
        t->detect->gradient_blocks(centre, (ptrdiff_t)stride, found_blocks);
        same("gradient_blocks", blocks, found_blocks, count * sizeof *blocks);
        float sums[KBI_GRADIENT_SUMS], found_sums[KBI_GRADIENT_SUMS];
        c->detect->gradient_sums(blocks, sums);
        t->detect->gradient_sums(blocks, found_sums);
        same("gradient_sums", sums, found_sums, sizeof sums);
        float histogram[KBI_GRADIENT_DIRECTIONS], found_histogram[KBI_GRADIENT_DIRECTIONS];
        int32_t highest = c->detect->gradient_histogram(sums, histogram);
        int32_t found_highest = t->detect->gradient_histogram(sums, found_histogram);
        same("gradient_histogram, highest", &highest, &found_highest, sizeof highest);
        same("gradient_histogram", histogram, found_histogram, sizeof histogram);
        guard_reset();
    }
}

/* 16-bit rows; the largest value is what two of them may add up to without leaving 16 bits. */
static uint16_t *random_row(size_t n, uint32_t largest)
{
    uint16_t *row = (uint16_t *)(void *)guarded(n * sizeof *row);
    for (size_t i = 0; i < n; i++) row[i] = (uint16_t)(below(8) ? below(largest + 1) : below(2) ? largest : 0);
    return row;
}

void check_blur(const kbi_kernels *c, const kbi_kernels *t)
{
    for (int32_t width = 0; width <= 90; width++) {
        const uint16_t *a[24], *b[24];
        kbi_blur blur = {.taps = 1 + (int32_t)below(width & 1 ? 24 : 6)};
        uint32_t rest = 32768;
        for (int32_t k = 0; k < blur.taps; k++) {
            blur.weight[k] = (uint16_t)(k + 1 < blur.taps ? below(rest + 1) : rest);
            rest -= blur.weight[k];
            a[k] = random_row((size_t)width, 32640);
            b[k] = k == 0 ? a[0] : random_row((size_t)width, 32640);
        }
        uint16_t *expected = random_row((size_t)width, 0), *found = random_row((size_t)width, 0);
        c->detect->blur_pairs(a, b, &blur, width, expected);
        t->detect->blur_pairs(a, b, &blur, width, found);
        same("blur_pairs", expected, found, (size_t)width * sizeof *expected);
        guard_reset();
    }
}

/* Determinants of any size, and few different ones, so that neighbours are equal. */
static int32_t *random_determinants(size_t n, uint32_t different)
{
    int32_t *row = (int32_t *)(void *)guarded((n + KBI_HESSIAN_MARGIN) * sizeof *row);
    for (size_t i = 0; i < n + KBI_HESSIAN_MARGIN; i++)
        row[i] = different ? (int32_t)below(different) - 2 : (int32_t)(below(1u << 16) << 15) - (1 << 30);
    return row;
}

void check_hessian(const kbi_kernels *c, const kbi_kernels *t)
{
    enum { SHORT = 140, LONG = 3, LONGEST = 4300 };
    static uint16_t x[LONGEST], found_x[LONGEST];
    for (int32_t i = 1; i <= SHORT + LONG; i++) {
        int32_t width = i <= SHORT ? i : LONGEST - 620 * (i - SHORT - 1) - i % 3;
        size_t n = (size_t)width, rows = 2 * KBI_HESSIAN_BLUR + 2;
        size_t stride = n + 2 * KBI_HESSIAN_BLUR, room = n + KBI_HESSIAN_MARGIN;
        uint8_t *pixels = guarded(stride * rows), *row = pixels + KBI_HESSIAN_BLUR * (stride + 1);
        fill_bytes(pixels, stride * rows, n, (uint32_t)i);
        uint16_t *columns = random_row(2 * kbi_round_up(stride) + KBI_HESSIAN_MARGIN, 0), *expected[2], *found[2];
        for (int k = 0; k < 4; k++) (k < 2 ? expected : found)[k & 1] = random_row(room, 0);
        c->detect->hessian_blur(row, (ptrdiff_t)stride, width, columns, expected);
        t->detect->hessian_blur(row, (ptrdiff_t)stride, width, columns, found);
        for (int k = 0; k < 2; k++) same("hessian_blur", expected[k], found[k], n * sizeof *found[k]);

        uint32_t most = i % 3 == 0 ? 3 : i % 3 == 1 ? 32640 : 65535;
        const uint16_t *a = random_row(room + 1, most), *m = random_row(room + 1, most), *b = random_row(room + 1, most);
        int32_t *one = random_determinants(n, 0), *other = random_determinants(n, 0);
        c->detect->hessian_row(a + 1, m + 1, b + 1, width, one);
        t->detect->hessian_row(a + 1, m + 1, b + 1, width, other);
        same("hessian_row", one, other, n * sizeof *one);

        uint32_t different = i % 2 ? 6 : 0;
        const int32_t *d[3];
        for (int k = 0; k < 3; k++) d[k] = random_determinants(n, different);
        int32_t limit = 1 + (int32_t)below(i % 2 ? 4 : 1 << 29);
        int32_t count = c->detect->hessian_peaks(d[0], d[1], d[2], width, limit, x);
        int32_t found_count = t->detect->hessian_peaks(d[0], d[1], d[2], width, limit, found_x);
        same("number of hessian_peaks", &count, &found_count, sizeof count);
        if (count == found_count) same("hessian_peaks", x, found_x, (size_t)count * sizeof *x);
        guard_reset();
    }
}

void check_extrema(const kbi_kernels *c, const kbi_kernels *t)
{
    for (int32_t width = 2 * KBI_SIFT_BORDER; width <= 150; width++) {
        size_t n = (size_t)width;
        int16_t *rows[5], *found = (int16_t *)(void *)guarded(n * sizeof *found);
        for (int i = 0; i < 5; i++) {
            const uint16_t *smaller = random_row(n, width & 1 ? 32640 : 6),
                           *larger = random_row(n, width & 1 ? 32640 : 6);
            rows[i] = (int16_t *)(void *)guarded(n * sizeof *rows[i]);
            c->detect->difference_row(smaller, larger, width, rows[i]);
            t->detect->difference_row(smaller, larger, width, found);
            same("difference_row", rows[i], found, n * sizeof *found);
        }
        int32_t x[151], found_x[151], limit = 1 + (int32_t)below(width & 1 ? 30000 : 5);
        int32_t count = c->detect->extrema_row(rows[0], rows[1], rows[2], rows[3], rows[4], width, limit, x);
        int32_t found_count = t->detect->extrema_row(rows[0], rows[1], rows[2], rows[3], rows[4], width, limit, found_x);
        same("number of extrema", &count, &found_count, sizeof count);
        if (count == found_count) same("extrema_row", x, found_x, (size_t)count * sizeof *x);
        guard_reset();
    }
}

void check_directions(const kbi_kernels *c, const kbi_kernels *t)
{
    for (int32_t n = 1; n <= KBI_DIRECTION_MOST; n++) {
        enum { COUNT = 5, STEP = 2 };
        int32_t step = 1 + (int32_t)below(STEP);
        size_t width = (size_t)((n - 1) * step) + 3;
        uint32_t largest = n % 3 == 0 ? 3 : n % 3 == 1 ? 400 : 32640; /* flat ones and equal components too */
        const uint16_t *rows[STEP * COUNT + 2];
        float *across = (float *)(void *)guarded((size_t)n * sizeof *across), along[COUNT];
        float histogram[KBI_DIRECTION_TURNS][KBI_DIRECTION_BINS] = {{0}};
        float found[KBI_DIRECTION_TURNS][KBI_DIRECTION_BINS] = {{0}};
        for (size_t i = 0; i < KBI_COUNT(rows); i++) rows[i] = random_row(width, largest) + 1;
        for (int32_t i = 0; i < n; i++) across[i] = (float)below(1000) / 1000;
        for (int32_t i = 0; i < COUNT; i++) along[i] = (float)below(1000) / 1000;
        kbi_direction_region region = {rows, step, COUNT, n, across, along};
        c->detect->direction_rows(&region, histogram);
        t->detect->direction_rows(&region, found);
        same("direction_rows", histogram, found, sizeof histogram);
        guard_reset();
    }
}

/* ---- matching ---- */

/* Rows of which some are equal, opposite, or near to others. */
static uint8_t *random_rows(size_t n, size_t row_bytes, const uint8_t *like, size_t like_n)
{
    uint8_t *rows = guarded(n * row_bytes);
    fill_bytes(rows, n * row_bytes, row_bytes, 0);
    for (size_t i = 0; i < n && like_n > 0; i++) {
        const uint8_t *other = like + below((uint32_t)like_n) * row_bytes;
        uint32_t sort = below(8);
        for (size_t k = 0; k < row_bytes && sort < 3; k++)
            rows[i * row_bytes + k] = (uint8_t)(sort == 0   ? other[k]
                                                : sort == 1 ? ~other[k]
                                                            : other[k] ^ (rows[k] & 1));
    }
    return rows;
}

static void compare_hamming(const kbi_kernels *c, const kbi_kernels *t, const uint8_t *a, size_t na, const uint8_t *b,
                            size_t nb, size_t row_bytes, bool mutual)
{
    const size_t keys = sizeof(uint32_t);
    uint32_t *best[2], *second[2], *columns[2];
    for (int k = 0; k < 2; k++) {
        best[k] = (uint32_t *)(void *)guarded(na * keys);
        second[k] = (uint32_t *)(void *)guarded(na * keys);
        columns[k] = (uint32_t *)(void *)guarded(nb * keys);
    }
    for (size_t j = 0; j < nb; j++)
        columns[0][j] = columns[1][j] =
            below(3) ? KBI_NO_NEIGHBOUR : below((uint32_t)row_bytes * 8) << 16 | below(500);
    c->match->hamming(a, na, b, nb, row_bytes, best[0], second[0], mutual ? columns[0] : NULL);
    t->match->hamming(a, na, b, nb, row_bytes, best[1], second[1], mutual ? columns[1] : NULL);
    same("nearest", best[0], best[1], na * keys);
    same("second", second[0], second[1], na * keys);
    same("columns", columns[0], columns[1], nb * keys);
    guard_reset();
}

void check_hamming(const kbi_kernels *c, const kbi_kernels *t)
{
    static const size_t lengths[] = {32, 64, 16, 1, 31, 33, 62, 63, 65, 128, 7, 48};
    for (uint32_t i = 0; i < 240; i++) {
        size_t row_bytes = i % 3 ? lengths[i % KBI_COUNT(lengths)] : 1 + below(70);
        size_t na = i < 71 ? i : below(300), nb = i & 1 ? below(71) : below(700);
        const uint8_t *a = random_rows(na, row_bytes, NULL, 0), *b = random_rows(nb, row_bytes, a, na);
        compare_hamming(c, t, a, na, b, nb, row_bytes, i % 5 != 0);
    }
}

/* So many rows that steps of keys begin again on both sides; and rows that are equal, or differ in all bits. */
void check_hamming_many(const kbi_kernels *c, const kbi_kernels *t)
{
    static const size_t lengths[] = {32, 64, 9, 40};
    for (uint32_t i = 0; i < 12; i++) {
        size_t row_bytes = lengths[i % KBI_COUNT(lengths)], na = 128 + below(2200), nb = 64 + below(300);
        if (i < 8) {
            const uint8_t *a = random_rows(na, row_bytes, NULL, 0), *b = random_rows(nb, row_bytes, a, na);
            compare_hamming(c, t, a, na, b, nb, row_bytes, i % 5 != 0);
        } else {
            uint8_t *a = guarded(na * row_bytes), *b = guarded(nb * row_bytes);
            memset(a, i & 1 ? 255 : 0, na * row_bytes);
            for (size_t k = 0; k < nb * row_bytes; k++) b[k] = (k / row_bytes) % 7 == i % 4 ? 0 : 255;
            compare_hamming(c, t, a, na, b, nb, row_bytes, true);
        }
    }
}

void check_hamming_listed(const kbi_kernels *c, const kbi_kernels *t)
{
    for (uint32_t i = 0; i < 120; i++) {
        size_t row_bytes = i & 1 ? 32 : 1 + below(70), n = below(40), rows = 1 + below(50);
        size_t stride = row_bytes + (i % 3 == 0 ? 8 : 0);
        const uint8_t *query = random_rows(1, stride, NULL, 0), *b = random_rows(rows, stride, query, 1);
        int32_t *listed = (int32_t *)(void *)guarded(n * sizeof *listed);
        uint32_t *distances[2];
        for (size_t k = 0; k < n; k++) listed[k] = (int32_t)below((uint32_t)rows);
        for (int k = 0; k < 2; k++) distances[k] = (uint32_t *)(void *)guarded(n * sizeof **distances);
        c->match->hamming_listed(query, b, listed, n, row_bytes, stride, distances[0]);
        t->match->hamming_listed(query, b, listed, n, row_bytes, stride, distances[1]);
        same("distances", distances[0], distances[1], n * sizeof **distances);
        guard_reset();
    }
}

void check_hamming_nearest(const kbi_kernels *c, const kbi_kernels *t)
{
    for (uint32_t i = 0; i < 120; i++) {
        size_t row_bytes = i & 1 ? 32 : 1 + below(70), n = 1 + below(40);
        const uint8_t *query = random_rows(1, row_bytes, NULL, 0), *rows = random_rows(n, row_bytes, query, 1);
        uint32_t expected = c->match->hamming_nearest(query, rows, n, row_bytes);
        uint32_t found = t->match->hamming_nearest(query, rows, n, row_bytes);
        same("nearest row", &expected, &found, sizeof found);
        guard_reset();
    }
}

void check_hamming_near(const kbi_kernels *c, const kbi_kernels *t)
{
    for (uint32_t i = 0; i < 120; i++) {
        size_t n = i < 40 ? i : below(600), count[2];
        uint32_t most = below(66);
        const uint8_t *query = random_rows(1, 8, NULL, 0), *words = random_rows(n, 8, query, 1);
        int32_t *found[2];
        for (int k = 0; k < 2; k++) {
            found[k] = (int32_t *)(void *)guarded((n + KBI_NEAR_SLACK) * sizeof **found);
            const kbi_kernels *table = k ? t : c;
            count[k] = table->match->hamming_near(query, words, n, most, found[k]);
        }
        same("how many are near", &count[0], &count[1], sizeof *count);
        same("which are near", found[0], found[1], count[0] * sizeof **found);
        guard_reset();
    }
}

void check_list_circle(const kbi_kernels *c, const kbi_kernels *t)
{
    for (uint32_t i = 0; i < 300; i++) {
        int32_t n = (int32_t)below(40), from = (int32_t)below((uint32_t)n + 1);
        int32_t to = from + (int32_t)below((uint32_t)(n - from) + 1);
        size_t room = (size_t)n + KBI_LIST_SLACK, counts[2];
        float *x = (float *)(void *)guarded(room * sizeof *x), *y = (float *)(void *)guarded(room * sizeof *y);
        int32_t *level = (int32_t *)(void *)guarded(room * sizeof *level), *listed[2];
        for (size_t k = 0; k < room; k++) {
            x[k] = below(20) ? (float)below(100) / 4 : below(2) ? NAN : INFINITY;
            y[k] = (float)below(100) / 4;
            level[k] = below(20) ? (int32_t)below(8) : INT32_MIN;
        }
        kbi_circle circle = {12, 13, (float)below(400), (int32_t)below(4), (int32_t)below(9)};
        float dx = x[from] - circle.x, dy = y[from] - circle.y;
        if (i & 1 && isfinite(dx)) circle.radius2 = dx * dx + dy * dy; /* a point on the circle */
        for (int k = 0; k < 2; k++)
            listed[k] = (int32_t *)(void *)guarded(((size_t)(to - from) + KBI_LIST_SLACK) * sizeof **listed);
        counts[0] = c->match->list_circle(x, y, level, from, to, &circle, listed[0]);
        counts[1] = t->match->list_circle(x, y, level, from, to, &circle, listed[1]);
        same("how many", &counts[0], &counts[1], sizeof *counts);
        same("listed", listed[0], listed[1], counts[0] * sizeof **listed);
        guard_reset();
    }
}

/* Matches of which some nearly agree with each other, some take no part, and some meet a limit exactly. */
void check_filter_block(const kbi_kernels *c, const kbi_kernels *t)
{
    uint32_t agreed = 0;
    for (uint32_t i = 0; i < 400; i++) {
        const size_t n = 20, room = n + KBI_FILTER_BLOCK;
        kbi_filter_nodes nodes = {.cosine2 = 0.5f, .ratio2 = 2.56f, .bound2 = 0.18f};
        for (int k = 0; k < KBI_FILTER_COLUMNS; k++) {
            nodes.column[k] = (float *)(void *)guarded(room * sizeof(float));
            for (size_t r = 0; r < room; r++) nodes.column[k][r] = r < n ? (float)below(i % 2 ? 8 : 1000) / 4 : 0;
        }
        nodes.support = (int32_t *)(void *)guarded(room * sizeof(int32_t));
        for (size_t r = 0; r < room; r++) {
            nodes.support[r] = (int32_t)below(3);
            if (below(4) == 0) nodes.column[KBI_FILTER_MX][r] = nodes.column[KBI_FILTER_MY][r] = 0;
        }
        int32_t from = (int32_t)below((uint32_t)n), least = 1 + (int32_t)below(2), j = (int32_t)below((uint32_t)n);
        uint32_t expected = c->match->filter_block(&nodes, from, j, least);
        uint32_t found = t->match->filter_block(&nodes, from, j, least);
        same("filter_block", &expected, &found, sizeof found);
        agreed |= expected;
        guard_reset();
    }
    const uint32_t all = ((uint32_t)1 << KBI_FILTER_BLOCK) - 1;
    same("places that agreed", &all, &agreed, sizeof all);
}
