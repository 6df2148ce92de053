/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of src/fit against plain C. */
#include "check.h"

static double random_between(double from, double to)
{
    return from + (to - from) * (below(1u << 30) / (double)(1u << 30));
}

static double *random_doubles(size_t n, double from, double to)
{
    double *values = (double *)(void *)guarded(n * sizeof *values);
    for (size_t i = 0; i < n; i++) values[i] = random_between(from, to);
    return values;
}

/* Lists of any length and order, in which pairs may be missing, weights of 0 among them. */
void check_transfer_sums(const kbi_kernels *c, const kbi_kernels *t)
{
    for (uint32_t i = 0; i < 200; i++) {
        int32_t n = 1 + (int32_t)below(i < 100 ? 9 : 90), listed = (int32_t)below((uint32_t)n + 1);
        double h[9];
        fit_pairs pairs = {.n = n,
                           .x1 = random_doubles((size_t)n, -2, 2),
                           .y1 = random_doubles((size_t)n, -2, 2),
                           .x2 = random_doubles((size_t)n, -2, 2),
                           .y2 = random_doubles((size_t)n, -2, 2)};
        fit_list list = {listed, (int32_t *)(void *)guarded((size_t)listed * sizeof(int32_t)),
                         random_doubles((size_t)listed, 0, 1)};
        for (int32_t k = 0; k < 9; k++) h[k] = random_between(-0.2, 0.2) + (k % 4 == 0 ? 1 : 0);
        for (int32_t k = 0; k < listed; k++) {
            list.slot[k] = (int32_t)below((uint32_t)n);
            if (below(8) == 0) list.weight[k] = 0;
        }
        kbi_transfer_sums expected, found;
        c->fit->transfer_sums(h, &pairs, &list, &expected);
        t->fit->transfer_sums(h, &pairs, &list, &found);
        same("transfer_sums", &expected, &found, sizeof expected);
        guard_reset();
    }
}

/* Lattices turned and deformed any way, some of whose outermost samples are at the edge of what may be read. */
void check_align_samples(const kbi_kernels *c, const kbi_kernels *t)
{
    for (uint32_t i = 0; i < 300; i++) {
        const int32_t step = 65536 / (1 + (int32_t)below(4));
        kbi_lattice l = {.x = (int32_t)below(65536), .y = (int32_t)below(65536)};
        for (int k = 0; k < 2; k++) {
            l.right[k] = (int32_t)below(2 * (uint32_t)step) - step;
            l.down[k] = (int32_t)below(2 * (uint32_t)step) - step;
        }
        int32_t least[2] = {0, 0}, most[2] = {0, 0}; /* whole pixels of the corners */
        for (int corner = 0; corner < 4; corner++) {
            int32_t across = corner & 1 ? KBI_ALIGN_SIDE - 1 : 0, along = corner & 2 ? KBI_ALIGN_SIDE - 1 : 0;
            for (int k = 0; k < 2; k++) {
                int32_t at = ((k ? l.y : l.x) + across * l.right[k] + along * l.down[k]) >> 16;
                if (at < least[k]) least[k] = at;
                if (at > most[k]) most[k] = at;
            }
        }
        l.px = -least[0];
        l.py = -least[1];
        l.width = most[0] - least[0] + KBI_LATTICE_REACH + 1;
        l.height = most[1] - least[1] + 2;
        l.stride = l.width;
        uint8_t *pixels = guarded((size_t)l.width * (size_t)l.height);
        for (int32_t k = 0; k < l.width * l.height; k++) pixels[k] = i < 20 ? 255 : (uint8_t)below(256);
        l.data = pixels;
        int16_t expected[KBI_ALIGN_SIDE * KBI_ALIGN_SIDE], found[KBI_ALIGN_SIDE * KBI_ALIGN_SIDE];
        c->align->align_samples(&l, expected);
        t->align->align_samples(&l, found);
        same("align_samples", expected, found, sizeof expected);
        guard_reset();
    }
}

/* Of as many rows as an affine map takes, of the largest numbers that there may be too. */
void check_align_products(const kbi_kernels *c, const kbi_kernels *t)
{
    enum { MOST = 8 };
    for (uint32_t i = 0; i < 100; i++) {
        const int32_t count = (int32_t)below(MOST + 1);
        int16_t *rows = (void *)guarded((size_t)count * KBI_ALIGN_SAMPLES * sizeof *rows);
        int16_t *w = (void *)guarded(KBI_ALIGN_SAMPLES * sizeof *w);
        int32_t expected[MOST] = {0}, found[MOST] = {0};
        for (int32_t k = 0; k < count * KBI_ALIGN_SAMPLES; k++)
            rows[k] = (int16_t)(i < 10 ? (int32_t)below(2) * 2040 - 1020 : (int32_t)below(2041) - 1020);
        for (int32_t k = 0; k < KBI_ALIGN_SAMPLES; k++)
            w[k] = (int16_t)(i < 10 ? (int32_t)below(2) * 2040 - 1020 : (int32_t)below(2041) - 1020);
        c->align->align_products(rows, count, w, expected);
        t->align->align_products(rows, count, w, found);
        same("align_products", expected, found, sizeof expected);
        guard_reset();
    }
}
